"""What a prediction compares: arms (no Mixup, Mixup, label smoothing), each with every penalty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mixjax.prediction.features import FileFeatures

Kind = Literal["decay", "mixup", "smoothing"]
_LEAST, _COUNT = -14, 15  # half decades below the scale, and how many


class Arm(NamedTuple):
    """One way to train: Mixup with lambda ~ Beta(alpha, alpha), label smoothing, or neither."""

    kind: Kind
    value: float = 0.0

    @property
    def alpha(self) -> float:
        """The parameter of Mixup; 0 is none."""
        return self.value if self.kind == "mixup" else 0.0

    @property
    def smoothing(self) -> float:
        """The label smoothing; 0 is none."""
        return self.value if self.kind == "smoothing" else 0.0

    @property
    def name(self) -> str:
        """The name in tables and sentences."""
        names = {"decay": "weight decay alone", "mixup": f"Mixup, alpha {self.value:g}"}
        return names.get(self.kind, f"label smoothing {self.value:g}")

    @property
    def short(self) -> str:
        """A shorter name, for tables of pairs."""
        return "decay" if self.kind == "decay" else f"{self.kind} {self.value:g}"


@dataclass(frozen=True)
class Settings:
    """The options of a prediction; wrong ones raise ValueError.

    Attributes:
      n: rows to fit, of both classes together.
      penalties: mu, ascending; None to take them from the scale of the features.
      alphas: of Mixup, >= 0; 0 is no Mixup.
      smoothings: of labels, in [0, 1).
      subsets: to fit for a check; 0 for none.
      seed: of the subsets.
      level: of the intervals of a check.
    """

    n: int
    penalties: tuple[float, ...] | None = None
    alphas: tuple[float, ...] = (0.2, 1.0)
    smoothings: tuple[float, ...] = (0.05, 0.2)
    subsets: int = 0
    seed: int = 0
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.n < 2:
            raise ValueError(f"--n must be at least 2, a row of each class, got {self.n}")
        if self.n > 1e10:
            raise ValueError(f"--n must be at most 1e10, got {self.n}")
        _refuse("--alphas", "finite and not negative", self.alphas, lambda v: 0 <= v < math.inf)
        _refuse("--smoothings", "in [0, 1)", self.smoothings, lambda v: 0 <= v < 1)
        _refuse("--penalties", "finite", self.penalties or (), lambda v: math.isfinite(v))
        if self.subsets < 0 or self.subsets == 1:
            raise ValueError(f"--check must be 2 subsets or more, got {self.subsets}")
        if self.seed < 0:
            raise ValueError(f"--seed must be at least 0, got {self.seed}")

    @property
    def arms(self) -> list[Arm]:
        """Weight decay alone, then Mixup, then label smoothing, each value once."""
        mixup = [Arm("mixup", alpha) for alpha in sorted(set(self.alphas)) if alpha]
        return [Arm("decay"), *mixup, *(Arm("smoothing", each) for each in sorted(set(self.smoothings)) if each)]


def _refuse(name: str, rule: str, values: Sequence[float], accept: Callable[[float], bool]) -> None:
    for value in values:
        if not accept(value):
            raise ValueError(f"{name} must be {rule}, got {value:g}")


def usual_penalties(file: FileFeatures, classes: Sequence[int]) -> tuple[float, ...]:
    """Return fifteen penalties, two a decade, up to the total variance within classes rounded to a power of ten.

    Logits are w'x: with a penalty as large as the total variance a fit hardly moves, with one 1e-7 as large it is close
    to a fit without a penalty, if there is one.
    """
    spread = np.mean([file.x[file.labels == label].var(axis=0).sum() for label in classes])
    top = round(math.log10(spread))
    halves = range(_LEAST, _LEAST + _COUNT)
    return tuple(float(f"{10.0 ** (top + half // 2) * (3 if half % 2 else 1):.3g}") for half in halves)
