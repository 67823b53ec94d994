"""The options of the experiments, as the command line takes them and results store them."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any, Literal

from mixjax.commands import option
from mixjax.datasets.pixels import Pixels
from mixjax.mixing import Pairing, Weight
from mixjax.numerics.arguments import BELOW_ONE, NOT_NEGATIVE, POSITIVE, checked
from mixjax.numerics.options import check_size

from .loop.job import Augment, Optimizer, Phase, Recipe
from .loop.mixing import Kind, Mixing
from .loop.schedule import Schedule, ScheduleName
from .nets.initializers import Init
from .nets.mlp import Norm
from .nets.shapes import MLPShape, NetShape
from .runs.records import MOST_RECORDS

__all__ = ["Config", "MLPConfig", "ResNetConfig"]

_RULES = {
    "learning_rate": POSITIVE,
    "momentum": BELOW_ONE,
    "weight_decay": NOT_NEGATIVE,
}


@dataclass(frozen=True, kw_only=True)
class Config:
    """The options that all experiments share.

    Raises:
      ValueError: for values out of range and names that are not among the choices.
      TypeError: for a value that is not a number.
    """

    dataset: str = option("digits", "name of a data set, or an .npz file")
    pixels: Pixels = option("stored", "scale of an .npz file's images, if they are not uint8")
    train_rows: int = option(0, "number of training rows, in proportion to the classes; 0 is all")
    seeds: int = option(3, "nets of each kind")
    first_seed: int = option(0, "the seed of the first; the others follow")
    epochs: int = option(30, "of the whole training")
    batch_size: int = option(64, "rows of a step")
    learning_rate: float = option(0.01, "of SGD, in the first epoch")
    schedule: ScheduleName = option("constant", "of the learning rate: cosine to 0; or step, a tenth at 1/2 and 3/4")
    momentum: float = option(0.9, "of SGD")
    weight_decay: float = option(0.0, "of SGD, as PyTorch's")
    alpha: float = option(1.0, "of Mixup's Beta(alpha, alpha)")
    weight: Weight = option("batch", "one lambda per batch, or one per sample")
    pairing: Pairing = option("permutation", "which rows are mixed with each other")
    fold: bool = option(False, "whether lambda is max(lambda, 1 - lambda)")
    augment: Augment = option("none", "random crops, or crops and flips")
    dtype: Literal["float32", "bfloat16"] = option("float32", "of the nets' products")

    def __post_init__(self) -> None:
        for name, kind in typing.get_type_hints(type(self)).items():
            value, choices = getattr(self, name), _choices(kind)
            if choices and value not in choices:
                raise ValueError(f"{name} must be one of {choices}, got {value!r}")
        if not isinstance(self.dataset, str):
            raise TypeError(f"dataset must be a name, or a path as a string, got {type(self.dataset).__name__}")
        for name in ("seeds", "epochs", "batch_size"):
            check_size(name, getattr(self, name))
        for name in ("train_rows", "first_seed"):
            check_size(name, getattr(self, name), least=0)
        if self.seeds * self.epochs > MOST_RECORDS:
            raise ValueError(f"seeds times epochs must be at most {MOST_RECORDS}, got {self.seeds} times {self.epochs}")
        checked(_RULES, alpha=self.alpha, **{name: getattr(self, name) for name in _RULES})

    def mixing(self, kind: Kind = "mixup") -> Mixing:
        """Return the mixing of a batch: kind, weight, pairing and fold."""
        return Mixing(kind, self.weight, self.pairing, self.fold)

    def recipe(self, net: NetShape, mixing: Mixing | None = None) -> Recipe:
        """Return how to train a net."""
        schedule = Schedule.of(self.schedule, self.epochs)
        rule = Optimizer(self.learning_rate, self.momentum, self.weight_decay, schedule)
        return Recipe(net, mixing or self.mixing(), rule, self.batch_size, self.augment, self.dtype)

    @property
    def seed_range(self) -> tuple[int, ...]:
        """All seeds."""
        return tuple(range(self.first_seed, self.first_seed + self.seeds))

    @property
    def single_phase(self) -> tuple[Phase, ...]:
        """One phase of all epochs."""
        return (Phase(self.epochs),)


@dataclass(frozen=True, kw_only=True)
class MLPConfig(Config):
    """The options of fully connected nets."""

    width: tuple[int, ...] = option((400,), "units of a hidden layer; several are separated by commas")
    depth: tuple[int, ...] = option((8,), "hidden layers; several are separated by commas")
    norm: Norm = option("none", "batch normalization before each ReLU, or none")
    init: Init = option("he", "variance of the first weights: he, lecun (Flax's) or torch (PyTorch's)")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_sizes("width", self.width)
        _check_sizes("depth", self.depth)

    @property
    def shapes(self) -> tuple[MLPShape, ...]:
        """The shape of each depth and width."""
        return tuple(MLPShape(width, depth, self.norm, self.init) for depth in self.depth for width in self.width)


@dataclass(frozen=True, kw_only=True)
class ResNetConfig(Config):
    """The options of the pre-activation ResNet-18."""

    width_multiplier: float = option(1.0, "of 64, 128, 256 and 512 channels")
    final_norm: bool = option(False, "normalize before the mean over pixels")
    init: Init = option("torch", "variance of the first weights")

    def __post_init__(self) -> None:
        super().__post_init__()
        checked({"width_multiplier": POSITIVE}, width_multiplier=self.width_multiplier)


def _choices(kind: Any) -> tuple[Any, ...]:
    """Return the values that a field of this type may have; () if any."""
    if kind is bool:
        return (False, True)
    return typing.get_args(kind) if typing.get_origin(kind) is Literal else ()


def _check_sizes(name: str, values: Any) -> None:
    if not isinstance(values, tuple | list) or not values:
        raise TypeError(f"{name} must be one or more whole numbers, got {values!r}")
    for value in values:
        check_size(name, value)
    if len(set(values)) < len(values):
        raise ValueError(f"{name} must be different numbers, got {','.join(map(str, values))}")
