"""Noise-free expectations: shapes, dtypes, and one trace for all values."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.gaussian import expected_errors


@pytest.mark.medium
def test_arguments_broadcast_and_take_any_dtype():
    cells = {"n": np.array([[10], [20]]), "p": np.float32([3, 4, 5]), "theta_norm": 1, "t": 0.1}
    found = jax.eval_shape(lambda: expected_errors(**cells, num_nodes=4))
    assert all(error.shape == (2, 3) and error.dtype == np.float32 for error in found)
    assert jax.eval_shape(lambda t: expected_errors(n=20, p=4, theta_norm=1, t=t, num_nodes=4), 0.1).mce.shape == ()


@pytest.mark.slow
def test_changing_values_does_not_recompile(compilations):
    expected_errors(n=50, p=10, theta_norm=1.0, t=0.1, num_nodes=4)
    del compilations[:]
    for n, p, theta, t in [(100, 2, 0.5, 0.2), (7, 10**6, 0.0, 0.0), (1, 1, 3.0, 0.5)]:
        expected_errors(n=n, p=p, theta_norm=theta, t=t, num_nodes=4)
    assert not compilations
