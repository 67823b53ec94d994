"""Standard errors over divisions that share rows, and where a mean changes its sign."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.sims.studies.divisions import (
    TEST_SHARE,
    claimed_errors,
    claimed_to_found,
    crossing,
    crossing_and_error,
    half_width,
    mean_and_error,
)

RATIOS = np.geomspace(0.1, 10, 9)


def test_a_crossing_is_straight_in_the_logarithm():
    """A line in log(ratio) crosses 0 where it does, to rounding; each column by itself."""
    places = np.array([0.2, 1.0, 7.0])
    values = np.log(places)[None] - np.log(RATIOS)[:, None]
    np.testing.assert_allclose(crossing(RATIOS, values), places, rtol=1e-12)


CROSSINGS = {
    "the last of several": ([1, -1, 1, -1], np.sqrt(4 * 8)),
    "at a point": ([2, 1, 0, -1], 4.0),
    "never above 0": ([-1, -2, -1, -3], np.nan),
    "never below 0": ([1, 2, 1, 3], np.nan),
    "from below to above": ([-1, 1, 2, 3], np.nan),
    "what is NaN is left out": ([1, np.nan, -1, -1], np.sqrt(1 * 4)),
    "0 to the end": ([1, 0, 0, 0], 2.0),
}


@pytest.mark.parametrize(("values", "expected"), CROSSINGS.values(), ids=CROSSINGS)
def test_crossings(values, expected):
    np.testing.assert_allclose(crossing(np.array([1.0, 2.0, 4.0, 8.0]), np.array(values, float)), expected, rtol=1e-12)


def test_of_ratios_that_repeat_the_first_counts():
    assert crossing(np.array([1.0, 2.0, 2.0]), np.array([1.0, -1.0, 5.0])) == pytest.approx(np.sqrt(2))


def test_the_error_is_that_of_nadeau_and_bengio(rng):
    """s^2 (1/D + q) with q test rows to each of the others."""
    parts = rng.standard_normal((7, 3))
    mean, error = mean_and_error(parts[None])
    np.testing.assert_allclose(mean, parts.mean(axis=0))
    variance = ((parts - parts.mean(axis=0)) ** 2).sum(axis=0) / 6
    np.testing.assert_allclose(error**2, variance * (1 / 7 + 1 / 2), rtol=1e-12)


def test_the_error_allows_for_other_rows(rng):
    """A mean of N rows, estimated by means over random thirds of them: 200 sets of rows.

    The error squared is on average not below the variance over sets of rows, and the plain one, of independent
    divisions, is several times below. Both by 5 standard errors of a variance of 200, a false alarm in 10^6.
    """
    found, claimed, naive = [], [], []
    for _ in range(200):
        rows = rng.standard_normal(90)
        parts = np.array([rng.permutation(rows)[:30].mean() for _ in range(20)])
        mean, error = mean_and_error(parts[None])
        found.append(mean)
        claimed.append(error**2)
        naive.append(parts.var(ddof=1) / 20)
    spread = np.var(found) * 5 * np.sqrt(2 / 200)
    assert np.mean(claimed) > np.var(found) - spread
    assert np.mean(naive) < np.var(found) - spread


def test_of_several_row_sets_the_mean_of_each_is_one_number(rng):
    """The textbook error of independent means, whatever the divisions; the claims of single sets by the formula."""
    parts = rng.standard_normal((6, 1, 2)) + 0.1 * rng.standard_normal((6, 4, 2))
    mean, error = mean_and_error(parts)
    sets = parts.mean(axis=1)
    np.testing.assert_allclose(mean, sets.mean(axis=0))
    np.testing.assert_allclose(error**2, sets.var(axis=0, ddof=1) / 6)
    claimed = parts.var(axis=1, ddof=1) * (1 / 4 + TEST_SHARE)
    np.testing.assert_allclose(claimed_errors(parts) ** 2, claimed)
    ratios = claimed.mean(axis=0) / sets.var(axis=0, ddof=1)
    np.testing.assert_allclose(claimed_to_found(parts), np.sqrt(np.median(ratios)))
    assert np.isnan(claimed_to_found(parts[:1]))


def test_the_half_width_is_students():
    """The quantiles of the table in every textbook: 9 and 19 degrees of freedom, and the normal one in the limit."""
    assert half_width(1, 10) == pytest.approx(2.262, abs=5e-4)
    assert half_width(20, 4) == pytest.approx(2.093, abs=5e-4)
    assert half_width(1, 10**6) == pytest.approx(1.960, abs=5e-4)


@pytest.mark.parametrize("shape", [(40, 3), (1, 40)], ids=["of row sets", "of divisions"])
def test_the_error_of_a_crossing(shape, rng):
    """Lines whose place has noise: by the delta method d(place) = place * d(value), within 10 % at this small noise."""
    noise = 0.02 * rng.standard_normal(shape)
    place, error = crossing_and_error(RATIOS, np.log(2.0) + noise[..., None] - np.log(RATIOS))
    np.testing.assert_allclose(place, 2.0 * np.exp(noise.mean()), rtol=1e-12)
    np.testing.assert_allclose(error, place * mean_and_error(noise)[1], rtol=0.1)


def test_a_place_that_one_division_decides_has_no_error():
    parts = np.array([[1.0, -9.0], [1.0, 1.0], [1.0, 1.0]])
    place, error = crossing_and_error(np.array([1.0, 2.0]), parts[None])
    assert np.isfinite(place) and np.isnan(error)
