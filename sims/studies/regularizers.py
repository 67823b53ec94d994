"""What Mixup buys that weight decay and a temperature do not, for a penalised logistic fit in the limit.

At each (p/n, |theta|) the best penalty, the best Mixup and the best label smoothing, each alone and together, all
chosen by the population's NLL, without and with temperature scaling on held-out points. A temperature leaves only
z^2 = mean^2 / var of a score, which is its accuracy; fitted to m points it adds 1 / (2m) to the NLL, to leading order,
since it is one parameter of a right model. The map over (p/n, mu, alpha) shows what Mixup does to that accuracy, for
Sigma = I and for eigenvalues that decay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import limit_logistic_scores, predict_logistic_scores
from mixjax.runs import RunError

from ..engine.program import HostArrays
from ..figures.regularizers import regularizers_figures
from ..grid import AxisValue, axis, positive_axis, whole
from ..reports.regularizers import regularizers_report
from ..study import Piece, PiecewiseStudy
from .logistic_laws import METRICS, metrics_of
from .tables import Described, described_dataset

ARMS = {  # which of penalty, Mixup and smoothing are chosen; the others have their weakest value
    "none": (False, False, False),
    "weight decay": (True, False, False),
    "Mixup": (False, True, False),
    "smoothing": (False, False, True),
    "weight decay, Mixup": (True, True, False),
    "weight decay, smoothing": (True, False, True),
    "all three": (True, True, True),
}
CRITERIA = ("nll", "nll_scaled")


@dataclass(frozen=True)
class Regularizers:
    """The grids that are searched, and the map."""

    ratio: AxisValue = option("0.1,0.2,0.4,0.7,1,1.5,3,6", "p/n")
    theta_norm: AxisValue = option("0.5,1,2,3", "Signal |theta| / sigma")
    penalty: AxisValue = option("0.0001:100:19:log", "mu that are tried, the weakest first")
    alpha: AxisValue = option("0,0.1,0.2,0.5,1,2,5", "alpha = beta of Mixup that are tried, 0 first")
    smoothing: AxisValue = option("0,0.05,0.1,0.2,0.4", "eps of label smoothing that are tried, 0 first")
    map_ratio: AxisValue = option("0.1:6.4:25:log", "p/n of the map at |theta| = 1")
    map_penalty: AxisValue = option("0.0001:10:21:log", "mu of the map")
    map_alpha: AxisValue = option("0.2,1,5", "alpha = beta of the map")
    decay: float = option(1.0, "Eigenvalues k^-decay of the second map")
    dimension: int = option(200, "p of the second map")
    seed: int = option(0, "Nothing is drawn")


def _pieces(config: Regularizers) -> dict[str, Piece]:
    whole("dimension", config.dimension, 2)
    for name in ("penalty", "map_penalty", "map_ratio", "map_alpha"):
        positive_axis(config, name)
    for name in ("alpha", "smoothing"):
        if _tried(config, name)[0] != 0:
            raise RunError(f"{name} must begin with 0, which is none of it")
    search: dict[str, Piece] = {
        f"search-{theta:g}-{ratio:g}": partial(search_cell, float(theta), float(ratio), config)
        for theta in positive_axis(config, "theta_norm")
        for ratio in positive_axis(config, "ratio")
    }
    return search | {"map-identity": partial(identity_map, config), "map-decay": partial(decay_map, config)}


def _tried(config: Regularizers, name: str) -> np.ndarray:
    return axis(name, getattr(config, name))


def search_cell(theta: float, ratio: float, config: Regularizers) -> HostArrays:
    """Compute the METRICS of every combination, [penalty, alpha, smoothing]."""
    penalty = positive_axis(config, "penalty")[:, None, None]
    with jax.enable_x64(True):
        law = limit_logistic_scores(
            ratio, theta, penalty=penalty, alpha=_tried(config, "alpha")[:, None], smoothing=_tried(config, "smoothing")
        )
        return metrics_of(law)


def identity_map(config: Regularizers) -> HostArrays:
    """Compute the METRICS over the map, [alpha, penalty, ratio], alpha = 0 first."""
    with jax.enable_x64(True):
        return metrics_of(limit_logistic_scores(positive_axis(config, "map_ratio"), 1.0, **_map_arms(config)))


def decay_map(config: Regularizers) -> HostArrays:
    """Predict the same for eigenvalues k^-decay of mean 1, with theta' Sigma^-1 theta = 1 in equal parts."""
    s = np.arange(1, config.dimension + 1) ** -config.decay
    s /= s.mean()
    n = np.maximum(1, np.round(config.dimension / positive_axis(config, "map_ratio")))
    with jax.enable_x64(True):
        return metrics_of(predict_logistic_scores(s, s / config.dimension, n, **_map_arms(config)))


def _map_arms(config: Regularizers) -> dict[str, np.ndarray]:
    alphas = np.array([0.0, *positive_axis(config, "map_alpha")])
    return {"penalty": positive_axis(config, "map_penalty")[:, None], "alpha": alphas[:, None, None]}


def _table(config: Regularizers, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    thetas, ratios = positive_axis(config, "theta_norm"), positive_axis(config, "ratio")
    cells = [[_best(config, pieces[f"search-{theta:g}-{ratio:g}"]) for ratio in ratios] for theta in thetas]
    dims = ("theta_norm", "ratio", "criterion", "arm")
    texts = {name: f"{text}, of the choice" for name, text in METRICS.items()}
    texts |= {name: f"{name} that is chosen" for name in ("penalty", "alpha", "smoothing")}
    variables: dict[str, Described] = {
        f"{name}_best": (dims, np.array([[cell[name] for cell in row] for row in cells]), text)
        for name, text in texts.items()
    }
    for kind in ("identity", "decay"):
        for name in ("accuracy", "nll_scaled"):
            found = pieces[f"map-{kind}"][name]
            wide = ("map_alpha", "map_penalty", "map_ratio")
            variables[f"{name}_{kind}"] = (wide[1:], found[0], f"{METRICS[name]} without Mixup")
            variables[f"{name}_{kind}_change"] = (
                wide,
                found[1:] - found[:1],
                f"change of the {METRICS[name]} by Mixup",
            )
    maps = {name: positive_axis(config, name) for name in ("map_alpha", "map_penalty", "map_ratio")}
    coordinates = {"theta_norm": thetas, "ratio": ratios, "criterion": list(CRITERIA), "arm": list(ARMS)} | maps
    return described_dataset(variables, coordinates, decay=config.decay, dimension=config.dimension)


def _best(config: Regularizers, found: HostArrays) -> dict[str, np.ndarray]:
    """Return the METRICS and the values of the best combination, [criterion, arm]."""
    axes = {"penalty": positive_axis(config, "penalty")}
    axes |= {name: _tried(config, name) for name in ("alpha", "smoothing")}
    rows = [[_chosen(axes, found, criterion, free) for free in ARMS.values()] for criterion in CRITERIA]
    return {name: np.array([[cell[name] for cell in row] for row in rows]) for name in (*METRICS, *axes)}


def _chosen(
    axes: Mapping[str, np.ndarray], found: HostArrays, criterion: str, free: tuple[bool, ...]
) -> dict[str, float]:
    tried = tuple(slice(None) if chosen else slice(0, 1) for chosen in free)
    part = found[criterion][tried]
    best = np.unravel_index(np.nanargmin(part), part.shape)
    values = {name: float(found[name][best]) for name in METRICS}
    return values | {name: float(values[k]) for (name, values), k in zip(axes.items(), best, strict=True)}


STUDY = PiecewiseStudy(
    name="regularizers",
    summary="what Mixup buys that weight decay, label smoothing and a temperature do not",
    config=Regularizers,
    presets={
        "quick": {
            "ratio": "0.3,1,3", "theta_norm": "1,2", "penalty": "0.0001:10:6:log", "alpha": "0,1", "smoothing": "0,0.1",
            "map_ratio": "0.1:6.4:7:log", "map_penalty": "0.0001:1:5:log", "map_alpha": "1", "dimension": 30,
        },
        "default": {},
        "full": {"penalty": "0.0001:100:37:log", "theta_norm": "0.25,0.5,0.75,1,1.5,2,3,4"},
    },
    pieces=_pieces,
    table=_table,
    figures=regularizers_figures(),
    report=regularizers_report,
    streams=lambda config: (),
)  # fmt: skip
