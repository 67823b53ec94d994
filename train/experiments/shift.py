"""Out-of-domain calibration: nets with and without Mixup on test images that are turned, noisy, or pale.

The paper's Theorem 3.4 is about data of another mean; here the images change and the nets stay.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from mixjax.datasets import Dataset

from ..config import MLPConfig
from ..data.shifts import SHIFTS
from ..figures.shift import shift_figure
from ..loop.history import record_of
from ..loop.metrics import score_logits
from ..loop.placement import to_host
from ..loop.training import TrainedJob
from . import capacity
from .experiment import Experiment

__all__ = ["SHIFT"]


def evaluate(trained: TrainedJob, dataset: Dataset) -> list[dict[str, Any]]:
    """Return a record of each net, shift and severity; a severity of 0 is the test set as it is."""
    job, records = trained.job, []
    labels = jnp.broadcast_to(dataset.test_labels, (len(job.members), len(dataset.test_labels)))
    for name, shift in SHIFTS.items():
        for severity in shift.severities:
            images = np.asarray(shift.apply(dataset.test_inputs, severity, dataset.max_pixel))
            scores = to_host(score_logits(trained.program.logits(trained.nets, images), labels))
            for index, member in trained.finished:
                metrics = {metric: float(values[index]) for metric, values in scores.items()}
                more = {"evaluation": name, "severity": severity}
                records.append(record_of(job, member, job.epochs - 1, dataset.num_classes, metrics, **more))
    return records


SHIFT = Experiment(
    name="shift",
    summary="calibration on rotated, noisy and pale test images, with and without Mixup",
    config=MLPConfig,
    presets={
        "quick": {"width": (100,), "depth": (3,), "epochs": 20, "seeds": 2},
        "digits": {"width": (300,), "depth": (4,), "epochs": 60, "seeds": 5},
        "fashion": {"dataset": "fashion_mnist", "width": (300,), "depth": (4,), "train_rows": 10_000, "epochs": 40},
        "paper": {"dataset": "cifar10", "width": (400,), "epochs": 200, "augment": "crop+flip"},
    },
    jobs=capacity.jobs,
    evaluate=evaluate,
    figures=(shift_figure(),),
)
