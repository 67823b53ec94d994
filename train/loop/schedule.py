"""The learning rate from epoch to epoch, as a share of that of the first: constant, cosine, or in steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jax.numpy as jnp
import optax
from jax.typing import ArrayLike
from jaxtyping import Array, Float32

from mixjax.numerics.options import check_option

__all__ = ["Schedule", "ScheduleName", "learning_rate_share"]

ScheduleName = Literal["constant", "cosine", "step"]
_STEPS = (1 / 2, 3 / 4)  # of the epochs, after which the rate is a tenth of what it was


@dataclass(frozen=True)
class Schedule:
    """The name of a schedule, and the epochs that it is for (0 where it is constant, so that programs are shared)."""

    name: ScheduleName = "constant"
    epochs: int = 0

    def __post_init__(self) -> None:
        check_option("schedule", self.name, ScheduleName)
        if (self.name == "constant") != (self.epochs == 0):
            raise ValueError(f"schedule {self.name!r} cannot be for {self.epochs} epochs")

    @classmethod
    def of(cls, name: ScheduleName, epochs: int) -> Schedule:
        """Return the schedule of a name for a training of some epochs."""
        return cls(name, 0 if name == "constant" else epochs)


def learning_rate_share(schedule: Schedule, epoch: ArrayLike) -> Float32[Array, ""]:
    r"""Return the share of the first learning rate that an epoch has, counted from 0; all steps of an epoch have it.

    Cosine: :math:`(1 + \cos(\pi e / E)) / 2` in epoch e of E (I. Loshchilov, F. Hutter, "SGDR", ICLR 2017; PyTorch's
    CosineAnnealingLR). Step: 1, from the middle on 0.1, in the last quarter 0.01 (K. He, X. Zhang, S. Ren, J. Sun,
    "Deep residual learning", CVPR 2016; PyTorch's MultiStepLR).
    """
    return jnp.asarray(_rule(schedule)(jnp.asarray(epoch).astype(jnp.float32)), jnp.float32)


def _rule(schedule: Schedule) -> optax.Schedule:
    if schedule.name == "cosine":
        return optax.cosine_decay_schedule(1.0, schedule.epochs)
    if schedule.name == "step":
        shares: dict[int, float] = {}
        for part in _STEPS:
            first = max(1, round(part * schedule.epochs))
            shares[first] = 0.1 * shares.get(first, 1.0)
        return optax.piecewise_constant_schedule(1.0, shares)
    return optax.constant_schedule(1.0)
