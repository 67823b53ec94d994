"""Calibration errors of predictions, from samples: conventions in docs/conventions.md.

Every estimator takes confidences and whether they were right (binary: probabilities of the positive class and
labels), or probabilities [N, K] and labels; `mixjax.scores` makes the first from the second.
"""

from mixjax.calibration.binned import classwise_ece, ece, mce, top_label_ece
from mixjax.calibration.state import CalibrationState

__all__ = ["CalibrationState", "classwise_ece", "ece", "mce", "top_label_ece"]
