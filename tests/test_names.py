"""Names: no function hides a module, and every public name is one that its package lists."""

from __future__ import annotations

import importlib
import pkgutil
import re
from types import ModuleType

import pytest

import mixjax
from tests.paths import DOCS

PACKAGES = [found.name for found in pkgutil.walk_packages(mixjax.__path__, "mixjax.") if found.ispkg]


@pytest.mark.parametrize("name", ["mixjax", *PACKAGES])
def test_nothing_hides_a_module(name):
    package = importlib.import_module(name)
    modules = [found.name for found in pkgutil.iter_modules(package.__path__)]
    hidden = [module for module in modules if not isinstance(getattr(package, module, package), ModuleType)]
    assert hidden == []


PUBLIC = ("mixjax", "mixjax.calibration", "mixjax.scores", "mixjax.recalibration", "mixjax.mixing", "mixjax.gaussian",
          "mixjax.gaussian.claims", "mixjax.generative", "mixjax.random", "mixjax.datasets", "mixjax.plots",
          "mixjax.report", "mixjax.train.nets")  # fmt: skip


@pytest.mark.parametrize("package", PUBLIC)
def test_the_reference_lists_every_public_name(package):
    listed = {name.rpartition(".")[2] for name in re.findall(r"`([\w.]+)`", (DOCS / "reference.md").read_text())}
    assert set(importlib.import_module(package).__all__) - listed == set()


def test_the_reference_lists_nothing_else():
    known = {name for package in PUBLIC for name in importlib.import_module(package).__all__}
    listed = set(re.findall(r"`(\w+)`", (DOCS / "reference.md").read_text()))
    assert listed - known == set()
