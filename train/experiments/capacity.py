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
        Job(shape.name, config.recipe(shape), arms(config), tuple(range(config.seeds)), config.single_phase)
        for shape in config.shapes
    )


_PAPER = {"dataset": "cifar10", "epochs": 200}
_FASHION = {"dataset": "fashion_mnist"}
_NORMED = {"norm": "batch"}  # 24 plain layers that start with `he` diverge at this learning rate
WIDTH = Experiment(
    name="width",
    summary=f"calibration against width, with and without Mixup (paper: {paper_figures('width')})",
    config=MLPConfig,
    presets={
        "quick": {"width": (30, 100, 300), "epochs": 25, "seeds": 2},
        "digits": {"width": (10, 18, 30, 55, 100, 180, 300, 550), "epochs": 60, "seeds": 5},
        "fashion": _FASHION | {"width": (10, 30, 100, 300, 1000), "train_rows": 10_000, "epochs": 40},
        "paper": _PAPER | {"width": (10, 50, 100, 200, 400, 1000, 3000)},
    },
    jobs=jobs,
    figures=capacity_figures("width"),
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
        "paper": _PAPER | _NORMED | {"width": (400,), "depth": (1, 2, 4, 8, 12, 16, 20, 24), "augment": "crop+flip"},
    },
    jobs=jobs,
    figures=capacity_figures("depth"),
)
