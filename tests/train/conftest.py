"""Data sets and jobs that are small enough to train in a test."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from mixjax.train.loop.checkpoints import Checkpoints
from mixjax.train.loop.history import History
from mixjax.train.loop.job import Job
from mixjax.train.loop.training import TrainedJob, train_job

from mixjax.datasets import Dataset, load

Train = Callable[..., TrainedJob]


@pytest.fixture(scope="session")
def digits() -> Dataset:
    """The first 320 training and 120 test rows of the digits."""
    whole = load("digits")
    parts = {name: getattr(whole, name)[: 320 if name.startswith("train") else 120] for name in ARRAYS}
    return dataclasses.replace(whole, **parts)


ARRAYS = ("train_inputs", "train_labels", "test_inputs", "test_labels")


def refuse(text: str) -> None:
    raise AssertionError(f"told of damage: {text}")


def ignore(*_: object) -> None:
    pass


def trained(
    job: Job,
    dataset: Dataset,
    folder: Path,
    *,
    on_epoch: Callable[[History, int], None] = ignore,
    on_steps: Callable[[int], None] = ignore,
    shared: Path | None = None,
) -> TrainedJob:
    """A job from its last checkpoint in the folder, with every epoch kept."""
    kept = [Checkpoints(path, refuse, seconds=0) for path in (folder, shared) if path is not None]
    try:
        return train_job(job, dataset, kept[0], on_epoch, on_steps, *kept[1:])
    finally:
        for checkpoints in kept:
            checkpoints.close(delete=False)


def assert_same_bits(one: TrainedJob, other: TrainedJob) -> None:
    import jax

    for left, right in zip(jax.tree.leaves(one.nets), jax.tree.leaves(other.nets), strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.logits, other.logits)
    for name in one.history:
        np.testing.assert_array_equal(one.history[name], other.history[name], err_msg=name)
