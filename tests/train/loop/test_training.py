"""A job to its end: stopped and resumed, the same to the last bit; what is recorded of it, and what is not."""

from __future__ import annotations

import dataclasses
import functools
from contextlib import closing

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.train.loop.checkpoints import Checkpoints
from mixjax.train.loop.history import OF_PSEUDO_LABELS, epoch_records
from mixjax.train.loop.job import Arm, Job, Optimizer, Phase, Recipe
from mixjax.train.loop.members import HIDDEN
from mixjax.train.loop.metrics import METRICS
from mixjax.train.loop.program import TrainingProgram
from mixjax.train.loop.trainer import _diverged_in
from mixjax.train.loop.training import train_job
from mixjax.train.nets.shapes import MLPShape, ResNetShape
from tests.train.conftest import RECIPE, assert_same_bits, ignore, trained

BEFORE, AFTER = 2, 1
PHASES = (Phase(BEFORE), Phase(AFTER, "all"))
SUPERVISED, MIXED = Arm("supervised", (0.0, 0.0)), Arm("pseudo-label + Mixup", (0.0, 1.0))
RECIPES = {"mlp": RECIPE, "resnet": Recipe(ResNetShape(1 / 16), optimizer=Optimizer(0.05), batch_size=40)}
JOB = Job("job", RECIPE, (Arm("erm", (0.0,)), Arm("mixup", (1.0,))), (7,), (Phase(3),))
NETS = ("mlp", pytest.param("resnet", marks=pytest.mark.slow))  # its programs take long to compile


class StopError(Exception):
    pass


def job_of(name: str, phases=PHASES) -> Job:
    return Job(name, RECIPES[name], (MIXED,), (3,) if name == "resnet" else (3, 4), phases, division="halves")


@pytest.fixture(scope="module")
def undisturbed(digits, tmp_path_factory):
    """By name, trained when first asked for."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return functools.cache(lambda name: trained(job_of(name), digits, folder / name))


@pytest.mark.parametrize("name", NETS)
def test_stopped_after_each_epoch_and_resumed(digits, tmp_path, undisturbed, name):
    """N epochs and then the others are all of them, across the pseudo-labels and the start of Mixup."""
    calls = []

    def stop(history, epoch):
        calls.append(epoch)
        if len(calls) > 1:
            raise StopError

    for _ in range(BEFORE + AFTER):
        calls.clear()
        with pytest.raises(StopError):  # after an epoch is reported and before it is kept: the epoch is done again
            trained(job_of(name), digits, tmp_path / "reported", on_epoch=stop)
        with closing(Kept(tmp_path / "kept")) as checkpoints, pytest.raises(StopError):
            train_job(job_of(name), digits, checkpoints, ignore, ignore)
    assert_same_bits(undisturbed(name), trained(job_of(name), digits, tmp_path / "reported"))
    assert_same_bits(undisturbed(name), trained(job_of(name), digits, tmp_path / "kept"))


class Kept(Checkpoints):
    """Stops as soon as an epoch is on the disk."""

    def __init__(self, folder):
        super().__init__(folder, print, seconds=0)

    def save(self, epoch, state, *, last=False):
        super().save(epoch, state, last=last)
        raise StopError


@pytest.mark.slow
def test_stopped_in_mid_epoch(digits, tmp_path, undisturbed):
    """After half of the steps of a net whose steps are calls."""
    steps = []

    def stop(number):
        steps.append(number)
        if len(steps) == 9:
            raise StopError

    with pytest.raises(StopError):
        trained(job_of("resnet"), digits, tmp_path, on_steps=stop)
    assert_same_bits(undisturbed("resnet"), trained(job_of("resnet"), digits, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_labels_of_the_unlabeled_half(digits, tmp_path, name, monkeypatch):
    """Hidden before the midpoint; then the net's own, in evaluation mode, and they stay. Known ones stay too."""
    job, states = job_of(name), []
    original = Checkpoints.save

    def save(self, epoch, state, *, last=False):
        states.append((np.array(state["labels"]), jax.tree.map(jnp.array, state["nets"])))
        original(self, epoch, state, last=last)

    monkeypatch.setattr(Checkpoints, "save", save)
    finished = trained(job, digits, tmp_path)
    rows, half = np.asarray(finished.members.rows), finished.first_size
    assert half == 355
    for epoch, (labels, nets) in enumerate(states, start=1):
        known = np.take_along_axis(labels, rows[:, :half], 1)
        np.testing.assert_array_equal(known, digits.train_labels[rows[:, :half]])
        given = np.take_along_axis(labels, rows[:, half:], 1)
        if epoch < BEFORE:
            assert (given == HIDDEN).all()
        elif epoch == BEFORE:
            logits = np.asarray(finished.program.logits(nets, jnp.asarray(digits.train_inputs)))
            expected = np.take_along_axis(logits.argmax(-1), rows[:, half:], 1)
            np.testing.assert_array_equal(given, expected)
            inserted = given
            right = (given == digits.train_labels[rows[:, half:]]).mean(1)
            np.testing.assert_allclose(finished.history["pseudo_label_accuracy"][epoch - 1], right, atol=1e-6)
        else:
            np.testing.assert_array_equal(given, inserted)
    for metric in OF_PSEUDO_LABELS:
        assert np.isfinite(finished.history[metric]).any(1).tolist() == [False, True, False]


@pytest.mark.parametrize("name", NETS)
def test_a_first_phase_that_another_job_left(digits, tmp_path, undisturbed, name):
    """Figure 7: arms that differ only after the midpoint share what comes before, and end as if they did not."""
    other = dataclasses.replace(job_of(name, (Phase(BEFORE), Phase(AFTER))), name="other", arms=(SUPERVISED,))
    assert other.beginning == job_of(name).beginning
    trained(other, digits, tmp_path / "other", shared=tmp_path / "shared")
    epochs, steps = [], []
    finished = trained(
        job_of(name),
        digits,
        tmp_path / "job",
        on_epoch=lambda history, epoch: epochs.append(epoch),
        on_steps=steps.append,
        shared=tmp_path / "shared",
    )
    assert_same_bits(undisturbed(name), finished)
    assert epochs == [BEFORE, BEFORE + AFTER]
    assert sum(steps) == AFTER * (710 // job_of(name).recipe.batch_size)


@pytest.mark.slow
def test_stopped_between_the_shared_state_and_its_own(digits, tmp_path, undisturbed):
    """The shared one is further than the job's last checkpoint, and is taken."""
    calls = []

    def stop(history, epoch):
        calls.append(epoch)
        if epoch == BEFORE and len(calls) > 1:
            raise StopError

    shared = tmp_path / "shared"
    with pytest.raises(StopError):
        trained(job_of("mlp"), digits, tmp_path / "job", on_epoch=stop, shared=shared)
    calls.clear()
    resumed = trained(job_of("mlp"), digits, tmp_path / "job", on_epoch=stop, shared=shared)
    assert_same_bits(undisturbed("mlp"), resumed)
    assert calls[0] == BEFORE


@pytest.mark.medium
def test_a_supervised_net_never_has_the_hidden_labels(digits, tmp_path):
    """The arrays that it is trained with hold the labels of its half and no others."""
    job = Job("job", RECIPE, (SUPERVISED,), (3, 4), PHASES[:1], division="halves")
    finished = trained(job, digits, tmp_path / "one")
    for rows, labels in zip(np.asarray(finished.members.rows), np.asarray(finished.members.labels), strict=True):
        hidden = rows[finished.first_size :]
        assert (labels[hidden] == HIDDEN).all()
        assert (np.delete(labels, hidden) == np.delete(digits.train_labels, hidden)).all()


@pytest.mark.medium
def test_training_metrics_are_of_what_they_say(digits, tmp_path, monkeypatch):
    """`train_mix_accuracy` weighs with lambda; `train_accuracy` is of the rows as they are, at the end."""
    steps, original = [], TrainingProgram.epoch

    def epoch(self, *arguments):
        for nets, metrics in original(self, *arguments):
            steps.append(jax.tree.map(np.asarray, metrics))
            yield nets, metrics

    monkeypatch.setattr(TrainingProgram, "epoch", epoch)
    finished = trained(JOB, digits, tmp_path)
    history = finished.history
    logits = np.asarray(finished.program.logits(finished.nets, digits.train_inputs))
    right = (logits.argmax(-1) == digits.train_labels).mean(1)
    np.testing.assert_allclose(history["train_accuracy"][-1], right, atol=1e-6)
    assert np.isnan(history["train_accuracy"][:-1]).all()
    assert history["train_mix_accuracy"][-1, 1] < right[1]
    for number, (losses, accuracies) in enumerate(steps):
        assert losses.shape == (2, 44)
        np.testing.assert_allclose(history["train_mix_loss"][number], losses.mean(1), rtol=1e-6)
        np.testing.assert_allclose(history["train_mix_accuracy"][number], accuracies.mean(1), rtol=1e-6)
    test_right = (finished.logits.argmax(-1) == digits.test_labels).mean(1)
    np.testing.assert_allclose(history["accuracy"][-1], test_right, atol=1e-6)


@pytest.mark.medium
def test_a_net_that_diverges_ends_and_the_other_does_not_notice(digits, tmp_path, spoil, monkeypatch):
    """Its records end with the epoch and the step; stopped and resumed, both nets end in the same bits."""
    spoil(1, 1, 4)
    spoilt = trained(JOB, digits, tmp_path / "spoilt")
    for _ in range(2):
        with closing(Kept(tmp_path / "kept")) as checkpoints, pytest.raises(StopError):
            train_job(JOB, digits, checkpoints, ignore, ignore)
    assert_same_bits(spoilt, trained(JOB, digits, tmp_path / "kept"))
    monkeypatch.undo()
    whole = trained(JOB, digits, tmp_path / "whole")
    np.testing.assert_array_equal(spoilt.logits[0], whole.logits[0])
    assert np.isnan(spoilt.logits[1]).all() and spoilt.finished == [(0, JOB.members[0])]
    records, usual = (list(epoch_records(JOB, job.history, range(3), 10)) for job in (spoilt, whole))
    assert records[:3] + records[4:] == usual[:3] + usual[4:5]
    last = {"arm": "mixup", "seed": 7, "epoch": 2, "evaluation": "diverged", "step": 5}
    assert last.items() <= records[3].items() and not METRICS.keys() & records[3].keys()


def test_the_last_step_is_blamed_for_what_it_leaves():
    """Its own loss is of the parameters before it."""
    losses = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, np.inf, np.nan], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(_diverged_in(losses, np.array([0.5, np.nan, np.nan, np.nan])), [np.nan, 3, 2, 1])


@pytest.mark.slow
def test_a_job_ends_when_all_its_nets_have_diverged(digits, tmp_path):
    recipe, epochs = dataclasses.replace(RECIPE, net=MLPShape(16, 2), optimizer=Optimizer(1e9)), []
    job = dataclasses.replace(JOB, recipe=recipe)
    finished = trained(job, digits, tmp_path, on_epoch=lambda _, epoch: epochs.append(epoch))
    assert epochs == [0, 1] and not finished.finished
