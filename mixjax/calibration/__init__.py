"""Calibration errors of predictions, from samples: conventions in docs/conventions.md.

Estimators take confidences and correctness, or probabilities [N, K] and labels, from which `mixjax.scores` makes those.
"""

from mixjax.calibration.adaptive import ace, tace
from mixjax.calibration.binned import classwise_ece, ece, mce, top_label_ece
from mixjax.calibration.class_conditional import class_conditional_ece
from mixjax.calibration.corp import BrierDecomposition, brier_decomposition, isotonic_regression
from mixjax.calibration.cumulative import AsymptoticTest, kolmogorov_smirnov_test, kuiper_test
from mixjax.calibration.debiased import DebiasedError, debiased_ece2
from mixjax.calibration.groups import GroupIntervals, group_intervals
from mixjax.calibration.intervals import CalibrationIntervals, Interval, bootstrap_intervals, mean_interval
from mixjax.calibration.kde import kde_ece, kde_ece_canonical
from mixjax.calibration.kernel import mmce
from mixjax.calibration.reliability_curve import CorpCurve, corp_curve
from mixjax.calibration.reliability_table import Reliability, clopper_pearson, reliability
from mixjax.calibration.scoring import brier_score, nll, nll_from_logits, signed_gap
from mixjax.calibration.selective import RiskCoverage, aurc, excess_aurc, risk_coverage, selective_accuracy
from mixjax.calibration.significance import CalibrationTest, calibration_test
from mixjax.calibration.smooth import smooth_ece
from mixjax.calibration.soft import soft_ece
from mixjax.calibration.spiegelhalter import spiegelhalter_test
from mixjax.calibration.squared_kernel import skce, skce_linear
from mixjax.calibration.state import CalibrationState
from mixjax.calibration.summary import calibration_summary
from mixjax.calibration.sweep import sweep_ece

__all__ = [
    "AsymptoticTest",
    "BrierDecomposition",
    "CalibrationIntervals",
    "CalibrationState",
    "CalibrationTest",
    "CorpCurve",
    "DebiasedError",
    "GroupIntervals",
    "Interval",
    "Reliability",
    "RiskCoverage",
    "ace",
    "aurc",
    "bootstrap_intervals",
    "brier_decomposition",
    "brier_score",
    "calibration_summary",
    "calibration_test",
    "class_conditional_ece",
    "classwise_ece",
    "clopper_pearson",
    "corp_curve",
    "debiased_ece2",
    "ece",
    "excess_aurc",
    "group_intervals",
    "isotonic_regression",
    "kde_ece",
    "kde_ece_canonical",
    "kolmogorov_smirnov_test",
    "kuiper_test",
    "mce",
    "mean_interval",
    "mmce",
    "nll",
    "nll_from_logits",
    "reliability",
    "risk_coverage",
    "selective_accuracy",
    "signed_gap",
    "skce",
    "skce_linear",
    "smooth_ece",
    "soft_ece",
    "spiegelhalter_test",
    "sweep_ece",
    "tace",
    "top_label_ece",
]
