r"""Mixup on real images: does the sign of ECE(mix) - ECE follow the boundary of the theory?

Paper: the generative model of Section 3.3, with an h_hat that is fitted to data whose generator nobody knows. Two
classes of images are whitened (`sims.studies.subsamples` says exactly how), so that Definition 3.1 holds as far as two
moments of held-out rows can make it hold; p/n is varied by the size n of training sets drawn from them, and the plain
and the Mixup classifiers of Section 3.1 are scored on other rows. Beside what is measured: the exact law of
Definition 3.1 at the same n, p and |theta|, and the same measurement on Gaussian rows of the same moments.
"""

from __future__ import annotations

import json
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.gaussian import population_ece, sample_scores
from mixjax.runs import RunError
from sims.engine import HostArrays
from sims.figures.real_images import real_images_figures
from sims.figures.real_images_report import real_images_report
from sims.grid import AxisValue, axis, mixup_settings, whole
from sims.studies.boundaries import boundary_variables
from sims.studies.image_pairs import DIMENSIONS, PAIRS, Pair, fingerprint, present, rows_of, where_to_get
from sims.studies.subsamples import HISTOGRAM, Division, longest_for, measured
from sims.study import Piece, PiecewiseStudy, option

KINDS = ("data", "Gaussian rows")
REPLICATES = 20  # training sets of a division
EXACT = 4000  # training sets of the exact law


@dataclass(frozen=True)
class RealImages:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    ratio: AxisValue = option("0.05:8:12:log", "p/n; n is max(1, round(p / ratio)), where there are rows enough")
    alpha: AxisValue = option("0.2,1,5", "alpha of lambda ~ Beta(alpha, beta)")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    rows: int = option(1_000_000, "Test rows to score for each pair, size and weight")
    most_divisions: int = option(100, "Divisions of the rows of a pair, at most; 4 at least")
    seed: int = option(0, "Of every draw")


def _pieces(config: RealImages) -> dict[str, Piece]:
    """One a pair of classes whose data are here; a warning says where to get the others."""
    for name, least in (("rows", 1), ("most_divisions", 4)):
        whole(name, getattr(config, name), least)
    axis("ratio", config.ratio, above=True)
    pairs, missing = present()
    if all(pair.data == "control" for pair in pairs):
        raise RunError("; ".join(map(str, missing)))
    for error in missing:
        warnings.warn(f"{error}. The other data sets are looked at without it.", stacklevel=2)
    return {f"pair-{PAIRS.index(pair):02d}": partial(measure, pair, config) for pair in pairs}


def sizes_of(pair: Pair, config: RealImages, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """n at every p/n, and whether so many of `rows` rows of a class are enough."""
    sizes = np.maximum(1, np.rint(pair.p / axis("ratio", config.ratio, above=True))).astype(np.int64)
    return sizes, sizes <= longest_for(rows // 3)


def measure(pair: Pair, config: RealImages) -> HostArrays:
    """Of every division, kind of rows, size and weight (the first is 0): errors; and those of the exact law."""
    rows = np.stack(rows_of(pair))
    sizes, enough = sizes_of(pair, config, rows.shape[1])
    weights = np.concatenate([[0.0], mixup_settings(config.alpha, config.beta)["t"]]).astype(np.float32)
    scored = REPLICATES * 2 * (rows.shape[1] - 2 * (rows.shape[1] // 3))
    number = int(np.clip(config.rows // scored, 4, config.most_divisions))
    key = jax.random.fold_in(jax.random.key(config.seed, impl="threefry2x32"), zlib.crc32(pair.name.encode()))
    shape = {"p": pair.p, "replicates": REPLICATES, "longest": int(sizes[enough].max(initial=1))}
    used, rows = jnp.asarray(np.where(enough, sizes, 1), np.int32), jnp.asarray(rows)
    found = [measured(jax.random.fold_in(key, d), rows, used, weights, **shape) for d in range(number)]
    divisions = jax.tree.map(lambda *parts: np.stack(parts).astype(np.float64), *found)
    return _arrays(divisions, enough) | _exact(key, divisions, sizes, pair.p, weights) | {"n": sizes}


def _arrays(divisions: Division, enough: np.ndarray) -> HostArrays:
    """By name, kinds of rows stacked; NaN at the sizes for which rows are not enough."""
    kinds = zip(divisions.data, divisions.gaussian, strict=True)
    errors = dict(zip(divisions.data._fields, (np.stack(parts, axis=1) for parts in kinds), strict=True))
    for values in errors.values():
        values[:, :, ~enough] = np.nan
    return errors | divisions.shape._asdict() | {"shrinkage": divisions.shrinkage}


def _exact(key: jax.Array, divisions: Division, sizes: np.ndarray, p: int, weights: np.ndarray) -> HostArrays:
    """E ECE and E ECE_2^2 of Definition 3.1 at the mean |theta|^2 of the divisions: [sizes, weights]."""
    theta_norm = np.sqrt(max(float(divisions.shape.theta_square.mean()), 0.0))
    cell = {"p": p, "theta_norm": np.float32(theta_norm), "t": weights[None], "replicates": EXACT}
    law = sample_scores(jax.random.fold_in(key, 2**31), n=sizes[:, None], **cell)
    ece, square = population_ece(law), population_ece(law, norm=2) ** 2
    return {"exact_ece": np.asarray(ece.mean(axis=-1)), "exact_square": np.asarray(square.mean(axis=-1))}


def _table(config: RealImages, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    pairs = [PAIRS[int(name.removeprefix("pair-"))] for name in pieces]
    found = list(pieces.values())
    settings = mixup_settings(config.alpha, config.beta)
    coordinates = {
        "pair": [pair.name for pair in pairs],
        "data_set": ("pair", [pair.data for pair in pairs]),
        "p": ("pair", [pair.p for pair in pairs]),
        "rows": list(KINDS),
        "ratio": axis("ratio", config.ratio, above=True),
        "class": ["+1", "-1"],
        "score": 0.5 * (HISTOGRAM[1:] + HISTOGRAM[:-1]),
        **{name: ("mixup", values) for name, values in settings.items()},
    }
    table = xr.Dataset(_error_variables(found) | _shape_variables(found), coordinates)
    table = table.assign(boundary_variables(table, found))
    here = {pair.data for pair in pairs}
    missing = [where_to_get(data) for data in DIMENSIONS if data not in here]
    return table.assign_attrs(
        missing=" ".join(missing), fingerprints=json.dumps({data: fingerprint(data) for data in sorted(here)})
    )


_ERRORS = {"ece": "ECE", "square": "debiased ECE_2 squared"}


def _error_variables(found: list[HostArrays]) -> dict[str, xr.Variable]:
    """Errors, their differences from no Mixup, standard errors over divisions, and those of the exact law."""
    kinds, wide = ("pair", "rows", "ratio"), ("pair", "rows", "ratio", "mixup")
    variables = {
        "n": _variable(("pair", "ratio"), [piece["n"] for piece in found], "training set size"),
        "divisions": _variable(("pair",), [len(piece["ece"]) for piece in found], "divisions of the rows"),
        "accuracy": _variable(kinds, [piece["accuracy"].mean(axis=0)[..., 0] for piece in found], "accuracy, plain"),
    }
    for name, text in _ERRORS.items():
        differences = [piece[name][..., 1:] - piece[name][..., :1] for piece in found]
        exact = [piece[f"exact_{name}"] for piece in found]
        law = f"of Definition 3.1 at this n, p and |theta|: {text}"
        variables |= {
            name: _variable(kinds, [piece[name].mean(axis=0)[..., 0] for piece in found], f"{text}, plain"),
            f"{name}_difference": _variable(wide, _means(differences), f"{text} of Mixup - plain"),
            f"{name}_difference_se": _variable(
                wide, _errors(differences), f"standard error of {text} of Mixup - plain"
            ),
            f"{name}_exact": _variable(("pair", "ratio"), [e[:, 0] for e in exact], f"{law}, plain"),
            f"{name}_difference_exact": _variable(
                ("pair", "ratio", "mixup"), [e[:, 1:] - e[:, :1] for e in exact], f"{law} of Mixup - plain"
            ),
        }
    return variables


_SHAPE = {
    "trace": "trace of the covariance within classes, / p",
    "trace_square": "trace of its square, / p",
    "offset": "middle of the classes along theta",
    "variance": "variance along theta",
    "skewness": "skewness along theta, outwards",
    "kurtosis": "excess kurtosis along theta",
    "histogram": "density along theta",
    "shrinkage": "shrinkage of the covariance",
}


def _shape_variables(found: list[HostArrays]) -> dict[str, xr.Variable]:
    """How near the whitened rows are to Definition 3.1, means over divisions."""
    lengths = [np.sqrt(np.maximum(piece["theta_square"], 0.0)) for piece in found]
    dims: dict[str, tuple[str, ...]] = {name: ("pair", "class") for name in ("variance", "skewness", "kurtosis")}
    dims["histogram"] = ("pair", "class", "score")
    variables = {
        name: _variable(dims.get(name, ("pair",)), _means([piece[name] for piece in found]), text)
        for name, text in _SHAPE.items()
    }
    square = [np.sqrt(max(piece["theta_square"].mean(), 0.0)) for piece in found]
    return variables | {
        "theta_norm": _variable(("pair",), square, "|theta|, without bias"),
        "theta_norm_se": _variable(("pair",), _errors(lengths), "standard error of |theta|"),
    }


def _means(parts: list[np.ndarray]) -> list[np.ndarray]:
    return [part.mean(axis=0) for part in parts]


def _errors(parts: list[np.ndarray]) -> list[np.ndarray]:
    """Standard errors of means over divisions."""
    return [part.std(axis=0, ddof=1) / np.sqrt(len(part)) for part in parts]


def _variable(dims: tuple[str, ...], values: list, text: str) -> xr.Variable:
    return xr.Variable(dims, np.stack([np.asarray(v) for v in values]), {"long_name": text, "units": "1"})


STUDY = PiecewiseStudy(
    name="real_images",
    summary="Mixup on whitened pairs of classes of digits and of Fashion-MNIST, against the boundary of the theory",
    config=RealImages,
    presets={
        "quick": {"ratio": "0.05:8:7:log", "alpha": "1", "rows": 100_000, "most_divisions": 20},
        "default": {},
        "full": {"ratio": "0.03:8:24:log", "rows": 20_000_000, "most_divisions": 1000},
    },
    pieces=_pieces,
    table=_table,
    figures=real_images_figures(),
    report=real_images_report,
)
