"""Crossings of curves whose zeros are known: lines, a cubic, zeros at points, and none."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.numerics.crossings import crossings

CASES = {
    "two": ([3, -1, 1], [0.75, 1.5], [True, False]),
    "at a point, falling": ([1, 0, -1], [1.0], [True]),
    "at a point, rising": ([-1, 0, 1], [1.0], [False]),
    "touching 0 from above": ([1, 0, 1], [1.0, 1.0], [True, False]),
    "touching 0 from below": ([-1, 0, -1], [], []),
    "0 at the start": ([0, -1, -1], [], []),
    "0 to the end": ([1, 0, 0], [1.0], [True]),
    "0 everywhere": ([0, 0, 0], [], []),
    "without NaN and infinity": ([1, np.nan, -1, np.inf, np.nan, 1], [1.0, 3.5], [True, False]),
    "NaN at the ends": ([np.nan, -1, 1, np.nan], [1.5], [False]),
    "NaN alone": ([np.nan, np.nan], [], []),
    "one point": ([1], [], []),
    "no point": ([], [], []),
}


@pytest.mark.parametrize(("values", "places", "falls"), CASES.values(), ids=CASES)
def test_crossings(values, places, falls):
    found, falling = crossings(np.arange(len(values)) * 1.0, np.array(values, float))
    np.testing.assert_array_equal(found, places)
    np.testing.assert_array_equal(falling, falls)
    assert falling.dtype == bool


@pytest.mark.parametrize(
    ("x", "values", "place"),
    [
        ([0, 1], np.array([100, -100], np.int8), 0.5),
        ([0.0, 1.0], np.array([6e4, -6e4], np.float16), 0.5),
        ([0.0, 1.0], [1e308, -1e308], 0.5),
        ([0.0, 1.0], [5e-324, 0.0], 1.0),
        ([-np.inf, 0.0, 1.0], [1.0, 1.0, -1.0], 0.5),
    ],
)
def test_numbers_at_the_ends_of_their_dtype(x, values, place):
    """A difference of two would not be finite, or another number. Points at infinity are left out."""
    found, _ = crossings(np.array(x), np.array(values))
    assert found.tolist() == [place]


def test_the_roots_of_a_cubic():
    """(x - 1)(x - 2.5)(x - 7) rises, falls and rises; linear interpolation is off by the square of the step."""
    x = np.linspace(0, 10, 5000)
    found, falling = crossings(x, (x - 1) * (x - 2.5) * (x - 7))
    np.testing.assert_allclose(found, [1, 2.5, 7], atol=1e-5)
    assert falling.tolist() == [False, True, False]
