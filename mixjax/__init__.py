"""When and how Mixup improves calibration: exact theory, Monte Carlo at any scale, calibration functions."""

from mixjax.calibration import classwise_ece, ece, mce, top_label_ece
from mixjax.mixing import mixup

__version__ = "0.1.0"

__all__ = ["classwise_ece", "ece", "mce", "mixup", "top_label_ece"]
