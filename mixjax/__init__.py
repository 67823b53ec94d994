"""When and how Mixup improves calibration: exact theory, Monte Carlo at any scale, calibration functions."""

from importlib import import_module
from types import ModuleType

from mixjax.aliases import find_folders_of_clone
from mixjax.calibration import (
    brier_decomposition,
    brier_score,
    calibration_summary,
    classwise_ece,
    debiased_ece2,
    ece,
    kde_ece,
    mce,
    mmce,
    reliability,
    smooth_ece,
    soft_ece,
    sweep_ece,
    tace,
    top_label_ece,
)
from mixjax.mixing import mixup

find_folders_of_clone()

__version__ = "0.1.0"

__all__ = [
    "brier_decomposition",
    "brier_score",
    "calibration_summary",
    "classwise_ece",
    "debiased_ece2",
    "ece",
    "kde_ece",
    "mce",
    "mixup",
    "mmce",
    "reliability",
    "smooth_ece",
    "soft_ece",
    "sweep_ece",
    "tace",
    "top_label_ece",
]

_SUBMODULES = ("calibration", "datasets", "gaussian", "generative", "mixing", "plots", "random", "recalibration",
               "report", "runs", "scores", "sims", "train")  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """Import a part of the library when it is first used, as in `mixjax.gaussian.critical_ratio`."""
    if name not in _SUBMODULES:
        raise AttributeError(f"module 'mixjax' has no attribute {name!r}")
    return import_module(f"mixjax.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})
