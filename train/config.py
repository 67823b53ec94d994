"""The options of the experiments, as they are given on the command line and stored with the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mixjax._commands import option
from mixjax.mixing import Pairing, Weight
from train.job import Augment, Optimiser, Phase, Recipe
from train.mixing import Kind, Mixing
from train.nets.initializers import Init
from train.nets.mlp import Norm
from train.nets.shapes import MLPShape, NetShape

__all__ = ["Config", "MLPConfig", "ResNetConfig"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What all experiments share."""

    dataset: str = option("digits", "name of a data set, or an .npz file")
    train_rows: int = option(0, "train on so many rows, of each class its share; 0 is all")
    seeds: int = option(3, "nets of each kind, with seeds 0, 1, ...")
    epochs: int = option(30, "of the whole training")
    batch_size: int = option(64, "rows of a step")
    learning_rate: float = option(0.01, "of SGD, constant")
    momentum: float = option(0.9, "of SGD")
    weight_decay: float = option(0.0, "of SGD, as PyTorch's")
    alpha: float = option(1.0, "of Mixup's Beta(alpha, alpha)")
    weight: Weight = option("batch", "one lambda a batch, or one a sample")
    pairing: Pairing = option("permutation", "who is mixed with whom")
    fold: bool = option(False, "whether lambda is max(lambda, 1 - lambda)")
    augment: Augment = option("none", "random crops, or crops and flips")
    dtype: Literal["float32", "bfloat16"] = option("float32", "of the nets' products")

    def mixing(self, kind: Kind = "mixup") -> Mixing:
        """How to mix."""
        return Mixing(kind, self.weight, self.pairing, self.fold)

    def recipe(self, net: NetShape, mixing: Mixing | None = None) -> Recipe:
        """How to train a net."""
        rule = Optimiser(self.learning_rate, self.momentum, self.weight_decay)
        return Recipe(net, mixing or self.mixing(), rule, self.batch_size, self.augment, self.dtype)

    @property
    def whole_training(self) -> tuple[Phase, ...]:
        """One phase."""
        return (Phase(self.epochs),)


@dataclass(frozen=True, kw_only=True)
class MLPConfig(Config):
    """Of fully connected nets."""

    width: tuple[int, ...] = option((400,), "units of a hidden layer; several are separated by commas")
    depth: tuple[int, ...] = option((8,), "hidden layers; several are separated by commas")
    norm: Norm = option("none", "batch normalisation before each ReLU, or none")
    init: Init = option("he", "variance of the first weights: he, lecun (Flax's) or torch (PyTorch's)")

    @property
    def shapes(self) -> tuple[MLPShape, ...]:
        """Of each depth and width."""
        return tuple(MLPShape(width, depth, self.norm, self.init) for depth in self.depth for width in self.width)


@dataclass(frozen=True, kw_only=True)
class ResNetConfig(Config):
    """Of the pre-activation ResNet-18."""

    width_multiplier: float = option(1.0, "of 64, 128, 256 and 512 channels")
    final_norm: bool = option(False, "normalise before the mean over pixels")
    init: Init = option("torch", "variance of the first weights")
