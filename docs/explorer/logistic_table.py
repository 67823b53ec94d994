"""Make logistic_table.json: the limit of logistic regression with Mixup, at nodes from which the page interpolates.

    python docs/explorer/logistic_table.py

A layer is a penalty. Its nodes are evenly spaced in log p/n and in log |theta|, and Chebyshev points in the root of the
Mixup weight t, the first of which is no Mixup. At each node the table holds log m and log rho of the score's law, as
whole numbers of 18 bits, three characters each. A weak penalty bends the law sharply, near p = n and where the classes
become separable, and so has more nodes. `tests/explorer/test_logistic.py` states the error of what is interpolated.
"""

from __future__ import annotations

import json
import string
from pathlib import Path

import jax
import numpy as np

from mixjax.gaussian import limit_logistic_scores, mixup_weight, symmetric_alpha

TABLE = Path(__file__).with_name("logistic_table.json")
RATIO, THETA_NORM, LARGEST_ALPHA = (0.05, 8.0), (0.25, 4.0), 10.0
LAYERS = {0.001: (36, 14, 8), 0.01: (20, 12, 10), 0.1: (16, 10, 9), 1.0: (12, 10, 6)}  # nodes for each penalty
DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
LEVELS = 64**3 - 1


def chebyshev(count: int) -> np.ndarray:
    """Return the Chebyshev points of [0, 1], both ends among them."""
    return 0.5 * (1.0 - np.cos(np.pi * np.arange(count) / (count - 1)))


def encoded(values: np.ndarray) -> dict[str, float | str]:
    """Return numbers as their range and three characters each."""
    low, high = float(values.min()), float(values.max())
    levels = np.rint((values.ravel() - low) / (high - low) * LEVELS).astype(int)
    text = "".join(DIGITS[level >> 12] + DIGITS[level >> 6 & 63] + DIGITS[level & 63] for level in levels)
    return {"low": low, "high": high, "text": text}


def layer(penalty: float, shape: tuple[int, int, int]) -> dict[str, object]:
    """Solve the limit at the nodes of a penalty."""
    largest = float(mixup_weight(LARGEST_ALPHA, LARGEST_ALPHA))
    axes = np.geomspace(*RATIO, shape[0]), np.geomspace(*THETA_NORM, shape[1]), largest * chebyshev(shape[2]) ** 2
    ratio, theta_norm, t = np.meshgrid(*axes, indexing="ij")
    law = limit_logistic_scores(ratio, theta_norm, penalty=penalty, alpha=symmetric_alpha(t))
    if not np.isfinite(law.gap).all():
        raise ValueError(f"the limit has no solution at some nodes of the penalty {penalty}")
    log_mean, log_slope = np.log(law.mean), np.log(law.slope)
    return {"penalty": penalty, "shape": shape, "logMean": encoded(log_mean), "logSlope": encoded(log_slope)}


def main() -> None:
    """Write the table, in three minutes on two cores."""
    table = {
        "ratio": RATIO,
        "theta": THETA_NORM,
        "alpha": LARGEST_ALPHA,
        "layers": [layer(penalty, shape) for penalty, shape in LAYERS.items()],
    }
    TABLE.write_text(json.dumps(table, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    with jax.enable_x64(True):
        main()
