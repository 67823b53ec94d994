"""The nets of mixjax: fully connected ones from `mixjax.train.running.run`, ResNets from the job that it would train.

No experiment of `run` trains a ResNet on all labels, with and without Mixup, and none tests on a part of the test rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.agreement.tasks import ALPHAS, BATCH, Task
from benchmarks.report import Row
from mixjax.datasets import Dataset
from mixjax.train.loop.checkpoints import Checkpoints
from mixjax.train.loop.history import epoch_records, last_epochs
from mixjax.train.loop.job import Arm, Job, Optimizer, Phase, Recipe
from mixjax.train.loop.training import train_job
from mixjax.train.nets.shapes import MLPShape
from mixjax.train.running import run

NAMES = {"train_loss": "train_mix_loss", "nll": "nll", "accuracy": "accuracy", "ece": "ece",
         "signed_gap": "signed_gap", "temperature": "test_temperature"}  # fmt: skip
_NEVER = 1e9  # seconds between checkpoints


def train(task: Task, dataset: Dataset, seeds: int) -> list[Row]:
    """Return a row for each net, after its last epoch."""
    with tempfile.TemporaryDirectory() as folder:
        make = _run if isinstance(task.net, MLPShape) and not task.test_rows else _train_jobs
        records = last_epochs(make(task, dataset, seeds, Path(folder)))
    return [row_of(task, record) for record in records]


def row_of(task: Task, record: Mapping[str, Any]) -> Row:
    """Return the numbers that are compared; a net without a best temperature has None."""
    named = {name: record.get(recorded) for name, recorded in NAMES.items()}
    return {"task": task.name, "library": "mixjax", "arm": record["arm"], "seed": record["seed"], **named}


def job_of(task: Task, arm: str, seeds: tuple[int, ...]) -> Job:
    """Return the job of an arm, with the options that are the paper's."""
    recipe = Recipe(task.net, optimizer=Optimizer(0.01, 0.9), batch_size=BATCH)
    return Job("agreement", recipe, (Arm(arm, (ALPHAS[arm],)),), seeds, (Phase(task.epochs),))


def _run(task: Task, dataset: Dataset, seeds: int, folder: Path) -> list[dict[str, Any]]:
    net = task.net
    return run(
        "width", folder / "run", dataset=task.dataset, train_rows=task.train_rows, seeds=seeds, epochs=task.epochs,
        width=(net.width,), depth=(net.depth,), norm=net.norm, init=net.init, alpha=ALPHAS["mixup"], batch_size=BATCH,
        learning_rate=0.01, momentum=0.9, checkpoint_seconds=_NEVER,
    )  # fmt: skip


def _train_jobs(task: Task, dataset: Dataset, seeds: int, folder: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for arm in ALPHAS:
        for job in job_of(task, arm, tuple(range(seeds))).split_by_member():
            with closing(Checkpoints(folder / job.name, print, seconds=_NEVER)) as checkpoints:
                history = train_job(job, dataset, checkpoints, lambda *_: None, lambda *_: None).history
            last = range(task.epochs - 1, task.epochs)
            records += epoch_records(job, history, last, dataset.num_classes)
    return records
