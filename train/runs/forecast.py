"""How long jobs will take on this machine, from a few steps of each net."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from mixjax.datasets import Dataset

from ..loop.job import Job
from ..loop.placement import to_host
from ..loop.program import ENOUGH_STEPS
from ..loop.step import Nets
from ..loop.trainer import Trainer
from .runner import steps_of

__all__ = ["Pace", "forecast", "measured_steps", "pace_of"]

_STEPS, _ROWS = 4, 500  # that are timed, if there are as many


class Pace(NamedTuple):
    """Seconds of a step of all nets of a job, of scoring them after an epoch, and of compiling both."""

    step: float
    scoring: float
    compiling: float


def pace_of(job: Job, dataset: Dataset) -> Pace:
    """Measure the nets of a job: a few steps, and the scores of a few rows, each twice, since the first compiles."""
    trainer, state = Trainer.begin(job, dataset)
    rows = dataset.test_inputs[:_ROWS]
    steps = measured_steps(trainer.program.steps_at_once, trainer.first_size // job.recipe.batch_size)

    def train(nets: Nets) -> Nets:
        *_, (nets, _) = trainer.program.epoch(nets, trainer.members, 0, steps * job.recipe.batch_size)
        return jax.block_until_ready(nets)

    compiling, nets = _timed(lambda: train(state.nets))
    training, nets = _timed(lambda: train(nets))
    first, second = (_timed(lambda: to_host(trainer.program.logits(nets, rows)))[0] for _ in range(2))
    scoring = second * len(dataset.test_inputs) / len(rows)
    return Pace(training / steps, scoring, max(compiling - training, 0.0) + max(first - second, 0.0))


def measured_steps(steps_at_once: Callable[[int], int], steps: int) -> int:
    """Return how many of the steps of an epoch are timed: few, but enough for the program that an epoch takes."""
    return min(steps, _STEPS if steps_at_once(_STEPS) == steps_at_once(steps) else ENOUGH_STEPS)


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = function()
    return time.perf_counter() - started, result


def forecast(jobs: Sequence[Job], dataset: Dataset, pace: Callable[[Job, Dataset], Pace] = pace_of) -> float:
    """Return the seconds that jobs take, one after another.

    Jobs of one recipe and size are measured once. A first phase that several jobs share counts once.
    """
    paces: dict[object, Pace] = {}
    begun: set[object] = set()
    seconds = 0.0
    for job in jobs:
        key = (job.recipe, len(job.members))
        if key not in paces:
            paces[key] = pace(job, dataset)
            seconds += paces[key].compiling
        shared = job.phases[0].epochs if len(job.phases) > 1 and job.beginning in begun else 0
        begun.add(job.beginning)
        epochs = steps_of(job, dataset.train_labels)[shared:]
        seconds += sum(epochs) * paces[key].step + len(epochs) * paces[key].scoring
    return seconds
