"""Pseudo-labels, inserted at the midpoint of training, without and with Mixup in the second half.

Half of the training rows have labels. All arms train on these for the first half of the epochs, which is done once for
all of them. Then the net labels the other half itself (hard labels, no threshold, images as they are, in evaluation
mode), once, and trains on all rows; the supervised arm keeps to the labeled ones.
"""

from __future__ import annotations

from ..config import ResNetConfig
from ..figures.epochs import epoch_figures
from ..figures.paper import paper_figures
from ..figures.reliability import reliability_figure
from ..loop.job import Arm, Job, Phase
from ..nets.shapes import ResNetShape
from .experiment import Experiment

__all__ = ["PSEUDO_LABEL"]


def jobs(config: ResNetConfig) -> tuple[Job, ...]:
    """Return a job for each arm: supervised, with pseudo-labels, and with Mixup of these.

    Raises:
      ValueError: for fewer than two epochs.
    """
    if config.epochs < 2:
        raise ValueError(f"epochs must be at least 2, one before the pseudo-labels and one after, got {config.epochs}")
    net = ResNetShape(config.width_multiplier, config.final_norm, config.init)
    before, after = config.epochs - config.epochs // 2, config.epochs // 2
    alone, inserted = (Phase(before), Phase(after)), (Phase(before), Phase(after, "all"))
    arms = {
        Arm("supervised", (0.0, 0.0)): alone,
        Arm("pseudo-label", (0.0, 0.0)): inserted,
        Arm("pseudo-label + Mixup", (0.0, config.alpha)): inserted,
    }
    return tuple(
        Job(net.name, config.recipe(net), (arm,), config.seed_range, phases, division="halves")
        for arm, phases in arms.items()
    )


PSEUDO_LABEL = Experiment(
    name="pseudo_label",
    summary="a ResNet whose unlabeled half gets pseudo-labels at the midpoint, without and with Mixup "
    f"(paper: {paper_figures('epochs')})",
    config=ResNetConfig,
    presets={
        "quick": {"width_multiplier": 0.125, "epochs": 10, "seeds": 2},
        "digits": {"width_multiplier": 0.25, "epochs": 40},
        "fashion": {"dataset": "fashion_mnist", "width_multiplier": 0.125, "train_rows": 10_000, "epochs": 20},
        "paper": {"dataset": "cifar10", "epochs": 400},
        "paper-3a": {"dataset": "kmnist", "epochs": 200},
        "paper-3b": {"dataset": "fashion_mnist", "epochs": 200},
        "paper-3d": {"dataset": "cifar100", "epochs": 200},
    },
    departures=(
        "The paper does not say the momentum of these nets; we take that of the others, .9.",
        "It mentions no augmentation of these data; we use none.",
        "It halves the training set at random; we halve each class at random.",
        "It does not say how many seeds, or how the weights begin; we take 3, and PyTorch's (`--init torch`).",
    ),
    jobs=jobs,
    figures=(*epoch_figures(), reliability_figure()),
)
