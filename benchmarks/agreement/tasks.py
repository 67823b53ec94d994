"""What both libraries are given: nets, rows, epochs, and seeds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from mixjax.datasets import Dataset
from mixjax.train.nets.shapes import MLPShape, NetShape, ResNetShape
from mixjax.train.running import configured, training_set

BATCH = 64
ALPHAS = {"erm": 0.0, "mixup": 1.0}  # of the arms
_TITLES = {"digits": "digits", "fashion_mnist": "Fashion-MNIST"}


@dataclass(frozen=True)
class Task:
    """A net and the rows that it is trained and tested on.

    Attributes:
      net: its shape.
      dataset: a name that `mixjax.datasets.load` knows.
      epochs: of training.
      train_rows, test_rows: how many are taken; 0 is all.
    """

    net: NetShape
    dataset: str
    epochs: int
    train_rows: int = 0
    test_rows: int = 0

    @property
    def name(self) -> str:
        """The name in tables."""
        net = f"{self.net.width}x{self.net.depth}" if isinstance(self.net, MLPShape) else "ResNet-18"
        return f"{_TITLES[self.dataset]}, {net}"

    def load(self) -> Dataset:
        """Return the rows, as `mixjax.train` takes them: in proportion to the classes."""
        chosen = training_set(configured("width", dataset=self.dataset, train_rows=self.train_rows), None)
        rows = slice(self.test_rows or None)
        return dataclasses.replace(chosen, test_inputs=chosen.test_inputs[rows], test_labels=chosen.test_labels[rows])


@dataclass(frozen=True)
class Sizes:
    """The tasks, and the seeds of each library in each arm."""

    tasks: tuple[Task, ...]
    seeds: int


FULL = Sizes(
    (
        Task(MLPShape(300, 4), "digits", epochs=60),
        Task(MLPShape(100, 4), "fashion_mnist", epochs=20, train_rows=10_000),
        Task(ResNetShape(0.125), "digits", epochs=20),
        Task(ResNetShape(0.125), "fashion_mnist", epochs=10, train_rows=2_000, test_rows=2_000),
    ),
    seeds=5,
)
QUICK = Sizes(
    (Task(MLPShape(30, 2), "digits", epochs=4), Task(ResNetShape(0.03125), "digits", epochs=1, train_rows=256)), seeds=2
)
