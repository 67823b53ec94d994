"""One small net, data set and run, so that nearly all tests of training share their compiled programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from mixjax.datasets import Dataset
from mixjax.train.loop.checkpoints import Checkpoints
from mixjax.train.loop.history import History
from mixjax.train.loop.job import Optimizer, Recipe
from mixjax.train.loop.program import TrainingProgram
from mixjax.train.loop.training import TrainedJob, train_job
from mixjax.train.nets.shapes import MLPShape
from mixjax.train.running import configured, run, training_set

RECIPE = Recipe(MLPShape(8, 1, "batch"), optimizer=Optimizer(0.05), batch_size=16)
SMALL = {  # options of `width` that mean the same net, on the same rows
    "width": (8,), "depth": (1,), "norm": "batch", "learning_rate": 0.05, "batch_size": 16, "epochs": 2, "seeds": 1,
    "train_rows": 710,
}  # fmt: skip


@pytest.fixture(scope="session")
def digits() -> Dataset:
    """All test rows of the digits, 355, and twice as many for training: half of them are as many again."""
    return training_set(configured("width", **SMALL), None)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, to be copied and not changed."""
    out = tmp_path_factory.mktemp("runs") / "width"
    run("width", out, **SMALL)
    return out


@pytest.fixture
def spoil(monkeypatch):
    """Make the loss of a member infinite in a step of an epoch, all counted from 0."""

    def spoiled(spoilt_epoch, member, step):
        original = TrainingProgram.epoch

        def epoch(self, nets, members, number, size):
            for after, metrics in original(self, nets, members, number, size):
                loss = np.array(metrics.loss)
                loss[member, step] = np.inf if number == spoilt_epoch else loss[member, step]
                yield after, metrics._replace(loss=loss)

        monkeypatch.setattr(TrainingProgram, "epoch", epoch)

    return spoiled


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def refuse(text: str) -> None:
    raise AssertionError(f"warned: {text}")


def ignore(*_: object) -> None:
    pass


def trained(
    job: object,
    dataset: Dataset,
    folder: Path,
    *,
    on_epoch: Callable[[History, int], None] = ignore,
    on_steps: Callable[[int], None] = ignore,
    shared: Path | None = None,
) -> TrainedJob:
    """A job from its last checkpoint in the folder, with every epoch kept."""
    with ExitStack() as opened:
        folders = (path for path in (folder, shared) if path is not None)
        kept = [opened.enter_context(closing(Checkpoints(path, refuse, seconds=0))) for path in folders]
        return train_job(job, dataset, kept[0], on_epoch, on_steps, *kept[1:])


def assert_same_bits(one: TrainedJob, other: TrainedJob) -> None:
    for left, right in zip(jax.tree.leaves(one.nets), jax.tree.leaves(other.nets), strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.logits, other.logits)
    for name in one.history:
        np.testing.assert_array_equal(one.history[name], other.history[name], err_msg=name)
