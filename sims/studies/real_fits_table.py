"""The variables of the study of real fits, from the arrays of its pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from mixjax.gaussian import ScoreLaw, population_accuracy, population_ece, population_signed_gap

from ..engine.program import HostArrays
from .fitted_scores import MEASURED
from .tables import described, standard_error

CELL = ("pair", "n", "penalty", "fit")
CHANGES = {"signed": "mean confidence - accuracy", "ece": "ECE"}
AVERAGES = {"whitened": "on whitened rows", "unwhitened": "on rows that are not whitened"}
_LAW_ECE = "ECE of a normal y v of the measured mean and variance"

Variables = dict[str, xr.Variable]


def fit_variables(found: Sequence[HostArrays]) -> Variables:
    """Average over training sets, beside the prediction; and the changes from the plain fit, which is the first."""
    measured = {name: _stacked(found, name) for name in MEASURED}  # [pair, n, sets, penalty, fit]
    measured["ece_law"] = numbers_of(measured["mean"], measured["var"])["ece"]
    predicted = numbers_of(_stacked(found, "predicted_mean"), _stacked(found, "predicted_var"))
    variables: Variables = {"sets": described(CELL, np.isfinite(measured["mean"]).sum(axis=2), "training sets")}
    for name, values in measured.items():
        text = MEASURED.get(name, _LAW_ECE)
        variables[name] = described(CELL, _mean(values), text)
        variables[f"{name}_se"] = described(CELL, _error(values), f"standard error of {text}")
        if name in predicted:
            variables[f"{name}_predicted"] = described(CELL, predicted[name], f"{text}, predicted")
    for name, text in CHANGES.items():
        change = _change(measured[name])
        variables[f"{name}_change"] = described(CELL, _mean(change), f"{text}, minus that of the plain fit")
        variables[f"{name}_change_se"] = described(CELL, _error(change), f"standard error of {name}_change (paired)")
        variables[f"{name}_change_predicted"] = described(CELL, _change(predicted[name]), f"{name}_change, predicted")
    return variables | _average_variables(found)


def numbers_of(mean: np.ndarray, var: np.ndarray) -> dict[str, np.ndarray]:
    """Compute what is measured from the mean and the variance of a normal y v; NaN stays NaN."""
    law = ScoreLaw.from_moments(*(np.asarray(values, np.float32) for values in (mean, var)))
    functions = {"accuracy": population_accuracy, "signed": population_signed_gap, "ece": population_ece}
    return {"mean": mean, "var": var} | {name: np.asarray(of(law), np.float64) for name, of in functions.items()}


def pair_variables(found: Sequence[HostArrays]) -> Variables:
    """Return what is known of each pair before anything is fitted."""
    words = {
        "p": "features",
        "rows_at_hand": "rows of both classes",
        "theta_norm": "half the distance of the class means in units of the covariance",
        "covariance_difference": "difference of the covariances of the classes, from 0 to 1",
    }
    variables = {name: described(("pair",), _stacked(found, name), text) for name, text in words.items()}
    kurtosis = _stacked(found, "excess_kurtosis")
    return variables | {"excess_kurtosis": described(("pair", "class"), kurtosis, "excess kurtosis along S^-1 theta")}


def _average_variables(found: Sequence[HostArrays]) -> Variables:
    """Return the changes that the theory of the averaging classifier predicts, which knows no penalty."""
    variables: Variables = {}
    for kind, words in AVERAGES.items():
        numbers = numbers_of(*(_stacked(found, f"{kind}_{part}") for part in ("mean", "var")))
        for name, text in CHANGES.items():
            variables[f"{name}_change_{kind}"] = described(
                ("pair", "n", "fit"), _change(numbers[name]), f"change of {text} of the averaging classifier {words}"
            )
    return variables


def _stacked(found: Sequence[HostArrays], name: str) -> np.ndarray:
    return np.stack([piece[name] for piece in found])


def _change(values: np.ndarray) -> np.ndarray:
    """Subtract the value of the plain fit; that of itself is left out."""
    change = values - values[..., :1]
    change[..., 0] = np.nan
    return change


def _mean(values: np.ndarray) -> np.ndarray:
    """Average over training sets, [pair, n, sets, ...]; NaN where there are none."""
    count = np.isfinite(values).sum(axis=2)
    return np.where(count > 0, np.nansum(values, axis=2) / np.maximum(count, 1), np.nan)


def _error(values: np.ndarray) -> np.ndarray:
    some = np.isfinite(values).sum(axis=2) > 1
    filled = np.where(some[:, :, None], values, 0.0)
    return np.where(some, standard_error(filled, axis=2), np.nan)
