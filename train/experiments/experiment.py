"""Experiments: options, the jobs that they give, further records of the final nets, and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mixjax.datasets import Dataset
from mixjax.plots import Figure

from ..config import Config
from ..loop.job import Job
from ..loop.training import TrainedJob

__all__ = ["Evaluation", "Experiment", "Figure", "Records"]

Records = list[dict[str, Any]]
Evaluation = Callable[[TrainedJob, Dataset], Records]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A named experiment.

    Attributes:
      name: on the command line.
      summary: one line.
      config: the class of its options.
      presets: by name, the options that differ from the defaults.
      jobs: config -> the nets to train.
      figures: made from the records alone, the main one first.
      evaluate: further records of the final nets of a job.
    """

    name: str
    summary: str
    config: type[Config]
    presets: Mapping[str, Mapping[str, Any]]
    jobs: Callable[[Any], tuple[Job, ...]]
    figures: tuple[Figure[Records], ...]
    evaluate: Evaluation | None = None
