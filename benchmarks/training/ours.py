"""The steps of `train` as they run in an experiment: order, batches, normalization, and Mixup's draws (alpha = 0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from mixjax.train.data.pipeline import channel_scale
from mixjax.train.loop.job import Arm, Job, Phase, Recipe
from mixjax.train.loop.members import members_of
from mixjax.train.loop.program import TrainingProgram
from mixjax.train.loop.step import Images
from mixjax.train.nets.shapes import MLPShape, NetShape, ResNetShape

BATCH = 64
CLASSES = 10
DType = Literal["float32", "bfloat16"]


class Net(NamedTuple):
    """A fully connected net, by its sizes."""

    in_features: int
    width: int
    depth: int

    @property
    def name(self) -> str:
        return f"MLP {self.in_features}-{self.width}x{self.depth}"


def images(rows: int, shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Pixels that say their class: a mean for each class, and noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, rows).astype(np.int32)
    means = rng.integers(40, 216, (CLASSES, *shape))
    pixels = np.clip(means[labels] + rng.normal(0, 60, (rows, *shape)), 0, 255).astype(np.uint8)
    return pixels, labels


class ResNet(NamedTuple):
    """A pre-activation ResNet-18, by its channels over 64, 128, 256 and 512, and the shape of its images."""

    multiplier: float
    shape: tuple[int, int, int] = (28, 28, 1)

    @property
    def name(self) -> str:
        return f"ResNet-18, x{self.multiplier:g} channels, {'x'.join(map(str, self.shape))}"


class Ours:
    """One epoch at a time of nets of one shape."""

    def __init__(
        self,
        shape: NetShape,
        pixels: np.ndarray,
        labels: np.ndarray,
        seeds: int = 1,
        batch: int = BATCH,
        dtype: DType = "float32",
    ):
        recipe = Recipe(shape, batch_size=batch, dtype=dtype)
        job = Job("benchmark", recipe, (Arm("erm", (0.0,)),), tuple(range(seeds)), (Phase(1),))
        self.program = TrainingProgram(job.recipe, Images(jnp.asarray(pixels), channel_scale(pixels)), CLASSES)
        self.members, self.size = members_of(job, labels)
        self.nets, self.epoch = self.program.start(job.seeds), 0

    def train_epoch(self) -> np.ndarray:
        """The losses of the steps, [members, steps]."""
        losses = []
        for nets, metrics in self.program.epoch(self.nets, self.members, self.epoch, self.size):
            self.nets = nets
            losses.append(metrics.loss)
        self.epoch += 1
        return np.concatenate([np.asarray(loss) for loss in losses], axis=1)


def mlp(net: Net, rows: int, seeds: int = 1) -> tuple[Ours, np.ndarray, np.ndarray]:
    """A net as PyTorch starts it, and its data."""
    shape = (28, 28, 1) if net.in_features == 784 else (32, 32, 3)
    pixels, labels = images(rows, shape)
    return Ours(MLPShape(net.width, net.depth, init="torch"), pixels, labels, seeds), pixels, labels


def resnet(net: ResNet, rows: int, batch: int = BATCH, dtype: DType = "float32") -> tuple[Ours, np.ndarray, np.ndarray]:
    """A ResNet and its data."""
    pixels, labels = images(rows, net.shape)
    return Ours(ResNetShape(net.multiplier), pixels, labels, batch=batch, dtype=dtype), pixels, labels


Epoch = Callable[[], np.ndarray]
