"""Every pair of rows that Mixup can draw, written out: the independent answer of the tests."""

from __future__ import annotations

import numpy as np
from scipy import special


def every_pair(x, y, alpha, beta, count=5):
    """Every mixed row, its label and its probability: i, j, and Gauss-Jacobi nodes of lambda, five for polynomials."""
    nodes, weights = special.roots_jacobi(count, beta - 1, alpha - 1)
    index = np.arange(len(y))
    lam, i, j = (part.ravel() for part in np.meshgrid((1 + nodes) / 2, index, index, indexing="ij"))
    rows = lam[:, None] * x[i] + (1 - lam)[:, None] * x[j]
    return rows, lam * y[i] + (1 - lam) * y[j], np.repeat(weights / weights.sum(), len(y) ** 2) / len(y) ** 2
