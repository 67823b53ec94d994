"""Importing the library does nothing: no arrays, no backend, no optional dependency, no setting changed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.medium

EVERY_MODULE = """
import importlib, pkgutil, mixjax
for module in pkgutil.walk_packages(mixjax.__path__, "mixjax."):
    if module.name not in ("mixjax.calibration.metric", "mixjax.calibration.clu_metric"):  # around classes of flax
        importlib.import_module(module.name)
"""
CHECK = """
import sys, jax
from jax._src import xla_bridge
optional = {"PIL", "flax", "fsspec", "matplotlib", "optax", "sims", "sklearn", "tensorflow_datasets", "train"}
print(sorted(xla_bridge._backends), sorted(optional & sys.modules.keys()), jax.config.jax_enable_x64)
print(len(jax.live_arrays()))
"""


def test_import_does_nothing():
    """In a process of its own; the last line shows that the check sees what is done."""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    act = "kept = jax.numpy.ones(3)\nsys.modules['optax'] = sys\njax.config.update('jax_enable_x64', True)\n"
    command = [sys.executable, "-W", "error", "-c", EVERY_MODULE + CHECK + act + CHECK]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[] [] False", "0", "['cpu'] ['optax'] True", "1"]
