"""The reliability table of each final net, as a record: 15 equal-width bins, for the diagrams."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixjax.calibration.reliability_table import reliability
from mixjax.datasets import Dataset
from mixjax.scores import top_label_from_logits

from ..loop.history import record_of
from ..loop.metrics import NUM_BINS
from ..loop.training import TrainedJob

__all__ = ["reliability_records"]


def reliability_records(trained: TrainedJob, dataset: Dataset) -> list[dict[str, Any]]:
    """Return a record a net: rows, mean confidence and accuracy of each bin; 0 where a bin is empty."""
    job, records = trained.job, []
    for index, member in trained.finished:
        table = reliability(*top_label_from_logits(trained.logits[index], dataset.test_labels), num_bins=NUM_BINS)
        columns = {"count": table.count, "confidence": table.confidence, "accuracy_in_bin": table.accuracy}
        lists = {name: [float(f"{value:.7g}") for value in np.nan_to_num(column)] for name, column in columns.items()}
        more = {"evaluation": "reliability", **lists}
        records.append(record_of(job, member, job.epochs - 1, dataset.num_classes, {}, **more))
    return records
