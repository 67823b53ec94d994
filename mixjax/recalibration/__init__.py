"""Recalibration: maps from logits or confidences to calibrated ones, fitted on held-out rows.

A `fit_*` function returns a function (a pytree) to apply to new rows, or raises if there is no best fit. From logits:
`fit_temperature`, `fit_vector_scaling` and `fit_dirichlet_calibration` of K classes, `fit_temperature` and `fit_platt`
of two. From confidences: `fit_beta_calibration`, `fit_isotonic`, `fit_histogram_binning` and `fit_venn_abers`. Every
fit takes `weights` and `where`, as in docs/conventions.md. Parameters are NaN for NaN in a row that counts and where no
row does; under `jit` and `vmap` also for what raises outside of them. Those that minimize a smooth loss (all but the
last three) have derivatives in scores and weights, by the implicit function theorem.
`calibration_slope` says whether logits of two classes need any.
"""

from mixjax.recalibration.beta import BetaCalibration, fit_beta_calibration
from mixjax.recalibration.cox import CalibrationSlope, calibration_slope
from mixjax.recalibration.dirichlet import DirichletCalibration, fit_dirichlet_calibration
from mixjax.recalibration.histogram import HistogramBinning, fit_histogram_binning
from mixjax.recalibration.isotonic import Isotonic, fit_isotonic
from mixjax.recalibration.platt import Platt, fit_platt
from mixjax.recalibration.temperature import Temperature, fit_temperature
from mixjax.recalibration.vector import VectorScaling, fit_vector_scaling
from mixjax.recalibration.venn_abers import VennAbers, fit_venn_abers

__all__ = [
    "BetaCalibration",
    "CalibrationSlope",
    "DirichletCalibration",
    "HistogramBinning",
    "Isotonic",
    "Platt",
    "Temperature",
    "VectorScaling",
    "VennAbers",
    "calibration_slope",
    "fit_beta_calibration",
    "fit_dirichlet_calibration",
    "fit_histogram_binning",
    "fit_isotonic",
    "fit_platt",
    "fit_temperature",
    "fit_vector_scaling",
    "fit_venn_abers",
]
