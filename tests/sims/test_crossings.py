"""Crossings in words: where a curve goes below 0 for good, at the edges and where it touches 0."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.sims.reports.crossings import last_crossing

CASES = {
    "between points": ([1, 1, -1, -1], "2.83"),
    "the last of several": ([1, -1, 1, -1], "5.66"),
    "the last 0": ([1, 0, 0, -1], "4"),
    "0 at the start": ([0, -1, -1, -1], "1"),
    "from below and back": ([-1, 0, -1, -1], "2"),
    "always below": ([-1, -2, -1, -3], "everywhere"),
    "above at the end": ([-1, 1, -1, 2], "nowhere"),
    "0 at the end": ([1, -1, -1, 0], "nowhere"),
    "NaN in between": ([1, np.nan, -1, -1], "2"),
    "NaN at the end": ([1, -1, -1, np.nan], "unknown"),
    "infinite at the end": ([1, 1, -1, -np.inf], "unknown"),
}


@pytest.mark.parametrize(("values", "words"), CASES.values(), ids=CASES)
def test_where_a_curve_goes_below_0_for_good(values, words):
    assert last_crossing(np.array([1.0, 2.0, 4.0, 8.0]), np.array(values, float)) == words
