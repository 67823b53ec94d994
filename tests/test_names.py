"""Names: no function hides a module, and every public name is one that its package lists."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest

import mixjax

PACKAGES = [found.name for found in pkgutil.walk_packages(mixjax.__path__, "mixjax.") if found.ispkg]


@pytest.mark.parametrize("name", ["mixjax", *PACKAGES])
def test_nothing_hides_a_module(name):
    package = importlib.import_module(name)
    modules = [found.name for found in pkgutil.iter_modules(package.__path__)]
    hidden = [module for module in modules if not isinstance(getattr(package, module, package), ModuleType)]
    assert hidden == []
