"""What other libraries are called with: each builder takes the rows and returns a call without arguments, or None.

None is returned where a library is not installed, or cannot be used at that size for the memory or hours it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module, metadata
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.calibration.sizes import NUM_BINS, Rows
from benchmarks.report import Row
from benchmarks.timing import interleaved

OURS = "mixjax"
Estimator = Callable[[jax.Array, jax.Array], jax.Array]
Call = Callable[[], Any]
Builder = Callable[[Rows], Call | None]

PACKAGES = {  # what is imported, and the name of its distribution
    "torch": "torch",
    "torchmetrics": "torchmetrics",
    "sklearn": "scikit-learn",
    "netcal": "netcal",
    "relplot": "relplot",
    "calibration": "uncertainty-calibration",
    "tensorflow_probability": "tfp-nightly",
}


def versions() -> dict[str, str]:
    """Of the libraries that are installed."""
    found = {}
    for package in PACKAGES.values():
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def library(name: str) -> Any:
    """The module, or None."""
    try:
        return import_module(name)
    except Exception as error:  # noqa: BLE001 - a library that is broken here has no row, whatever breaks it
        print(f"without {name}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def beside_peers(
    data: Rows, estimator: Estimator, others: Mapping[str, Builder], repetitions: int
) -> Iterator[tuple[Row, float]]:
    """Yield a row of times for our estimator and for each peer that can be used, and its value."""
    cases: dict[str, Call] = {OURS: partial(jax.jit(estimator), *map(jnp.asarray, data))}
    cases |= {name: call for name, build in others.items() if (call := build(data)) is not None}
    for name, timing in interleaved(cases, repetitions).items():
        times = {**timing.row(len(data[0])), "first_s": timing.first}
        yield {"rows": len(data[0]), "library": name, **times}, float(cases[name]())


# --- equal-width ECE --------------------------------------------------------------------------------


def numpy_width(rows: Rows) -> Call:
    """floor and bincount of the residual: three passes, double sums."""
    confidence, correct = rows

    def call() -> float:
        index = np.minimum((confidence * np.float32(NUM_BINS)).astype(np.int64), NUM_BINS - 1)
        return float(np.abs(np.bincount(index, weights=correct - confidence, minlength=NUM_BINS)).sum() / len(index))

    return call


def torchmetrics_width(rows: Rows, *, validate: bool) -> Call | None:
    torch, functional = library("torch"), library("torchmetrics.functional.classification")
    if torch is None or functional is None:
        return None
    confidence, correct = torch.from_numpy(rows[0]), torch.from_numpy(rows[1].astype(np.int64))
    return partial(functional.binary_calibration_error, confidence, correct, NUM_BINS, "l1", validate_args=validate)


def sklearn_width(rows: Rows) -> Call | None:
    """calibration_curve gives means of bins that are not empty; their counts are from NumPy."""
    module = library("sklearn.calibration")
    confidence, correct = rows
    if module is None:
        return None

    def call() -> float:
        right, claimed = module.calibration_curve(correct, confidence, n_bins=NUM_BINS)
        count = np.histogram(confidence, NUM_BINS, (0, 1))[0]
        return float(np.abs(right - claimed) @ count[count > 0] / len(correct))

    return call


def netcal_width(rows: Rows) -> Call | None:
    metrics = library("netcal.metrics")
    if metrics is None or len(rows[0]) > 10_000_000:
        return None
    return partial(metrics.ECE(NUM_BINS).measure, rows[0], rows[1].astype(np.int64))


def tfp_width(rows: Rows) -> Call | None:
    """It takes logits of classes, of which it makes probabilities anew."""
    tfp = library("tensorflow_probability.substrates.jax")
    if tfp is None or len(rows[0]) > 10_000_000:
        return None
    confidence, correct = map(jnp.asarray, rows)
    logits = jnp.stack([jnp.log1p(-confidence), jnp.log(confidence)], axis=-1)
    error = jax.jit(partial(tfp.stats.expected_calibration_error, NUM_BINS))
    return partial(error, logits=logits, labels_true=correct.astype(jnp.int32))


WIDTH: Mapping[str, Builder] = {
    "NumPy": numpy_width,
    "scikit-learn": sklearn_width,
    "torchmetrics, validated": partial(torchmetrics_width, validate=True),
    "torchmetrics": partial(torchmetrics_width, validate=False),
    "netcal": netcal_width,
    "TFP (JAX)": tfp_width,
}


# --- the other estimators ---------------------------------------------------------------------------


def _mass_sums(rows: Rows) -> Callable[[int], np.ndarray]:
    """For a number of bins, their sums of (1, confidence, correct) of rows in order; ties are split as they lie."""
    confidence, correct = rows
    order = np.argsort(confidence, kind="stable")
    columns = np.cumsum(np.stack([np.ones(len(order)), confidence[order], correct[order]]), axis=1, dtype=np.float64)
    columns = np.concatenate([np.zeros((3, 1)), columns], axis=1)

    def sums(bins: int) -> np.ndarray:
        ends = -(-np.arange(bins + 1) * len(order) // bins)
        return np.diff(columns[:, ends], axis=1)

    return sums


def numpy_mass(rows: Rows) -> Call:
    def call() -> float:
        count, claimed, right = _mass_sums(rows)(NUM_BINS)
        return float(np.abs(right - claimed).sum() / count.sum())

    return call


def sklearn_mass(rows: Rows) -> Call | None:
    module = library("sklearn.calibration")
    confidence, correct = rows
    if module is None:
        return None

    def call() -> float:
        right, claimed = module.calibration_curve(correct, confidence, n_bins=NUM_BINS, strategy="quantile")
        return float(np.abs(right - claimed).mean())

    return call


def numpy_sweep(rows: Rows) -> Call:
    """From one bin on, as long as the accuracies of the bins do not fall; sorted once, sums by differences."""

    def call() -> float:
        sums = _mass_sums(rows)
        found = bins = 1
        while bins < len(rows[0]):
            count, _, right = sums(bins)
            if (np.diff(right / count) < 0).any():
                break
            found, bins = bins, bins + 1
        count, claimed, right = sums(found)
        return float(np.sqrt(((right - claimed) ** 2 / count).sum() / count.sum()))

    return call


def verified_debiased(rows: Rows) -> Call | None:
    """The squared error of equal-mass bins; its data are a list of pairs, made before the clock starts."""
    utils = library("calibration.utils")
    if utils is None or len(rows[0]) > 1_000_000:
        return None
    data = list(zip(rows[0].astype(float).tolist(), rows[1].astype(int).tolist(), strict=True))
    bins = utils.get_equal_bins(rows[0].astype(float), num_bins=NUM_BINS)
    return lambda: utils.unbiased_square_ce(utils.bin(data, bins))


def numpy_debiased(rows: Rows) -> Call:
    """Kumar's form with equal-width bins."""
    confidence, correct = rows

    def call() -> float:
        index = np.minimum((confidence * np.float32(NUM_BINS)).astype(np.int64), NUM_BINS - 1)
        count = np.bincount(index, minlength=NUM_BINS)
        right, claimed = (np.bincount(index, weights, NUM_BINS) for weights in (correct, confidence))
        kept = count > 1
        count, accuracy, gap = count[kept], right[kept] / count[kept], (right - claimed)[kept] / count[kept]
        return float((count * (gap**2 - accuracy * (1 - accuracy) / (count - 1))).sum() / len(index))

    return call


def relplot_smooth(rows: Rows) -> Call | None:
    relplot = library("relplot")
    return relplot and partial(relplot.smECE, rows[0].astype(float), rows[1].astype(float))


def netcal_mmce(rows: Rows) -> Call | None:
    """An array of n x n. Two columns: with one, it pairs the confidence of class 1 with the top label's success."""
    metrics = library("netcal.metrics")
    if metrics is None or len(rows[0]) > 10_000:
        return None
    probs = np.stack([1.0 - rows[0].astype(float), rows[0].astype(float)], axis=-1)
    return partial(metrics.MMCE().measure, probs, rows[1].astype(np.int64))


def sklearn_isotonic(rows: Rows) -> Call | None:
    """The fit that CORP is made of, and the Brier score's three parts from it."""
    module = library("sklearn.isotonic")
    confidence, correct = (part.astype(float) for part in rows)
    if module is None:
        return None

    def call() -> float:
        fitted = module.IsotonicRegression().fit_transform(confidence, correct)
        return float(np.mean((confidence - correct) ** 2) - np.mean((fitted - correct) ** 2))

    return call
