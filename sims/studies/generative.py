r"""Theorem 3.5 measured: classifiers on features h_hat(x) where x = g(z), g linear, leaky-ReLU or coupling.

h_hat is learned by the paper's criterion (`mixjax.generative.learn_inverse`) from `rows` pairs (x, y); a classifier is
estimated from n further pairs, or from the same ones ("own"). Population ECE by literal simulation, beside the exact
ECE of the same training sets with the exact inverse of g; E|delta_u| of Assumption 3.1; Lipschitz constants. Every
training seed draws g, the rows, the start of the training, and the training sets of the classifiers anew; a seed's g
and training sets are the same for all `rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
import xarray as xr

from mixjax.commands import missing_package, option
from mixjax.gaussian import expected_errors
from mixjax.runs import RunError

from ..engine.program import HostArrays
from ..figures.generative import generative_figures
from ..grid import AxisValue, axis, check_whole, mixup_settings
from ..reports.generative import generative_report
from ..study import Piece, PiecewiseStudy
from .learned_inverse import CLASSIFIERS, DIRECTIONS, FAMILIES, MAPS, Setting, measure, streams_of
from .tables import described


@dataclass(frozen=True)
class Generative:
    """Sizes of both kinds of learning; |theta*| = 1 is what h_hat is learned for."""

    n: AxisValue = option("8,32,128,512", "Rows of a training set of the classifiers")
    rows: AxisValue = option("250,2000,16000", "Rows that h_hat is learned from")
    p: int = option(16, "Dimension of z")
    d: int = option(24, "Dimension of x, for linear and leaky-ReLU g")
    theta_norm: AxisValue = option("1", "|theta| of the data: one number; h_hat is learned for 1, as in the paper")
    alpha: AxisValue = option("1", "Of the Mixup law Beta(alpha, alpha): one number")
    training_seeds: int = option(8, "Repetitions of everything")
    training_sets: int = option(8, "Training sets of the classifiers, for each seed and n")
    steps: int = option(1000, "Of the training of h_hat")
    draws: int = option(1 << 19, "Test draws for each h_hat")
    seed: int = option(0, "Of every draw")


def _pieces(config: Generative) -> dict[str, Piece]:
    """Return a piece for each h_hat."""
    _, rows = _axes(config)
    check_whole(config, p=2, d=config.p, training_seeds=2, training_sets=1, steps=1, draws=1)
    for package in ("flax", "optax"):
        if find_spec(package) is None:
            raise missing_package(package, "generative", "the study generative")
    if min(rows) < 4 * config.p:
        raise RunError(f"rows must be 4 p = {4 * config.p} or more, got {min(rows)}")
    setting = _setting(config)
    return {
        _name(family, number, seed): partial(measure, family, number, seed, setting)
        for family in FAMILIES
        for number in rows
        for seed in range(config.training_seeds)
    }


def _streams(config: Generative) -> Iterable[str]:
    _, rows = _axes(config)
    return streams_of(rows, config.training_seeds, _setting(config))


def _axes(config: Generative) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sizes, rows = (axis(name, getattr(config, name), whole=True, least=1) for name in ("n", "rows"))
    return tuple(map(int, sizes)), tuple(map(int, rows))


def _setting(config: Generative) -> Setting:
    """Return what all pieces have in common."""
    theta_norm, weights = axis("theta_norm", config.theta_norm), mixup_settings(config.alpha, "same")["t"]
    for name, values in (("theta_norm", theta_norm), ("alpha", weights)):
        if len(values) != 1:
            raise RunError(f"{name} must be one number, got {len(values)}")
    sizes, _ = _axes(config)
    return Setting(sizes, config.p, config.d, float(theta_norm[0]), float(weights[0]), config.training_sets,
                   config.steps, config.draws, config.seed)  # fmt: skip


def _name(family: str, rows: int, seed: int) -> str:
    return f"{family}-{rows:07d}-{seed:03d}"


def _table(config: Generative, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    sizes, rows = _axes(config)
    setting = _setting(config)
    theta_norm, weight = setting.theta_norm, setting.weight

    def stacked(name: str) -> np.ndarray:
        """Stack an array of all pieces, [family, rows, seed, ...]."""
        seeds = range(config.training_seeds)
        return np.array([[[pieces[_name(f, m, s)][name] for s in seeds] for m in rows] for f in FAMILIES])

    ece, exact = stacked("ece").mean(axis=4), stacked("exact").mean(axis=4)  # over training sets
    own, own_exact = stacked("own_ece"), stacked("own_exact")
    with_n, of_own = ("family", "rows", "n", "classifier"), ("family", "rows", "classifier")
    by_seed = {
        "ece": (with_n, ece, "ECE with the learned h_hat"),
        "exact": (with_n, exact, "ECE with the exact inverse, same training sets"),
        "excess": (with_n, ece - exact, "ECE with the learned h_hat minus ECE with the exact inverse"),
        "mean_excess": (of_own, (ece - exact).mean(axis=3), "mean of `excess` over n"),
        "difference": (with_n[:3], np.diff(ece)[..., 0], "ECE(mix) - ECE with the learned h_hat"),
        "exact_difference": (with_n[:3], np.diff(exact)[..., 0], "ECE(mix) - ECE with the exact inverse"),
        "own": (of_own, own, "ECE, n = rows: classifiers estimated from the rows of h_hat"),
        "own_exact": (of_own, own_exact, "the same with the exact inverse"),
        "own_difference": (of_own[:2], np.diff(own)[..., 0], "ECE(mix) - ECE, n = rows"),
        "delta": ((*of_own[:2], "direction"), stacked("delta"), "E|delta_u|, the larger of k = -1, 1"),
        "delta_square": ((*of_own[:2], "direction"), stacked("delta_square"), "E|delta_u|^2, the larger of k = -1, 1"),
        "stretch": ((*of_own[:2], "map"), stacked("stretch"), "largest spectral norm of the Jacobian over 2048 draws"),
        "bound": ((*of_own[:2], "map"), stacked("bound"), "upper bound of the Lipschitz constant"),
    }  # fmt: skip
    variables = {}
    for name, (dims, values, text) in by_seed.items():
        variables[name] = described(dims, values.mean(axis=2), text)
        error = values.std(axis=2, ddof=1) / np.sqrt(config.training_seeds)  # NaN where there is no bound
        variables[f"{name}_se"] = described(dims, error, f"standard error over training seeds: {text}")
    n, t = np.array(sizes)[:, None], np.array([[0.0, weight]])
    expected = np.asarray(expected_errors(n=n, p=config.p, theta_norm=theta_norm, t=t).ece)
    variables["expected"] = described(with_n[2:], expected, "expectation over training sets of the exact ECE")
    coordinates = {"family": list(FAMILIES), "rows": list(rows), "n": list(sizes), "classifier": list(CLASSIFIERS),
                   "direction": list(DIRECTIONS), "map": list(MAPS)}  # fmt: skip
    numbers = {"t": weight, "simulation_se": float(stacked("simulation_se").max())}
    return xr.Dataset(variables, coordinates, numbers)


STUDY = PiecewiseStudy(
    name="generative",
    summary="the generative model x = g(z) with a learned inverse, against the exact one",
    config=Generative,
    presets={
        "quick": {
            "n": "16,128",
            "rows": "250,2000",
            "training_seeds": 2,
            "training_sets": 4,
            "steps": 200,
            "draws": 1 << 17,
        },
        "default": {},
        "full": {
            "n": "8,16,32,64,128,256,512",
            "rows": "250,1000,4000,16000,64000",
            "training_seeds": 20,
            "training_sets": 32,
            "steps": 4000,
            "draws": 1 << 22,
        },
    },
    pieces=_pieces,
    table=_table,
    figures=generative_figures(),
    report=generative_report,
    streams=_streams,
)
