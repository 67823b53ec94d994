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
    """How much is trained.

    Attributes:
      tasks: what each library trains with random numbers of its own.
      seeds: of each library in each arm.
      followed: what PyTorch also trains in the very steps of mixjax, for an epoch.
    """

    tasks: tuple[Task, ...]
    seeds: int
    followed: tuple[Task, ...]


_TASKS = (
    Task(MLPShape(300, 4), "digits", epochs=60),
    Task(MLPShape(100, 4), "fashion_mnist", epochs=20, train_rows=10_000),
    Task(ResNetShape(0.125), "digits", epochs=15),
)
_IMAGES = Task(ResNetShape(0.125), "fashion_mnist", epochs=1, train_rows=2_000, test_rows=1_000)
FULL = Sizes(_TASKS, seeds=5, followed=(*_TASKS, _IMAGES))
_SMALL = Task(MLPShape(30, 2), "digits", epochs=4)
QUICK = Sizes((_SMALL,), seeds=2, followed=(_SMALL,))
