"""The peak at p = n: soft labels, of Mixup and of smoothing alike, turn classification into interpolation.

Hard labels are separable from some p/n < 1/2 on, and nothing happens at p = n. Soft labels are numbers to be met: with
a weak penalty a fit of p = n coefficients meets them all, at the price of coefficients that are as large as they can
be. Accuracy falls and confidence rises, as in the double descent of least squares. The study shows it in the limit and
in literal fits, how it grows with the epochs of random pairs, and whether decaying spectra and real images have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import (
    ScoreLaw,
    class_mean,
    limit_logistic_scores,
    logistic_coefficients,
    mixed_rows,
    predict_logistic_scores,
    sample_data,
    score_law,
)
from mixjax.runs import RunError

from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.interpolation_peak import interpolation_peak_figures
from ..grid import AxisValue, check_whole, positive_axis
from ..reports.interpolation_peak import interpolation_peak_report
from ..study import Piece, PiecewiseStudy
from .feature_pairs import ClassPair, spread_of
from .fitted_scores import MEASURED, Setting, measured
from .image_pairs import PAIRS, rows_of
from .logistic_laws import METRICS, fitted_laws, metrics_of
from .tables import Described, described_dataset, standard_error

ARMS = ("plain", "smoothing", "Mixup")
_REAL_SETS = 3  # training sets of real rows


@dataclass(frozen=True)
class InterpolationPeak:
    """One signal; the limit's p/n, the simulated ones, and three further looks at p = n."""

    ratio: AxisValue = option("0.1:10:81:log", "p/n of the limit")
    theta_norm: float = option(1.0, "Signal |theta| / sigma")
    penalty: AxisValue = option("0.0001,0.01,1", "mu, the weakest first")
    alpha: float = option(1.0, "alpha = beta of Mixup")
    smoothing: float = option(0.1, "eps of label smoothing")
    n: int = option(200, "Training sample size of the simulation")
    point_ratio: AxisValue = option("0.2,0.4,0.7,1,1.4,2.5,5", "p/n that are simulated")
    epochs: AxisValue = option("1,2,5,10,20,50,100", "Random pairs / n, at p = n and the weakest penalty")
    decay: AxisValue = option("0.5,1,2", "Eigenvalues k^-decay of further covariances")
    dimension: int = option(400, "p of the decaying spectra")
    pair: str = option("T-shirt, shirt", "Pair of real classes, as in real_images; 'none' leaves it out")
    rows: AxisValue = option("200,400,600,784,1000,1400", "n of the fits to real classes, even")
    replicates: int = option(20, "Training sets of a simulated point")
    seed: int = option(0, "Of every draw")


def _pieces(config: InterpolationPeak) -> dict[str, Piece]:
    check_whole(config, n=2, replicates=2, dimension=2)
    if config.pair not in (names := ["none", *(pair.name for pair in PAIRS)]):
        raise RunError(f"pair must be one of {'; '.join(names)}, got {config.pair}")
    pieces: dict[str, Piece] = {"limit": partial(limits, config), "spectra": partial(spectra, config)}
    pieces |= {
        _stream(ratio): partial(simulate, float(ratio), config) for ratio in positive_axis(config, "point_ratio")
    }
    pieces |= {f"epochs-{k:g}": partial(random_pairs, int(k), config) for k in positive_axis(config, "epochs")}
    if config.pair != "none":
        if ((sizes := positive_axis(config, "rows")) % 2 != 0).any():
            raise RunError(f"rows must be even whole numbers, got {sizes[sizes % 2 != 0][0]:g}")
        pieces |= {f"rows-{n:g}": partial(real_rows, int(n), config) for n in positive_axis(config, "rows")}
    return pieces


def _stream(ratio: float) -> str:
    return f"points-{ratio:g}"


def _arms(config: InterpolationPeak) -> np.ndarray:
    """Return alpha and eps of the ARMS."""
    return np.array([[0.0, 0.0], [0.0, config.smoothing], [config.alpha, 0.0]])


def limits(config: InterpolationPeak) -> HostArrays:
    """Compute the METRICS of the limit, [penalty, arm, ratio]."""
    alpha, smoothing = _arms(config).T[..., None]
    penalty = positive_axis(config, "penalty")[:, None, None]
    with jax.enable_x64(True):
        return metrics_of(
            limit_logistic_scores(
                positive_axis(config, "ratio"), config.theta_norm, penalty=penalty, alpha=alpha, smoothing=smoothing
            )
        )


def spectra(config: InterpolationPeak) -> HostArrays:
    """Predict the METRICS for eigenvalues k^-decay at the weakest penalty, [decay, arm, ratio].

    theta' Sigma^-1 theta is |theta|^2, evenly from all eigenvectors: the best accuracy is the same for all.
    """
    alpha, smoothing = _arms(config).T[..., None]
    k, weakest = np.arange(1, config.dimension + 1), positive_axis(config, "penalty").min()
    n = np.maximum(1, np.round(config.dimension / positive_axis(config, "ratio")))
    found = []
    with jax.enable_x64(True):
        for decay in positive_axis(config, "decay"):
            s = k**-decay / np.mean(k**-decay)
            theta = config.theta_norm**2 * s / config.dimension
            law = predict_logistic_scores(s, theta, n, penalty=weakest, alpha=alpha, smoothing=smoothing)
            found.append(metrics_of(law))
    return {name: np.array([each[name] for each in found]) for name in METRICS}


def simulate(ratio: float, config: InterpolationPeak) -> HostArrays:
    """Measure the METRICS of literal fits, [penalty, replicates, arm]."""
    key, arms = key_of(config.seed, _stream(ratio)), _arms(config)
    sizes = {"n": config.n, "p": max(1, round(ratio * config.n)), "replicates": config.replicates}
    with jax.enable_x64(True):
        found = [
            metrics_of(fitted_laws(key, np.float64(config.theta_norm), penalty, arms, **sizes))
            for penalty in positive_axis(config, "penalty")
        ]
    return {name: np.array([each[name] for each in found]) for name in METRICS}


def random_pairs(epochs: int, config: InterpolationPeak) -> HostArrays:
    """Measure the METRICS of fits to n `epochs` random pairs at p = n and the weakest penalty, [replicates]."""
    weakest, n = positive_axis(config, "penalty").min(), config.n

    def of_set(key: jax.Array) -> ScoreLaw:
        key_data, key_pairs = jax.random.split(key)
        theta = class_mean(n, np.float64(config.theta_norm))
        x, y = sample_data(key_data, n=n, theta=theta)
        mixed = mixed_rows(key_pairs, x, y, alpha=config.alpha, beta=config.alpha, num_pairs=epochs * n)
        return score_law(0.5 * logistic_coefficients(*mixed, penalty=weakest), theta)

    with jax.enable_x64(True):
        keys = jax.random.split(key_of(config.seed, "epochs"), config.replicates)
        return metrics_of(jax.jit(partial(jax.lax.map, of_set))(keys))


def real_rows(n: int, config: InterpolationPeak) -> HostArrays:
    """Predict, [arm], and measure, [sets, arm], fits to n rows of the pair at the weakest penalty (`real_fits`)."""
    pair = next(pair for pair in PAIRS if pair.name == config.pair)
    spread = spread_of(ClassPair(pair.name, pair.data, partial(rows_of, pair)))
    weakest, (alpha, smoothing) = positive_axis(config, "penalty").min(), _arms(config).T
    settings = [Setting(*arm) for arm in zip(ARMS, alpha, smoothing, strict=True)]
    with jax.enable_x64(True):
        s, theta_squared = (part.astype(np.float64) for part in (spread.eigenvalues, spread.theta_squared))
        law = predict_logistic_scores(s, theta_squared, n, penalty=weakest, alpha=alpha, smoothing=smoothing)
        predicted = metrics_of(law)
        rows, penalties = spread.rows.astype(np.float64), np.array([weakest])
        keys = jax.random.split(key_of(config.seed, f"rows {n}"), _REAL_SETS)
        found = np.array([measured(key, rows, n, penalties, settings)[0] for key in keys])
    names = list(MEASURED)
    values = {name: found[..., names.index(name)] for name in ("accuracy", "signed")}
    return values | {f"{name}_predicted": predicted[name] for name in values}


def _table(config: InterpolationPeak, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    axes = {name: positive_axis(config, name) for name in ("penalty", "ratio", "point_ratio", "epochs", "decay")}
    variables: dict[str, Described] = {}
    for name, text in METRICS.items():
        fitted = np.array([pieces[_stream(ratio)][name] for ratio in axes["point_ratio"]])
        fitted = np.moveaxis(fitted, (0, 3), (2, 1))  # [penalty, arm, point_ratio, replicates]
        pairs = np.array([pieces[f"epochs-{k:g}"][name] for k in axes["epochs"]])
        dims = ("penalty", "arm", "point_ratio")
        variables |= {
            name: (("penalty", "arm", "ratio"), pieces["limit"][name], f"limit of the {text}"),
            f"{name}_fitted": (dims, np.nanmean(fitted, -1), f"{text} of literal fits"),
            f"{name}_fitted_se": (dims, standard_error(fitted), f"standard error of {name}_fitted"),
            f"{name}_pairs": (("epochs",), np.nanmean(pairs, -1), f"{text} of fits to random pairs, at p = n"),
            f"{name}_pairs_se": (("epochs",), standard_error(pairs), f"standard error of {name}_pairs"),
            f"{name}_decay": (("decay", "arm", "ratio"), pieces["spectra"][name], f"prediction of the {text}"),
        }
    coordinates = axes | {"arm": list(ARMS)}
    if config.pair != "none":
        coordinates["rows"] = positive_axis(config, "rows")
        found = [pieces[f"rows-{n:g}"] for n in coordinates["rows"]]
        for name in ("accuracy", "signed"):
            measured = np.array([each[name] for each in found])
            predicted = np.array([each[f"{name}_predicted"] for each in found])
            variables[f"{name}_rows"] = (("rows", "arm"), measured.mean(1), f"{METRICS[name]}, real classes")
            variables[f"{name}_rows_se"] = (("rows", "arm"), standard_error(measured, 1), "standard error of it")
            variables[f"{name}_rows_predicted"] = (("rows", "arm"), predicted, "its prediction")
    sizes = {"n": config.n, "replicates": config.replicates, "theta_norm": config.theta_norm}
    return described_dataset(variables, coordinates, **sizes).assign_attrs(pair=config.pair)


STUDY = PiecewiseStudy(
    name="interpolation_peak",
    summary="the peak of error and over-confidence at p = n that soft labels bring",
    config=InterpolationPeak,
    presets={
        "quick": {
            "ratio": "0.1:10:21:log", "penalty": "0.0001,0.1", "n": 60, "point_ratio": "0.5,1,2", "epochs": "1,10",
            "decay": "1", "dimension": 50, "pair": "none", "replicates": 10,
        },
        "default": {},
        "full": {"n": 400, "replicates": 100, "point_ratio": "0.1:10:21:log"},
    },
    pieces=_pieces,
    table=_table,
    figures=interpolation_peak_figures(),
    report=interpolation_peak_report,
    streams=lambda config: [
        *map(_stream, positive_axis(config, "point_ratio")),
        "epochs",
        *(f"rows {n:g}" for n in positive_axis(config, "rows")),
    ],
)  # fmt: skip
