"""Cumulative differences and the Brier score: statistics from their definitions, and levels by simulation."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.calibration import kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test

TESTS = {"ks": kolmogorov_smirnov_test, "kuiper": kuiper_test, "spiegelhalter": spiegelhalter_test}
SIZE = 100
LEVELS = {"ks": 0.0428, "kuiper": 0.0366, "spiegelhalter": 0.0497}  # at 5 %, of 40,000 samples of 100 rows


@pytest.fixture(scope="module")
def tested():
    """All three in one program, of samples of 100 rows."""

    def every(confidence, correct, where):
        return {name: test(confidence, correct, where=where) for name, test in TESTS.items()}

    return jax.jit(jax.vmap(every))


def literal(confidence, correct):
    """The statistics of rows of which no two have one confidence."""
    f, y = np.sort(confidence), correct[np.argsort(confidence)]
    walk = np.concatenate([[0], np.cumsum(y - f)]) / np.sqrt((f * (1 - f)).sum())
    z = ((y - f) * (1 - 2 * f)).sum() / np.sqrt(((1 - 2 * f) ** 2 * f * (1 - f)).sum())
    return {"ks": np.abs(walk).max(), "kuiper": np.ptp(walk), "spiegelhalter": z}


@pytest.mark.medium
def test_statistics_by_their_definitions(rng, tested):
    """...of the rows that the mask keeps, whatever the others hold."""
    confidence, correct = rng.random((6, SIZE)), rng.random((6, SIZE)) < 0.7
    where = rng.random((6, SIZE)) < np.array([[1], [1], [0.7], [0.7], [0.03], [0.1]])
    found = tested(np.where(where, confidence, np.nan), np.where(where, correct, 9.0), where)
    for sample, kept in enumerate(where):
        for name, statistic in literal(confidence[sample, kept], correct[sample, kept]).items():
            np.testing.assert_allclose(found[name].statistic[sample], statistic, rtol=1e-10, err_msg=name)


@pytest.mark.medium
def test_ties_are_looked_at_behind_the_last(tested):
    """The least that any order of the tied rows gives, which is the same for every order of the rows."""
    confidence, correct = np.array([0.3, 0.6, 0.6, 0.6, 0.8]), np.array([0, 1, 0, 0, 1])
    orders = [[0, *middle, 4] for middle in itertools.permutations((1, 2, 3))]
    split = [literal(confidence + 1e-12 * np.arange(5), correct[order]) for order in orders]
    columns = [np.pad([column[order] for order in orders], ((0, 0), (0, SIZE - 5))) for column in (confidence, correct)]
    found = tested(*columns, np.tile(np.arange(SIZE) < 5, (len(orders), 1)))
    for name in ("ks", "kuiper"):
        np.testing.assert_allclose(found[name].statistic, min(each[name] for each in split), rtol=1e-9)


@pytest.mark.medium
def test_levels(rng, tested):
    """Of 4,000 samples of calibrated scores, within 4 standard errors of what is stated: false-alarm rate 2e-4."""
    confidence = rng.beta(4, 1.5, (4000, SIZE))
    correct = rng.random(confidence.shape) < confidence
    found = tested(confidence, correct.astype(float), np.ones(confidence.shape, bool))
    for name, level in LEVELS.items():
        error = np.sqrt(level * (1 - level) * (1 / 4000 + 1 / 40_000))
        assert abs(np.mean(np.asarray(found[name].p_value) <= 0.05) - level) < 4 * error, name


@pytest.mark.medium
def test_overconfident_scores_are_found(rng, tested):
    confidence = np.tile(rng.beta(4, 1.5, SIZE), (1, 1))
    correct = (rng.random(confidence.shape) < confidence**3).astype(float)
    found = tested(confidence, correct, np.ones(confidence.shape, bool))
    assert all(test.p_value[0] < 1e-3 for test in found.values())
    assert found["spiegelhalter"].statistic[0] > 0


@pytest.mark.parametrize(
    ("confidence", "correct", "statistic", "p_value"),
    [
        pytest.param([1, 0], [1, 0], 0, 1, id="certain and right"),
        pytest.param([1, 0], [0, 0], np.inf, 0, id="certain and wrong"),
        pytest.param([], [], np.nan, np.nan, id="no rows"),
        pytest.param([0.3, np.nan], [0, 1], np.nan, np.nan, id="NaN"),
    ],
)
def test_degenerate_rows(confidence, correct, statistic, p_value, tested):
    columns = (np.pad(np.array(part, float), (0, SIZE - len(part)))[None] for part in (confidence, correct))
    for found in tested(*columns, (np.arange(SIZE) < len(confidence))[None]).values():
        np.testing.assert_array_equal([jnp.abs(found.statistic[0]), found.p_value[0]], [statistic, p_value])
