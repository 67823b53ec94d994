"""Jobs as plain values: nets of one shape, which differ in their seed and in how much Mixup they get.

A *member* is one net, an (arm, seed). The members of a job that have the same seed start from the same parameters and
see the same rows in the same order: arms are compared in pairs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, NamedTuple

from ..nets.shapes import NetShape
from .mixing import Mixing
from .schedule import Schedule

__all__ = ["Arm", "Augment", "Division", "Job", "Member", "Optimizer", "Phase", "Recipe"]

Augment = Literal["none", "crop", "crop+flip"]
Division = Literal["none", "halves", "held-out"]


@dataclass(frozen=True)
class Optimizer:
    """SGD with momentum, as PyTorch's: v <- momentum v + gradient + weight_decay w; w <- w - learning_rate v.

    The schedule makes the learning rate less in later epochs.
    """

    learning_rate: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Schedule = Schedule()


@dataclass(frozen=True)
class Recipe:
    """The training of a net, except how much it is mixed; nets of one recipe share their compiled functions."""

    net: NetShape
    mixing: Mixing = Mixing()
    optimizer: Optimizer = Optimizer()
    batch_size: int = 64
    augment: Augment = "none"  # random crops, or crops and flips, which digits cannot stand
    dtype: Literal["float32", "bfloat16"] = "float32"  # of the net's products; all else is float32
    smoothing: float = 0.0  # of the labels


@dataclass(frozen=True)
class Phase:
    """Epochs that are trained alike.

    Their rows are the "first" of the division (the labeled half, or those not held out), or "all", where the other
    half gets the labels that the net gives it when the phase begins.
    """

    epochs: int
    rows: Literal["first", "all"] = "first"


@dataclass(frozen=True)
class Arm:
    """A treatment: its name, and alpha in each phase (0 is none)."""

    name: str
    alphas: tuple[float, ...]

    @property
    def slug(self) -> str:
        """The name as it stands in file names: lower-case letters, digits and hyphens."""
        return re.sub("[^a-z0-9]+", "-", self.name.lower()).strip("-")


class Member(NamedTuple):
    """One net of a job."""

    arm: Arm
    seed: int


@dataclass(frozen=True)
class Job:
    """Nets that are trained together: every arm with every seed, through the phases one after another.

    The division of the training rows is "none"; "halves" (labeled and unlabeled); or "held-out", a tenth held out to
    fit a temperature.
    """

    name: str
    recipe: Recipe
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    phases: tuple[Phase, ...]
    division: Division = "none"

    @property
    def members(self) -> tuple[Member, ...]:
        """All nets, arm by arm."""
        return tuple(Member(arm, seed) for arm, seed in product(self.arms, self.seeds))

    @property
    def epochs(self) -> int:
        """The number of epochs of all phases."""
        return sum(phase.epochs for phase in self.phases)

    @property
    def beginning(self) -> tuple[object, ...]:
        """All that determines the state after the first phase: jobs that agree in it are equal until then."""
        alphas = tuple(arm.alphas[0] for arm in self.arms)
        return self.recipe, alphas, self.seeds, self.phases[0], self.epochs, self.division

    @property
    def schedule(self) -> tuple[int, ...]:
        """The phase of each epoch, both counted from 0."""
        return tuple(number for number, phase in enumerate(self.phases) for _ in range(phase.epochs))

    def split_by_member(self) -> tuple[Job, ...]:
        """Return the job, or a job for each member if nets of this shape are trained one at a time."""
        if self.recipe.net.vectorized:
            return (self,)
        return tuple(
            replace(self, name=f"{self.name}-{arm.slug}-seed{seed}", arms=(arm,), seeds=(seed,))
            for arm, seed in self.members
        )
