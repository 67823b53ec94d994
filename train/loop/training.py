"""One job from its start, or from its last checkpoint, to its end.

An epoch is trained, scored on the whole test set, told to the caller, and then kept in a checkpoint. Interrupted at
any moment, the same call goes on from the last checkpoint and, on a CPU, ends with the same bits: all that is random
is a function of the seed, the epoch and the step, and pseudo-labels are part of what is kept. So jobs that differ only
after their first phase may share it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.datasets import Dataset
from mixjax.runs import RunError

from ..data.pipeline import channel_scale
from .checkpoints import Checkpoints
from .history import OF_PSEUDO_LABELS, History, empty_history
from .job import Job
from .members import Lanes, alphas_of, lanes_of
from .metrics import score_logits
from .placement import Placement, fetched
from .program import Program
from .step import Nets

__all__ = ["Finished", "train_job"]

Told = Callable[[History, int], None]


class Finished(NamedTuple):
    """A job that is done, with what is needed to evaluate it further."""

    job: Job
    program: Program
    nets: Nets
    lanes: Lanes
    first_size: int
    history: History
    logits: np.ndarray


@dataclass
class _State:
    """What a checkpoint holds, and the epoch that comes next."""

    nets: Nets
    labels: jax.Array
    history: History
    epoch: int = 0

    def tree(self) -> dict[str, Any]:
        return {"nets": self.nets, "labels": self.labels, "history": self.history}


def train_job(
    job: Job,
    dataset: Dataset,
    checkpoints: Checkpoints,
    told: Told,
    stepped: Callable[[int], None],
    shared: Checkpoints | None = None,
) -> Finished:
    """Train the nets of a job.

    Args:
      job: what to train.
      dataset: on what.
      checkpoints: of this job; training goes on from the last.
      told: called after each epoch with the history and the number of epochs done; first of all with those of a
        checkpoint.
      stepped: called with the number of steps done since the last call.
      shared: of all jobs of the same `beginning`: the first of them leaves there what it is at the end of the first
        phase, and the others go on from there.

    Raises:
      RunError: if the loss of a net becomes NaN or infinite, in a step or on the test set after one; says which net
        and when, and the last checkpoint stays.
    """
    place, inputs = Placement.of(job), dataset.train_inputs
    on_device, scale = place.put((inputs, channel_scale(inputs)), place.everywhere)
    program = Program(job.recipe, on_device, scale, dataset.num_classes, place.batch)
    lanes, first_size = lanes_of(job, dataset.train_labels)
    nets, lanes = place.put((program.start(lanes), lanes), place.lanes)
    state = _taken_up(_State(nets, lanes.labels, empty_history(job)), checkpoints, job.epochs)
    first_phase = job.phases[0].epochs
    if shared is not None and state.epoch < first_phase:
        state = _taken_up(state, shared, first_phase)
        _insert_labels_if_due(job, state, program, lanes, first_size, dataset)
    told(state.history, state.epoch)
    while state.epoch < job.epochs:
        phase = job.phase_of(state.epoch)
        size = first_size if job.phases[phase].rows == "first" else len(dataset.train_labels)
        alphas = place.put(alphas_of(job, phase), place.lanes)
        lanes = lanes._replace(labels=state.labels, alpha=alphas)
        _train_epoch(job, program, state, lanes, size, stepped, checkpoints.last)
        _score(state, program, dataset)
        _check_scored(job, state, checkpoints.last)
        state.epoch += 1
        if shared is not None and state.epoch == first_phase:
            shared.save(state.epoch, state.tree())
        _insert_labels_if_due(job, state, program, lanes, first_size, dataset)
        if state.epoch == job.epochs:
            _score_training_rows(state, program, lanes, size)
        told(state.history, state.epoch)
        checkpoints.save(state.epoch, state.tree(), last=state.epoch == job.epochs)
    logits = fetched(program.logits(state.nets, dataset.test_inputs))
    return Finished(job, program, state.nets, lanes, first_size, state.history, logits)


def _taken_up(fresh: _State, checkpoints: Checkpoints, epochs: int) -> _State:
    kept = checkpoints.restore(fresh.tree(), epochs)
    if kept is None:
        return fresh
    epoch, tree = kept
    history = {name: np.array(tree["history"][name]) for name in fresh.history}  # Orbax sorts names
    return _State(tree["nets"], tree["labels"], history, epoch)


def _train_epoch(
    job: Job, program: Program, state: _State, lanes: Lanes, size: int, stepped: Callable[[int], None], kept: int
) -> None:
    losses, accuracies = [], []
    for nets, figures in program.epoch(state.nets, lanes, state.epoch, size):
        state.nets = nets
        figures = fetched(figures)
        losses.append(figures.loss)
        accuracies.append(figures.accuracy)
        stepped(losses[-1].shape[1])
        _check_finite(job, state.epoch, np.concatenate(losses, axis=1), kept)
    state.history["train_mix_loss"][state.epoch] = np.concatenate(losses, axis=1).mean(1)
    state.history["train_mix_accuracy"][state.epoch] = np.concatenate(accuracies, axis=1).mean(1)


def _check_finite(job: Job, epoch: int, losses: np.ndarray, kept: int) -> None:
    wrong = ~np.isfinite(losses)
    if wrong.any():
        step = int(np.argmax(wrong.any(axis=0)))
        place = int(np.argmax(wrong[:, step]))
        raise _diverged(job, place, f"loss is {losses[place, step]} in step {step + 1} of epoch {epoch + 1}", kept)


def _check_scored(job: Job, state: _State, kept: int) -> None:
    """The loss of a step does not show what that step did: the test set shows it of an epoch's last one."""
    wrong = ~np.isfinite(state.history["nll"][state.epoch])
    if wrong.any():
        raise _diverged(job, int(np.argmax(wrong)), f"logits are not finite after epoch {state.epoch + 1}", kept)


def _diverged(job: Job, place: int, what: str, kept: int) -> RunError:
    lane = job.lanes[place]
    checkpoint = f"the checkpoint of epoch {kept} is kept; " if kept else ""
    return RunError(
        f"{job.name}, arm {lane.arm.name}, seed {lane.seed}: the {what}; {checkpoint}a lower learning rate than "
        f"{job.recipe.optimizer.learning_rate:g} may help, in another folder"
    )


def _score(state: _State, program: Program, dataset: Dataset) -> None:
    logits = program.logits(state.nets, dataset.test_inputs)
    labels = jnp.broadcast_to(dataset.test_labels, (len(logits), len(dataset.test_labels)))
    for name, values in fetched(score_logits(logits, labels)).items():
        state.history[name][state.epoch] = values


def _labels_are_due(job: Job, epoch: int) -> bool:
    """Whether the next epoch is the first to train on all rows."""
    if epoch in (0, job.epochs) or job.phases[job.phase_of(epoch)].rows == "first":
        return False
    return job.phases[job.phase_of(epoch - 1)].rows == "first"


def _insert_labels_if_due(
    job: Job, state: _State, program: Program, lanes: Lanes, first_size: int, dataset: Dataset
) -> None:
    """The net's own labels of the rows without one: hard, of images as they are, by the net in evaluation mode."""
    if not _labels_are_due(job, state.epoch):
        return
    rows = lanes.rows[:, first_size:]
    logits = jnp.take_along_axis(program.logits(state.nets, program.inputs), rows[..., None], axis=1)
    state.labels = jnp.put_along_axis(state.labels, rows, logits.argmax(-1).astype(jnp.int32), axis=1, inplace=False)
    truth = jnp.asarray(dataset.train_labels)[rows]  # for the record alone
    scores = fetched(score_logits(logits, truth))
    for name in OF_PSEUDO_LABELS:
        state.history[name][state.epoch - 1] = scores[name.removeprefix("pseudo_label_")]


def _score_training_rows(state: _State, program: Program, lanes: Lanes, size: int) -> None:
    """Accuracy and loss on the rows that were trained on, as they are: whether the nets have fitted them."""
    rows = lanes.rows[:, :size]
    logits = jnp.take_along_axis(program.logits(state.nets, program.inputs), rows[..., None], axis=1)
    labels = jnp.take_along_axis(state.labels, rows, axis=1)
    scores = fetched(score_logits(logits, labels))
    for name in ("accuracy", "nll"):
        state.history[f"train_{name}"][state.epoch - 1] = scores[name]
