"""The same sums on one device and on several: a process of its own, since devices are made when JAX starts."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

PROGRAM = """
import jax, numpy as np
from mixjax.generative import sample_linear, simulate_scores
from mixjax.generative.simulation import _mesh
from tests.paths import ROOT
g = sample_linear(jax.random.key(0), p=2, d=3)
bins = simulate_scores(jax.random.key(1), g, g.inverse(), np.eye(2), np.ones(2), num_draws=1)
print(_mesh().size, len(bins.draws.sharding.device_set), *np.asarray(bins.residual).ravel())
"""


def test_sums_do_not_depend_on_the_devices():
    found = {}
    for devices in (1, 4):
        options = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", "JAX_PLATFORMS": "cpu"}
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, text=True, check=True,
                              env=os.environ | options, capture_output=True)  # fmt: skip
        size, spread, *sums = done.stdout.split()
        assert (int(size), int(spread)) == (devices, devices)
        found[devices] = np.array(sums, float)
    np.testing.assert_allclose(found[1], found[4], rtol=1e-4, atol=1e-3)
