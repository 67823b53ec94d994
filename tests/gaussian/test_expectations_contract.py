"""Noise-free expectations: shapes, dtypes, errors, and one trace for all values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.gaussian import expected_errors

ERRORS = ("ece", "rms_ece", "mce")


def test_arguments_broadcast_and_take_any_dtype():
    found = expected_errors(n=np.array([[10], [20]]), p=np.float32([3, 4, 5]), theta_norm=1, t=0.1, num_nodes=4)
    assert all(error.shape == (2, 3) for error in found)
    assert found.ece.dtype == jnp.float32
    scalar = jax.eval_shape(lambda t: expected_errors(n=20, p=4, theta_norm=1, t=t, num_nodes=4), np.float32(0.1))
    assert scalar.mce.shape == ()
    alone = expected_errors(n=[20] * 6, p=np.float32([4] * 6), theta_norm=1, t=0.1, num_nodes=4)
    np.testing.assert_allclose([error[0] for error in alone], [error[1, 1] for error in found], rtol=1e-6)


def test_float32_is_close():
    cell = dict(n=[50, 1000, 10**6], p=[50, 2000, 10**6], theta_norm=[1, 2, 2], t=[0.2, 1 / 3, 0.45])
    double = expected_errors(**{name: np.float64(value) for name, value in cell.items()})
    single = expected_errors(**{name: np.float32(value) for name, value in cell.items()})
    for name in ERRORS:
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=0, atol=5e-6)


def test_changing_values_does_not_recompile(compilations):
    expected_errors(n=50, p=10, theta_norm=1.0, t=0.1, num_nodes=4)
    del compilations[:]
    for n, p, theta, t in [(100, 2, 0.5, 0.2), (7, 10**6, 0.0, 0.0), (1, 1, 3.0, 0.5)]:
        expected_errors(n=n, p=p, theta_norm=theta, t=t, num_nodes=4)
    assert not compilations


CELL = dict(n=10, p=3, theta_norm=1.0, t=0.2)
BAD = {
    "n = 0": (dict(n=0), ValueError, "n must be a whole number from 1 to 1e10, got 0"),
    "n = 2.5": (dict(n=2.5), ValueError, "n must be a whole number from 1 to 1e10, got 2.5"),
    "p = -1": (dict(p=-1), ValueError, "p must be a whole number from 1 to 1e10, got -1"),
    "NaN": (dict(p=np.nan), ValueError, "p must be a whole number from 1 to 1e10, got nan"),
    "negative theta": (dict(theta_norm=-1.0), ValueError, "theta_norm must be finite and not negative, got -1.0"),
    "t > 1": (dict(t=1.1), ValueError, r"t must be in \[0, 1\], got 1.1"),
    "sigma = 0": (dict(sigma=0.0), ValueError, "sigma must be finite and positive, got 0.0"),
    "few nodes": (dict(num_nodes=3), ValueError, "num_nodes must be at least 4, got 3"),
    "half a node": (dict(num_nodes=8.0), TypeError, "num_nodes must be an int, got float"),
}


@pytest.mark.parametrize("change, error, message", BAD.values(), ids=BAD.keys())
def test_bad_arguments(change, error, message):
    with pytest.raises(error, match=message):
        expected_errors(**{**CELL, **change})
