r"""Mixup on real images: does the sign of ECE(mix) - ECE follow the boundary of the theory?

Paper: the generative model of Section 3.4, with an h_hat that is fitted to data whose generator nobody knows. Two
classes of images are whitened (`sims.studies.subsamples`), so that Definition 3.1 holds as far as two
moments of held-out rows can make it hold; p/n is varied by the size n of training sets drawn from them, and the plain
and the Mixup classifiers of Section 3.1 are scored on other rows. Beside what is measured: the exact law of
Definition 3.1 at the same n, p and |theta|, and the same measurement on Gaussian rows of the same moments. Controls
are drawn from Definition 3.1, many row sets of each.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import population_ece, sample_scores
from mixjax.runs import RunError

from ..engine.devices import usable_cores
from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.real_images import real_images_figures
from ..grid import AxisValue, axis, check_whole, mixup_settings
from ..reports.real_images import real_images_report
from ..study import Piece, PiecewiseStudy
from .image_pairs import CONTROL, DIMENSIONS, PAIRS, Pair, fingerprint, present, rows_of, where_to_get
from .real_images_table import KINDS, boundary_variables, error_variables, shape_variables
from .subsamples import HISTOGRAM, Scores, Shape, divided, longest_for, scored

REPLICATES = 20  # training sets of a division
EXACT = 4000  # training sets of the exact law
LEAST_DIVISIONS = 4


@dataclass(frozen=True)
class RealImages:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    ratio: AxisValue = option(
        "0.05:8:12:log", "p/n; n is max(2, round(p / ratio)), each once, where there are rows enough"
    )
    alpha: AxisValue = option("0.2,1,5", "alpha of lambda ~ Beta(alpha, beta)")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    rows: int = option(2_000_000, "Test rows to score for each pair, size and weight")
    most_divisions: int = option(100, "Divisions of a row set, at most; 4 at least")
    row_sets: int = option(20, "Independent row sets of each control, which share its test rows; images are one")
    seed: int = option(0, "Of every draw")


def _pieces(config: RealImages) -> dict[str, Piece]:
    """Return a piece for each pair of classes whose data are here; warn where to get the others."""
    check_whole(config, rows=1, most_divisions=LEAST_DIVISIONS, row_sets=1)
    ratios_of(config), mixup_settings(config.alpha, config.beta)
    pairs, missing = present()
    if all(pair.data == CONTROL for pair in pairs):
        raise RunError("; ".join(map(str, missing)))
    for error in missing:
        warnings.warn(f"{error}. The study goes on with the other data sets.", stacklevel=2)
    return {pair.file: partial(measure, pair, config) for pair in pairs}


def ratios_of(config: RealImages) -> np.ndarray:
    """Return p/n in increasing order."""
    return np.sort(axis("ratio", config.ratio, least=1e-4))


def sizes_of(pair: Pair, config: RealImages, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n at every p/n, and whether it is measured: once, and where `rows` rows of a class are enough."""
    sizes = np.maximum(2, np.rint(pair.p / ratios_of(config))).astype(np.int64)
    again = np.isin(np.arange(len(sizes)), np.unique(sizes, return_index=True)[1], invert=True)
    return sizes, (sizes <= longest_for(rows // 3)) & ~again


def measure(pair: Pair, config: RealImages) -> HostArrays:
    """Measure errors of every row set, division, kind of rows, size and weight (0 first), and the exact law's."""
    rows = np.stack([rows_of(pair, row_set) for row_set in range(config.row_sets if pair.data == CONTROL else 1)])
    sets, _, count, _ = rows.shape
    sizes, enough = sizes_of(pair, config, count)
    weights = np.concatenate([[0.0], mixup_settings(config.alpha, config.beta)["t"]]).astype(np.float32)
    key = key_of(config.seed, pair.name)
    used, longest = jnp.asarray(np.where(enough, sizes, 2), np.int32), int(sizes[enough].max(initial=2))
    wanted = config.rows // (2 * REPLICATES * (count // 3) * sets)
    number = sets * int(np.clip(wanted, LEAST_DIVISIONS, config.most_divisions))
    images = jnp.asarray(rows)

    def of_division(index: int) -> tuple[Scores, Shape, jax.Array]:
        key_rows, key_sets = jax.random.split(jax.random.fold_in(key, index))
        division = divided(key_rows, images[index * sets // number], p=pair.p)
        scores = scored(key_sets, division.rows, used, jnp.asarray(weights), replicates=REPLICATES, longest=longest)
        return jax.device_get((scores, division.shape, division.shrinkage))

    with ThreadPoolExecutor(usable_cores()) as pool:  # the first one alone compiles
        found = [of_division(0), *pool.map(of_division, range(1, number))]
    scores, shape, shrinkage = jax.tree.map(
        lambda *parts: np.stack(parts).astype(np.float64).reshape(sets, -1, *np.shape(parts[0])), *found
    )
    errors = {name: np.where(enough[:, None], values, np.nan) for name, values in scores._asdict().items()}
    exact = _exact(jax.random.fold_in(key, number), shape.theta_square.mean(), sizes, pair.p, weights)
    return {**errors, **shape._asdict(), **exact, "shrinkage": shrinkage, "n": sizes}


def _exact(key: jax.Array, theta_square: float, sizes: np.ndarray, p: int, weights: np.ndarray) -> HostArrays:
    """Estimate E ECE and E ECE_2^2 of Definition 3.1, [sizes, weights]."""
    theta_norm = np.float32(np.sqrt(max(theta_square, 0.0)))
    law = sample_scores(key, n=sizes[:, None], p=p, theta_norm=theta_norm, t=weights[None], replicates=EXACT)
    ece, square = population_ece(law), population_ece(law, norm=2) ** 2
    return {"exact_ece": np.asarray(ece.mean(axis=-1)), "exact_square": np.asarray(square.mean(axis=-1))}


def _table(config: RealImages, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    pairs = [pair for pair in PAIRS if pair.file in pieces]
    coordinates = {
        "pair": [pair.name for pair in pairs],
        "data_set": ("pair", [pair.data for pair in pairs]),
        "p": ("pair", [pair.p for pair in pairs]),
        "rows": list(KINDS),
        "ratio": ratios_of(config),
        "side": ["helps", "hurts"],
        "class": ["+1", "-1"],
        "score": 0.5 * (HISTOGRAM[1:] + HISTOGRAM[:-1]),
        **{name: ("mixup", values) for name, values in mixup_settings(config.alpha, config.beta).items()},
    }
    table = xr.Dataset(coords=coordinates)
    for variables in (shape_variables, error_variables, boundary_variables):
        table = table.assign(variables(table, [pieces[pair.file] for pair in pairs]))
    here = sorted({pair.data for pair in pairs})
    missing = " ".join(where_to_get(data) for data in sorted({*DIMENSIONS} - {CONTROL, *here}))
    return table.assign_attrs(missing=missing, fingerprints=json.dumps({data: fingerprint(data) for data in here}))


STUDY = PiecewiseStudy(
    name="real_images",
    summary="Mixup on whitened pairs of classes of digits and of Fashion-MNIST, against the boundary of the theory",
    config=RealImages,
    presets={
        "quick": {"ratio": "0.05:8:7:log", "alpha": "1", "rows": 100_000, "most_divisions": 20, "row_sets": 5},
        "default": {},
        "full": {"ratio": "0.03:8:24:log", "rows": 20_000_000, "most_divisions": 1000, "row_sets": 100},
    },
    pieces=_pieces,
    table=_table,
    figures=real_images_figures(),
    report=real_images_report,
)
