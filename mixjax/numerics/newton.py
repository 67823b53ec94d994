r"""Minima of smooth convex functions of a few parameters, by damped Newton steps.

A step solves :math:`H \delta = -g`, with the rows and columns of H scaled to a diagonal of 1, and is halved until the
value falls (L. Armijo). Near the minimum a step squares the error, so a step below the root of the machine precision is
taken and is the last. A minimum at infinity is never mistaken for one: there the steps do not shrink below about one
unit of the logits.

Derivatives follow from the equation of the minimum, g(x, data) = 0, by the implicit function theorem: a change of the
data that changes g by dg moves the minimum by :math:`-H^{-1} dg`, whatever the steps were that led there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

_MAX_EVALUATIONS = 64


class Expansion(NamedTuple):
    """The expansion of a function to second order about a point."""

    value: Float[Array, ""]
    gradient: Float[Array, " P"]
    hessian: Float[Array, "P P"]


class Minimum(NamedTuple):
    """The end of the search; `converged` is True at a minimum."""

    point: Float[Array, " P"]
    gradient_norm: Float[Array, ""]
    converged: Bool[Array, ""]


class _Search(NamedTuple):
    point: jax.Array
    here: Expansion
    step: jax.Array
    length: jax.Array  # factor of the step to try next, at most 1
    evaluations: Int[Array, ""]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def minimize(function: Callable[..., Expansion], start: Float[Array, " P"], data: tuple[Any, ...]) -> Minimum:
    """Minimize a convex function of a point and of `data`, function(point, *data), from `start`.

    Returns:
      The point, right to about the machine precision (relative for parameters above 1) where the Hessian is well
      conditioned; `converged` is False after 64 evaluations, for a singular Hessian and for NaN. The point has forward
      and reverse derivatives of every order in `data`, and none in `start`; `function` may hold no other array that is
      differentiated.
    """
    eps = float(jnp.finfo(start.dtype).eps)

    def near(search: _Search) -> jax.Array:
        return jnp.max(jnp.abs(search.step)) <= eps**0.5 * (1.0 + jnp.max(jnp.abs(search.point)))

    def unfinished(search: _Search) -> jax.Array:
        finite = jnp.all(jnp.isfinite(search.step)) & (search.length > eps)
        begun = search.evaluations > 0
        return ~begun | (finite & ~near(search) & (search.evaluations < _MAX_EVALUATIONS))

    def advance(search: _Search) -> _Search:
        point = search.point + search.length * search.step
        there = function(point, *data)
        promised = 1e-4 * search.length * jnp.sum(search.here.gradient * search.step)
        fell = there.value <= search.here.value + promised + 16 * eps * jnp.abs(search.here.value)
        moved = _Search(
            point, there, _step(there.hessian, there.gradient), jnp.ones_like(search.length), search.evaluations
        )
        halved = search._replace(length=0.5 * search.length)
        search = jax.tree.map(lambda a, b: jnp.where(fell | (search.evaluations == 0), a, b), moved, halved)
        return search._replace(evaluations=search.evaluations + 1)

    zeros, one = jnp.zeros_like(start), jnp.ones_like(start[0])  # vary over devices, in `shard_map`, as `start` does
    nowhere = Expansion(jnp.inf * one, zeros, zeros[:, None] * zeros[None])
    search = _Search(start, nowhere, zeros, one, jnp.zeros_like(one, np.int32))
    search = lax.while_loop(unfinished, advance, search)  # the first step leads to `start`, so `function` compiles once
    converged = near(search)
    point = jnp.where(converged, search.point + search.step, search.point)
    return Minimum(point, jnp.sqrt(jnp.sum(search.here.gradient**2)), converged)


@minimize.defjvp
def _minimize_jvp(
    function: Callable[..., Expansion], primals: tuple[Any, Any], tangents: tuple[Any, Any]
) -> tuple[Minimum, Minimum]:
    """Differentiate gradient(point, data) = 0."""
    start, data = primals
    minimum = minimize(function, start, data)

    def gradient(*data: Any) -> tuple[jax.Array, jax.Array]:
        there = function(minimum.point, *data)
        return there.gradient, there.hessian

    _, change, hessian = jax.jvp(gradient, data, tangents[1], has_aux=True)
    still: Any = np.zeros(minimum.converged.shape, jax.dtypes.float0)  # a boolean has no derivative
    return minimum, Minimum(_step(hessian, change), jnp.zeros_like(minimum.gradient_norm), still)


def _step(hessian: jax.Array, gradient: jax.Array) -> jax.Array:
    """Return Newton's step; NaN if the Hessian is not positive definite."""
    scale = 1.0 / jnp.sqrt(jnp.diagonal(hessian))
    scaled = hessian * scale[:, None] * scale[None]
    factor = jax.scipy.linalg.cho_factor(scaled, lower=True)
    return -scale * jax.scipy.linalg.cho_solve(factor, scale * gradient)


class Standardized(NamedTuple):
    """Columns (values - shift) / scale of mean 0 and variance 1; a constant column is 0."""

    values: Float[Array, "N *K"]
    shift: Float[Array, "*K"]
    scale: Float[Array, "*K"]
    constant: Bool[Array, "*K"]


def standardized(values: Float[Array, "N *K"], share: Float[Array, "N *L"]) -> Standardized:
    """Standardize each column over the entries that have a share, or rows if [N], without overflow of squares."""
    weight = share.reshape(share.shape + (1,) * (values.ndim - share.ndim))
    counts = weight > 0
    high = jnp.max(jnp.where(counts, values, -jnp.inf), axis=0, initial=-jnp.inf)
    low = jnp.min(jnp.where(counts, values, jnp.inf), axis=0, initial=jnp.inf)
    constant = ~(low < high)
    unit = jnp.where(constant, 1.0, jnp.maximum(jnp.abs(low), jnp.abs(high)))
    scaled = jnp.where(counts, values, 0.0) / unit[None]
    shift = jnp.sum(weight * scaled, axis=0)
    centered = jnp.where(counts & ~constant[None], scaled - shift[None], 0.0)
    spread = jnp.sqrt(jnp.where(constant, 1.0, jnp.sum(weight * centered**2, axis=0)))  # has a derivative at 0
    return Standardized(centered / spread[None], shift * unit, spread * unit, constant)
