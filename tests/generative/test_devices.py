"""The same sums on one device and on several: a process of its own, since devices are made when JAX starts."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from mixjax.generative import linear_generator, simulate_scores
from tests.paths import ROOT

PROGRAM = """
import jax, numpy as np
from mixjax.generative.simulation import _mesh
from tests.generative.test_devices import sums
bins = sums()
print(_mesh().size, len(bins.draws.sharding.device_set), *np.asarray(bins.residual).ravel())
"""


def sums():
    """Bins of a linear generator in float32."""
    g, rows = linear_generator(np.eye(3, 2, dtype=np.float32)), np.eye(2, dtype=np.float32)
    return simulate_scores(jax.random.key(1), g, g.inverse(), rows, rows[0], num_draws=1)


@pytest.mark.slow
def test_sums_do_not_depend_on_the_devices():
    options = {"XLA_FLAGS": "--xla_force_host_platform_device_count=5", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, text=True, check=True,
                          env=os.environ | options, capture_output=True)  # fmt: skip
    size, spread, *found = done.stdout.split()
    assert (int(size), int(spread)) == (4, 4)  # as many of 5 as divide 16 batches
    np.testing.assert_allclose(np.array(found, float), np.ravel(sums().residual), rtol=1e-4, atol=1e-3)
