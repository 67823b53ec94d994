"""The check: fits on subsets agree with the prediction on rows of the model, and with SciPy's on any rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from mixjax.prediction.measuring import check_rows, measure
from mixjax.prediction.table import Numbers
from mixjax.runs import RunError
from tests.prediction.conftest import SETTINGS, N


@pytest.fixture(scope="module")
def measured(file, prediction):
    """The prediction with 24 subsets, and what was measured."""
    with_subsets = dataclasses.replace(prediction, settings=dataclasses.replace(SETTINGS, subsets=24, seed=3))
    return with_subsets, measure(file, with_subsets)


@pytest.mark.medium
def test_rows_of_the_model_are_as_predicted(measured):
    """Within five standard errors and the order 1/n of the limit, 0.5/n; for three numbers in every cell."""
    prediction, check = measured
    t = stats.t.ppf(0.975, 23)
    for cell in check.cells:
        for number in ("accuracy", "signed_gap", "nll"):
            found = check.at(number, cell)
            error = (found.high - found.mean) / t
            assert abs(found.mean - prediction.at(number, cell)) < 5 * error + 0.5 / N, (number, cell)


@pytest.mark.medium
def test_a_plain_fit_is_that_of_scipy(file, prediction, measured):
    _, check = measured
    x, y = file.of_pair((2, 5))
    order = np.random.default_rng([3, 0, 2, 5]).permutation(len(y))
    x = x - (x[y > 0].mean(0) + x[y < 0].mean(0)) / 2
    first, rest = order[:N], order[N:]
    cell = prediction.best("nll", ("decay",))
    penalty = prediction.penalties[cell[1]]

    def loss(w):
        return np.logaddexp(0, -y[first] * (x[first] @ w)).mean() + penalty / 2 * w @ w

    w = minimize(loss, np.zeros(x.shape[1]), tol=1e-9).x
    margin = y[rest] * (x[rest] @ w)
    k = check.cells.index(cell)
    assert check.numbers.nll[0, k] == pytest.approx(np.logaddexp(0, -margin).mean(), rel=1e-6)
    assert check.numbers.accuracy[0, k] == pytest.approx((margin > 0).mean(), abs=1e-9)
    scaled = [np.logaddexp(0, -b * margin).mean() for b in np.geomspace(0.1, 10, 2001)]
    assert check.numbers.scaled_nll[0, k] == pytest.approx(min(scaled), abs=1e-6)


@pytest.mark.medium
def test_intervals_are_those_of_student(measured):
    prediction, check = measured
    best, decay = (prediction.best("nll", (kind,)) for kind in ("mixup", "decay"))
    values = [check.numbers.nll[:, check.cells.index(cell)] for cell in (best, decay)]
    found = stats.ttest_1samp(values[0] - values[1], 0).confidence_interval(0.95)
    np.testing.assert_allclose(check.difference("nll", best, decay)[1:], found, rtol=1e-9)
    assert check.numbers._fields == Numbers._fields


def test_a_subset_must_leave_rows(file):
    check_rows(file, N + 30, SETTINGS)
    with pytest.raises(RunError, match=r"--check fits 60 rows and scores the others, at least 30, and rows.npz has 89"):
        check_rows(file, N + 29, SETTINGS)
