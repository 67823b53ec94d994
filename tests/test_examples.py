"""Every public name has an example in its docstring, and the example prints what it says, in float32."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import jax
import pytest

import mixjax

OPTIONAL = {"mixjax.commands", "mixjax.numerics", "mixjax.runs"}  # for programs, not for people


def public() -> Iterator[tuple[str, str]]:
    """(package, name) of everything that a public package lists."""
    packages = [found.name for found in pkgutil.walk_packages(mixjax.__path__, "mixjax.") if found.ispkg]
    for package in ("mixjax", "mixjax.mixing", "mixjax.scores", "mixjax.random", *packages):
        if package not in OPTIONAL:
            yield from ((package, name) for name in getattr(importlib.import_module(package), "__all__", ()))


def home(package: str, name: str) -> tuple[str, str]:
    """The module in which a name is defined, so that what two packages list is run once."""
    return getattr(getattr(importlib.import_module(package), name), "__module__", package), name


NAMES = sorted({home(*entry) for entry in public()})


FIRST = ("mixjax.calibration", "mixjax.scores", "mixjax.gaussian.weights", "mixjax.plots")  # others compile for long


@pytest.mark.medium
@pytest.mark.few(10)
@pytest.mark.parametrize(
    ("module", "name"),
    [
        pytest.param(*entry, id=".".join(entry), marks=() if entry[0].startswith(FIRST) else pytest.mark.slow)
        for entry in NAMES
    ],
)
def test_example(module, name):
    thing = getattr(importlib.import_module(module), name)
    if not callable(thing):  # a constant, or a type
        return
    found = next(iter(doctest.DocTestFinder(recurse=False).find(thing, name, globs={})), None)
    assert found is not None and found.examples, f"{module}.{name} has no example"
    report: list[str] = []
    with jax.enable_x64(False), jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found, out=report.append)
    assert not failed, "".join(report)
