r"""Beyond the paper: does Mixup still help where the averaging classifier says so, if the classifier is fitted?

The paper's classifier averages y x. On the same training sets: the ridge-regularized discriminant, whose Mixup is a
closed form (`ridge`), and the logistic fit, whose Mixup is random pairs here and all pairs in its limit
(`mixjax.gaussian.logistic`). Data are drawn literally. All that follows sees inner products alone, so that where p > n
it is done in the space of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import (
    class_mean,
    critical_ratio,
    limit_logistic_scores,
    limit_ridge_scores,
    limit_scores,
    logistic_coefficients,
    mixed_rows,
    mixup_weight,
    population_accuracy,
    population_ece,
    population_signed_gap,
    ridge_estimator,
    sample_data,
    score_law,
    weighted_estimator,
)
from mixjax.gaussian.law import ScoreLaw

from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.fits import fits_figures
from ..grid import AxisValue, check_whole, positive_axis
from ..reports.fits import fits_report
from ..study import Piece, PiecewiseStudy
from .tables import described_dataset, standard_error

RATIOS = np.geomspace(0.02, 20, 241)  # p/n of the limits


@dataclass(frozen=True)
class Fits:
    """One training sample size."""

    n: int = option(200, "Training sample size")
    ratio: AxisValue = option("0.1,0.2,0.4,0.7,1,1.5,3.2", "p/n")
    theta_norm: AxisValue = option("1,2", "Signal |theta| / sigma")
    alpha: AxisValue = option("0.2,1", "alpha = beta of lambda ~ Beta(alpha, alpha)")
    ridge_penalty: AxisValue = option("1,0.1", "mu of the ridge")
    logistic_penalty: AxisValue = option("0.01,0.001", "mu of the logistic fit")
    epochs: int = option(10, "Random pairs / n of the logistic fit with Mixup")
    replicates: int = option(24, "Training sets of a cell")
    seed: int = option(0, "Of every draw")


def _pieces(config: Fits) -> dict[str, Piece]:
    """Return a piece for each ratio, whose p is a shape."""
    check_whole(config, n=2, replicates=10, epochs=1)
    for name in ("theta_norm", "alpha", "ridge_penalty", "logistic_penalty"):
        positive_axis(config, name)
    return {f"ratio-{ratio:g}": partial(measure, float(ratio), config) for ratio in positive_axis(config, "ratio")}


def _stream(ratio: float) -> str:
    return f"fits {ratio:g}"


def fit_names(config: Fits) -> list[str]:
    ridge = [f"ridge {penalty:g}" for penalty in positive_axis(config, "ridge_penalty")]
    return ["average", *ridge, *(f"logistic {penalty:g}" for penalty in positive_axis(config, "logistic_penalty"))]


def measure(ratio: float, config: Fits) -> HostArrays:
    """Measure each training set, [replicates, theta, fits, 1 + alphas]; first without Mixup."""
    key = key_of(config.seed, _stream(ratio))
    p = max(1, round(ratio * config.n))
    thetas = positive_axis(config, "theta_norm").astype(np.float32)
    weights, keys = _weights(config).astype(np.float32), jax.random.split(key, config.replicates)

    def of_set(key: jax.Array) -> ScoreLaw:  # every theta has the same labels and noise
        return jax.lax.map(lambda theta: _laws(key, theta, p, weights, config), jnp.asarray(thetas))

    law = jax.jit(partial(jax.lax.map, of_set))(keys)
    return {
        "ece": np.asarray(population_ece(law), np.float64),
        "signed": np.asarray(population_signed_gap(law), np.float64),
        "accuracy": np.asarray(population_accuracy(law), np.float64),
    }


def _weights(config: Fits) -> np.ndarray:
    """Return the Mixup weights: 0, and that of each alpha."""
    alphas = positive_axis(config, "alpha")
    return np.array([0.0, *mixup_weight(alphas, alphas)])


def _laws(key: jax.Array, theta_norm: jax.Array, p: int, weights: np.ndarray, config: Fits) -> ScoreLaw:
    """Compute the laws of the scores of all fits of one training set, [fits, 1 + alphas]."""
    key_data, key_pairs = jax.random.split(key)
    theta = class_mean(p, theta_norm)
    x, y = sample_data(key_data, n=config.n, theta=theta)
    if p > config.n:
        basis, triangle = jnp.linalg.qr(x.T)
        x, theta = triangle.T, jnp.matmul(theta, basis, precision="highest")
    alphas = jnp.asarray(positive_axis(config, "alpha").astype(np.float32))
    found = [jnp.stack([weighted_estimator(x, y, t) for t in weights])]
    for penalty in positive_axis(config, "ridge_penalty").astype(np.float32):
        found.append(jnp.stack([ridge_estimator(x, y, t, penalty=penalty) for t in weights]))
    for penalty in positive_axis(config, "logistic_penalty").astype(np.float32):
        found.append(_logistic(key_pairs, x, y, alphas, penalty, config.epochs * config.n))
    return score_law(jnp.stack(found), theta)


def _logistic(
    key: jax.Array, x: jax.Array, y: jax.Array, alphas: jax.Array, penalty: np.float32, num_pairs: int
) -> jax.Array:
    """Fit theta_hat = w / 2, [1 + alphas, p], to the data and to mixed rows; all alphas have the same pairs."""

    def of_alpha(alpha: jax.Array) -> jax.Array:
        rows, labels = mixed_rows(key, x, y, alpha=alpha, beta=alpha, num_pairs=num_pairs)
        return logistic_coefficients(rows, labels, penalty=penalty)

    plain = logistic_coefficients(x, y, penalty=penalty)
    return 0.5 * jnp.concatenate([plain[None], jax.lax.map(of_alpha, alphas)])


def _limits(config: Fits) -> dict[str, np.ndarray]:
    """Compute the limits of ECE, accuracy and mean confidence of each fit, [theta, fits, 1 + alphas, RATIOS]."""
    t, alpha = _weights(config)[:, None], np.array([0.0, *positive_axis(config, "alpha")])[:, None]
    with jax.enable_x64(True):
        laws = [_limit_laws(config, float(theta), t, alpha) for theta in positive_axis(config, "theta_norm")]
        law = ScoreLaw(*(jnp.stack(part) for part in zip(*laws, strict=True)))
        ece, accuracy = np.asarray(population_ece(law)), np.asarray(population_accuracy(law))
        return {"ece": ece, "accuracy": accuracy, "confidence": accuracy + np.asarray(population_signed_gap(law))}


def _limit_laws(config: Fits, theta: float, t: np.ndarray, alpha: np.ndarray) -> tuple[jax.Array, jax.Array]:
    laws = [limit_scores(RATIOS, theta, t)]
    laws += [limit_ridge_scores(RATIOS, theta, t, penalty=mu) for mu in positive_axis(config, "ridge_penalty")]
    for penalty in positive_axis(config, "logistic_penalty"):
        laws.append(limit_logistic_scores(RATIOS, theta, penalty=penalty, alpha=alpha))
    return jnp.stack([law.mean for law in laws]), jnp.stack([law.gap for law in laws])


def _table(config: Fits, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    thetas, found = positive_axis(config, "theta_norm"), list(pieces.values())
    ece, signed, accuracy = (np.array([piece[name] for piece in found]) for name in ("ece", "signed", "accuracy"))
    change, limits = ece[..., 1:] - ece[..., :1], _limits(config)
    limit, fine = limits["ece"], ("theta_norm", "fit", "fine_ratio")
    fine_mix = ("theta_norm", "fit", "alpha", "fine_ratio")
    plain, wide = ("ratio", "theta_norm", "fit"), ("ratio", "theta_norm", "fit", "alpha")
    boundary = critical_ratio(thetas[:, None], _weights(config)[None, 1:])
    variables = {
        "ece_plain": (plain, np.nanmean(ece[..., 0], axis=1), "ECE without Mixup"),
        "signed_plain": (plain, np.nanmean(signed[..., 0], axis=1), "mean confidence - accuracy without Mixup"),
        "ece_mix": (wide, np.nanmean(ece[..., 1:], axis=1), "ECE with Mixup"),
        "signed_mix": (wide, np.nanmean(signed[..., 1:], axis=1), "mean confidence - accuracy with Mixup"),
        "change": (wide, np.nanmean(change, axis=1), "ECE(mix) - ECE"),
        "change_se": (wide, standard_error(change, axis=1), "standard error of the difference (paired)"),
        "not_converged": (wide, np.isnan(change).mean(axis=1), "share of training sets without a fit, left out"),
        "ece_plain_limit": (fine, limit[:, :, 0], "limit of ece_plain"),
        "change_limit": (fine_mix, limit[:, :, 1:] - limit[:, :, :1], "limit of ECE(mix) - ECE, over all pairs"),
        "boundary": (("theta_norm", "alpha"), np.asarray(boundary), "p/n above which Mixup helps the average"),
    }
    for name, values in {"accuracy": accuracy, "confidence": accuracy + signed}.items():
        variables |= {
            f"{name}_plain": (plain, np.nanmean(values[..., 0], axis=1), f"{name} without Mixup"),
            f"{name}_plain_se": (plain, standard_error(values[..., 0], axis=1), f"standard error of {name}_plain"),
            f"{name}_mix": (wide, np.nanmean(values[..., 1:], axis=1), f"{name} with Mixup"),
            f"{name}_mix_se": (wide, standard_error(values[..., 1:], axis=1), f"standard error of {name}_mix"),
            f"{name}_plain_limit": (fine, limits[name][:, :, 0], f"limit of {name}_plain"),
            f"{name}_mix_limit": (fine_mix, limits[name][:, :, 1:], f"limit of {name}_mix, over all pairs"),
        }
    coordinates = {
        **{name: positive_axis(config, name) for name in ("ratio", "theta_norm", "alpha")},
        "fit": fit_names(config),
        "fine_ratio": RATIOS,
    }
    numbers = {"n": config.n, "epochs": config.epochs, "replicates": config.replicates}
    return described_dataset(variables, coordinates, **numbers)


STUDY = PiecewiseStudy(
    name="fits",
    summary="Mixup of the average against Mixup of a ridge and of a logistic fit",
    config=Fits,
    presets={
        "quick": {"ratio": "0.1,0.4,1.6", "n": 100, "epochs": 5, "replicates": 20},
        "default": {},
        "full": {"n": 1000, "ratio": "0.05:6.4:15:log", "epochs": 20, "replicates": 200},
    },
    pieces=_pieces,
    table=_table,
    figures=fits_figures(),
    report=fits_report,
    streams=lambda config: map(_stream, positive_axis(config, "ratio")),
)
