"""Predicted numbers against the functions that they come from, NumPy and SciPy, and the penalties of a file."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from mixjax.gaussian import ScoreLaw, predict_logistic_scores
from mixjax.prediction.settings import Arm, Settings, usual_penalties
from mixjax.prediction.table import numbers_of_laws, predict_pair
from mixjax.runs import RunError
from tests.prediction.conftest import PENALTIES, SETTINGS, N


def moments_of_numpy(file, pair):
    """Eigenvalues and squared coordinates of theta, less the noise of the means."""
    first, second = (file.x[file.labels == label] for label in pair)
    s, basis = np.linalg.eigh((np.cov(first.T) + np.cov(second.T)) / 2)
    along = basis.T @ (second.mean(0) - first.mean(0)) / 2
    return s, np.maximum(along**2 - s / 4 * (1 / len(first) + 1 / len(second)), 0)


@pytest.mark.medium
def test_it_is_the_prediction_of_the_moments(file, prediction):
    s, theta_squared = moments_of_numpy(file, (2, 5))
    assert [arm.name for arm in prediction.arms] == ["weight decay alone", "Mixup, alpha 1", "label smoothing 0.1"]
    for arm, (alpha, smoothing) in enumerate([(0.0, 0.0), (1.0, 0.0), (0.0, 0.1)]):
        law = predict_logistic_scores(
            s, theta_squared, N, penalty=np.array(PENALTIES), alpha=alpha, smoothing=smoothing
        )
        accuracy = stats.norm.cdf(law.mean / np.sqrt(law.var))
        np.testing.assert_allclose(prediction.numbers.accuracy[arm], accuracy, rtol=1e-6)


@pytest.mark.medium
def test_soft_labels_that_are_met_have_a_prediction(file):
    """Their pull is a difference of numbers near 1, which float32, the type of users, does not resolve."""
    with jax.enable_x64(False):
        found = predict_pair(file, (2, 5), dataclasses.replace(SETTINGS, n=2), (1e-7,)).numbers
    assert np.isfinite(found.nll).all()


@pytest.mark.medium
def test_numbers_of_a_law_are_integrals():
    """The expectations over u ~ N(m, w) of a confidence s(2|u|), and of u m/w after the best temperature."""
    m, w = 0.8, 1.5
    found = numbers_of_laws(ScoreLaw(jnp.full((3, 3), m), jnp.full((3, 3), w - m)))

    def expected(f):
        return integrate.quad(lambda u: f(u) * stats.norm.pdf(u, m, w**0.5), -12, 14, points=[0], limit=200)[0]

    accuracy = expected(lambda u: u > 0)
    gap = expected(lambda u: 1 / (1 + np.exp(-2 * abs(u)))) - accuracy
    scaled = expected(lambda u: np.logaddexp(0, -2 * u * m / w))
    wanted = (accuracy, gap, abs(gap), expected(lambda u: np.logaddexp(0, -2 * u)), scaled)
    np.testing.assert_allclose([number[0, 0] for number in found], wanted, atol=1e-7)
    other = [expected(lambda u, b=b: np.logaddexp(0, -2 * u * m / w * b)) for b in (0.95, 1.05)]
    assert min(other) > wanted[-1], "no other temperature is better"


def test_a_score_that_knows_nothing_has_a_temperature():
    mean = jnp.full((3, 3), -0.1).at[0].set(0.0)
    found = numbers_of_laws(ScoreLaw(mean, 1.0 - mean))
    np.testing.assert_allclose(found.scaled_nll, np.log(2), atol=1e-6)


def test_the_best_of_arms_and_penalties(prediction):
    nll = prediction.numbers.nll
    assert nll[prediction.best("nll")] == nll.min()
    assert prediction.best("nll", ("mixup",)) == (1, int(nll[1].argmin()))
    assert prediction.best_of_arm("ece", 2) == (2, int(prediction.numbers.ece[2].argmin()))
    assert {cell[0] for cell in prediction.cells()} == {0, 1, 2}
    missing = prediction.numbers._replace(nll=np.where(np.arange(3) == nll[0].argmin(), np.nan, nll))
    assert dataclasses.replace(prediction, numbers=missing).best("nll", ("decay",))[1] != nll[0].argmin()


def test_units_of_the_features_change_no_number(file, prediction):
    """With features c times as large and penalties c^2 times, logits are the same; relative 1e-6."""
    larger = dataclasses.replace(file, x=1e3 * file.x)
    found = predict_pair(larger, (2, 5), SETTINGS, tuple(1e6 * penalty for penalty in PENALTIES))
    np.testing.assert_allclose(found.numbers.nll, prediction.numbers.nll, rtol=1e-6)
    usual = np.array(usual_penalties(file, [2, 5]))
    np.testing.assert_allclose(usual_penalties(larger, [2, 5]), 1e6 * usual)
    total = np.mean([file.x[file.labels == label].var(axis=0).sum() for label in (2, 5)])
    assert total / 10**0.5 <= usual[-1] <= total * 10**0.5
    np.testing.assert_allclose(usual[[-2, -3, 0]], usual[-1] * np.array([0.3, 0.1, 1e-7]))


def test_a_penalty_of_zero_says_where_classes_are_separable(file):
    with pytest.raises(RunError, match=r"--penalties must be positive, got 0: .* p/n = 0\.\d+ on, where p/n is 0.13"):
        predict_pair(file, (2, 5), SETTINGS, (0.0, 1.0))


@pytest.mark.parametrize("wrong, says", [
    ({"n": 1}, "--n must be at least 2"),
    ({"alphas": (-0.1,)}, "--alphas must be finite and not negative, got -0.1"),
    ({"alphas": (float("inf"),)}, "--alphas must be finite"),
    ({"smoothings": (0.1, 1.0)}, r"--smoothings must be in \[0, 1\), got 1"),
    ({"penalties": (float("nan"),)}, "--penalties must be finite, got nan"),
    ({"subsets": 1}, "--check must be 2 subsets or more, got 1"),
    ({"seed": -1}, "--seed must be at least 0, got -1"),
])  # fmt: skip
def test_wrong_options(wrong, says):
    with pytest.raises(ValueError, match=says):
        Settings(**{"n": 10, **wrong})


def test_arms_are_listed_once():
    arms = Settings(10, alphas=(1.0, 0.0, 0.2, 1.0), smoothings=()).arms
    assert arms == [Arm("decay"), Arm("mixup", 0.2), Arm("mixup", 1.0)]
