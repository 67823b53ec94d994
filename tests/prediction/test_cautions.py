"""Cautions: none for rows of the model, and one for each way in which rows differ from it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mixjax.prediction.cautions import cautions, noise_of_difference
from mixjax.prediction.features import FileFeatures
from mixjax.prediction.table import predict_pair
from tests.prediction.conftest import PENALTIES, SETTINGS, gaussian_rows


def told(prediction):
    return " ".join(cautions(prediction))


def told_of(x, labels, settings=SETTINGS):
    return told(predict_pair(FileFeatures("f", "", x, labels), (2, 5), settings, PENALTIES))


def test_rows_of_the_model_have_none(prediction):
    assert cautions(prediction) == []


X, LABELS = gaussian_rows(3)
CENTER = np.where(LABELS[:, None] == 2, X[LABELS == 2].mean(0), X[LABELS == 5].mean(0))
HEAVY = np.sqrt(3 / np.random.default_rng(0).chisquare(5, len(X)))[:, None]
FEW = slice(None, 120)
CHANGED = {
    "spread": (np.where(LABELS[:, None] == 2, CENTER + 2 * (X - CENTER), X), LABELS, "The covariances of the classes"),
    "tails": (CENTER + HEAVY * (X - CENTER), LABELS, "heavier tails than a Gaussian: excess kurtosis"),
    "few rows": (X[FEW], LABELS[FEW], "n = 60 is near the 80 rows"),
    "unequal": (X, np.where((LABELS == 5) & (np.arange(len(X)) > 1300), 7, LABELS), "have 1500 and 434 rows"),
    "one direction": (X * np.eye(1, X.shape[1]), LABELS, "and 1.0 dimensions hold most of the variance"),
    "the label": (np.where(np.arange(X.shape[1]) == 3, LABELS[:, None], X), LABELS, "Is it the label itself?"),
    "easy": (X + 5.0 * (LABELS[:, None] == 5) * (X.mean(0) > 0), LABELS, "easy to tell apart (accuracy 1.000)"),
}


@pytest.mark.medium
@pytest.mark.parametrize("case", CHANGED)
def test_a_difference_is_told(case):
    x, labels, says = CHANGED[case]
    assert says in told_of(x, labels)


def test_fewer_rows_than_features(prediction):
    assert "fewer rows than features (7 and 8)" in told(dataclasses.replace(prediction, rows=(3, 4)))
    assert "few rows for the number of features (60 and 8)" in told(dataclasses.replace(prediction, rows=(30, 30)))


@pytest.mark.medium
def test_n_above_the_rows():
    few = dataclasses.replace(SETTINGS, n=1000)
    assert "n = 1000 is above the 80 rows" in told_of(X[FEW], LABELS[FEW], few)


def test_the_best_penalty_at_an_end(file):
    found = predict_pair(file, (2, 5), SETTINGS, (100.0, 200.0, 300.0))
    assert "the smallest penalty, 100, is the best" in told(found)


def test_the_noise_of_a_difference_of_covariances(rng):
    """The root mean square of 200 draws with 30 and 50 rows is within 5 % (their scatter is below 1 %)."""
    s = np.geomspace(3, 0.3, 12)
    found, expected = [], []
    for _ in range(200):
        first, second = (np.cov((rng.standard_normal((rows, 12)) * np.sqrt(s)).T) for rows in (30, 50))
        found.append(np.linalg.norm(first - second) / np.linalg.norm(first + second))
        expected.append(noise_of_difference(np.linalg.eigvalsh((first + second) / 2), (30, 50)))
    assert np.mean(found) == pytest.approx(np.mean(expected), rel=0.05)
