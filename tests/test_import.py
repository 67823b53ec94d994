"""Importing the library does nothing: no arrays, no backend, no optional dependency, no setting changed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

ONLY_THE_PACKAGE = "import mixjax"
EVERY_MODULE = """
import importlib, pkgutil, mixjax
for module in pkgutil.walk_packages(mixjax.__path__, "mixjax."):
    if module.name != "mixjax.calibration.metric":  # around a class of flax
        importlib.import_module(module.name)
"""
WHAT_HAPPENED = """
import sys, jax
from jax._src import xla_bridge
assert not xla_bridge._backends, f"started {list(xla_bridge._backends)}"
optional = {"PIL", "flax", "fsspec", "matplotlib", "optax", "tensorflow_datasets"}
unwanted = sorted((optional | {"sims", "train"}) & sys.modules.keys())
assert not unwanted, f"imported {unwanted}"
assert not jax.config.jax_enable_x64, "changed jax_enable_x64"
assert not jax.live_arrays(), "made arrays"
"""


@pytest.mark.parametrize("code", [ONLY_THE_PACKAGE, EVERY_MODULE], ids=["package", "every module"])
def test_import_does_nothing(code):
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    command = [sys.executable, "-W", "error", "-c", code + WHAT_HAPPENED]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_check_can_fail():
    code = "import mixjax, jax; kept = jax.numpy.ones(3)" + WHAT_HAPPENED
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert "started" in done.stderr
