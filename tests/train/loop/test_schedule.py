"""Learning rates from epoch to epoch: the published rules, and steps that have them."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.train.loop import step
from mixjax.train.loop.job import Arm, Job, Optimizer, Phase
from mixjax.train.loop.schedule import Schedule, learning_rate_share
from mixjax.train.loop.trainer import Trainer
from mixjax.train.running import configured
from tests.train.conftest import RECIPE

EPOCHS = 8


def shares(name: str, epochs: int) -> list[float]:
    return [float(learning_rate_share(Schedule.of(name, epochs), np.uint32(epoch))) for epoch in range(epochs)]


@pytest.mark.medium
def test_cosine_is_the_formula():
    expected = [(1 + np.cos(np.pi * epoch / 200)) / 2 for epoch in range(200)]
    np.testing.assert_allclose(shares("cosine", 200), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        (8, [1] * 4 + [0.1] * 2 + [0.01] * 2),
        (200, [1] * 100 + [0.1] * 50 + [0.01] * 50),
        (3, [1, 1, 0.01]), (2, [1, 0.1]), (1, [1]),
    ],
)  # fmt: skip
def test_steps_are_at_a_half_and_at_three_quarters(epochs, expected):
    np.testing.assert_allclose(shares("step", epochs), expected, rtol=1e-6)


def test_constant_is_constant():
    assert shares("constant", 5) == [1.0] * 5
    assert Schedule.of("constant", 5) == Schedule.of("constant", 9) == Schedule() == Optimizer().schedule


def trained(digits, optimizer: Optimizer, epoch: int):
    """Return the parameters after an epoch of a net, from its start, as if earlier epochs were done."""
    recipe = dataclasses.replace(RECIPE, optimizer=optimizer)
    job = Job("job", recipe, (Arm("mixup", (1.0,)),), (0,), (Phase(EPOCHS),))
    trainer, state = Trainer.begin(job, digits)
    *_, (nets, _) = trainer.program.epoch(state.nets, trainer.members, epoch, 710)
    return jax.tree.map(np.asarray, nets.params)


@pytest.mark.medium
@pytest.mark.parametrize(("name", "epoch"), [("cosine", 5), ("step", 6)])
def test_an_epoch_has_the_rate_of_its_schedule(digits, name, epoch):
    """Beside a constant rate that is as small; momentum starts from 0 in both."""
    share = shares(name, EPOCHS)[epoch]
    found = trained(digits, Optimizer(0.05, schedule=Schedule(name, EPOCHS)), epoch)
    expected = trained(digits, Optimizer(0.05 * share), epoch)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5), found, expected)


def test_a_constant_rate_multiplies_nothing(monkeypatch):
    """So its program is that of a release without schedules, and its bits are the same."""
    monkeypatch.setattr(step, "learning_rate_share", None)
    updates = {"weights": np.ones(3, np.float32)}
    assert step._scheduled(Optimizer(0.05), updates, 3) is updates
    with pytest.raises(TypeError):
        step._scheduled(Optimizer(0.05, schedule=Schedule("cosine", 9)), updates, 3)


def test_the_option_is_recorded_and_refused():
    config = configured("width", schedule="cosine", epochs=7)
    assert config.schedule == "cosine"
    assert config.recipe(config.shapes[0]).optimizer.schedule == Schedule("cosine", 7)
    assert configured("width").recipe(config.shapes[0]).optimizer.schedule == Schedule()
    with pytest.raises(RunError, match=r"schedule must be one of \('constant', 'cosine', 'step'\), got 'linear'"):
        configured("width", schedule="linear")
    for wrong in (("linear", 3), ("cosine", 0), ("constant", 3)):
        with pytest.raises(ValueError, match="schedule"):
            Schedule(*wrong)
