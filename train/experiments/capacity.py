"""Calibration with and without Mixup against the width and the depth of a net, as in most figures of the paper.

The paper's claim: Mixup may hurt small nets and helps the larger ones more and more. Plain nets that are deep or start
small may stay at chance, where any net is calibrated: every figure comes with the accuracy, and such nets are marked.
"""

from __future__ import annotations

from ..config import MLPConfig
from ..figures.capacity import capacity_figures
from ..figures.paper import paper_figures
from ..loop.job import Arm, Job
from .experiment import Experiment

__all__ = ["DEPTH", "WIDTH", "arms", "jobs"]


def arms(config: MLPConfig) -> tuple[Arm, Arm]:
    """Return the arms without and with Mixup."""
    return Arm("erm", (0.0,)), Arm("mixup", (config.alpha,))


def jobs(config: MLPConfig) -> tuple[Job, ...]:
    """Return a job for each width and depth."""
    return tuple(
        Job(shape.name, config.recipe(shape), arms(config), config.seed_range, config.single_phase)
        for shape in config.shapes
    )


_AUGMENTED = {"augment": "crop+flip"}
_CIFAR10, _CIFAR100 = ({"dataset": name, "epochs": 200} for name in ("cifar10", "cifar100"))
_UNSAID = (
    "The paper does not say how many epochs and seeds; we take 200 and 3.",
    "It does not say how the weights begin; we take `--init he`.",
)
_FASHION = {"dataset": "fashion_mnist"}
_NORMED = {"norm": "batch"}  # 24 plain layers that start with `he` diverge at this learning rate
_WIDTHS = {"width": (10, 50, 100, 200, 400, 1000, 3000)}
_DEPTHS = _NORMED | {"depth": (1, 2, 4, 8, 12, 16, 20, 24)}
WIDTH = Experiment(
    name="width",
    summary=f"calibration against width, with and without Mixup (paper: {paper_figures('width')})",
    config=MLPConfig,
    presets={
        "quick": {"width": (30, 100, 300), "epochs": 25, "seeds": 2},
        "digits": {"width": (10, 18, 30, 55, 100, 180, 300, 550), "epochs": 60, "seeds": 5},
        "fashion": _FASHION | {"width": (10, 30, 100, 300, 1000), "train_rows": 10_000, "epochs": 40},
        "paper": _CIFAR10 | _WIDTHS | _AUGMENTED,
        "paper-2a": _CIFAR10 | _WIDTHS,
        "paper-2c": _CIFAR100 | _WIDTHS | _AUGMENTED,
        "paper-2e": _CIFAR100 | _WIDTHS,
    },
    jobs=jobs,
    figures=capacity_figures("width"),
    departures=(*_UNSAID, "It does not say which widths lie between 10 and 3,000."),
)
DEPTH = Experiment(
    name="depth",
    summary=f"calibration against depth, with and without Mixup (paper: {paper_figures('depth')})",
    config=MLPConfig,
    presets={
        "quick": {"width": (80,), "depth": (1, 2, 4, 8), "epochs": 25, "seeds": 2},
        "digits": _NORMED | {"width": (80,), "depth": (1, 2, 3, 4, 6, 8, 12, 16, 24), "epochs": 60, "seeds": 5},
        "fashion": _FASHION
        | {"width": (80,), "depth": (1, 2, 4, 8, 16, 24), "norm": "batch", "train_rows": 10_000, "epochs": 40},
        "paper": _CIFAR10 | _DEPTHS | {"width": (400,)} | _AUGMENTED,
        "paper-2b": _CIFAR10 | _DEPTHS | {"width": (80,)},
        "paper-2d": _CIFAR100 | _DEPTHS | {"width": (400,)} | _AUGMENTED,
        "paper-2f": _CIFAR100 | _DEPTHS | {"width": (80,)},
    },
    jobs=jobs,
    figures=capacity_figures("depth"),
    departures=(
        *_UNSAID,
        "It does not say which depths lie between 1 and 24.",
        "It mentions no normalization. We depart with `--norm batch`, since 24 plain layers diverge here; `--norm "
        "none` gives the nets that it describes.",
    ),
)
