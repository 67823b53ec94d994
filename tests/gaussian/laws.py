"""Laws of the score under the Gaussian model: a named one for every regime, and a grid over the docstrings' range."""

from __future__ import annotations

import numpy as np

from mixjax.gaussian.law import ScoreLaw

# a law is (mean, gap), var = mean + gap; one row a regime
LAWS = {
    "over-confident": (1.0, 0.5),
    "under-confident": (1.5, -0.5),
    "rho = 3": (3.0, -2.0),
    "rho = 1000": (1.0, -0.999),
    "rho = 1e8": (1e4, -9999.9999),
    "nearly calibrated, over": (1.0, 1e-9),
    "nearly calibrated, under": (1.0, -1e-9),
    "no signal": (0.0, 1.0),
    "no signal, loud": (0.0, 1e4),
    "weak signal": (1e-4, 1.0),
    "weak signal, loud": (0.0078125, 127.9921875),
    "wrong way": (-0.5, 2.0),
    "very wrong way": (-20.0, 50.0),
    "hopelessly wrong way": (-1e4, 1e4 + 1e-4),
    "quiet": (1e-4, 1e-4),
    "quiet, under-confident": (3e-3, -2.9e-3),
    "certain": (30.0, 1.0),
    "very certain": (300.0, -30.0),
    "loud": (100.0, 9900.0),
    "loud, wrong way": (-100.0, 10100.0),
}
NAMES = list(LAWS)
NAMED_LAWS = ScoreLaw(*(np.array(column) for column in zip(*LAWS.values(), strict=True)))

MEANS = np.array(
    [-1e4, -100, -10, -3, -1, -0.3, -1e-2, -1e-4, 0, 1e-4, 1e-2, 0.1, 0.3, 1, 3, 10, 30, 100, 1e3, 1e4],
)
VARIANCES = np.array([1e-4, 1e-2, 0.1, 0.5, 1, 4, 30, 1e3, 1e4])


def grid_law(dtype):
    """All pairs of `MEANS` and `VARIANCES` whose (mean, gap) still says, in the dtype, what the variance is."""
    means, variances = (np.ravel(x).astype(dtype) for x in np.meshgrid(MEANS, VARIANCES, indexing="ij"))
    gaps = variances - means
    exact = (means.astype(float) + gaps > 0) & (-means <= 1e-6 / np.finfo(dtype).eps * variances)
    return ScoreLaw(means[exact], gaps[exact])
