"""The epochs of a job: each takes a state and returns the next; nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from mixjax.datasets import Dataset

from ..data.pipeline import channel_scale
from .history import (
    DIVERGED,
    OF_PSEUDO_LABELS,
    OF_THE_FIT,
    OF_TRAINING,
    History,
    empty_history,
    has_diverged,
)
from .job import Job
from .members import Members, alphas_of, members_of
from .metrics import best_temperatures, score_logits
from .placement import Placement, to_host
from .program import TrainingProgram
from .step import Images, Nets

__all__ = ["Trainer", "TrainingState"]


class TrainingState(NamedTuple):
    """The contents of a checkpoint, and how many epochs are done."""

    nets: Nets
    labels: jax.Array
    history: History
    epoch: int = 0

    def tree(self) -> dict[str, Any]:
        """Return the contents of a checkpoint."""
        return {"nets": self.nets, "labels": self.labels, "history": self.history}

    def record(self, metrics: Mapping[str, np.ndarray]) -> TrainingState:
        """Return the state with metrics of the last epoch in its history, of the nets that have not diverged."""
        lost = has_diverged(self.history)
        columns = {name: self.history[name].copy() for name in metrics}
        for name, values in metrics.items():
            columns[name][self.epoch - 1] = np.where(lost, np.float32(np.nan), values)
        return self._replace(history={**self.history, **columns})


@dataclass(frozen=True)
class Trainer:
    """The compiled nets of a job, its members and its data: all that stays as it is from epoch to epoch."""

    job: Job
    dataset: Dataset
    layout: Placement
    program: TrainingProgram
    members: Members  # as at the start; the labels of later epochs are in the state
    first_size: int  # rows in the first part of the division
    alphas: tuple[jax.Array, ...]  # of the members, in each phase

    @classmethod
    def begin(cls, job: Job, dataset: Dataset) -> tuple[Trainer, TrainingState]:
        """Return the trainer of a job, and the state before the first epoch."""
        layout, scale = Placement.of(job), channel_scale(dataset.train_inputs)
        members, first_size = members_of(job, dataset.train_labels)
        alphas = layout.put(alphas_of(job), layout.members)
        images = Images(*layout.put((dataset.train_inputs, scale), layout.everywhere))
        program = TrainingProgram(job.recipe, images, dataset.num_classes, layout.batch)
        nets = program.start([member.seed for member in job.members])
        nets, members = layout.put((nets, members), layout.members)
        state = TrainingState(nets, members.labels, empty_history(job))
        return cls(job, dataset, layout, program, members, first_size, alphas), state

    def train_epoch(self, state: TrainingState, on_steps: Callable[[int], None]) -> TrainingState:
        """Return the state after another epoch, with its scores on the whole test set.

        A net diverges in the first step whose loss is NaN or infinite, or in the last one if the loss on the test set
        then is. It has no scores from that epoch on; the nets beside it do not notice.
        """
        phase = self.job.schedule[state.epoch]
        members = self.members._replace(labels=state.labels, alpha=self.alphas[phase])
        losses: list[np.ndarray] = []
        accuracies: list[np.ndarray] = []
        for nets, metrics in self.program.epoch(state.nets, members, state.epoch, self._size(phase)):
            state = state._replace(nets=nets)
            loss, accuracy = to_host(metrics)
            on_steps(loss.shape[1])
            losses.append(loss)
            accuracies.append(accuracy)
        loss, accuracy = (np.concatenate(parts, axis=1) for parts in (losses, accuracies))
        logits = to_host(self.program.logits(state.nets, self.dataset.test_inputs))
        scores = to_host(score_logits(logits, np.broadcast_to(self.dataset.test_labels, logits.shape[:2])))
        state = state._replace(epoch=state.epoch + 1).record({DIVERGED: _diverged_in(loss, scores["nll"])})
        return state.record({**dict(zip(OF_TRAINING, (loss.mean(1), accuracy.mean(1)), strict=True)), **scores})

    def conclude_epoch(self, state: TrainingState) -> TrainingState:
        """Return the state with pseudo-labels for the next epoch or, after the last, with the last scores."""
        phases = self.job.schedule[max(state.epoch - 1, 0) : state.epoch + 1]
        if [self.job.phases[phase].rows for phase in phases] == ["first", "all"]:
            return self._insert_labels(state)
        return self._score_last(state) if state.epoch == self.job.epochs else state

    def _insert_labels(self, state: TrainingState) -> TrainingState:
        """Give the rows without a label the net's own: hard, of images as they are, in evaluation mode."""
        rows, labels = to_host(self.members.rows)[:, self.first_size :], np.array(to_host(state.labels))
        logits = self._training_logits(state, rows)
        np.put_along_axis(labels, rows, logits.argmax(-1).astype(np.int32), axis=1)
        scores = to_host(score_logits(logits, self.dataset.train_labels[rows]))  # the truth, for the record alone
        metrics = {name: scores[name.removeprefix("pseudo_label_")] for name in OF_PSEUDO_LABELS}
        return state._replace(labels=self.layout.put(labels, self.layout.members)).record(metrics)

    def _score_last(self, state: TrainingState) -> TrainingState:
        """Score the rows that were trained on, as they are, and fit a temperature to the test set."""
        rows = to_host(self.members.rows)[:, : self._size(self.job.schedule[-1])]
        labels = np.take_along_axis(to_host(state.labels), rows, axis=1)
        scores = to_host(score_logits(self._training_logits(state, rows), labels))
        fit = {name: scores[name.removeprefix("train_")] for name in OF_THE_FIT}
        logits = to_host(self.program.logits(state.nets, self.dataset.test_inputs))
        truth = np.broadcast_to(self.dataset.test_labels, logits.shape[:2])
        return state.record({**fit, "test_temperature": to_host(best_temperatures(logits, truth))})

    def _training_logits(self, state: TrainingState, rows: np.ndarray) -> np.ndarray:
        logits = to_host(self.program.logits(state.nets, self.program.images.pixels))
        return np.take_along_axis(logits, rows[..., None], axis=1)

    def _size(self, phase: int) -> int:
        """Return how many rows a phase trains on."""
        return self.first_size if self.job.phases[phase].rows == "first" else len(self.dataset.train_labels)


def _diverged_in(losses: np.ndarray, nll: np.ndarray) -> np.ndarray:
    """Return the step, counted from 1, in which each net diverges; NaN for those that do not.

    Args:
      losses: [members, steps], each of the parameters before its step.
      nll: [members], on the test set after the last step, which is blamed for it.
    """
    wrong = ~np.isfinite(losses)
    wrong[:, -1] |= ~np.isfinite(nll)
    return np.where(wrong.any(1), wrong.argmax(1) + 1, np.nan)
