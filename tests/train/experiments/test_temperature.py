"""The temperature of each net, and its scores with it, beside a search by SciPy and NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mixjax.datasets import Dataset
from mixjax.train.experiments.temperature import TEMPERATURE
from mixjax.train.loop.history import empty_history
from mixjax.train.loop.job import Arm, Job, Phase, Recipe
from mixjax.train.loop.members import members_of
from mixjax.train.loop.step import Images
from mixjax.train.loop.training import TrainedJob
from mixjax.train.nets.shapes import MLPShape

ROWS, TESTED, CLASSES = 200, 90, 4
JOB = Job("job", Recipe(MLPShape(4, 1)), (Arm("erm", (0.0,)), Arm("mixup", (1.0,))), (0, 1), (Phase(3),), "held-out")


class KnownProgram(NamedTuple):
    """Nets whose logits are known."""

    images: Images
    known: np.ndarray

    def logits(self, nets, inputs):
        assert inputs is self.images.pixels and nets is None
        return self.known


def sharpened(logits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels from the softmax of the logits."""
    scores = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return (scores.cumsum(-1) < rng.random((len(logits), 1))).sum(-1).astype(np.int32)


@pytest.fixture(scope="module")
def case():
    """Logits that are 0.5 to 3 times those that the labels are drawn from; the last net is right everywhere."""
    rng = np.random.default_rng(3)
    truth, tested = rng.normal(size=(ROWS, CLASSES)), rng.normal(size=(TESTED, CLASSES))
    labels, test_labels = sharpened(truth, rng), sharpened(tested, rng)
    factors = np.array([0.5, 1.0, 3.0])[:, None, None]
    right = 8.0 * np.eye(CLASSES)[labels]
    logits = np.concatenate([factors * truth, right[None]]).astype(np.float32)
    test_logits = np.concatenate([factors * tested, tested[None]]).astype(np.float32)
    images = np.zeros((ROWS, 1, 1, 1), np.uint8)
    dataset = Dataset("made", "up", images, labels, images[:TESTED], test_labels, tuple("abcd"), 1)
    members, size = members_of(JOB, labels)
    trained = TrainedJob(
        JOB, KnownProgram(Images(images, None), logits), None, members, size, empty_history(JOB), test_logits
    )
    return trained, dataset, TEMPERATURE.evaluate(trained, dataset)


def nll(logits, labels, temperature):
    scaled = logits.astype(np.float64) / temperature
    return np.mean(np.log(np.exp(scaled).sum(-1)) - scaled[np.arange(len(labels)), labels])


@pytest.mark.slow
def test_each_temperature_is_the_best_for_the_rows_held_out(case):
    finished, dataset, records = case
    assert [(record["arm"], record["seed"]) for record in records] == [
        (member.arm.name, member.seed) for member in JOB.members
    ]
    for place, record in enumerate(records):
        rows = np.asarray(finished.members.rows)[place, finished.first_size :]
        assert record["held_out"] == len(rows) == ROWS // 10
        assert (record["evaluation"], record["epoch"], record["classes"]) == ("temperature", 3, CLASSES)
        logits, labels = finished.program.known[place][rows], dataset.train_labels[rows]
        if place < 3:
            assert record["fitted"]
            loss = lambda log, z=logits, y=labels: nll(z, y, np.exp(log))  # noqa: E731
            found = minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9})
            np.testing.assert_allclose(record["temperature"], np.exp(found.x), rtol=1e-4)
        else:
            assert not record["fitted"] and record["temperature"] == 1


@pytest.mark.medium
def test_scores_are_of_the_test_rows_at_that_temperature(case):
    finished, dataset, records = case
    labels = dataset.test_labels
    for place, record in enumerate(records):
        logits = finished.logits[place].astype(np.float64)
        np.testing.assert_allclose(record["nll"], nll(logits, labels, record["temperature"]), rtol=2e-6)
        assert record["accuracy"] == pytest.approx((logits.argmax(-1) == labels).mean(), abs=1e-7)
        probs = np.exp(logits / record["temperature"])
        confidence = (probs / probs.sum(-1, keepdims=True)).max(-1)
        gap = confidence.mean() - (logits.argmax(-1) == labels).mean()
        np.testing.assert_allclose(record["signed_gap"], gap, atol=1e-6)
