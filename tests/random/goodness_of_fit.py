"""Draws against the law that they should have, at a stated rate of false alarms.

Keys follow from the tests' names, so that a test which passes keeps passing. The rate at which a right
sampler would fail under a fresh key is `FALSE_ALARM` a check; there are about 400 checks in the files
that import this.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

FALSE_ALARM = 1e-6
DRAWS = 200_000
MANY = pytest.param(1_000_000, marks=pytest.mark.slow)  # each number of draws is a program
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])
FLOAT64_SLOW = pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])


def assert_law(draws, cdf):
    """Kolmogorov-Smirnov at every hundredth order statistic: 200,000 draws show what is wrong by 0.006 anywhere."""
    places = np.arange(50, draws.size, 100)
    theirs = cdf(np.sort(np.asarray(draws, np.float64))[places])
    difference = np.maximum(np.abs(theirs - places / draws.size), np.abs(theirs - (places + 1) / draws.size)).max()
    assert stats.kstwobign.sf(difference * np.sqrt(draws.size)) > FALSE_ALARM, difference


def assert_share(count, total, probability):
    """A count of independent events of known probability, two-sided."""
    assert stats.binomtest(int(count), int(total), probability).pvalue > FALSE_ALARM, (int(count), total * probability)
