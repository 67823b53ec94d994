"""Programs that need an extra: imported when they are called, and one sentence where a package is missing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from mixjax.runs.errors import RunError


def run_program(name: str, arguments: Sequence[str], prog: str) -> int:
    """Run the studies (`sims`) or the experiments (`train`), called by `prog`; returns the exit status."""
    return int(import_program(f"mixjax.{name}.cli", name, prog).main(arguments, prog))


def import_program(module: str, extras: str, prog: str) -> ModuleType:
    """Import a module of this project that needs extras; a RunError says how to install a missing package."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] in ("mixjax", "sims", "train", "benchmarks"):
            raise
        raise missing_package(error.name, extras, prog) from None


def missing_package(package: str, extras: str, prog: str) -> RunError:
    """Return an error that says how to install a package."""
    way = f"pip install 'mixjax[{extras}]', or in a clone pip install --editable '.[{extras}]'"
    return RunError(f"{prog} needs {package}: {way}")
