"""Losses of rows, and intervals of their means, which stay wide where few rows are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import entr
from scipy.stats import beta

from mixjax.calibration import mean_interval
from mixjax.report.losses import loss_intervals, losses
from mixjax.report.reading import FilePredictions

NAMES = ("NLL", "Brier score")


def file_of(scores, labels, kind="binary"):
    return FilePredictions("f", "", kind, np.asarray(scores), np.asarray(labels), np.zeros(len(labels), bool), str)


def test_losses_of_logits_as_large_as_they_can_be():
    """A label that had the largest has lost nothing, another everything; the difference of the logits is infinite."""
    logits = np.array([[1e308, -1e308], [1e308, -1e308]])
    file = FilePredictions("huge", "", "logits", logits, np.array([0, 1]), np.zeros(2, bool), str)
    found = losses(file)
    assert found["NLL"].tolist() == [0, np.inf]
    assert found["Brier score"].tolist() == [0, 2]


@pytest.mark.parametrize("kind", ["binary", "probs"])
def test_rows_that_are_all_right_have_the_interval_of_jeffreys(kind):
    """30 rows alike: the mean is p times the loss of a right row and 1 - p times that of a wrong one, which has the
    second class. The quantiles of 20,000 draws are those of levels within .0055 (5 standard errors)."""
    if kind == "binary":
        scores, labels = np.full(30, 0.99), np.ones(30, int)
        of_losses = {"NLL": (-np.log(0.99), -np.log(0.01)), "Brier score": (0.01**2, 0.99**2)}
    else:
        scores, labels = np.tile([0.005, 0.98, 0.015], (30, 1)), np.ones(30, int)
        squares = 0.005**2 + 0.98**2 + 0.015**2 + 1
        of_losses = {"NLL": (-np.log(0.98), -np.log(0.015)), "Brier score": (squares - 1.96, squares - 0.03)}
    found = loss_intervals(file_of(scores, labels, kind), np.ones(30), 0, 0.95)
    for name, (right, wrong) in of_losses.items():
        interval = found[name]
        assert interval.estimate == interval.low == pytest.approx(right)
        share = (wrong - interval.high) / (wrong - right)  # of right rows, at the upper end
        assert abs(beta(30.5, 0.5).cdf(share) - 0.025) < 0.0055


def test_with_ten_wrong_rows_it_is_the_normal_interval(rng):
    file = file_of(rng.random(40), np.arange(40) < 30)
    found = loss_intervals(file, file.labels, 0, 0.9)
    assert found == {name: mean_interval(losses(file)[name], level=0.9) for name in NAMES}


def test_an_interval_ends_where_no_mean_can_be():
    """A normal one, since one loss of 40 is large and ten rows are wrong; and one that is drawn, of two rows."""
    labels = np.arange(40) % 2
    scores = np.where(labels == 1, 0.99, 0.01)
    scores[1] = 1e-300
    many, few = file_of(scores, labels), file_of([0.2, 0.9], [0, 1])
    assert mean_interval(losses(many)["NLL"], level=0.95).low < -1
    assert loss_intervals(many, np.arange(40) < 30, 0, 0.95)["NLL"].low == 0
    for interval in loss_intervals(few, np.ones(2), 0, 0.95).values():
        assert interval.low == 0 < interval.estimate < interval.high
    wrong = file_of([0.999, 0.999, 0.999, 0.2], [0] * 4)  # without the end at 1, up to 1.12
    assert loss_intervals(wrong, np.zeros(4), 0, 0.95)["Brier score"].high == 1


def test_a_loss_that_may_be_infinite_has_the_mean_alone():
    found = loss_intervals(file_of(np.ones(30), np.ones(30, int)), np.ones(30), 0, 0.95)["NLL"]
    assert found.estimate == 0
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 300])
def test_losses_are_covered_where_few_rows_are_wrong(size, rng):
    """Confidences of Beta(100, 1): 90 to 99.5 % of 1000 samples, where normal intervals hold 25 and 86 %."""
    law = beta(100, 1)
    nll = quad(lambda f: law.pdf(f) * (entr(f) + entr(1 - f)), 0, 1)[0]
    brier = quad(lambda f: law.pdf(f) * f * (1 - f), 0, 1)[0]
    hits = np.zeros(2, int)
    for number in range(1000):
        f = law.rvs(size, random_state=rng)
        file = file_of(f, (rng.random(size) < f).astype(int))
        found = loss_intervals(file, file.labels, number, 0.95)
        hits += [found[name].low <= true <= found[name].high for name, true in zip(NAMES, (nll, brier), strict=True)]
    assert (hits >= 900).all() and (hits <= 995).all(), hits
