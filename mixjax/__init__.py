"""When and how Mixup improves calibration: exact theory, Monte Carlo at any scale, calibration functions."""

from mixjax.calibration import (
    brier_decomposition,
    brier_score,
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

__version__ = "0.1.0"

__all__ = [
    "brier_decomposition",
    "brier_score",
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
