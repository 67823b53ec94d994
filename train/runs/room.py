"""Checks that a run has room, made before anything is trained."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from mixjax.datasets import Dataset
from mixjax.runs.memory import memory
from mixjax.runs.shards import MOST_BYTES

from ..loop.job import Job
from .records import LONGEST_RECORD, MOST_RECORDS

__all__ = ["check_records", "check_room"]

_COPIES = 3  # of a parameter: itself, its momentum, its gradient
_BYTES = 4  # of a float32, and of a character of NumPy


def check_records(jobs: Sequence[Job]) -> None:
    """Refuse jobs with more records than their file may hold.

    Raises:
      ValueError: if there are more.
    """
    records = sum(len(job.arms) * len(job.seeds) * job.epochs for job in jobs)
    if records > MOST_RECORDS:
        raise ValueError(
            f"{records:,} nets and epochs are more than the {MOST_RECORDS:,} that a run may have; choose fewer seeds, "
            "nets or epochs"
        )


def check_room(jobs: Sequence[Job], dataset: Dataset) -> None:
    """Refuse jobs whose nets do not fit in memory, or whose results do not fit in a file.

    Raises:
      ValueError: for such a job; more memory may be needed than is counted here.
    """
    image_shape, rows = dataset.train_inputs.shape[1:], len(dataset.test_labels)
    for job in jobs:
        nets = len(job.members)
        who = f"{nets} nets side by side" if nets > 1 else "one net"
        count = job.recipe.net.parameter_count(image_shape, dataset.num_classes)
        _refuse_beyond(
            _memory(),
            nets * count * _BYTES * _COPIES,
            f"{job.name}: {who} of {count:,} parameters take {{}} GiB of memory with gradients and "
            "momentum, and there are {}; choose fewer seeds or a smaller net",
        )
        _refuse_beyond(
            MOST_BYTES,
            nets * (rows * dataset.num_classes + job.epochs * LONGEST_RECORD) * _BYTES,
            f"{job.name}: logits and records of {who} take {{}} GiB, and {{}} are kept; choose fewer seeds or epochs",
        )


def _refuse_beyond(most: float, needed: int, sentence: str) -> None:
    if needed > most:
        raise ValueError(sentence.format(*(f"{size / 2**30:,.3g}" for size in (needed, most))))


def _memory() -> float:
    """Return the bytes of all devices, or those that this process may use on a CPU; infinite if unknown."""
    devices = jax.local_devices()
    if devices[0].platform == "cpu":
        mine: float = memory()
    else:
        mine = sum((device.memory_stats() or {}).get("bytes_limit", float("inf")) for device in devices)
    return jax.process_count() * mine
