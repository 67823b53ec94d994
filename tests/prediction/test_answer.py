"""Sentences: each answer from numbers that call for it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mixjax.prediction.answer import crossing, gain, sentences, summary, verdict
from mixjax.prediction.measuring import Check
from mixjax.prediction.settings import Arm
from mixjax.prediction.table import Numbers


def with_nll(prediction, plain, scaled):
    """The prediction with these least NLLs of the arms, at the second penalty."""
    low = np.where(np.arange(3) == 1, 0.0, 0.1)
    nll, scaled_nll = (np.array(values)[:, None] + low for values in (plain, scaled))
    return dataclasses.replace(prediction, numbers=prediction.numbers._replace(nll=nll, scaled_nll=scaled_nll))


def check_of(changes):
    """A check of the second penalty in which Mixup changed every number by so much in each subset."""
    values = np.stack([[0.0, change, 0.0] for change in changes])
    return Check([(0, 1), (1, 1), (2, 1)], Numbers(*[values] * 5), 0.95)


@pytest.mark.medium
@pytest.mark.parametrize("plain, scaled, says", [
    ((0.5, 0.4, 0.6), (0.5, 0.4, 0.5), "Mixup helps: Mixup is predicted to lower the NLL"),
    ((0.5, 0.4, 0.6), (0.4, 0.4, 0.4), "Mixup helps, but no more than temperature scaling: "),
    ((0.5, 0.4, 0.3), (0.5, 0.4, 0.5), "Mixup helps, and label smoothing 0.1 (penalty 0.01) helps more: "),
    ((0.5, 0.6, 0.4), (0.4, 0.4, 0.4), "Mixup does not help; use label smoothing 0.1 (penalty 0.01): "),
    ((0.5, 0.6, 0.6), (0.5, 0.4, 0.5), "Mixup helps only with temperature scaling; without it, use weight decay"),
    ((0.5, 0.6, 0.6), (0.4, 0.402, 0.4), "Mixup does not help; use weight decay alone (penalty 0.01): "),
])  # fmt: skip
def test_the_answer_comes_first(prediction, plain, scaled, says):
    found = sentences(with_nll(prediction, plain, scaled), None)
    assert found[0].startswith(says)
    bought = f"Mixup instead of the best weight decay alone: NLL {plain[1]:.4f} against 0.5000"
    assert any(bought in each for each in found)


@pytest.mark.medium
def test_a_change_below_one_percent_or_a_thousandth_is_hardly_one(prediction):
    assert verdict(with_nll(prediction, (0.5, 0.496, 1), (1, 1, 1))) == "hardly change"
    assert verdict(with_nll(prediction, (0.5, 0.494, 1), (1, 1, 1))) == "lower"
    assert verdict(with_nll(prediction, (0.001, 0.0015, 1), (1, 1, 1))) == "hardly change"
    assert gain(with_nll(prediction, (0.5, 0.4, 0.6), (1, 1, 1)), "smoothing") == pytest.approx(-0.1)


@pytest.mark.medium
def test_where_the_signed_gap_changes_its_sign(prediction):
    gap = np.array([[0.1, -0.1, -0.2], [0.1, 0.2, 0.3], [-0.1, -0.1, 0.3]])
    found = dataclasses.replace(prediction, numbers=prediction.numbers._replace(signed_gap=gap))
    assert crossing(found) == (pytest.approx(10**-3), True)
    assert crossing(found, 1) is None
    assert crossing(found, 2) == (pytest.approx(10**-1.5), False)
    unsolved = np.array([[0.1, np.nan, -0.1], [0.1, 0.2, np.nan], [np.nan, 0.1, 0.2]])
    partly = dataclasses.replace(prediction, numbers=prediction.numbers._replace(signed_gap=unsolved))
    assert crossing(partly) == (pytest.approx(10**-2), True)
    assert crossing(partly, 1) is None and crossing(partly, 2) is None
    signs = "is overconfident below penalty 0.001 and underconfident above"
    assert any(signs in each for each in sentences(found, None))


@pytest.mark.medium
@pytest.mark.parametrize("measured, says", [
    ((-0.2, -0.1), "change −0.1500 [−0.7853, 0.4853], not clear of 0)"),
    ((-0.15, -0.15), "change −0.1500 [−0.1500, −0.1500])"),
    ((0.15, 0.15), "change +0.1500 [0.1500, 0.1500], of the other sign)"),
])  # fmt: skip
def test_a_check_is_told_with_its_interval(prediction, measured, says):
    """The interval of two subsets is 12.706 standard errors wide to each side."""
    found = with_nll(prediction, (0.5, 0.4, 0.6), (0.5, 0.4, 0.5))
    said = sentences(found, check_of(measured))
    assert any(says in sentence for sentence in said), said


@pytest.mark.medium
def test_checks_of_several_pairs_are_counted(prediction):
    pairs = [with_nll(prediction, (0.5, mixup, 0.6), (0.4, 0.4, 0.4)) for mixup in (0.4, 0.4, 0.6)]
    checks = map(check_of, ((-0.1, -0.1), (0.1, 0.1), (-0.2, 0.1)))
    found = summary(pairs, [*checks])
    assert found[1] == "The measured change is of the predicted sign in 1, of the other sign in 1, not clear of 0 in 1."


@pytest.mark.medium
def test_without_mixup_there_is_no_answer_about_it(prediction):
    arms = [Arm("decay"), Arm("smoothing", 0.1), Arm("smoothing", 0.2)]
    found = dataclasses.replace(prediction, arms=arms)
    assert "Mixup" not in " ".join(sentences(found, None))
    for lines in (sentences(found, None), summary([found, found], [None, None])):
        assert lines[0].startswith("Best by NLL: ")


def test_several_pairs_are_counted(prediction):
    better = with_nll(prediction, (0.5, 0.4, 0.6), (0.4, 0.4, 0.4))
    worse = with_nll(prediction, (0.5, 0.6, 0.6), (0.4, 0.4, 0.4))
    found = summary([better, worse, worse], [None] * 3)
    assert "Mixup lowers the NLL in 1 of 3 pairs, hardly changes it in 0 and raises it in 2" in found[0]
    assert "in the median pair it changes it by +0.1000" in found[0]
    assert "lowers the NLL in 0 of 3 pairs, hardly changes it in 3" in found[1]
    assert found[2] == "Best by NLL: weight decay alone in 2 pairs, Mixup in 1, label smoothing in 0."
