"""Recalibration of one file by a map that is fitted on another: the rows before and after, for a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from mixjax import recalibration
from mixjax.report.reading import FilePredictions, Kind
from mixjax.runs import RunError

Fit = Callable[[np.ndarray, np.ndarray], Any]

METHODS: dict[str, tuple[Kind, str, Fit]] = {  # what it is for, its name in a sentence, and how it is fitted
    "temperature": ("logits", "temperature scaling", recalibration.fit_temperature),
    "vector": ("logits", "vector scaling", recalibration.fit_vector_scaling),
    "platt": ("logits", "Platt scaling", recalibration.fit_platt),
    "isotonic": ("binary", "isotonic regression", recalibration.fit_isotonic),
    "histogram": ("binary", "histogram binning", recalibration.fit_histogram_binning),
}


def check_method(method: str, kind: Kind) -> None:
    """A method is for one kind of scores.

    Raises:
      RunError: for another kind.
    """
    wanted, name, _ = METHODS[method]
    if kind != wanted:
        fitting = ", ".join(other for other, (of, _, _) in METHODS.items() if of == kind) or "none"
        raise RunError(f"{name} needs --{wanted}, got --{kind} (for which there is: {fitting})")


def recalibrated(file: FilePredictions, method: str, held_out: FilePredictions) -> tuple[FilePredictions, str]:
    """The file with new probabilities, and what was fitted, in words.

    Raises:
      RunError: if the files have other classes, there is no best fit, or what it makes of the file is not a number.
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
    return dataclasses.replace(file, name=f"{file.name} after {name}", kind=kind, scores=scores), _said(name, fitted)


def _scores(file: FilePredictions, method: str) -> np.ndarray:
    """What a method takes: logits, of two classes their difference, or confidences."""
    if method != "platt":
        return file.scores
    with np.errstate(over="ignore"):  # of huge logits the difference may be infinite, which is refused then
        return file.scores[:, 1] - file.scores[:, 0]


def _said(name: str, fitted: Any) -> str:
    """The name, and the numbers of what has one or two of them."""
    numbers = {
        field.name: np.asarray(getattr(fitted, field.name))
        for field in dataclasses.fields(fitted)
        if field.name in ("temperature", "scale", "bias")
    }
    shown = [f"{field} {float(value):.4g}" for field, value in numbers.items() if value.ndim == 0]
    return f"{name} ({', '.join(shown)})" if shown else name
