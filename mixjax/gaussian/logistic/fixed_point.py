r"""The equations of the limit, solved for all training logits at once.

The convex Gaussian min-max theorem replaces the rows by one Gaussian g. With R_k = 1/(mu + B s_k), s_k the eigenvalues
of the covariance and theta_k the class mean in its eigenbasis,

    v(g) = m + sqrt(q) g - gamma f(v(g)),         A = -E f,   V = E f^2,   B = E[f g] / sqrt(q),
    m = A sum theta_k^2 R_k,    q = A^2 sum theta_k^2 s_k R_k^2 + (V/n) sum s_k^2 R_k^2,    gamma = (1/n) sum s_k R_k.

m = <w, theta> and q = w' Sigma w are all that a test point's logit depends on. The unknowns are v at equally spaced
nodes of g, and B; the rest follows. A step of Newton is log(1 + d)/d long, d the largest change of a logit (`fit`), and
keeps B positive. A root with B > 0 is a stationary point of the min-max problem, which is convex-concave.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.gaussian.logistic.fit import damping, repeated
from mixjax.gaussian.logistic.mixing import MixingRule, mixing_rule
from mixjax.gaussian.logistic.pair_loss import PairLoss

_NODES = {np.dtype(np.float32): 61, np.dtype(np.float64): 101}  # of g, odd
_MIXING = {np.dtype(np.float32): 8, np.dtype(np.float64): 14}  # of lambda
_REACH = {np.dtype(np.float32): 5.5, np.dtype(np.float64): 7.0}  # of g
_MAX_STEPS = 200
_LEAST_PULL = 4000.0  # of its rounding


class Spectrum(NamedTuple):
    """The eigenvalues s_k, the squared coordinates of theta, and the multiplicity of each eigenvalue over n."""

    eigenvalue: Float[Array, " K"]
    theta_squared: Float[Array, " K"]
    share: Float[Array, " K"]


class Problem(NamedTuple):
    """The fit of one cell; a pytree of data."""

    spectrum: Spectrum
    penalty: Float[Array, ""]
    alpha: Float[Array, ""]
    beta: Float[Array, ""]
    smoothing: Float[Array, ""]


class Grid(NamedTuple):
    """Nodes of g, their probabilities, and the rule for lambda."""

    g: Float[Array, " G"]
    chance: Float[Array, " G"]
    rule: MixingRule


class Moments(NamedTuple):
    """m = <w, theta> and q = w' Sigma w of the fit w."""

    m: Float[Array, ""]
    q: Float[Array, ""]


def fitted_moments(problem: Problem, loss: PairLoss) -> Moments:
    """Solve the equations of one problem; NaN where Newton's method has not converged. Differentiable in all data."""
    grid = _grid(problem)
    root = _root(loss, problem)
    there = _system(root, problem, grid, loss)
    eps = jnp.finfo(root.dtype).eps
    # the steps alone shrink also where rounding stops them: the residual must be small beside the logits
    is_root = jnp.max(jnp.abs(there.residual[:-1])) <= jnp.sqrt(eps) * (1.0 + jnp.max(jnp.abs(root[:-1])))
    # where soft labels are met, the pull is a difference of numbers near 1
    is_resolved = there.pull_size >= _LEAST_PULL * (eps * (jnp.sum(grid.rule.weight) + problem.smoothing))
    return Moments(*(jnp.where(is_root & is_resolved, moment, jnp.nan) for moment in there.moments))


def _grid(problem: Problem) -> Grid:
    """Return equally spaced nodes of N(0, 1), the trapezoidal rule, which is exponentially exact."""
    dtype = problem.penalty.dtype
    g = np.linspace(-_REACH[dtype], _REACH[dtype], _NODES[dtype])
    density = np.exp(-0.5 * g**2)
    rule = mixing_rule(problem.alpha, problem.beta, _MIXING[dtype])
    return Grid(jnp.asarray(g, dtype), jnp.asarray(density / density.sum(), dtype), rule)


class _System(NamedTuple):
    """The equations at a point: unknowns are v at the nodes, then B."""

    residual: jax.Array
    jacobian: jax.Array
    moments: Moments
    pull_size: jax.Array  # root of E f^2


def _system(unknown: jax.Array, problem: Problem, grid: Grid, loss: PairLoss) -> _System:
    v, b = unknown[:-1], unknown[-1]
    g, chance, rule = grid
    s, theta_squared, share = problem.spectrum
    f, own, partner = loss(v, chance, rule, problem.smoothing)
    r = 1.0 / (problem.penalty + b * s)
    first, signal, noise = jnp.sum(theta_squared * r), jnp.sum(theta_squared * s * r**2), jnp.sum(share * (s * r) ** 2)
    a, f_squared, f_g = -jnp.sum(chance * f), jnp.sum(chance * f**2), jnp.sum(chance * f * g)
    m, q, gamma = a * first, a**2 * signal + f_squared * noise, jnp.sum(share * s * r)
    root = jnp.sqrt(q)
    residual = jnp.append(v - m - root * g + gamma * f, b * root - f_g)

    df = jnp.diag(own) + partner
    da, df_squared, df_g = (jnp.matmul(row, df, precision="highest") for row in (-chance, 2.0 * chance * f, chance * g))
    dm, dq = first * da, 2.0 * a * signal * da + noise * df_squared
    dm_db, dgamma_db = -a * signal, -noise
    dq_db = -2.0 * (a**2 * jnp.sum(theta_squared * s**2 * r**3) + f_squared * jnp.sum(share * (s * r) ** 3))
    droot, droot_db = 0.5 * dq / root, 0.5 * dq_db / root
    of_v = jnp.eye(len(v), dtype=v.dtype) - dm[None] - g[:, None] * droot[None] + gamma * df
    of_b = -dm_db - g * droot_db + dgamma_db * f
    last = jnp.append(b * droot - df_g, root + b * droot_db)
    jacobian = jnp.concatenate([jnp.concatenate([of_v, of_b[:, None]], axis=1), last[None]])
    return _System(residual, jacobian, Moments(m, q), jnp.sqrt(f_squared))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _root(loss: PairLoss, problem: Problem) -> jax.Array:
    grid = _grid(problem)
    unmixed = grid._replace(rule=MixingRule(grid.rule.lam[:0], grid.rule.weight[:0]))
    mixes = jnp.sum(grid.rule.weight) > 0

    def step(unknown: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return how far a full step goes too: the change of a logit, over 1 + the largest one, or of B, over B."""
        here = lax.cond(mixes, *(partial(_system, unknown, problem, each, loss) for each in (grid, unmixed)))
        full = -jnp.linalg.solve(here.jacobian, here.residual)
        change = jnp.max(jnp.abs(full[:-1]))
        length = damping(change)
        b, db = unknown[-1], full[-1]
        length = jnp.where(length * db < -0.9 * b, -0.9 * b / jnp.where(db < 0, db, 1.0), length)
        moved = jnp.maximum(change / (1.0 + jnp.max(jnp.abs(unknown[:-1]))), jnp.abs(db) / b)
        return unknown + length * full, moved

    return repeated(step, jnp.zeros(len(grid.g) + 1, problem.penalty.dtype).at[-1].set(0.25), _MAX_STEPS)


@_root.defjvp
def _root_jvp(loss: PairLoss, primals: tuple[Problem], tangents: tuple[Problem]) -> tuple[jax.Array, jax.Array]:
    """Differentiate residual(root, problem) = 0; forward derivatives of any order are right."""
    (problem,) = primals
    root = _root(loss, problem)

    def residual(problem: Problem) -> jax.Array:
        return _system(root, problem, _grid(problem), loss).residual

    _, change = jax.jvp(residual, primals, tangents)
    return root, -jnp.linalg.solve(_system(root, problem, _grid(problem), loss).jacobian, change)
