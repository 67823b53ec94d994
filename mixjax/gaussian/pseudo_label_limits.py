r"""Pseudo-labels of very many unlabeled points: Algorithm 1's final classifier in closed form.

Paper: Theorems 4.1 to 4.3, whose proofs work in this limit. As n_labeled grows with p / n_labeled -> c_l, |theta_init|
tends to l = sqrt(|theta|^2 + c_l) and b = <u, theta_u> to <theta, theta_u> / l (sigma = 1), theta_u being the mean of
the unlabeled data: theta, or that of another domain. Over n_unlabeled points with p / n_unlabeled -> c_u,

    mean of x y' = k theta_u + s u + noise,    k = 2 Phi(b) - 1,    s = 2 phi(b),    |noise|^2 = c_u,

and the final estimator is f theta_init + (1 - f) (k theta_u + s u + noise), with f = c_u / (c_l + c_u) the labeled
share and noise orthogonal to everything. Mixup multiplies it by 1 - t. Pseudo-labels take away so much of the noise
that mean / var = rho can exceed 1: an under-confident classifier, which no Mixup repairs. The paper's proof of Theorem
4.3 takes rho < 1 for granted.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.limits import increasing_root, limit_scores
from mixjax.numerics.arguments import aligned, checked
from mixjax.typing import ArrayLike


def limit_pseudo_label_scores(
    labeled_ratio: ArrayLike,
    unlabeled_ratio: ArrayLike,
    theta_norm: ArrayLike,
    t: ArrayLike,
    *,
    unlabeled_norm: ArrayLike | None = None,
    cosine: ArrayLike = 1.0,
) -> dict[str, ScoreLaw]:
    """Return the laws as p / n_labeled -> `labeled_ratio` and p / n_unlabeled -> `unlabeled_ratio`, for sigma = 1.

    Args:
      labeled_ratio: c_l >= 0.
      unlabeled_ratio: c_u >= 0; 0 where unlabeled points by far outnumber p and the labeled ones.
      theta_norm: |theta| >= 0.
      t: Mixup weight in [0, 1], of "mix".
      unlabeled_norm: |theta_u| >= 0; None is |theta|.
      cosine: of the angle between theta_u and theta, in [-1, 1].

    Returns:
      "init", "final" and "mix", each of the broadcast shape. NaN where theta_norm and labeled_ratio are both 0.

    Example:
      >>> from mixjax.gaussian import limit_pseudo_label_scores
      >>> laws = limit_pseudo_label_scores(12.0, 0.0, 2.0, t=0.2)
      >>> {name: round(float(law.slope), 3) for name, law in laws.items()}
      {'init': 0.25, 'final': 1.165, 'mix': 1.456}
    """
    unlabeled_norm = theta_norm if unlabeled_norm is None else unlabeled_norm
    values = {"labeled_ratio": labeled_ratio, "unlabeled_ratio": unlabeled_ratio, "theta_norm": theta_norm}
    c_l, c_u, theta, theta_u, cosine, t = aligned(*checked(**values, unlabeled_norm=unlabeled_norm, cosine=cosine, t=t))
    mean, gap = _final(c_l, c_u, theta, theta_u, cosine)
    keep = 1.0 - t
    laws = {
        "init": limit_scores(c_l, theta, 0.0),
        "final": ScoreLaw(mean, gap),
        "mix": ScoreLaw(keep * mean, keep * (keep * gap - t * mean)),
    }
    return {name: ScoreLaw(*jnp.broadcast_arrays(*law, laws["mix"].gap)[:2]) for name, law in laws.items()}


def _final(
    c_l: jax.Array, c_u: jax.Array, theta: jax.Array, theta_u: jax.Array, cosine: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return mean and gap of the plain classifier of the last step."""
    length = jnp.sqrt(theta**2 + c_l)  # of theta_init
    product = theta * theta_u * cosine
    b = product / length
    pseudo = jnp.where(c_u == 0, 1.0, c_l / jnp.where(c_u == 0, 1.0, c_l + c_u))  # 1 - f, the share of pseudo-labels
    k = pseudo * (1.0 - 2.0 * norm.cdf(-b))  # along theta_u
    s = (1.0 - pseudo) * length + pseudo * 2.0 * norm.pdf(b)  # along u
    mean = k * product + s * theta**2 / length
    return mean, k**2 * theta_u**2 + s**2 + 2.0 * k * s * b + pseudo**2 * c_u - mean


def overshoot_ratio(labeled_ratio: ArrayLike, theta_norm: ArrayLike) -> Float[Array, "*batch"]:
    """Find the p / n_unlabeled below which the final classifier is under-confident, so that every Mixup hurts it.

    Args:
      labeled_ratio: c_l > 0.
      theta_norm: |theta| >= 0.

    Returns:
      The c_u at which rho of "final" is 1, of the broadcast shape; 0 where it is below 1 for every c_u. NaN where
      labeled_ratio is 0: there both classifiers are calibrated at c_u = 0.

    Accuracy: rho is 1 to rounding (tests/gaussian/test_pseudo_label_limits.py). Reference: Theorem 4.3.

    Example:
      >>> from mixjax.gaussian import overshoot_ratio
      >>> round(float(overshoot_ratio(12.0, 2.0)), 3)
      0.377
    """
    c_l, theta = jnp.broadcast_arrays(*aligned(*checked(labeled_ratio=labeled_ratio, theta_norm=theta_norm)))
    return _overshoot_ratio(c_l, theta)


@jax.jit
def _overshoot_ratio(c_l: jax.Array, theta: jax.Array) -> jax.Array:
    def gap(c_u: jax.Array) -> jax.Array:
        return _final(c_l, c_u, theta, theta, jnp.ones_like(theta))[1]

    zero = jnp.zeros_like(c_l)
    root = increasing_root(gap, zero, 2.0 * (1.0 + theta**2 + c_l))
    return jnp.where(c_l == 0, jnp.nan, jnp.where(gap(zero) >= 0, 0.0, root))
