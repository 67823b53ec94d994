"""One job from its start, or from its last checkpoint, to its end.

An epoch is trained, scored on the whole test set, reported to the caller, and then kept in a checkpoint. Interrupted at
any moment, the same call resumes from the last checkpoint and, on a CPU, ends with the same bits: all that is random
is a function of the seed, the epoch and the step, and pseudo-labels are part of what is kept. So jobs that differ only
after their first phase may share it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mixjax.datasets import Dataset

from .checkpoints import Checkpoints
from .history import History, has_diverged
from .job import Job, Member
from .members import Members
from .placement import to_host
from .program import TrainingProgram
from .step import Nets
from .trainer import Trainer, TrainingState

__all__ = ["TrainedJob", "train_job"]


class TrainedJob(NamedTuple):
    """A job that is done, with what is needed to evaluate it further; the logits of nets that diverged are NaN."""

    job: Job
    program: TrainingProgram
    nets: Nets
    members: Members
    first_size: int
    history: History
    logits: np.ndarray

    @property
    def finished(self) -> list[tuple[int, Member]]:
        """The nets that did not diverge, and their places among the members."""
        lost = has_diverged(self.history)
        return [(index, member) for index, member in enumerate(self.job.members) if not lost[index]]


def train_job(
    job: Job,
    dataset: Dataset,
    checkpoints: Checkpoints,
    on_epoch: Callable[[History, int], None],
    on_steps: Callable[[int], None],
    shared: Checkpoints | None = None,
) -> TrainedJob:
    """Train the nets of a job, until the last epoch or until all of them have diverged.

    Args:
      job: what to train.
      dataset: on what.
      checkpoints: of this job; training resumes from the last.
      on_epoch: called after each epoch with the history and the number of epochs done; first of all with those of a
        checkpoint.
      on_steps: called with the number of steps done since the last call.
      shared: of all jobs of the same `beginning`: the first of them leaves there its state at the end of the first
        phase, and the others resume from there.
    """
    trainer, state = Trainer.begin(job, dataset)
    state, first_phase = _resumed(state, checkpoints, job.epochs), job.phases[0].epochs
    if shared is not None and state.epoch < first_phase:
        state = trainer.conclude_epoch(_resumed(state, shared, first_phase))
    on_epoch(state.history, state.epoch)
    while state.epoch < job.epochs and not has_diverged(state.history).all():
        state = trainer.train_epoch(state, on_steps)
        if shared is not None and state.epoch == first_phase:
            shared.save(state.epoch, state.tree())
        state = trainer.conclude_epoch(state)
        on_epoch(state.history, state.epoch)
        ended = state.epoch == job.epochs or bool(has_diverged(state.history).all())
        checkpoints.save(state.epoch, state.tree(), last=ended)
    members = trainer.members._replace(labels=state.labels)
    logits = np.array(to_host(trainer.program.logits(state.nets, dataset.test_inputs)))
    logits[has_diverged(state.history)] = np.nan
    return TrainedJob(job, trainer.program, state.nets, members, trainer.first_size, state.history, logits)


def _resumed(state: TrainingState, checkpoints: Checkpoints, epochs: int) -> TrainingState:
    """Return the state of the last checkpoint, or the given one where there is none."""
    kept = checkpoints.restore(state.tree(), epochs)
    if kept is None:
        return state
    epoch, tree = kept
    history = {name: np.array(tree["history"][name]) for name in state.history}  # Orbax sorts names
    return TrainingState(tree["nets"], tree["labels"], history, epoch)
