"""Recalibration of one file by a map fitted on another: the rows before and after, for a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mixjax import recalibration
from mixjax.report.reading import FilePredictions, Kind
from mixjax.runs import RunError

METHODS: dict[str, tuple[Kind, str, Callable[..., Any]]] = {  # kind of scores, name in a sentence, fit
    "temperature": ("logits", "temperature scaling", recalibration.fit_temperature),
    "vector": ("logits", "vector scaling", recalibration.fit_vector_scaling),
    "dirichlet": ("logits", "Dirichlet calibration", recalibration.fit_dirichlet_calibration),
    "platt": ("logits", "Platt scaling", recalibration.fit_platt),
    "beta": ("binary", "beta calibration", recalibration.fit_beta_calibration),
    "isotonic": ("binary", "isotonic regression", recalibration.fit_isotonic),
    "histogram": ("binary", "histogram binning", recalibration.fit_histogram_binning),
    "venn-abers": ("binary", "Venn-Abers prediction", recalibration.fit_venn_abers),
}


def check_method(method: str, kind: Kind) -> None:
    """Raise RunError unless a method is for this kind of scores."""
    wanted, name, _ = METHODS[method]
    if kind != wanted:
        fitting = ", ".join(other for other, (of, _, _) in METHODS.items() if of == kind) or "none"
        raise RunError(f"{name} needs --{wanted}, got --{kind} (for which there is: {fitting})")


def recalibrated(file: FilePredictions, method: str, held_out: FilePredictions) -> tuple[FilePredictions, str]:
    """Return the file with new probabilities, and a description of the fit.

    Raises:
      RunError: if the files have different classes, there is no best fit, or a new probability is NaN.
    """
    if file.num_classes != held_out.num_classes:
        raise RunError(
            f"{file.name} has {file.num_classes} classes and {held_out.name}, on which to fit, {held_out.num_classes}"
        )
    _, name, fit = METHODS[method]
    if method == "platt" and file.num_classes != 2:
        raise RunError(f"Platt scaling is for two classes, got {file.num_classes}; temperature and vector are for more")
    try:
        fitted = fit(_scores(held_out, method), held_out.labels)
    except (ValueError, RuntimeError) as error:
        raise RunError(f"{name} cannot be fitted on {held_out.name}: {error}") from None
    try:
        scores = np.asarray(fitted(_scores(file, method)))
    except ValueError as error:
        raise RunError(f"{name} cannot be applied to {file.name}: {error}") from None
    if np.isnan(scores).any():
        raise RunError(f"{name} cannot be applied to {file.name}: its logits are too large for {scores.dtype}")
    if method == "platt":
        scores = np.stack([1 - scores, scores], axis=1)
    kind: Kind = "binary" if file.kind == "binary" else "probs"
    after = dataclasses.replace(file, name=f"{file.name} after {name}", kind=kind, scores=scores)
    return after, _description(name, fitted)


def _scores(file: FilePredictions, method: str) -> np.ndarray:
    """Return the scores that a method takes: logits, the difference of two logits, or confidences."""
    if method != "platt":
        return file.scores
    with np.errstate(over="ignore"):  # a difference of huge logits may be infinite, and is refused then
        return file.scores[:, 1] - file.scores[:, 0]


def _description(name: str, fitted: Any) -> str:
    """Return the name, with the parameters if they are scalars."""
    numbers = {
        field.name: np.asarray(getattr(fitted, field.name))
        for field in dataclasses.fields(fitted)
        if field.name in ("temperature", "scale", "bias", "a", "b", "c")
    }
    shown = [f"{field} {float(value):.4g}" for field, value in numbers.items() if value.ndim == 0]
    return f"{name} ({', '.join(shown)})" if shown else name
