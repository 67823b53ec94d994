"""Exact limits that the figures of the theorems draw beside what is measured, in float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.gaussian import (
    critical_ratio,
    derivative_at_zero,
    mixup_weight,
    overshoot_ratio,
    turning_ratio,
)
from mixjax.gaussian.claims.claim import rate
from mixjax.gaussian.claims.theorems_4 import sufficient_norm
from mixjax.gaussian.maximum import widest_point

from ..engine.program import HostArrays
from .tables import Described
from .theorem_configurations import CONFIGURATIONS

TURNING_NORM = np.linspace(1.46, 6.0, 92)
DERIVATIVE_NORM = np.array([0.3, 1.0, 2.0, 3.0, 5.0])
DERIVATIVE_RATIO = np.geomspace(0.01, 300.0, 80)
SLOPE = np.concatenate([np.geomspace(0.001, 0.2, 30)[:-1], np.linspace(0.2, 0.999, 60)])
RELATIVE_NORM = np.geomspace(0.05, 2.5, 60)
PER_LABEL = np.array([0.0, 1.0, 10.0, 200.0])  # unlabeled points a label; 0 where they grow more slowly


def curves() -> HostArrays:
    """Compute all curves: c up to which D falls, D of the MCE, v*, |theta| of 4.1, and where 4.3 overshoots."""
    with jax.enable_x64(True):
        widest = np.asarray(widest_point(jnp.asarray(SLOPE), jnp.asarray(1.0 - SLOPE)))
        found = {
            "turning": turning_ratio(TURNING_NORM),
            "mce_derivative": derivative_at_zero(DERIVATIVE_RATIO, DERIVATIVE_NORM[:, None], norm=np.inf),
            "widest": widest,
            "widest_value": widest / np.cosh(widest) ** 2,
            "sufficient_norm": sufficient_norm(RELATIVE_NORM, PER_LABEL[:, None]),
            "overshoot": 12.0 / overshoot_ratio(12.0, 2.0),
        }
    return {name: np.asarray(value, np.float64) for name, value in found.items()}


def curve_variables(found: HostArrays) -> tuple[dict[str, Described], dict[str, np.ndarray]]:
    """Return the variables of a table and their coordinates."""
    texts = {
        "turning": (("turning_norm",), "p/n up to which the derivative of the ECE falls"),
        "mce_derivative": (("derivative_norm", "derivative_ratio"), "limit of d MCE / d alpha at 0+, beta = 1"),
        "widest": (("slope",), "score v* of the largest gap, at slope rho"),
        "widest_value": (("slope",), "v* sech^2 v*"),
        "sufficient_norm": (("per_label", "relative_norm"), "|theta| from which on pseudo-labels lower the ECE"),
        "overshoot": ((), "n_u / n_l beyond which the classifier is under-confident, p/n_l = 12, |theta| = 2"),
    }
    coordinates = {
        "turning_norm": TURNING_NORM,
        "derivative_norm": DERIVATIVE_NORM,
        "derivative_ratio": DERIVATIVE_RATIO,
        "slope": SLOPE,
        "per_label": PER_LABEL,
        "relative_norm": RELATIVE_NORM,
    }
    return {name: (dims, found[name], text) for name, (dims, text) in texts.items()}, coordinates


def margins(theorem: str, sizes: np.ndarray) -> np.ndarray:
    """Return (p/n) / critical_ratio of the configurations of 3.2 and 5.2 at each size: Mixup hurts below 1."""
    norm = {"3.2": 1.0, "5.2": np.inf}[theorem]
    rows = []
    with jax.enable_x64(True):
        for cell in CONFIGURATIONS[theorem]:
            theta = rate(cell["theta_norm"]).at(sizes)
            alpha = rate(cell["alpha"]).factor
            t = float(mixup_weight(alpha, alpha))
            critical = np.asarray(critical_ratio(np.maximum(theta, 1e-30), t, norm=norm)) if theta.any() else 0 * theta
            with np.errstate(divide="ignore"):
                rows.append(rate(cell["p"]).whole(sizes) / sizes / critical)
    return np.array(rows)
