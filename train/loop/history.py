"""Figures of each epoch of each net, as arrays that a checkpoint holds, and as the lines that a user reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ..nets.shapes import MLPShape
from .job import Job, Lane
from .metrics import METRICS

__all__ = ["History", "empty_history", "epoch_records", "last_epochs", "record_of"]

History = dict[str, np.ndarray]  # of each figure [epochs, lanes], NaN where there is none

OF_TRAINING = ("train_mix_loss", "train_mix_accuracy")
OF_PSEUDO_LABELS = ("pseudo_label_accuracy", "pseudo_label_ece", "pseudo_label_signed_gap")
AT_THE_END = ("train_accuracy", "train_nll")


def empty_history(job: Job) -> History:
    """Before the first epoch."""
    names = (*METRICS, *OF_TRAINING, *OF_PSEUDO_LABELS, *AT_THE_END)
    return {name: np.full((job.epochs, len(job.lanes)), np.nan, np.float32) for name in names}


def epoch_records(job: Job, history: Mapping[str, np.ndarray], epochs: range, classes: int) -> Iterator[dict[str, Any]]:
    """A record for each of these epochs (counted from 0) and each net."""
    for epoch in epochs:
        for place, lane in enumerate(job.lanes):
            figures = {name: float(values[epoch, place]) for name, values in history.items()}
            yield record_of(job, lane, epoch, classes, figures)


def record_of(
    job: Job, lane: Lane, epoch: int, classes: int, figures: Mapping[str, float], **more: Any
) -> dict[str, Any]:
    """What a record says: which net, when, on what, and its figures, to seven digits, if they are finite."""
    net = job.recipe.net
    sizes = {"width": net.width, "depth": net.depth} if isinstance(net, MLPShape) else asdict(net)
    return {
        "job": job.name,
        "net": net.name,
        **sizes,
        "arm": lane.arm.name,
        "seed": lane.seed,
        "epoch": epoch + 1,
        "classes": classes,
        "alpha": lane.arm.alphas[job.phase_of(epoch)],
        "evaluation": "test",
        **more,
        **{name: float(f"{value:.7g}") for name, value in figures.items() if math.isfinite(value)},
    }


def last_epochs(records: list[dict[str, Any]], evaluation: str = "test") -> list[dict[str, Any]]:
    """Of each net (and severity) the record of its last epoch: what is reported, whatever came before."""
    last: dict[tuple[str, str, int, float], dict[str, Any]] = {}
    for record in records:
        if record["evaluation"] == evaluation:
            key = (record["job"], record["arm"], record["seed"], record.get("severity", 0.0))
            if key not in last or record["epoch"] >= last[key]["epoch"]:
                last[key] = record
    return list(last.values())
