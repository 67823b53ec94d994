"""What Mixup buys that weight decay and a temperature do not, for a penalized logistic fit in the limit.

At each (p/n, |theta|) the best penalty, the best Mixup and the best label smoothing, each alone and together, all
found by minimization of the population's NLL (`tuned_fits`), without and with temperature scaling on held-out points,
for Sigma = I, and at |theta| = 1 for eigenvalues that decay. A temperature leaves only
z^2 = mean^2 / var of a score, which is its accuracy; fitted to m points it adds 1 / (2m) to the NLL, to leading order,
since it is one parameter of a right model. The maps over (p/n, mu, alpha) show what Mixup does to that accuracy.
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
from ..grid import AxisValue, axis, check_whole, positive_axis
from ..reports.regularizers import regularizers_report
from ..study import Piece, PiecewiseStudy
from .logistic_laws import METRICS, metrics_of
from .tables import Described, described_dataset
from .tuned_fits import ARMS, CHOICES, CRITERIA, tuned_arms


@dataclass(frozen=True)
class Regularizers:
    """The starts of the searches, and the maps."""

    ratio: AxisValue = option("0.1,0.2,0.4,0.7,1,1.5,3,6", "p/n")
    theta_norm: AxisValue = option("0.5,1,2,3", "Signal |theta| / sigma")
    penalty: AxisValue = option(
        "1e-7,1e-5,0.001,0.01,0.1,1,10,1000", "mu from which a search starts; its ends are the bounds"
    )
    weak: float = option(1e-4, "mu where the penalty is not chosen")
    alpha: AxisValue = option("0,0.5,100", "alpha = beta of Mixup to start from, 0 first; the last is the bound")
    smoothing: AxisValue = option("0,0.1,0.95", "eps of smoothing to start from, 0 first; the last is the bound")
    map_ratio: AxisValue = option("0.1:6.4:25:log", "p/n of the map at |theta| = 1")
    map_penalty: AxisValue = option("0.0001:10:21:log", "mu of the map")
    map_alpha: AxisValue = option("0.2,1,5", "alpha = beta of the map")
    decay: float = option(1.0, "Eigenvalues k^-decay of the second spectrum")
    dimension: int = option(200, "p of the second spectrum")
    seed: int = option(0, "Nothing is drawn")


def _pieces(config: Regularizers) -> dict[str, Piece]:
    check_whole(config, dimension=2)
    for name in ("penalty", "map_penalty", "map_ratio", "map_alpha"):
        positive_axis(config, name)
    for name in ("alpha", "smoothing"):
        tried = axis(name, getattr(config, name))
        if tried[0] != 0 or len(tried) < 2:
            raise RunError(f"{name} must begin with 0, which is none of it, and go on")
    ratios = positive_axis(config, "ratio")
    identity: dict[str, Piece] = {
        f"tuned-{theta:g}-{ratio:g}": partial(tuned_identity, float(theta), float(ratio), config)
        for theta in positive_axis(config, "theta_norm")
        for ratio in ratios
    }
    decay: dict[str, Piece] = {f"tuned-decay-{ratio:g}": partial(tuned_decay, float(ratio), config) for ratio in ratios}
    return identity | decay | {"map-identity": partial(identity_map, config), "map-decay": partial(decay_map, config)}


def _tried(config: Regularizers) -> dict[str, np.ndarray]:
    return {
        "penalty": np.array([config.weak, *positive_axis(config, "penalty")]),
        "alpha": axis("alpha", config.alpha),
        "smoothing": axis("smoothing", config.smoothing),
    }


def tuned_identity(theta: float, ratio: float, config: Regularizers) -> HostArrays:
    """Tune every arm for Sigma = I: METRICS and CHOICES, [criterion, arm]."""
    return tuned_arms(limit_logistic_scores, (np.float64(ratio), np.float64(theta)), _tried(config))


def tuned_decay(ratio: float, config: Regularizers) -> HostArrays:
    """Tune every arm for eigenvalues that decay: METRICS and CHOICES, [criterion, arm]."""
    s, theta_squared = _decaying(config)
    return tuned_arms(predict_logistic_scores, (s, theta_squared, _rows(config, ratio)), _tried(config))


def _decaying(config: Regularizers) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues k^-decay of mean 1, and theta with theta' Sigma^-1 theta = 1 in equal parts."""
    s = np.arange(1, config.dimension + 1) ** -config.decay
    s /= s.mean()
    return s, s / config.dimension


def _rows(config: Regularizers, ratio: np.ndarray | float) -> np.ndarray:
    """Return n of p/n, a whole number."""
    return np.maximum(1.0, np.round(config.dimension / ratio))


def identity_map(config: Regularizers) -> HostArrays:
    """Compute the METRICS over the map, [alpha, penalty, ratio], alpha = 0 first."""
    with jax.enable_x64(True):
        return metrics_of(limit_logistic_scores(positive_axis(config, "map_ratio"), 1.0, **_map_arms(config)))


def decay_map(config: Regularizers) -> HostArrays:
    """Compute the same for eigenvalues that decay."""
    n = _rows(config, positive_axis(config, "map_ratio"))
    with jax.enable_x64(True):
        return metrics_of(predict_logistic_scores(*_decaying(config), n, **_map_arms(config)))


def _map_arms(config: Regularizers) -> dict[str, np.ndarray]:
    alphas = np.array([0.0, *positive_axis(config, "map_alpha")])
    return {"penalty": positive_axis(config, "map_penalty")[:, None], "alpha": alphas[:, None, None]}


def _table(config: Regularizers, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    thetas, ratios = positive_axis(config, "theta_norm"), positive_axis(config, "ratio")
    identity = [[pieces[f"tuned-{theta:g}-{ratio:g}"] for ratio in ratios] for theta in thetas]
    decay = [pieces[f"tuned-decay-{ratio:g}"] for ratio in ratios]
    texts = {name: f"{text}, of the choice" for name, text in METRICS.items()}
    texts |= {name: f"{name} that is chosen" for name in CHOICES}
    wide = ("ratio", "criterion", "arm")
    variables: dict[str, Described] = {}
    for name, text in texts.items():
        of_identity = np.array([[cell[name] for cell in row] for row in identity])
        variables[f"{name}_best"] = (("theta_norm", *wide), of_identity, text)
        variables[f"{name}_best_decay"] = (wide, np.array([cell[name] for cell in decay]), f"{text}, decaying spectrum")
    for kind in ("identity", "decay"):
        for name in ("accuracy", "nll_scaled"):
            found = pieces[f"map-{kind}"][name]
            over = ("map_alpha", "map_penalty", "map_ratio")
            variables[f"{name}_{kind}"] = (over[1:], found[0], f"{METRICS[name]} without Mixup")
            variables[f"{name}_{kind}_change"] = (
                over,
                found[1:] - found[:1],
                f"change of the {METRICS[name]} by Mixup",
            )
    maps = {name: positive_axis(config, name) for name in ("map_alpha", "map_penalty", "map_ratio")}
    coordinates = {"theta_norm": thetas, "ratio": ratios, "criterion": list(CRITERIA), "arm": list(ARMS)} | maps
    return described_dataset(variables, coordinates, decay=config.decay, dimension=config.dimension)


STUDY = PiecewiseStudy(
    name="regularizers",
    summary="what Mixup buys that weight decay, label smoothing and a temperature do not",
    config=Regularizers,
    presets={
        "quick": {
            "ratio": "0.3,1,3", "theta_norm": "1,2", "penalty": "1e-5:10:4:log", "alpha": "0,1", "smoothing": "0,0.1",
            "map_ratio": "0.1:6.4:7:log", "map_penalty": "0.0001:1:5:log", "map_alpha": "1", "dimension": 30,
        },
        "default": {},
        "full": {"penalty": "1e-7:1000:21:log", "alpha": "0,0.1,0.5,2,10,100", "smoothing": "0,0.05,0.1,0.4,0.95"},
    },
    pieces=_pieces,
    table=_table,
    figures=regularizers_figures(),
    report=regularizers_report,
    streams=lambda config: (),
)  # fmt: skip
