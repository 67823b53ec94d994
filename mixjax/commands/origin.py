"""What a command on a file needs before it begins, and the origin that the page of its results names."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mixjax.commands.parser import display_path
from mixjax.commands.programs import missing_package
from mixjax.runs import provenance
from mixjax.runs.errors import RunError


def check_paths(paths: Iterable[Path]) -> None:
    """Raise RunError for a path that is not text, and so cannot be shown on a page."""
    for path in paths:
        try:
            str(path).encode()
        except UnicodeEncodeError:
            raise RunError(f"{str(path)!r} is not a name in UTF-8, and cannot be shown on a page; rename it") from None


def check_packages(packages: Iterable[str], extra: str, prog: str) -> None:
    """Raise RunError for the first package that is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise missing_package(package, extra, prog)


def origin(
    words: Sequence[str], given: Mapping[str, object], usual: Mapping[str, object], without: Sequence[str]
) -> dict[str, object]:
    """Return the origin of a page: the command, with no folder outside this one, versions, and the kind of device.

    Args:
      words: the command and what stands without a name.
      given: the values of its options.
      usual: their values when they are not given.
      without: the options that `words` hold already.
    """
    words = list(words)
    for name, value in given.items():
        if name not in without and value != usual[name]:
            text = display_path(value) if isinstance(value, Path) else str(value)
            option = f"--{name.replace('_', '-')}"
            words += [option] if value is True else [f"{option}={text}"] if text.startswith("-") else [option, text]
    return {"command": shlex.join(words), **versions()}


def versions() -> dict[str, object]:
    """Return the versions of what computes, and the kind of device."""
    made = provenance()
    names = ("mixjax", "commit", "jax", "jaxlib", "python")
    return {"versions": ", ".join(f"{name} {made[name]}" for name in names), "device": made["platform"]}
