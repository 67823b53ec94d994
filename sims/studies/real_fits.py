r"""Logistic fits to real features, predicted from means, covariance and n alone, and measured.

Not in the paper. For two classes of real rows `predict_logistic_scores` gives the law of the score of a penalized
logistic fit with Mixup or label smoothing from the moments of `class_moments`; nothing is fitted. Beside it: the fits
themselves, scored on the other rows, and what the paper's averaging classifier says of Mixup on the same features.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import ScoreLaw, limit_scores, mixup_weight, predict_logistic_scores
from mixjax.runs import RunError

from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.real_fits import real_fits_figures
from ..grid import AxisValue, axis, check_whole, positive_axis
from ..reports.real_fits import real_fits_report
from ..study import Piece, PiecewiseStudy
from .feature_pairs import ClassPair, Spread, file_pairs_of, fingerprint_of, image_pairs_of, spread_of
from .fitted_scores import MEASURED, Setting, measured
from .real_fits_table import fit_variables, pair_variables

LEAST_SETS = 5  # training sets of a cell


@dataclass(frozen=True)
class RealFits:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("50,100,200,400,800,1600,3200", "Training rows, even; at most half of the rows of a pair")
    penalty: AxisValue = option("0.001,0.01,0.1", "mu, for rows whose mean variance is 1")
    alpha: AxisValue = option("0.2,1,5", "alpha = beta of lambda ~ Beta(alpha, alpha)")
    smoothing: AxisValue = option("0.05,0.2", "eps of label smoothing, which is without Mixup")
    sets: int = option(10, "Training sets of a cell, fewer where n is large")
    rows: int = option(3000, f"Training rows of all sets of a cell, at most, but {LEAST_SETS} sets at least")
    every_alpha: int = option(800, "Largest n with every alpha; beyond, the middle one alone")
    most_mixed: int = option(1600, "Largest n with Mixup")
    data: str = option("digits,fashion_mnist", "Data sets")
    features: str = option("", "An .npz file with features [rows, p] and labels [rows], in place of the data sets")
    classes: str = option("", "Pairs of labels of that file, as in 0-1,3-8 (default: all pairs)")
    seed: int = option(0, "Of every draw")


def _pieces(config: RealFits) -> dict[str, Piece]:
    """Return a piece for each pair of classes."""
    check_whole(config, sets=LEAST_SETS, rows=1, every_alpha=0, most_mixed=0)
    sizes_of(config), positive_axis(config, "penalty"), settings_of(config)
    return {pair.file: partial(measure, pair, config) for pair in pairs_of(config)}


def pairs_of(config: RealFits) -> list[ClassPair]:
    """Return the pairs of classes: of the file if there is one, or of the data sets."""
    if config.features:
        return file_pairs_of(config.features, config.classes)
    return image_pairs_of(config.data.split(","))


def sizes_of(config: RealFits) -> np.ndarray:
    """Return n in increasing order."""
    sizes = np.sort(axis("n", config.n, whole=True, least=2)).astype(np.int64)
    if (sizes % 2).any():
        raise RunError(f"n must be even, with half of the rows of either class, got {sizes[sizes % 2 == 1][0]}")
    return sizes


def settings_of(config: RealFits) -> list[Setting]:
    """Return the plain fit, Mixup of each alpha, and each label smoothing."""
    smoothing = positive_axis(config, "smoothing")
    if (smoothing >= 1).any():
        raise RunError(f"smoothing must be below 1, got {smoothing.max():g}")
    mixed = [Setting(f"Mixup {alpha:g}", alpha=alpha) for alpha in positive_axis(config, "alpha")]
    return [Setting("plain"), *mixed, *(Setting(f"smoothing {eps:g}", smoothing=eps) for eps in smoothing)]


def fitted_settings(config: RealFits, n: int) -> list[bool]:
    """Return which settings are fitted at n: all without Mixup, and those with Mixup that do not take too long."""
    alphas = positive_axis(config, "alpha")
    middle = alphas[len(alphas) // 2]
    return [
        setting.alpha == 0 or (n <= config.most_mixed and (n <= config.every_alpha or setting.alpha == middle))
        for setting in settings_of(config)
    ]


def measure(pair: ClassPair, config: RealFits) -> HostArrays:
    """Predict, [n, penalties, settings], and measure, [n, sets, penalties, settings]; NaN where nothing is fitted."""
    spread = spread_of(pair)
    sizes, penalties, settings = sizes_of(config), positive_axis(config, "penalty"), settings_of(config)
    found = np.full((len(sizes), config.sets, len(penalties), len(settings), len(MEASURED)), np.nan)
    for index, n in enumerate(map(int, sizes)):
        if n > spread.rows.shape[1]:
            continue
        fitted = fitted_settings(config, n)
        chosen = [setting for setting, kept in zip(settings, fitted, strict=True) if kept]
        keys = jax.random.split(key_of(config.seed, f"{pair.name} {n}"), config.sets)
        for number in range(min(config.sets, max(LEAST_SETS, config.rows // n))):
            found[index, number][:, fitted] = measured(keys[number], spread.rows, n, penalties, chosen)
    arrays = {name: found[..., index] for index, name in enumerate(MEASURED)}
    return arrays | _predicted(spread, config) | _averages(spread, config) | _facts(spread)


def _predicted(spread: Spread, config: RealFits) -> HostArrays:
    """Compute the law of the score of every fit, [n, penalties, settings], in float64: weak penalties need it."""
    alpha, smoothing = np.array([(each.alpha, each.smoothing) for each in settings_of(config)]).T
    with jax.enable_x64(True):
        law = predict_logistic_scores(
            spread.eigenvalues, spread.theta_squared, sizes_of(config)[:, None, None],
            penalty=positive_axis(config, "penalty")[:, None], alpha=alpha, smoothing=smoothing,
        )  # fmt: skip
        return {"predicted_mean": np.asarray(law.mean), "predicted_var": np.asarray(law.var)}


def _averages(spread: Spread, config: RealFits) -> HostArrays:
    """Compute the laws of the paper's averaging classifier, [n, settings]: on whitened rows, and on these rows.

    Whitened it is that of Definition 3.1 in the limit; on rows of covariance S and mean variance 1 the score has mean
    |theta|^2 and variance theta'S theta + tr(S^2) / n. Mixup of weight t and smoothing eps multiply it by
    (1 - t)(1 - eps).
    """
    s, theta = spread.eigenvalues.astype(np.float64), spread.theta_squared.astype(np.float64)
    n, settings = sizes_of(config).astype(np.float64)[:, None], settings_of(config)
    t = [float(mixup_weight(setting.alpha, setting.alpha)) if setting.alpha else 0.0 for setting in settings]
    factor = (1.0 - np.array(t)) * (1.0 - np.array([setting.smoothing for setting in settings]))
    kept = s > 1e-6 * s.max()
    theta_norm = np.sqrt((theta[kept] / s[kept]).sum())
    whitened = limit_scores((kept.sum() / n).astype(np.float32), np.float32(theta_norm), 0.0)
    plain = {
        "whitened": whitened,
        "unwhitened": ScoreLaw.from_moments(theta.sum() + 0.0 * n, (theta * s).sum() + (s**2).sum() / n),
    }
    found: HostArrays = {"theta_norm": np.asarray(theta_norm)}
    for name, law in plain.items():
        found[f"{name}_mean"] = np.asarray(law.mean, np.float64) * factor
        found[f"{name}_var"] = np.asarray(law.var, np.float64) * factor**2
    return found


def _facts(spread: Spread) -> HostArrays:
    return {
        "p": np.asarray(spread.rows.shape[2]),
        "rows_at_hand": np.asarray(2 * spread.rows.shape[1]),
        "covariance_difference": np.asarray(spread.covariance_difference),
        "excess_kurtosis": np.asarray(spread.excess_kurtosis, np.float64),
    }


def _table(config: RealFits, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    pairs, settings = [pair for pair in pairs_of(config) if pair.file in pieces], settings_of(config)
    coordinates = {
        "pair": [pair.name for pair in pairs],
        "data_set": ("pair", [pair.data for pair in pairs]),
        "n": sizes_of(config),
        "penalty": positive_axis(config, "penalty"),
        "fit": [setting.name for setting in settings],
        "alpha": ("fit", [setting.alpha for setting in settings]),
        "class": ["+1", "-1"],
    }
    found = [pieces[pair.file] for pair in pairs]
    table = xr.Dataset(fit_variables(found) | pair_variables(found), coordinates)
    prints = {pair.data: fingerprint_of(pair.data, config.features) for pair in pairs}
    return table.assign_attrs(fingerprints=json.dumps(prints))


STUDY = PiecewiseStudy(
    name="real_fits",
    summary="logistic fits to real features with Mixup and label smoothing, predicted from moments and measured",
    config=RealFits,
    presets={
        "quick": {"data": "digits", "n": "50,100", "penalty": "0.01,0.1", "alpha": "1", "smoothing": "0.1"},
        "default": {},
        "full": {"sets": 100, "rows": 40_000, "every_alpha": 3200, "most_mixed": 3200},
    },
    pieces=_pieces,
    table=_table,
    figures=real_fits_figures(),
    report=real_fits_report,
)
