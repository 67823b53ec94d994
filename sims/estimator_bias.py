r"""How far every estimator of calibration error is from the truth, which the Gaussian model knows exactly.

A score v ~ N(y m, w) claims s(2 |v|) and is right where sgn v = y (`mixjax.gaussian.ScoreLaw`), so that a sample is
N normal draws, and the population's ECE, ECE_2, signed gap, NLL and Brier score come from `mixjax.gaussian` without
error. For each law, sample size and number of bins: bias, standard deviation and root mean squared error of every
estimator, and how often the bootstrap's 95 % intervals hold the truth.

Sizes are shapes, so that this does not go through the engine: a unit of work is a law and a size, stored as it is
finished.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from os import PathLike

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.calibration import debiased_ece2, ece, mce, signed_gap, smooth_ece, sweep_ece
from mixjax.calibration.bootstrap import bootstrap_intervals
from mixjax.gaussian import ScoreLaw, population_ece, population_mce, population_signed_gap
from mixjax.runs import RunDirectory, provenance
from sims.running import load, write_table

Rows = tuple[jax.Array, jax.Array]
Progress = Callable[[int, int], None]

SUMMARY = "estimators of calibration error against the exact population value"

LAWS = {  # mean and gap of the score
    "calibrated": (1.2, 0.0),
    "over-confident": (1.2, 0.8),
    "slightly over-confident": (1.2, 0.12),
    "under-confident": (1.8, -0.6),
}


@dataclass(frozen=True)
class Estimator:
    """An estimate of (confidence, correct, num_bins), and the exact value that it is an estimate of."""

    estimate: Callable[[jax.Array, jax.Array, int], jax.Array]
    truth: Callable[[ScoreLaw], jax.Array]
    binned: bool = True


def _rms(law: ScoreLaw) -> jax.Array:
    return population_ece(law, norm=2)


ESTIMATORS: dict[str, Estimator] = {
    "ECE, equal width": Estimator(lambda c, y, m: ece(c, y, num_bins=m), population_ece),
    "ECE, equal mass": Estimator(lambda c, y, m: ece(c, y, num_bins=m, binning="equal-mass"), population_ece),
    "ECE, sweep": Estimator(lambda c, y, _: sweep_ece(c, y, norm=1), population_ece, binned=False),
    "smooth ECE": Estimator(lambda c, y, _: smooth_ece(c, y), population_ece, binned=False),
    "ECE_2, equal width": Estimator(lambda c, y, m: ece(c, y, num_bins=m, norm=2), _rms),
    "ECE_2, debiased": Estimator(lambda c, y, m: debiased_ece2(c, y, num_bins=m)[1], _rms),
    "MCE": Estimator(lambda c, y, m: mce(c, y, num_bins=m), population_mce),
    "signed gap": Estimator(lambda c, y, _: signed_gap(c, y), population_signed_gap, binned=False),
}
INTERVALS = {"ECE, equal width": "ece", "ECE_2, equal width": "rms_ece", "signed gap": "signed_gap"}


@dataclass(frozen=True)
class Config:
    """Sizes of samples, numbers of bins, and how many rows are drawn for each law and size, in samples of that size."""

    sizes: tuple[int, ...] = (30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    bins: tuple[int, ...] = (5, 15, 100)
    rows: int = 10_000_000
    most_samples: int = 2_000
    interval_samples: int = 300
    seed: int = 0

    def samples(self, size: int) -> int:
        """Samples of a size."""
        return int(np.clip(self.rows // size, 10, self.most_samples))


PRESETS = {
    "quick": Config(sizes=(30, 300, 3_000), rows=300_000, most_samples=200, interval_samples=50),
    "default": Config(),
    "full": Config(rows=100_000_000, most_samples=20_000, interval_samples=2_000),
}


def run(out: str | PathLike[str], config: Config, progress: Progress | None = None) -> xr.Dataset:
    """Measure, or go on with what is stored in `out`, and return the table.

    Raises:
      RunError: for a folder that cannot be used.
    """
    spec = {"study": "estimator_bias", **json.loads(json.dumps(asdict(config)))}
    environment = {
        name: str(provenance()[name]) for name in ("mixjax", "commit", "jax", "jaxlib", "platform", "device")
    }
    directory = RunDirectory.open(out, spec=spec, environment=environment, layout={})
    units = [(law, size) for size in config.sizes for law in LAWS]
    for number, (law, size) in enumerate(units):
        if progress:
            progress(number, len(units))
        if not directory.has(_name(law, size)):
            directory.write(_name(law, size), measure(_law(law), size, config, _key(config.seed, law, size)))
    if progress:
        progress(len(units), len(units))
    if not directory.finished:
        table = _table(config, {unit: directory.read(_name(*unit)) for unit in units})
        write_table(directory.path, table, {**provenance(), "command": "python -m sims estimator_bias"})
    return load(directory.path)


def _law(name: str) -> ScoreLaw:
    mean, gap = LAWS[name]
    return ScoreLaw(jnp.float32(mean), jnp.float32(gap))


def _name(law: str, size: int) -> str:
    return f"{law.replace(' ', '-')}-{size:09d}"


def _key(seed: int, law: str, size: int) -> jax.Array:
    return jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), zlib.crc32(_name(law, size).encode()))


def measure(law: ScoreLaw, size: int, config: Config, key: jax.Array) -> dict[str, np.ndarray]:
    """Of each estimator and number of bins over samples of a size: mean, standard deviation, mean squared error."""
    count = config.samples(size)
    keys = jax.random.split(key, count)
    found: dict[str, list[np.ndarray]] = {"mean": [], "sd": [], "mse": []}
    for estimator in ESTIMATORS.values():
        truth = float(estimator.truth(law))
        for number, bins in enumerate(config.bins):
            if estimator.binned or number == 0:
                values = np.asarray(_estimates(estimator, size, bins)(keys, law), np.float64)
            found["mean"].append(values.mean())
            found["sd"].append(values.std(ddof=1))
            found["mse"].append(((values - truth) ** 2).mean())
    shape = (len(ESTIMATORS), len(config.bins))
    moments = {name: np.reshape(column, shape) for name, column in found.items()}
    return {**moments, "samples": np.array(count), "coverage": _coverage(law, size, config, keys)}


@lru_cache(maxsize=256)
def _estimates(estimator: Estimator, size: int, bins: int) -> Callable[[jax.Array, ScoreLaw], jax.Array]:
    """(keys, law) -> an estimate a key; samples one after another, so that they stay in the cache."""

    @jax.jit
    def of_samples(keys: jax.Array, law: ScoreLaw) -> jax.Array:
        def of_sample(key: jax.Array) -> jax.Array:
            confidence, correct = sample(key, law, size)
            return estimator.estimate(confidence, correct, bins)

        return jax.lax.map(of_sample, keys)

    return of_samples


@partial(jax.jit, static_argnames="size")
def sample(key: jax.Array, law: ScoreLaw, size: int) -> Rows:
    """(confidence, correct) of independent rows under a law."""
    noise = jax.random.normal(key, (size,), np.float32)
    u = jnp.float32(law.mean) + jnp.sqrt(jnp.float32(law.mean) + jnp.float32(law.gap)) * noise  # y v
    return jax.nn.sigmoid(2.0 * jnp.abs(u)), (u > 0).astype(np.float32)


def _coverage(law: ScoreLaw, size: int, config: Config, keys: jax.Array) -> np.ndarray:
    """Of each interval and number of bins: the share of samples whose interval holds the exact value."""
    hits = np.zeros((len(INTERVALS), len(config.bins)))
    keys = keys[: config.interval_samples]
    truths = [float(ESTIMATORS[name].truth(law)) for name in INTERVALS]
    for key in keys:
        rows = sample(key, law, size)
        for column, bins in enumerate(config.bins):
            found = bootstrap_intervals(key, *rows, num_bins=bins, replicates=300)
            for row, (field, truth) in enumerate(zip(INTERVALS.values(), truths, strict=True)):
                interval = getattr(found, field)
                hits[row, column] += interval.low <= truth <= interval.high
    return hits / len(keys)


def _table(config: Config, units: Mapping[tuple[str, int], Mapping[str, np.ndarray]]) -> xr.Dataset:
    def stacked(name: str) -> np.ndarray:
        return np.array([[units[law, size][name] for size in config.sizes] for law in LAWS])

    truth = np.array([[float(e.truth(law)) for e in ESTIMATORS.values()] for law in map(_law, LAWS)])
    dims = ("law", "size", "estimator", "bins")
    samples = stacked("samples")
    sd, mean = stacked("sd"), stacked("mean")
    return xr.Dataset(
        {
            "truth": (("law", "estimator"), truth),
            "mean": (dims, mean),
            "bias": (dims, mean - truth[:, None, :, None]),
            "bias_se": (dims, sd / np.sqrt(samples)[..., None, None]),
            "sd": (dims, sd),
            "rmse": (dims, np.sqrt(stacked("mse"))),
            "samples": (("law", "size"), samples),
            "coverage": (("law", "size", "interval", "bins"), stacked("coverage")),
        },
        {
            "law": list(LAWS),
            "size": list(config.sizes),
            "estimator": list(ESTIMATORS),
            "bins": list(config.bins),
            "interval": list(INTERVALS),
        },
        {
            "study": "estimator_bias",
            "summary": SUMMARY,
            "config": json.dumps(asdict(config)),
            "provenance": json.dumps(provenance()),
        },
    )
