"""The variables of the study of real images, from the arrays of its pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from mixjax.gaussian import critical_ratio

from ..engine.program import HostArrays
from .divisions import claimed_to_found, crossing, crossing_and_error, half_width, mean_and_error
from .tables import described

KINDS = ("images", "Gaussian rows")
HALF = "half the width of a 95 % interval"
ERRORS = {"ece": ("ECE", 1), "square": ("debiased ECE_2 squared", 2)}  # words, and the norm of its boundary
CLAIMED = "standard error claimed from one row set / standard deviation over row sets"
_SHAPE = {
    "trace": "trace of the covariance within classes, / p",
    "trace_square": "trace of its square, / p",
    "offset": "middle of the classes along theta",
    "variance": "variance along theta",
    "skewness": "skewness along theta, outwards",
    "kurtosis": "excess kurtosis along theta",
    "histogram": "density along theta",
    "shrinkage": "shrinkage of the covariance",
}
_CLASSES = {"variance": ("class",), "skewness": ("class",), "kurtosis": ("class",), "histogram": ("class", "score")}

Variables = dict[str, xr.Variable]


def shape_variables(_: xr.Dataset, found: Sequence[HostArrays]) -> Variables:
    """Average the moments of the whitened rows, and |theta|, over row sets and divisions, and count these."""
    square = [mean_and_error(piece["theta_square"]) for piece in found]
    theta_norm = np.sqrt([max(float(mean), 0.0) for mean, _ in square])
    error = np.array([float(error) for _, error in square]) / (2.0 * theta_norm)
    counts = [piece["ece"].shape[:2] for piece in found]
    variables = {
        name: _variable(("pair", *_CLASSES.get(name, ())), (piece[name].mean(axis=(0, 1)) for piece in found), text)
        for name, text in _SHAPE.items()
    }
    return variables | {
        "row_sets": _variable(("pair",), (sets for sets, _ in counts), "row sets"),
        "divisions": _variable(("pair",), (divisions for _, divisions in counts), "divisions of each row set"),
        "half_width": _variable(("pair",), (half_width(*count) for count in counts), f"{HALF}, in standard errors"),
        "theta_norm": _variable(("pair",), theta_norm, "|theta|, its square without bias"),
        "theta_norm_se": _variable(("pair",), error, "standard error of |theta|"),
    }


def error_variables(_: xr.Dataset, found: Sequence[HostArrays]) -> Variables:
    """Average the errors and their differences from no Mixup, beside those of the exact law.

    A difference is also averaged over the p/n where the exact law says that Mixup helps, and where that it hurts.
    """
    plain, sizes = ("pair", "rows", "ratio"), ("pair", "ratio")
    accuracy = (piece["accuracy"].mean(axis=(0, 1))[..., 0] for piece in found)
    variables = {
        "n": _variable(sizes, (piece["n"] for piece in found), "training set size"),
        "accuracy": _variable(plain, accuracy, "accuracy, plain"),
    }
    for name, (text, _norm) in ERRORS.items():
        both = [mean_and_error(_difference(piece[name])) for piece in found]
        exact = [piece[f"exact_{name}"] for piece in found]
        sides = [_sides(piece[name], piece[f"exact_{name}"]) for piece in found]
        of_side, words = ("pair", "side", "rows", "mixup"), f"{text}, Mixup - plain, mean over p/n"
        law = f"{text} of Definition 3.1 at this n, p and |theta|"
        parts = {
            "": (plain, (piece[name].mean(axis=(0, 1))[..., 0] for piece in found), f"{text}, plain"),
            "_exact": (sizes, (values[:, 0] for values in exact), f"{law}, plain"),
            "_difference": ((*plain, "mixup"), (mean for mean, _ in both), f"{text}, Mixup - plain"),
            "_difference_se": (
                (*plain, "mixup"),
                (error for _, error in both),
                f"standard error of {text}, Mixup - plain",
            ),
            "_difference_exact": ((*sizes, "mixup"), map(_difference, exact), f"{law}, Mixup - plain"),
            "_side": (of_side, (mean for mean, _, _ in sides), f"{words} where Definition 3.1 has this sign"),
            "_side_se": (of_side, (error for _, error, _ in sides), f"standard error of {words}"),
            "_side_exact": (("pair", "side", "mixup"), (law for _, _, law in sides), f"{words}, by Definition 3.1"),
            "_claimed": (("pair",), (claimed_to_found(_difference(piece[name])) for piece in found), CLAIMED),
        }
        variables |= {name + suffix: _variable(*part) for suffix, part in parts.items()}
    return variables


def boundary_variables(table: xr.Dataset, found: Sequence[HostArrays]) -> Variables:
    """Find p/n beyond which Mixup lowers each error: measured, of the exact law at these n and p, and of the limit."""
    theta_norm, t = (table[name].values.astype(np.float32) for name in ("theta_norm", "t"))
    realized = [float(p) / piece["n"] for p, piece in zip(table["p"].values, found, strict=True)]
    variables: Variables = {}
    for name, (_, norm) in ERRORS.items():
        both = [
            crossing_and_error(ratios, np.moveaxis(_difference(piece[name]), 2, 3))
            for ratios, piece in zip(realized, found, strict=True)
        ]
        exact = (crossing(r, _difference(piece[f"exact_{name}"])) for r, piece in zip(realized, found, strict=True))
        limit = np.asarray(critical_ratio(theta_norm[:, None], t[None], norm=norm), np.float64)
        text = f"p/n above which Mixup lowers the {'ECE' if norm == 1 else 'ECE_2'}"
        kinds, law = ("pair", "rows", "mixup"), ("pair", "mixup")
        parts: dict[str, tuple[tuple[str, ...], Iterable[Any], str]] = {
            "": (kinds, (position for position, _ in both), f"{text}; none where it does at every p/n measured"),
            "_se": (kinds, (error for _, error in both), f"standard error of {text}"),
            "_exact": (law, exact, f"{text}, Definition 3.1 at these n and p"),
            "_limit": (law, limit, f"{text}, its limit"),
        }
        variables |= {f"{name}_critical{suffix}": _variable(*part) for suffix, part in parts.items()}
    return variables


def _sides(measured: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Average differences over the p/n measured where those of the exact law are below 0, and above: [side, ...].

    Return the mean and error of [rows, mixup], and the mean of the exact law [mixup]; NaN where there is no p/n.
    """
    difference, law = _difference(measured), _difference(exact)
    known = np.isfinite(difference[0, 0, 0])
    found = []
    for side in (law < 0, law > 0):
        weight = np.where(side & known, 1.0, 0.0)
        with np.errstate(invalid="ignore"):
            weight /= weight.sum(axis=0)
        means = (np.where(weight == 0, 0.0, difference) * weight).sum(axis=-2)
        found.append((*mean_and_error(means), (law * weight).sum(axis=0)))
    mean, error, exact_mean = (np.stack(parts) for parts in zip(*found, strict=True))
    return mean, error, exact_mean


def _difference(errors: np.ndarray) -> np.ndarray:
    """Subtract the error of weight 0, which is the first."""
    return errors[..., 1:] - errors[..., :1]


def _variable(dims: tuple[str, ...], values: Iterable[Any], text: str) -> xr.Variable:
    return described(dims, np.stack([np.asarray(value) for value in values]), text)
