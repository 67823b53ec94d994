"""Errors in the limit p/n -> c, integrated or maximized from the definitions: the independent answer of the tests.

A score is v ~ N(m, w), m = (1-t) |theta|^2, w = (1-t)^2 (|theta|^2 + c).
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from scipy import optimize, special, stats

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
SIGNALS = np.array([0.1, 1.0, 2.0, 4.0, 8.0])  # |theta| over the docstrings' range


def gap(v, rho):
    """|s(2 rho v) - s(2v)| for v >= 0."""
    return np.abs(special.expit(2 * rho * v) - special.expit(2 * v))


@cache
def ece(c, theta, t, norm=1):
    """(E gap(|v|)^r)^(1/r), v ~ N(m, w): 60 Gauss nodes on each panel between the scales of gap and density."""
    m, w = (1 - t) * theta**2, (1 - t) ** 2 * (theta**2 + c)
    rho, sd = m / w, np.sqrt(w)
    end = m + 12 * sd
    edges = np.unique(np.clip([0, 0.3, 1, 3, 10, sd, m - 5 * sd, m - 2 * sd, m, m + 2 * sd, m + 5 * sd, end], 0, end))
    width = np.diff(edges)[:, None]
    v = edges[:-1, None] + width * (NODES + 1) / 2
    density = stats.norm.pdf(v, m, sd) + stats.norm.pdf(-v, m, sd)
    return np.sum(width * WEIGHTS / 2 * gap(v, rho) ** norm * density) ** (1 / norm)


def mce(c, theta, t):
    rho = theta**2 / ((1 - t) * (theta**2 + c))
    peak = optimize.minimize_scalar(
        lambda v: -gap(v, rho), bounds=(1e-9, 20), method="bounded", options={"xatol": 1e-12}
    )
    return -peak.fun


def error_of_norm(norm):
    return mce if np.isinf(norm) else partial(ece, norm=norm)


SIZE = 36  # of every batch of boundaries, so that each function is compiled once for each norm and dtype


def boundary(function, first, second, norm=1):
    """`critical_weight` or `critical_ratio` at pairs, in batches of SIZE."""
    first, second = (np.atleast_1d(a) for a in np.broadcast_arrays(first, second))
    padded = (np.pad(a, (0, SIZE - len(a)), mode="edge") for a in (first, second))
    return np.asarray(function(*padded, norm=norm))[: len(first)]
