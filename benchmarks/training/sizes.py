"""How much is timed."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.training.ours import Net, ResNet


@dataclass(frozen=True)
class Sizes:
    """How much is timed."""

    steps: int = 100
    repetitions: int = 7
    mlps: tuple[Net, ...] = (Net(784, 400, 8), Net(3072, 400, 8), Net(784, 100, 8), Net(784, 1000, 8))
    resnets: tuple[ResNet, ...] = tuple(
        ResNet(multiplier, shape) for multiplier in (0.25, 1.0) for shape in ((32, 32, 3), (28, 28, 1))
    )
    resnet_steps: int = 2
    small_resnet_steps: int = 32  # of those with fewer channels
    lanes: int = 8
    accelerator_steps: int = 100
    accelerator_batches: tuple[int, ...] = (64, 512)
    compiler: str = "inductor"  # of torch.compile


QUICK = Sizes(steps=10, repetitions=2, mlps=(Net(784, 100, 2),), resnets=(ResNet(0.0625),), small_resnet_steps=2,
              lanes=2, accelerator_steps=2, accelerator_batches=(8,), compiler="eager")  # fmt: skip
