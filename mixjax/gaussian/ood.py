r"""Out of domain: the classifier is trained with mean theta and tested with mean theta'.

Paper: Theorem 3.4. With e the unit vector of the part of theta' that is orthogonal to theta, and cosine that of the
angle between them, theta' = |theta'| (cosine theta/|theta| + sqrt(1 - cosine^2) e). The score's law needs

    mean = <theta_hat(t), theta'>,    gap = <theta_hat(t), theta_hat(t) - theta'>,

hence the parts of the training set's noise (`samplers`) along theta and along e, and the length of the rest: eight
numbers, whatever n and p. In the limit p/n -> c,

    mean = (1-t) <theta, theta'>,  var = (1-t)^2 (|theta|^2 + c),  rho_t = <theta, theta'> / ((1-t) (|theta|^2 + c)),

so that some t > 0 helps if and only if rho_0 < 1, that is <theta' - theta, theta> < c: a temperature above 1 brings
every confidence towards P(y | v), also where this is below 1/2 (rho_0 < 0). The paper asks for half of that, c/2.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from mixjax.gaussian.law import ScoreLaw, masked_law
from mixjax.gaussian.samplers import standard_normals, training_cells
from mixjax.numerics.arguments import aligned, checked
from mixjax.numerics.options import check_size
from mixjax.numerics.threefry import Source, single
from mixjax.random import centered_chisquare_from, rademacher_mean_from
from mixjax.typing import ArrayLike


def sample_ood_scores(
    key: PRNGKeyArray,
    *,
    n: ArrayLike,
    p: ArrayLike,
    theta_norm: ArrayLike,
    t: ArrayLike,
    sigma: ArrayLike = 1.0,
    test_norm: ArrayLike,
    cosine: ArrayLike,
    replicates: int,
) -> ScoreLaw:
    r"""Sample laws of the score on test data of mean theta', for independent training sets of mean theta; exact.

    Draws are keyed by the key and (n, p, theta_norm, sigma): entries that differ only in t, test_norm and cosine have
    the same training sets. These are not the training sets of `sample_scores`.

    Args:
      key: spent.
      n, p, theta_norm, t, sigma, replicates: as for `sample_scores`.
      test_norm: |theta'| >= 0.
      cosine: of the angle between theta' and theta, in [-1, 1]; 1 or -1 at p = 1, where there is no other.

    Returns:
      Laws of the broadcast shape + (replicates,). NaN where p = 1 and |cosine| < 1.

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_ood_scores
      >>> law = sample_ood_scores(jax.random.key(0), n=10**6, p=5, theta_norm=2.0, t=0.0, test_norm=1.0, cosine=0.5,
      ...                         replicates=2)
      >>> law.mean.round(1).tolist()
      [1.0, 1.0]
    """
    arrays = checked(n=n, p=p, theta_norm=theta_norm, sigma=sigma, test_norm=test_norm, cosine=cosine, t=t)
    check_size("replicates", replicates)
    return _sample(single(key), *aligned(*arrays), replicates=replicates)


@partial(jax.jit, static_argnames="replicates")
def _sample(key: PRNGKeyArray, *values: jax.Array, replicates: int) -> ScoreLaw:
    n, p, theta_norm, sigma, *of_test = values
    test_norm, cosine, t = (value[..., None] for value in of_test)
    test_norm = test_norm / sigma[..., None]
    source, n, p, theta = training_cells(key, n, p, theta_norm, sigma, replicates)
    cosine = jnp.where((p == 1) & (jnp.abs(cosine) < 1), jnp.nan, cosine)
    return ood_score_law(draw_noise(source, n, p), n, p, theta, test_norm, cosine, t)


class OodNoise(NamedTuple):
    """The eight numbers of a training set, each of shape [*cell, replicates].

    mean_label: ybar. along, aside: sqrt(n) A along theta, and along e (0 if p = 1); across: n |rest of A|^2 minus its
    max(p - 2, 0) degrees of freedom.
    difference_*: sqrt(n / (1 - ybar^2)) D along theta, along e, along the rest of A (0 if p < 3), and the square of
    what remains of it minus its max(p - 3, 0).
    """

    mean_label: Float[Array, "*cell replicates"]
    along: Float[Array, "*cell replicates"]
    aside: Float[Array, "*cell replicates"]
    across: Float[Array, "*cell replicates"]
    difference_along: Float[Array, "*cell replicates"]
    difference_aside: Float[Array, "*cell replicates"]
    difference_aligned: Float[Array, "*cell replicates"]
    difference_across: Float[Array, "*cell replicates"]


_LABELS, _NORMALS, _ACROSS, _DIFFERENCE = range(8, 12)  # what the words of a source are spent on


def draw_noise(source: Source, n: jax.Array, p: jax.Array) -> OodNoise:
    """Draw the eight numbers from their exact joint law."""
    along, aside, difference_along, difference_aside, difference_aligned = standard_normals(
        source.fold_in(_NORMALS), 5, n
    )
    return OodNoise(
        mean_label=rademacher_mean_from(source.fold_in(_LABELS), n),
        along=along,
        aside=jnp.where(p >= 2, aside, 0.0),
        across=centered_chisquare_from(source.fold_in(_ACROSS), jnp.maximum(p - 2.0, 0.0)),
        difference_along=difference_along,
        difference_aside=jnp.where(p >= 2, difference_aside, 0.0),
        difference_aligned=jnp.where(p >= 3, difference_aligned, 0.0),
        difference_across=centered_chisquare_from(source.fold_in(_DIFFERENCE), jnp.maximum(p - 3.0, 0.0)),
    )


def ood_score_law(
    noise: OodNoise,
    n: jax.Array,
    p: jax.Array,
    theta: jax.Array,
    test_norm: jax.Array,
    cosine: jax.Array,
    t: jax.Array,
) -> ScoreLaw:
    """Return the law at weight t for sigma = 1."""
    ybar = noise.mean_label
    spread = (1.0 - ybar) * (1.0 + ybar)
    kappa, push = 1.0 - t * spread, t * ybar
    scale, difference_scale = jax.lax.rsqrt(n), jnp.sqrt(spread / n)
    along_test = test_norm * cosine
    aside_test = test_norm * jnp.sqrt((1.0 - cosine) * (1.0 + cosine))

    moved = kappa * scale * noise.along + push * difference_scale * noise.difference_along
    error = moved + (theta - along_test) - t * spread * theta  # theta_hat(t) - theta' along theta
    aside = kappa * scale * noise.aside + push * difference_scale * noise.difference_aside
    across = scale * jnp.sqrt(jnp.maximum(jnp.maximum(p - 2.0, 0.0) + noise.across, 0.0))
    aligned_part = kappa * across + push * difference_scale * noise.difference_aligned
    rest = jnp.maximum(jnp.maximum(p - 3.0, 0.0) + noise.difference_across, 0.0)
    across_square = aligned_part**2 + (push * difference_scale) ** 2 * rest

    along = kappa * theta + moved
    mean = along_test * along + aside_test * aside
    return ScoreLaw(mean, along * error + aside * (aside - aside_test) + across_square)


def limit_ood_scores(
    ratio: ArrayLike, theta_norm: ArrayLike, t: ArrayLike, *, test_norm: ArrayLike, cosine: ArrayLike
) -> ScoreLaw:
    """Return the law of the score on test data of mean theta' as p/n -> `ratio`, for sigma = 1.

    Args:
      ratio: c >= 0.
      theta_norm, test_norm: |theta|, |theta'| >= 0.
      t: Mixup weight in [0, 1].
      cosine: of the angle between theta' and theta, in [-1, 1].

    Returns:
      Laws of the broadcast shape.

    Example:
      >>> from mixjax.gaussian import limit_ood_scores
      >>> law = limit_ood_scores(1.0, 2.0, 0.0, test_norm=1.0, cosine=0.5)
      >>> float(law.mean), float(law.var)
      (1.0, 5.0)
    """
    arrays = checked(ratio=ratio, theta_norm=theta_norm, test_norm=test_norm, cosine=cosine, t=t)
    ratio, theta_norm, test_norm, cosine, t = aligned(*arrays)
    keep, product = 1.0 - t, theta_norm * test_norm * cosine
    return masked_law(keep * product, keep * (keep * (theta_norm**2 + ratio) - product))


def best_ood_weight(
    ratio: ArrayLike, theta_norm: ArrayLike, *, test_norm: ArrayLike, cosine: ArrayLike
) -> Float[Array, "*batch"]:
    """Return the weight that calibrates on theta' in the limit, 1 - rho_0; a Beta law reaches it below 1/2.

    Args:
      ratio, theta_norm, test_norm, cosine: as for `limit_ood_scores`.

    Returns:
      A weight in [0, 1]: 0 where rho_0 > 1, and 1 where rho_0 < 0. NaN where theta_norm and ratio are both 0.

    Example:
      >>> from mixjax.gaussian import best_ood_weight
      >>> round(float(best_ood_weight(1.0, 2.0, test_norm=1.0, cosine=0.5)), 3)
      0.8
    """
    law = limit_ood_scores(ratio, theta_norm, 0.0, test_norm=test_norm, cosine=cosine)
    return jnp.clip(law.gap / law.var, 0.0, 1.0)


def mixup_helps_ood(
    ratio: ArrayLike, theta_norm: ArrayLike, *, test_norm: ArrayLike, cosine: ArrayLike
) -> Bool[Array, "*batch"]:
    """Test Theorem 3.4's condition <theta' - theta, theta> <= c/2, which is enough for some Mixup to help.

    Args:
      ratio, theta_norm, test_norm, cosine: as for `limit_ood_scores` (sigma = 1).

    Returns:
      Booleans of the broadcast shape; False under `jit` for a value out of its range.

    Example:
      >>> from mixjax.gaussian import mixup_helps_ood
      >>> mixup_helps_ood(1.0, 1.0, test_norm=[1.4, 1.6], cosine=1.0).tolist()
      [True, False]
    """
    (ratio,) = checked(ratio=ratio)
    return limit_ood_scores(0.5 * ratio, theta_norm, 0.0, test_norm=test_norm, cosine=cosine).gap >= 0.0


def mixup_can_help_ood(
    ratio: ArrayLike, theta_norm: ArrayLike, *, test_norm: ArrayLike, cosine: ArrayLike
) -> Bool[Array, "*batch"]:
    """Test whether some t > 0 lowers the ECE in the limit, <theta' - theta, theta> < c.

    Args:
      ratio, theta_norm, test_norm, cosine: as for `limit_ood_scores` (sigma = 1).

    Returns:
      Booleans of the broadcast shape; False under `jit` for a value out of its range.

    Example:
      >>> from mixjax.gaussian import mixup_can_help_ood
      >>> mixup_can_help_ood(1.0, 1.0, test_norm=[1.6, 2.1], cosine=1.0).tolist()
      [True, False]
    """
    return limit_ood_scores(ratio, theta_norm, 0.0, test_norm=test_norm, cosine=cosine).gap > 0.0
