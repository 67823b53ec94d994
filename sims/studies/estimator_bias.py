r"""How far every estimator of calibration error is from the truth, which the Gaussian model knows exactly.

A score v ~ N(y m, w) claims s(2 |v|) and is right where sgn v = y (`mixjax.gaussian.ScoreLaw`), so that a sample is
N normal draws, and the population's ECE, ECE_2, signed gap, NLL and Brier score come from `mixjax.gaussian` without
error. For each law, sample size and number of bins: bias, standard deviation and root mean squared error of every
estimator, and how often the 95 % intervals hold the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import ScoreLaw

from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.estimator_bias import estimator_bias_figures
from ..grid import AxisValue, axis, check_whole
from ..reports.estimator_bias import estimator_bias_report
from ..study import Piece, PiecewiseStudy
from .comparison import wilson_interval
from .judged_estimators import ESTIMATORS, INTERVALS, LAWS, Estimator, intervals, sample
from .tables import described_dataset


@dataclass(frozen=True)
class EstimatorBias:
    """Sizes and numbers of bins; the rows of a law and size are drawn in samples of that size."""

    sizes: AxisValue = option("30,100,300,1000,3000,10000,30000,100000,300000,1000000", "Rows of a sample")
    bins: AxisValue = option("5,15,100", "Numbers of bins")
    rows: int = option(10_000_000, "Rows to draw for each law and size")
    most_samples: int = option(2_000, "Samples of a law and size, at most; 10 at least")
    interval_samples: int = option(300, "Samples whose intervals are computed, at most")
    seed: int = option(0, "Of every draw")


def _pieces(config: EstimatorBias) -> dict[str, Piece]:
    """Return a piece for each law and size."""
    sizes, bins = _axes(config)
    check_whole(config, rows=10, most_samples=10, interval_samples=10)
    return {_name(law, size): partial(measure, law, size, bins, config) for size in sizes for law in LAWS}


def _axes(config: EstimatorBias) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sizes = axis("sizes", config.sizes, whole=True, least=2)
    bins = axis("bins", config.bins, whole=True, least=1)
    return tuple(map(int, sizes)), tuple(map(int, bins))


def _name(law: str, size: int) -> str:
    return f"{law.replace(' ', '-')}-{size:09d}"


def measure(name: str, size: int, bins: tuple[int, ...], config: EstimatorBias) -> HostArrays:
    """Measure mean, standard deviation and mean squared error of each estimator and number of bins at one size."""
    law = _law(name)
    key = key_of(config.seed, _name(name, size))
    keys = jax.random.split(key, int(np.clip(config.rows // size, 10, config.most_samples)))
    values = np.array([_values(estimator, keys, law, size, bins) for estimator in ESTIMATORS.values()])
    truth = np.array([float(estimator.truth(law)) for estimator in ESTIMATORS.values()])
    return {
        "mean": values.mean(axis=-1),
        "sd": values.std(axis=-1, ddof=1),
        "mse": ((values - truth[:, None, None]) ** 2).mean(axis=-1),
        "samples": np.array(len(keys)),
        "coverage": _coverage(law, size, bins, keys[: config.interval_samples]),
    }


def _law(name: str) -> ScoreLaw:
    mean, gap = LAWS[name]
    return ScoreLaw(jnp.float32(mean), jnp.float32(gap))


def _values(estimator: Estimator, keys: jax.Array, law: ScoreLaw, size: int, bins: tuple[int, ...]) -> np.ndarray:
    """Compute the estimates, [bins, samples]; NaN beyond the largest size of an estimator."""
    if size > estimator.most:
        return np.full((len(bins), len(keys)), np.nan)
    needed = bins if estimator.binned else bins[:1]
    found = np.array([_estimates(estimator, size, number)(keys, law) for number in needed], np.float64)
    return np.broadcast_to(found, (len(bins), len(keys)))


@lru_cache(maxsize=256)
def _estimates(estimator: Estimator, size: int, bins: int) -> Callable[[jax.Array, ScoreLaw], jax.Array]:
    """Compile (keys, law) -> an estimate a key; samples one after another, so that they stay in the cache."""

    @jax.jit
    def of_samples(keys: jax.Array, law: ScoreLaw) -> jax.Array:
        def of_sample(key: jax.Array) -> jax.Array:
            confidence, correct = sample(key, law, size)
            return estimator.estimate(confidence, correct, bins)

        return jax.lax.map(of_sample, keys)

    return of_samples


def _coverage(law: ScoreLaw, size: int, bins: tuple[int, ...], keys: jax.Array) -> np.ndarray:
    """Return the share of samples whose interval holds the exact value, for each interval and number of bins."""
    truths = np.array([float(ESTIMATORS[name].truth(law)) for name in INTERVALS])
    hits = np.zeros((len(INTERVALS), len(bins)))
    for key in keys:
        rows = sample(key, law, size)
        for column, number in enumerate(bins):
            found = intervals(key, rows, number)
            low, high = np.array([(found[name].low, found[name].high) for name in INTERVALS]).T
            hits[:, column] += (low <= truths) & (truths <= high)
    return hits / len(keys)


def _table(config: EstimatorBias, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    sizes, bins = _axes(config)

    def stacked(name: str) -> np.ndarray:
        return np.array([[pieces[_name(law, size)][name] for size in sizes] for law in LAWS])

    truth = np.array([[float(e.truth(law)) for e in ESTIMATORS.values()] for law in map(_law, LAWS)])
    samples, sd, mean = stacked("samples"), stacked("sd"), stacked("mean")
    coverage, drawn = stacked("coverage"), np.minimum(samples, config.interval_samples)
    low, high = wilson_interval(coverage, drawn[..., None, None])
    dims, covered = ("law", "size", "estimator", "bins"), ("law", "size", "interval", "bins")
    variables = {
        "truth": (("law", "estimator"), truth, "exact population value"),
        "mean": (dims, mean, "mean of the estimates"),
        "bias": (dims, mean - truth[:, None, :, None], "mean of the estimates minus the exact value"),
        "bias_se": (dims, sd / np.sqrt(samples)[..., None, None], "standard error of the bias"),
        "sd": (dims, sd, "standard deviation of the estimates"),
        "rmse": (dims, np.sqrt(stacked("mse")), "root mean squared error"),
        "samples": (("law", "size"), samples, "samples drawn"),
        "interval_samples": (("law", "size"), drawn, "samples with intervals"),
        "coverage": (covered, coverage, "share of 95 % intervals that hold the exact value"),
        "coverage_low": (covered, low, "lower end of the 95 % Wilson interval of the coverage"),
        "coverage_high": (covered, high, "upper end of it"),
    }
    coordinates = {
        "law": list(LAWS),
        "size": list(sizes),
        "estimator": list(ESTIMATORS),
        "bins": list(bins),
        "interval": list(INTERVALS),
    }
    return described_dataset(variables, coordinates)


STUDY = PiecewiseStudy(
    name="estimator_bias",
    summary="estimators of calibration error against the exact population value",
    config=EstimatorBias,
    presets={
        "quick": {"sizes": "30,300,3000", "rows": 300_000, "most_samples": 200, "interval_samples": 50},
        "default": {},
        "full": {"rows": 100_000_000, "most_samples": 20_000, "interval_samples": 2_000},
    },
    pieces=_pieces,
    table=_table,
    figures=estimator_bias_figures(),
    report=estimator_bias_report,
)
