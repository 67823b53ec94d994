"""Experiments: options, the jobs that they give, further records of the final nets, and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mixjax.datasets import Dataset
from mixjax.plots import Figure

from ..config import Config
from ..loop.history import Records
from ..loop.job import Job
from ..loop.training import TrainedJob
from ..runs.stored import Stored

__all__ = ["Evaluation", "Experiment"]

Evaluation = Callable[[TrainedJob, Dataset], Records]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A named experiment."""

    name: str
    summary: str
    config: type[Config]
    presets: Mapping[str, Mapping[str, Any]]  # the options that differ from the defaults
    jobs: Callable[[Any], tuple[Job, ...]]  # of a configuration
    figures: tuple[Figure[Stored], ...]  # made from what is stored alone, the main one first
    evaluate: Evaluation | None = None  # further records of the final nets of a job
    departures: tuple[str, ...] = ()  # of the presets of the paper: what differs, and what the paper does not say
