"""Recalibration: maps from logits or confidences to calibrated ones, fitted on held-out rows.

A `fit_*` function returns a function (a pytree) to apply to new rows, or raises if there is no best fit. From logits:
`fit_temperature` and `fit_vector_scaling` of K classes, `fit_platt` of two. From confidences: `fit_isotonic` and
`fit_histogram_binning`. Every fit takes `weights` and `where`, as in docs/conventions.md. Parameters are NaN for NaN in
a row that counts and where no row does; under `jit` and `vmap` also for what raises outside of them.
`calibration_slope` says whether logits of two classes need any.
"""

from mixjax.recalibration.cox import CalibrationSlope, calibration_slope
from mixjax.recalibration.histogram import HistogramBinning, fit_histogram_binning
from mixjax.recalibration.isotonic import Isotonic, fit_isotonic
from mixjax.recalibration.platt import Platt, fit_platt
from mixjax.recalibration.temperature import Temperature, fit_temperature
from mixjax.recalibration.vector import VectorScaling, fit_vector_scaling

__all__ = [
    "CalibrationSlope",
    "HistogramBinning",
    "Isotonic",
    "Platt",
    "Temperature",
    "VectorScaling",
    "calibration_slope",
    "fit_histogram_binning",
    "fit_isotonic",
    "fit_platt",
    "fit_temperature",
    "fit_vector_scaling",
]
