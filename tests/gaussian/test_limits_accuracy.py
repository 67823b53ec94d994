"""The boundaries of the limit p/n -> c as accurately as their docstrings say, against integrals of log errors."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import optimize, special

from mixjax.gaussian.limits import critical_ratio, critical_weight
from tests.gaussian.limit_errors import NODES, SIGNALS, SIZE, WEIGHTS

pytestmark = pytest.mark.medium

LITTLE_TO_MUCH = np.array([1e-6, 1e-4, 0.01, 0.1, 1 / 3, 0.6, 0.9])
FRACTIONAL = 1.2


def log_gap(u, keep, plain, apart):
    """log of |s(2 plain u) - s(2 keep u)| = sinh(apart u) / (2 cosh(plain u) cosh(keep u)), apart = |plain - keep|."""
    ends = np.log1p(np.exp(-2 * keep * u)) + np.log1p(np.exp(-2 * plain * u))
    return np.log(-np.expm1(-2 * apart * u)) - 2 * np.minimum(keep, plain) * u - ends


def exact_excess(c, theta, t, norm):
    """log(E gap_t^r / E gap_0^r), with every small difference exact.

    At the plain classifier's score u Mixup claims s(2 (1-t) u), it claims s(2u), and s(2 rho_0 u) is true.
    """
    square, var = theta**2, theta**2 + c
    sd, plain = np.sqrt(var), square / var
    around = np.maximum(square + sd * np.arange(-40, 41), 0)
    edges = np.unique(np.concatenate([[0], 2.0 ** np.arange(-12, 6), around]))
    width = np.diff(edges)[:, None]
    u = edges[:-1, None] + width * (NODES + 1) / 2
    log_density = np.log1p(np.exp(-2 * plain * u)) - (u - square) ** 2 / (2 * var)  # folded, up to a constant
    moments = [
        special.logsumexp(norm * log_gap(u, keep, plain, apart) + log_density, b=width * WEIGHTS)
        for keep, apart in ((1 - t, abs(t - c / var)), (1.0, c / var))
    ]
    return moments[0] - moments[1]


@cache
def exact_ratio(theta, t, norm):
    """The boundary, by Brent's method in the share of theta^2 t / (1 - t)."""
    end = theta**2 * t / (1 - t)
    return end * optimize.brentq(
        lambda part: exact_excess(part * end, theta, t, norm), 1e-6, 1 - 1e-6, xtol=1e-15, rtol=1e-14
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("norm", [1, 2, FRACTIONAL, np.inf])
def test_accuracy_of_the_boundaries(norm, dtype):
    """And NaN where the ECE, about exp(-theta^2 / 2), underflows: bisection would take a zero beside the root."""
    theta, t = (a.ravel() for a in np.meshgrid(SIGNALS, LITTLE_TO_MUCH))
    assert theta.size == SIZE - 1  # the programs are those of test_limits.py
    double, fractional = dtype == np.float64, norm == FRACTIONAL
    if np.isinf(norm):
        exact = theta**2 * np.expm1(-0.5 * np.log1p(-t))
    else:
        exact = np.array([exact_ratio(*pair, norm) for pair in zip(theta, t, strict=True)])
    loud = np.append(theta, 50 if double else 20).astype(dtype)
    ratio = critical_ratio(loud, np.append(t, 0.3).astype(dtype), norm=norm)
    weight = critical_weight(np.append(exact, 0.5).astype(dtype), loud, norm=norm)
    assert ratio.dtype == weight.dtype == dtype
    np.testing.assert_allclose(ratio[:-1], exact, rtol=(5e-8 if fractional else 1e-11) if double else 1e-5)
    np.testing.assert_allclose(weight[:-1], t, rtol=0, atol=(1e-8 if fractional else 1e-11) if double else 5e-6)
    np.testing.assert_array_equal(np.isnan([ratio[-1], weight[-1]]), not np.isinf(norm))
