"""What to train, as plain values: nets of one shape, differing in their seed and in how much Mixup they get.

A *lane* is one net, an (arm, seed). The lanes of a job see the same rows in the same order if they have the same seed,
and start from the same parameters: arms are compared in pairs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, NamedTuple

from ..nets.shapes import NetShape
from .mixing import Mixing

__all__ = ["Arm", "Augment", "Division", "Job", "Lane", "Optimizer", "Phase", "Recipe"]

Augment = Literal["none", "crop", "crop+flip"]
Division = Literal["none", "halves", "held-out"]


@dataclass(frozen=True)
class Optimizer:
    """SGD with momentum, as PyTorch's: v <- momentum v + gradient + weight_decay w; w <- w - learning_rate v."""

    learning_rate: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 0.0


@dataclass(frozen=True)
class Recipe:
    """How a net is trained, all but how much it is mixed; nets of one recipe share their compiled functions.

    Attributes:
      net: its shape.
      mixing, optimiser, batch_size: as the words say.
      augment: random crops, or crops and flips, which digits do not bear.
      dtype: of the net's products; parameters, logits and losses are float32 always.
    """

    net: NetShape
    mixing: Mixing = Mixing()
    optimizer: Optimizer = Optimizer()
    batch_size: int = 64
    augment: Augment = "none"
    dtype: Literal["float32", "bfloat16"] = "float32"


@dataclass(frozen=True)
class Phase:
    """A stretch of epochs.

    Attributes:
      epochs: at least 1.
      rows: "first" of the division (the labelled half, or what is not held out), or "all", where the other half gets
        the labels that the net gives it when the phase begins.
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
        """Its name in those of files: letters, digits and hyphens."""
        return re.sub("[^a-z0-9]+", "-", self.name.lower()).strip("-")


class Lane(NamedTuple):
    """One net."""

    arm: Arm
    seed: int


@dataclass(frozen=True)
class Job:
    """Nets that are trained together.

    Attributes:
      name: of its files.
      recipe: of all of them.
      arms, seeds: the lanes are all pairs of them.
      phases: one after another.
      division: of the training rows: "none"; "halves" (labelled and unlabelled); "held-out", a tenth kept back to fit
        a temperature.
    """

    name: str
    recipe: Recipe
    arms: tuple[Arm, ...]
    seeds: tuple[int, ...]
    phases: tuple[Phase, ...]
    division: Division = "none"

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """Arm by arm."""
        return tuple(Lane(arm, seed) for arm, seed in product(self.arms, self.seeds))

    @property
    def epochs(self) -> int:
        """Of all phases."""
        return sum(phase.epochs for phase in self.phases)

    @property
    def beginning(self) -> tuple[object, ...]:
        """All that the state after the first phase is made of: jobs that agree in it are equal until then."""
        alphas = tuple(arm.alphas[0] for arm in self.arms)
        return self.recipe, alphas, self.seeds, self.phases[0], self.epochs, self.division

    def phase_of(self, epoch: int) -> int:
        """Which phase an epoch, counted from 0, belongs to."""
        last = 0
        for place, phase in enumerate(self.phases):
            last += phase.epochs
            if epoch < last:
                return place
        raise ValueError(f"epoch must be below {self.epochs}, got {epoch}")

    def apart(self) -> tuple[Job, ...]:
        """The job, or a job for each lane if nets of this shape are trained one at a time."""
        if self.recipe.net.vectorized:
            return (self,)
        return tuple(
            replace(self, name=f"{self.name}-{arm.slug}-seed{seed}", arms=(arm,), seeds=(seed,))
            for arm, seed in self.lanes
        )
