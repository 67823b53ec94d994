"""The metrics of a net from its logits, with NumPy and SciPy alone; and how far those of mixjax are from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from benchmarks.report import Section

NUM_BINS = 15


def scores(logits: np.ndarray, labels: np.ndarray) -> dict[str, float | None]:
    """Return NLL, accuracy, ECE, confidence - accuracy, and the temperature of the least NLL (None if there is none).

    Args:
      logits: [N, K].
      labels: [N].
    """
    logs = log_softmax(logits.astype(np.float64), axis=1)
    confidence, correct = np.exp(logs.max(1)), logs.argmax(1) == labels
    return {
        "nll": _nll(logs, labels),
        "accuracy": correct.mean().item(),
        "ece": ece(confidence, correct),
        "signed_gap": (confidence - correct).mean().item(),
        "temperature": best_temperature(logs, labels),
    }


def ece(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the ECE in 15 equal-width bins, closed at the left."""
    bins = np.digitize(confidence, np.arange(1, NUM_BINS) / NUM_BINS)
    sums = np.bincount(bins, confidence - correct, NUM_BINS)
    return np.abs(sums).sum().item() / len(confidence)


def best_temperature(logits: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the T in [1e-3, 1e3] of the least NLL of softmax(logits / T); None for a net that is always right."""
    if (logits.argmax(1) == labels).all():
        return None
    found = minimize_scalar(lambda log: _nll(log_softmax(logits / np.exp(log), axis=1), labels),
                            bounds=np.log([1e-3, 1e3]), method="bounded", options={"xatol": 1e-8})  # fmt: skip
    return float(np.exp(found.x))


def differences_section(nets: Iterable[tuple[np.ndarray, np.ndarray]]) -> Section:
    """Compare the metrics of `mixjax.train` with these, on the same logits.

    Args:
      nets: logits [N, K] and labels [N] of each.
    """
    from mixjax.train.loop.metrics import best_temperatures, score_logits

    largest: dict[str, float] = {}
    count = 0
    for logits, labels in nets:
        found: Mapping[str, np.ndarray] = score_logits(logits[None], labels[None])
        mine = {**found, "temperature": best_temperatures(logits[None], labels[None])}
        for name, value in scores(logits, labels).items():
            if value is not None:
                largest[name] = max(largest.get(name, 0.0), abs(float(mine[name][0]) - value))
        count += 1
    rows = [{"metric": name, "largest_difference": value} for name, value in largest.items()]
    text = (
        f"The metrics of mixjax, in float32, and those of a few lines of NumPy in float64, on the same logits: of the "
        f"{count} nets of PyTorch. A row whose confidence lies within a rounding of an edge may change its bin."
    )
    return Section("metrics", "The same logits", text, rows, dict(largest))


def _nll(logs: np.ndarray, labels: np.ndarray) -> float:
    return -np.take_along_axis(logs, labels[:, None], 1).mean().item()
