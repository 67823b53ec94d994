"""The derivative at alpha = 0+ in the limit, three ways, and where it falls with p/n: no simulation.

Paper: Theorems 3.3 and 5.3 claim that the derivative of the ECE, and of the MCE, decreases with p/n for large theta.
The closed form (`derivative_at_zero`) is stored beside automatic differentiation of the limit's error in t, and beside
its finite differences; and on a map over |theta| and p/n the growth rate d log |D| / d log c, whose sign is that of the
claim.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.gaussian import (
    ScoreLaw,
    derivative_at_zero,
    derivative_slope,
    limit_scores,
    population_ece,
    population_mce,
    turning_ratio,
)

from .curves import END
from .tables import described

METRICS = {"ece": (1, population_ece), "mce": (np.inf, population_mce)}
CHECKS = 16  # values of p/n at which the other two ways are taken
MAP_THETA, MAP_RATIO = np.geomspace(0.1, 4.0, 72), np.geomspace(0.01, 100.0, 72)
STEP = 1e-4  # of t, for differences of second order; float64


def monotonicity(theta_norm: np.ndarray, smallest: float, largest: float) -> xr.Dataset:
    """Compute curves for each |theta| > 0 from one p/n to another, at beta = 1, and maps, along axes of their own."""
    ratio = np.geomspace(smallest, largest, 10 * (CHECKS - 1) + 1)
    thetas = theta_norm[theta_norm > 0]
    lines = {"exact_theta": thetas, "exact_ratio": ratio, "check_ratio": ratio[::10]}
    axes = {**lines, "map_theta": MAP_THETA, "map_ratio": MAP_RATIO}
    table = xr.Dataset(coords={name + END: values for name, values in axes.items()})
    with jax.enable_x64(True):
        for name, (norm, error) in METRICS.items():
            text = f"d{name.upper()}/dalpha at alpha = 0+ and beta = 1, in the limit"
            exact = derivative_at_zero(ratio, thetas[:, None], norm=norm)
            table[f"{name}_closed"] = _variable(("exact_theta", "exact_ratio"), exact, text)
            for way, values in _other_ways(error, ratio[::10], thetas[:, None]).items():
                table[f"{name}_{way}"] = _variable(("exact_theta", "check_ratio"), values, f"{text}, by {way}")
            growth = _growth(norm)
            table[f"{name}_growth"] = _variable(("map_ratio", "map_theta"), growth, f"d log|D| / d log c, D the {text}")
        turning = turning_ratio(MAP_THETA)
    table["turning_ratio"] = _variable(("map_theta",), turning, "p/n up to which dECE/dalpha falls; 0 where nowhere")
    return table


def _other_ways(error: Callable[[ScoreLaw], jax.Array], ratio: np.ndarray, theta: np.ndarray) -> dict[str, jax.Array]:
    """Differentiate the limit's error in t, forward from t = 0; alpha moves t at the rate 1 for beta = 1."""

    @jax.jit
    def at(t: jax.Array) -> jax.Array:
        return error(limit_scores(ratio, theta, t))

    zero = jnp.zeros(())
    values = [at(zero + k * STEP) for k in (0, 1, 2)]
    return {
        "autodiff": jax.jvp(at, (zero,), (jnp.ones(()),))[1],
        "differences": (4.0 * values[1] - 3.0 * values[0] - values[2]) / (2.0 * STEP),
    }


def _growth(norm: float) -> jax.Array:
    ratio = jnp.asarray(MAP_RATIO)[:, None]
    derivative = derivative_at_zero(ratio, MAP_THETA, norm=norm)
    return ratio * derivative_slope(ratio, MAP_THETA, norm=norm) / derivative


def _variable(dims: tuple[str, ...], values: jax.Array, long_name: str) -> xr.Variable:
    return described(tuple(dim + END for dim in dims), values, long_name)
