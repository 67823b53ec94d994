"""Metrics of each epoch of each net, as arrays that a checkpoint holds, and as records."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ..nets.shapes import MLPShape
from .job import Job, Member
from .metrics import METRICS

__all__ = [
    "DIVERGED",
    "History",
    "Records",
    "empty_history",
    "epoch_records",
    "has_diverged",
    "last_epochs",
    "record_of",
]

Records = list[dict[str, Any]]
History = dict[str, np.ndarray]  # each metric [epochs, members], NaN where there is none

OF_TRAINING = ("train_mix_loss", "train_mix_accuracy")
OF_PSEUDO_LABELS = ("pseudo_label_accuracy", "pseudo_label_ece", "pseudo_label_signed_gap")
OF_THE_FIT = ("train_accuracy", "train_nll")
AT_THE_END = (*OF_THE_FIT, "test_temperature")  # the best one for the test rows: above 1 is overconfident
DIVERGED = "diverged"  # in a history the step, counted from 1; in a record its evaluation


def empty_history(job: Job) -> History:
    """Return a history of NaN, as before the first epoch."""
    names = (*METRICS, *OF_TRAINING, *OF_PSEUDO_LABELS, *AT_THE_END, DIVERGED)
    return {name: np.full((job.epochs, len(job.members)), np.nan, np.float32) for name in names}


def has_diverged(history: Mapping[str, np.ndarray], epochs: int | None = None) -> np.ndarray:
    """Return which nets have diverged, within the first `epochs` or so far."""
    return np.isfinite(history[DIVERGED][:epochs]).any(0)


def epoch_records(job: Job, history: Mapping[str, np.ndarray], epochs: range, classes: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each of these epochs (counted from 0) and each net, up to the one that says it diverged."""
    for epoch in epochs:
        lost = has_diverged(history, epoch + 1)
        for index, member in enumerate(job.members):
            metrics = {name: float(values[epoch, index]) for name, values in history.items()}
            if not lost[index]:
                yield record_of(job, member, epoch, classes, metrics)
            elif math.isfinite(metrics[DIVERGED]):
                yield record_of(job, member, epoch, classes, {}, evaluation=DIVERGED, step=int(metrics[DIVERGED]))


def record_of(
    job: Job, member: Member, epoch: int, classes: int, metrics: Mapping[str, float], **more: Any
) -> dict[str, Any]:
    """Return a record: which net, when, tested on what, and its finite metrics, to seven digits."""
    net = job.recipe.net
    sizes = {"width": net.width, "depth": net.depth} if isinstance(net, MLPShape) else asdict(net)
    return {
        "job": job.name,
        "net": net.name,
        **sizes,
        "arm": member.arm.name,
        "seed": member.seed,
        "epoch": epoch + 1,
        "classes": classes,
        "alpha": member.arm.alphas[job.schedule[epoch]],
        "evaluation": "test",
        **more,
        **{name: float(f"{value:.7g}") for name, value in metrics.items() if math.isfinite(value)},
    }


def last_epochs(records: Records, evaluation: str = "test") -> Records:
    """Return the record of the last epoch of each net (and severity), whatever came before.

    For a net that diverged, this is the record that says so.
    """
    last: dict[tuple[str, str, int, float], dict[str, Any]] = {}
    for record in records:
        if record["evaluation"] in (evaluation, DIVERGED):
            key = (record["job"], record["arm"], record["seed"], record.get("severity", 0.0))
            if key not in last or record["epoch"] >= last[key]["epoch"]:
                last[key] = record
    return list(last.values())
