"""The numbers of a report: the public estimators of `mixjax.calibration`, with intervals where there are any.

Binned errors and the signed gap have bootstrap intervals (their coverage is in docs/estimators.md), accuracy has
Clopper and Pearson's, means of losses have normal ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from mixjax import calibration, scores
from mixjax.calibration.groups import GroupIntervals, group_intervals
from mixjax.calibration.intervals import Interval, bootstrap_intervals
from mixjax.calibration.reliability_table import Reliability, check_level, clopper_pearson, reliability
from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Bins, Closed
from mixjax.calibration.significance import CalibrationTest, calibration_test
from mixjax.numerics.options import check_size
from mixjax.report.losses import loss_intervals
from mixjax.report.reading import FilePredictions


@dataclass(frozen=True)
class Settings:
    """The options of a report; wrong ones raise ValueError."""

    num_bins: int = DEFAULT_BINS
    binning: Binning = "equal-width"
    closed: Closed = "left"
    level: float = 0.95
    seed: int = 0
    replicates: int = 2000

    def __post_init__(self) -> None:
        Bins.of(self.num_bins, self.binning, self.closed)
        check_size("seed", self.seed, least=0)
        check_level(self.level)

    @property
    def bins(self) -> dict:
        """The options of `ece`."""
        return {"num_bins": self.num_bins, "binning": self.binning, "closed": self.closed}

    @property
    def bootstrap(self) -> dict:
        """The options of `bootstrap_intervals`."""
        return {**self.bins, "level": self.level, "replicates": self.replicates}

    def keys(self) -> jax.Array:
        """Return three keys, for the intervals, the test, and the classes."""
        return jax.random.split(jax.random.key(self.seed, impl="threefry2x32"), 3)


class Metric(NamedTuple):
    """A number with its interval, whose ends are NaN where it has none."""

    name: str
    interval: Interval
    meaning: str


class ClassMetrics(NamedTuple):
    """The numbers of one class k: those of the binary problem (probs[:, k], labels == k)."""

    rows: int
    mean_probability: float
    frequency: float
    ece: Interval
    signed_gap: Interval
    table: Reliability


@dataclass(frozen=True)
class Report:
    """All numbers of one file, and the tables of its diagrams."""

    file: FilePredictions
    settings: Settings
    metrics: tuple[Metric, ...]
    test: CalibrationTest
    table: Reliability
    histogram: np.ndarray  # rows in equal-width bins, also if the bins of the table are not
    classes: tuple[ClassMetrics, ...] = ()
    groups: Mapping[Any, GroupIntervals] = field(default_factory=dict)

    def metric(self, name: str) -> Metric:
        """Return the metric of a name."""
        return next(metric for metric in self.metrics if metric.name == name)

    def worst_classes(self, most: int) -> list[int]:
        """Return at most `most` classes, those with the largest ECE, in ascending order."""
        errors = np.array([metrics.ece.estimate for metrics in self.classes])
        return sorted(np.argsort(-errors, kind="stable")[:most].tolist())


def report_on(file: FilePredictions, settings: Settings) -> Report:
    """Compute every number of a file without missing rows."""
    key_intervals, key_test, key_classes = settings.keys()
    confidence, correct = top_labels(file)
    intervals = (
        _accuracy(file, correct, settings.level)
        | _binned(key_intervals, confidence, correct, settings)
        | _unbinned(file, confidence, correct, settings)
        | loss_intervals(file, np.asarray(correct), settings.seed, settings.level)
        | _corp(confidence, correct)
    )
    return Report(
        file,
        settings,
        tuple(Metric(name, interval, MEANING[name]) for name, interval in intervals.items()),
        CalibrationTest(*map(float, calibration_test(key_test, confidence, correct))),  # type: ignore[arg-type]
        reliability(confidence, correct, **settings.bins),
        np.asarray(reliability(confidence, correct, **settings.bins | {"binning": "equal-width"}).count),
        () if file.kind == "binary" else _classwise(key_classes, file, settings),
        _groupwise(jax.random.fold_in(key_classes, file.num_classes), file, confidence, correct, settings),
    )


def top_labels(file: FilePredictions) -> tuple[jax.Array, jax.Array]:
    """Return (confidence, correct) of the predicted class; a file of kind "binary" has them."""
    if file.kind == "binary":
        return jax.numpy.asarray(file.scores), jax.numpy.asarray(file.labels)
    to_scores = scores.top_label_from_logits if file.kind == "logits" else scores.top_label
    return to_scores(file.scores, file.labels)


def probabilities(file: FilePredictions) -> np.ndarray:
    """Return the probabilities of the classes, as `mixjax.scores` computes them."""
    if file.kind == "logits":
        return np.asarray(jax.nn.softmax(jax.numpy.asarray(_at_least_float32(file.scores)), axis=-1))
    return file.scores


MEANING = {
    "accuracy": "share of rows whose predicted class is the label",
    "mean correctness": "share of rows that came true",
    "ECE": "mean over bins of |accuracy - confidence|, by their rows; biased upwards by noise",
    "RMS calibration error": "root of the mean square over bins (ECE with norm 2); biased upwards by noise",
    "MCE": "largest |accuracy - confidence| of a bin; biased upwards by noise",
    "debiased squared error": "mean square over bins without the bias of noise; may be negative",
    "signed gap": "mean confidence minus accuracy; above 0 is overconfident",
    "smooth ECE": "residuals smoothed by a Gaussian as wide as the error itself; no bins",
    "class-wise ECE": "mean over classes of the ECE of (probability of the class, label is the class)",
    "NLL": "mean negative log likelihood of the labels, in nats",
    "Brier score": "mean squared distance of probabilities and labels, summed over classes",
    "miscalibration": "part of the Brier score of the confidences that isotonic regression would remove (CORP)",
    "discrimination": "part of it by which confidences tell right from wrong (CORP)",
    "uncertainty": "part of it that the share of right rows leaves (CORP)",
}


def _accuracy(file: FilePredictions, correct: jax.Array, level: float) -> dict[str, Interval]:
    name = "mean correctness" if file.kind == "binary" else "accuracy"
    right = int(np.asarray(correct).sum(dtype=np.float64))
    share = right / len(file)
    low, high = clopper_pearson(right, len(file), level=level)
    error = np.sqrt(share * (1 - share) / len(file))
    return {name: Interval(share, float(low), float(high), float(error))}


def _binned(key: jax.Array, confidence: jax.Array, correct: jax.Array, settings: Settings) -> dict[str, Interval]:
    found = bootstrap_intervals(key, confidence, correct, **settings.bootstrap)
    return {
        "ECE": found.ece,
        "RMS calibration error": found.rms_ece,
        "MCE": found.mce,
        "debiased squared error": found.debiased_squared_ece,
        "signed gap": found.signed_gap,
    }


def _unbinned(
    file: FilePredictions, confidence: jax.Array, correct: jax.Array, settings: Settings
) -> dict[str, Interval]:
    values = {"smooth ECE": calibration.smooth_ece(confidence, correct)}
    if file.kind != "binary":
        values["class-wise ECE"] = calibration.classwise_ece(probabilities(file), file.labels, **settings.bins)
    return {name: _without_ends(value) for name, value in values.items()}


def _corp(confidence: jax.Array, correct: jax.Array) -> dict[str, Interval]:
    parts = calibration.brier_decomposition(confidence, correct)
    return {name: _without_ends(getattr(parts, name)) for name in ("miscalibration", "discrimination", "uncertainty")}


def _without_ends(value: jax.Array) -> Interval:
    return Interval(float(value), *[float("nan")] * 3)


def _classwise(key: jax.Array, file: FilePredictions, settings: Settings) -> tuple[ClassMetrics, ...]:
    probs = probabilities(file)

    def of_class(k: int) -> ClassMetrics:
        confidence, correct = probs[:, k], file.labels == k
        found = bootstrap_intervals(jax.random.fold_in(key, k), confidence, correct, **settings.bootstrap)
        table = reliability(confidence, correct, **settings.bins)
        mean = float(confidence.mean(dtype=np.float64))
        return ClassMetrics(int(correct.sum()), mean, float(correct.mean()), found.ece, found.signed_gap, table)

    return tuple(of_class(k) for k in range(file.num_classes))


def _groupwise(
    key: jax.Array, file: FilePredictions, confidence: jax.Array, correct: jax.Array, settings: Settings
) -> dict[Any, GroupIntervals]:
    if file.groups is None:
        return {}
    found = group_intervals(key, confidence, correct, file.groups.codes, **settings.bootstrap)
    return {file.groups.names[code]: intervals for code, intervals in found.items()}


def _at_least_float32(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32) if values.dtype.itemsize < 4 or values.dtype.kind != "f" else values
