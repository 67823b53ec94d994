"""Mixup against temperature scaling, and both together: beyond the paper, whose model makes Mixup a temperature.

A tenth of the training rows is held out; the others train the nets. A temperature is fitted to the held-out rows, and
each net is scored as it is and with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from mixjax.datasets import Dataset

from ..config import MLPConfig
from ..figures.temperature import temperature_figure
from ..loop.history import record_of
from ..loop.job import Job
from ..loop.metrics import best_temperatures, score_logits
from ..loop.placement import to_host
from ..loop.training import TrainedJob
from . import capacity
from .experiment import Experiment

__all__ = ["TEMPERATURE"]


def jobs(config: MLPConfig) -> tuple[Job, ...]:
    """Return the jobs of the sweep over width, with rows held out."""
    return tuple(replace(job, division="held-out") for job in capacity.jobs(config))


def evaluate(trained: TrainedJob, dataset: Dataset) -> list[dict[str, Any]]:
    """Return a record of each net with its temperature.

    A net that has no best temperature (it is right on all held-out rows) is left as it is, `fitted` false.
    """
    program, job = trained.program, trained.job
    held_out = to_host(trained.members.rows)[:, trained.first_size :]
    every = to_host(program.logits(trained.nets, program.images.pixels))
    records = []
    for index, member in trained.finished:
        rows = held_out[index]
        best = float(best_temperatures(every[index][None, rows], dataset.train_labels[None, rows])[0])
        fitted = bool(np.isfinite(best))
        temperature = float(f"{best:.7g}") if fitted else 1.0
        scaled = jnp.asarray(trained.logits[index] / np.float32(temperature))[None]
        scores = score_logits(scaled, jnp.asarray(dataset.test_labels)[None])
        metrics = {name: float(value[0]) for name, value in scores.items()}
        more = {"evaluation": "temperature", "temperature": temperature, "fitted": fitted, "held_out": len(rows)}
        records.append(record_of(job, member, job.epochs - 1, dataset.num_classes, metrics, **more))
    return records


TEMPERATURE = Experiment(
    name="temperature",
    summary="Mixup against temperature scaling fitted on held-out rows, and both together",
    config=MLPConfig,
    presets={
        "quick": {"width": (30, 300), "depth": (4,), "epochs": 20, "seeds": 2},
        "digits": {"width": (10, 30, 100, 300), "epochs": 60, "seeds": 5},
        "fashion": {"dataset": "fashion_mnist", "width": (10, 30, 100, 300), "train_rows": 10_000, "epochs": 40},
        "paper": {"dataset": "cifar10", "width": (10, 50, 100, 200, 400, 1000, 3000), "epochs": 200},
    },
    jobs=jobs,
    evaluate=evaluate,
    figures=(temperature_figure(),),
)
