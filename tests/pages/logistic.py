"""The numbers of docs/logistic.md."""

from __future__ import annotations

import numpy as np

from mixjax.gaussian import limit_logistic_scores, population_ece
from tests.pages.tables import at, table

PEAK = "interpolation_peak"
CHOICES = "regularizers/theta_norm-ratio-criterion-arm.csv"
DECAYING = "regularizers/ratio-criterion-arm.csv"
LEAST = 1e-6  # of NLL: what the tables have digits for
ARMS = ("plain", "smoothing", "Mixup")


def numbers() -> dict[str, float]:
    return peak() | epochs() | spectra() | real_rows() | boundaries() | gains()


def peak() -> dict[str, float]:
    values = {}
    for arm in ARMS:
        weak, strong = (at(f"{PEAK}/penalty-arm-ratio.csv", penalty=mu, arm=arm, ratio=1) for mu in (1e-4, 1))
        literal = at(f"{PEAK}/penalty-arm-point_ratio.csv", penalty=1e-4, arm=arm, point_ratio=1)
        values |= {f"{arm}.accuracy": weak.accuracy, f"{arm}.gap": weak.signed, f"{arm}.strong": strong.accuracy}
        values |= {f"{arm}.literal": literal.accuracy_fitted, f"{arm}.literal.error": 2 * literal.accuracy_fitted_se}
    return values


def epochs() -> dict[str, float]:
    rows = {number: at(f"{PEAK}/epochs.csv", epochs=number) for number in (5, 100)}
    means = {f"epochs.{number}": row.accuracy_pairs for number, row in rows.items()}
    return means | {f"epochs.{number}.error": 2 * row.accuracy_pairs_se for number, row in rows.items()}


def spectra() -> dict[str, float]:
    return {
        f"decay.{arm}": at(f"{PEAK}/decay-arm-ratio.csv", decay=1, arm=arm, ratio=1).accuracy_decay
        for arm in ("plain", "Mixup")
    }


def real_rows() -> dict[str, float]:
    plain = table(f"{PEAK}/rows-arm.csv", arm="plain")
    miss = plain.accuracy_rows_predicted - plain.accuracy_rows
    found = {f"rows.{arm}": at(f"{PEAK}/rows-arm.csv", arm=arm, rows=400).accuracy_rows for arm in ("plain", "Mixup")}
    return found | {"rows.miss.least": miss.min(), "rows.miss.most": miss.max()}


def boundaries() -> dict[str, float]:
    """Return where Beta(1, 1) stops to help or to harm at |theta| = 1, between two values of p/n."""
    penalty = np.array([1e-3, 1e-3, 1e-3, 0.1])
    ratio = np.array([[0.052, 0.71, 1.63, 0.93], [0.055, 0.72, 1.66, 0.95]])
    plain, mixed = (limit_logistic_scores(ratio, 1.0, penalty=penalty, alpha=alpha) for alpha in (0.0, 1.0))
    low, high = np.asarray(population_ece(mixed) - population_ece(plain), np.float64)
    assert (np.sign(low) == [1, -1, 1, 1]).all()
    assert (np.sign(low) == -np.sign(high)).all()
    roots = ratio[0] - low * (ratio[1] - ratio[0]) / (high - low)
    return dict(zip(("helps.from", "helps.to", "helps.again", "helps.strong"), roots, strict=True))


def gains() -> dict[str, float]:
    """Return what the best Mixup does beside the best weight decay, without and with the best temperature."""
    nll, scaled = (added(CHOICES, criterion, f"{criterion}_best") for criterion in ("nll", "nll_scaled"))
    accuracy = -added(DECAYING, "nll_scaled", "accuracy_best_decay")
    decaying = {name: added(DECAYING, name, f"{name}_best_decay") for name in ("nll", "nll_scaled")}
    alpha = table(DECAYING, criterion="nll_scaled", arm="weight decay, Mixup").alpha_best_decay
    assert (alpha == 100).all()
    return {
        "settings": len(nll),
        "nll.none": ((nll < LEAST) & (scaled < LEAST)).sum(),
        "decay.nll": decaying["nll"].max(),
        "decay.smoothing": added(DECAYING, "nll", "nll_best_decay", "weight decay, smoothing").max(),
        "decay.scaled.least": decaying["nll_scaled"].min(),
        "decay.scaled": decaying["nll_scaled"].max(),
        "accuracy.gain": accuracy.max(),
    }


def added(path: str, criterion: str, name: str, arm: str = "weight decay, Mixup") -> np.ndarray:
    """Return by how much an arm lowers a number beside the best weight decay."""
    alone, both = (table(path, criterion=criterion, arm=each)[name].values for each in ("weight decay", arm))
    return alone - both
