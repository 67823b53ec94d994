"""The verdicts on learned inverses: yes and no only where an interval over training seeds allows it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from mixjax.sims.figures.generative import BAR, half_width
from mixjax.sims.reports.generative import within_bar

SEEDS = 8


def excess(values, error):
    """A table of one family and one number of rows, two n by two classifiers."""
    dims = ("family", "rows", "n", "classifier")
    values = np.reshape(values, (1, 1, 2, 2))
    data = {"excess": (dims, values), "excess_se": (dims, np.full_like(values, error))}
    return xr.Dataset(data, attrs={"config": json.dumps({"training_seeds": SEEDS})})


@pytest.mark.parametrize(
    ("values", "error", "verdict"),
    [
        ([0, 0, 0, 0.001], BAR / 10, "yes"),
        ([0, 0, 0, 0.004], BAR / 2, "undecided"),
        ([0, 0, 0, 0.006], BAR / 2, "undecided"),
        ([0, 0, 0, -0.02], BAR / 2, "no"),
        ([0.02, 0.02, 0.02, 0.02], BAR * 10, "undecided"),
        ([0, 0, 0, np.nan], BAR / 10, "undecided"),
    ],
)
def test_a_verdict_needs_an_interval(values, error, verdict):
    assert within_bar(excess(values, error)).item() == verdict


def test_at_the_bar_no_is_said_in_one_of_twenty_at_most(rng):
    """4,000 tables of eight seeds each, whose excess is the bar everywhere: "no" and "yes" are wrong there.

    Each may be said in 5 % of them; more than 6.4 % would be seen by chance once in 30,000.
    """
    draws = BAR + 0.001 * rng.standard_normal((4000, SEEDS, 4))
    means, errors = draws.mean(axis=1), draws.std(axis=1, ddof=1) / SEEDS**0.5
    each, together = (stats.t(SEEDS - 1).ppf(1 - 0.025 / number) for number in (1, 4))
    table = excess(means[0], 0.0)
    table["excess_se"][:] = errors[0].reshape(1, 1, 2, 2)
    np.testing.assert_allclose(half_width(table, "excess").values.ravel(), each * errors[0])
    np.testing.assert_allclose(half_width(table, "excess", 4).values.ravel(), together * errors[0])
    assert np.mean((means - together * errors > BAR).any(axis=1)) < 0.064
    assert np.mean((means + each * errors <= BAR).all(axis=1)) < 0.064
