"""The phase diagram of the classifier that people train: what Mixup does to a penalized logistic fit.

The paper's map is that of its averaging classifier. This is the same map of the logistic fit, from the limit
alone (`limit_logistic_scores`), with literal fits to all pairs on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import limit_logistic_scores

from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.logistic_diagram import logistic_diagram_figures
from ..grid import AxisValue, check_whole, positive_axis
from ..reports.logistic_diagram import logistic_diagram_report
from ..study import Piece, PiecewiseStudy
from .logistic_laws import METRICS, fitted_laws, metrics_of
from .tables import Described, described_dataset, standard_error


@dataclass(frozen=True)
class LogisticDiagram:
    """The map, and the points of it that are simulated."""

    ratio: AxisValue = option("0.05:8:64:log", "p/n")
    theta_norm: AxisValue = option("0.25:4:64:log", "Signal |theta| / sigma")
    alpha: AxisValue = option("0.2,1,5", "alpha = beta of lambda ~ Beta(alpha, alpha)")
    penalty: AxisValue = option("0.001,0.1", "mu of the logistic fit")
    n: int = option(200, "Training sample size of the simulation")
    point_ratio: AxisValue = option("0.1,0.3,1,3", "p/n that are simulated")
    point_theta_norm: AxisValue = option("0.5,1,2", "Signals that are simulated")
    replicates: int = option(12, "Training sets of a simulated point")
    seed: int = option(0, "Of every draw")


def _pieces(config: LogisticDiagram) -> dict[str, Piece]:
    """Return a map for each penalty and alpha, 0 included, and a piece for each simulated p/n, whose p is a shape."""
    check_whole(config, n=2, replicates=10)
    for name in ("theta_norm", "point_theta_norm", "alpha"):
        positive_axis(config, name)
    penalties, ratios = positive_axis(config, "penalty"), positive_axis(config, "point_ratio")
    maps: dict[str, Piece] = {
        f"limit-{penalty:g}-{alpha:g}": partial(limit_map, float(penalty), float(alpha), config)
        for penalty in penalties
        for alpha in _alphas(config)
    }
    return maps | {_stream(ratio): partial(simulate, float(ratio), config) for ratio in ratios}


def _alphas(config: LogisticDiagram) -> np.ndarray:
    return np.array([0.0, *positive_axis(config, "alpha")])


def _stream(ratio: float) -> str:
    return f"points-{ratio:g}"


def limit_map(penalty: float, alpha: float, config: LogisticDiagram) -> HostArrays:
    """Compute the METRICS of the limit, [theta_norm, ratio]."""
    ratio, theta = positive_axis(config, "ratio"), positive_axis(config, "theta_norm")
    with jax.enable_x64(True):
        return metrics_of(limit_logistic_scores(ratio, theta[:, None], penalty=penalty, alpha=alpha))


def simulate(ratio: float, config: LogisticDiagram) -> HostArrays:
    """Measure the METRICS of literal fits, [penalty, theta_norm, replicates, alpha], and compute their limits there."""
    p, alphas = max(1, round(ratio * config.n)), _alphas(config)
    arms = np.stack([alphas, np.zeros_like(alphas)], axis=1)
    key = key_of(config.seed, _stream(ratio))
    thetas, penalties = positive_axis(config, "point_theta_norm"), positive_axis(config, "penalty")
    with jax.enable_x64(True):
        sizes = {"n": config.n, "p": p, "replicates": config.replicates}
        found = [[metrics_of(fitted_laws(key, theta, mu, arms, **sizes)) for theta in thetas] for mu in penalties]
        grid = {"penalty": penalties[:, None, None], "alpha": alphas}
        limit = metrics_of(limit_logistic_scores(p / config.n, thetas[:, None], **grid))
    fitted = {name: np.array([[cell[name] for cell in row] for row in found]) for name in METRICS}
    return fitted | {f"{name}_limit": value for name, value in limit.items()}


def _table(config: LogisticDiagram, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    axes = {name: positive_axis(config, name) for name in ("penalty", "alpha", "theta_norm", "ratio")}
    points = {name: positive_axis(config, name) for name in ("point_theta_norm", "point_ratio")}
    variables: dict[str, Described] = {}
    for name, text in METRICS.items():
        maps = np.array(
            [[pieces[f"limit-{penalty:g}-{alpha:g}"][name] for alpha in _alphas(config)] for penalty in axes["penalty"]]
        )
        variables[name] = (("penalty", "theta_norm", "ratio"), maps[:, 0], f"limit of the {text} without Mixup")
        variables[f"{name}_mix"] = (tuple(axes), maps[:, 1:], f"limit of the {text} with Mixup")
        fitted = np.array([pieces[_stream(ratio)][name] for ratio in points["point_ratio"]])
        fitted = np.moveaxis(fitted, (0, 4), (3, 1))  # [penalty, alpha, theta, ratio, replicates]
        change = fitted[:, 1:] - fitted[:, :1]
        limit = np.array([pieces[_stream(ratio)][f"{name}_limit"] for ratio in points["point_ratio"]])
        limit = np.moveaxis(limit, (0, 3), (3, 1))
        dims = ("penalty", "alpha", *points)
        plain = ("penalty", *points)
        variables[f"{name}_fitted"] = (plain, np.nanmean(fitted[:, 0], -1), f"{text} of literal fits without Mixup")
        variables[f"{name}_change_fitted"] = (
            dims,
            np.nanmean(change, -1),
            f"what Mixup does to the {text}, literal fits",
        )
        variables[f"{name}_change_limit"] = (dims, limit[:, 1:] - limit[:, :1], "its limit")
        variables[f"{name}_change_fitted_se"] = (dims, standard_error(change), "standard error of it (paired)")
    return described_dataset(variables, axes | points, n=config.n, replicates=config.replicates)


STUDY = PiecewiseStudy(
    name="logistic_diagram",
    summary="where Mixup lowers the ECE of a penalized logistic fit: the limit, and literal fits",
    config=LogisticDiagram,
    presets={
        "quick": {"ratio": "0.05:8:12:log", "theta_norm": "0.25:4:12:log", "alpha": "1", "n": 50, "replicates": 10},
        "default": {},
        "full": {"alpha": "0.1,0.2,0.5,1,2,5", "penalty": "0.0001,0.001,0.01,0.1,1", "n": 400, "replicates": 50},
    },
    pieces=_pieces,
    table=_table,
    figures=logistic_diagram_figures(),
    report=logistic_diagram_report,
    streams=lambda config: map(_stream, positive_axis(config, "point_ratio")),
)
