r"""Real features as the theory sees them: where two classes lie, and how they spread.

`predict_logistic_scores` needs the covariance within the classes, the half difference theta of their means in its
eigenbasis, and n. Two ways in which real rows differ from the model are told before anything is fitted: classes whose
covariances differ, and tails of the score that are not Gaussian.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from mixjax.gaussian.estimators import check_data
from mixjax.numerics.arguments import checked, known
from mixjax.typing import ArrayLike


class ClassMoments(NamedTuple):
    """The moments of two classes, of `class_moments`; a pytree.

    Attributes:
      center: midpoint of the class means. Rows are centered there before a fit, because fits have no intercept.
      eigenvalues: of the mean of the two covariances, ascending; at most rows - 2 of them are not 0.
      theta_squared: squared coordinates in the eigenbasis of theta, half the difference of the means, less what the
        noise of the means adds on average, and at least 0.
      basis: the eigenvectors, as columns.
      covariance_difference: |S+ - S-| / |S+ + S-| (Frobenius norms), 0 where the covariances agree, at most 1.
      excess_kurtosis: of the rows of each class along the direction S^-1 theta, shrunk; 0 for a Gaussian.

    Example:
      >>> from mixjax.gaussian import class_moments, predict_logistic_scores
      >>> found = class_moments([[1.0, 0.0], [3.0, 1.0], [-1.0, 1.0], [-3.0, 0.0]], [1, 1, -1, -1])
      >>> law = predict_logistic_scores(found.eigenvalues, found.theta_squared, 10, penalty=0.1)
      >>> law.mean.shape
      ()
    """

    center: Float[Array, " p"]
    eigenvalues: Float[Array, " p"]
    theta_squared: Float[Array, " p"]
    basis: Float[Array, "p p"]
    covariance_difference: Float[Array, ""]
    excess_kurtosis: Float[Array, "2"]


def class_moments(x: ArrayLike, y: ArrayLike) -> ClassMoments:
    """Estimate what `predict_logistic_scores` needs from labeled rows.

    Args:
      x: features, shape [rows, p].
      y: labels -1 and +1, shape [rows]; at least two rows of each.

    Returns:
      The moments, in the dtype of x. Both classes have equal weight, whatever their sizes.

    Raises:
      ValueError: for shapes that do not fit, NaN or infinite features, labels other than -1 and +1, fewer than two rows
        of a class, and features that are all constant within the classes.

    Example:
      >>> from mixjax.gaussian import class_moments
      >>> moments = class_moments([[1.0, 0.0], [3.0, 1.0], [-1.0, 1.0], [-3.0, 0.0]], [1, 1, -1, -1])
      >>> moments.eigenvalues.shape
      (2,)
    """
    x, y = checked(x=x, y=y)
    check_data(x, y)
    _check_rows(x, y)
    return _moments(x, y)


def _check_rows(x: jax.Array, y: jax.Array) -> None:
    rows, labels = known(x), known(y)
    if rows is None or labels is None:
        return
    if not np.isfinite(rows).all():
        raise ValueError(f"x must be finite, got {np.count_nonzero(~np.isfinite(rows))} entries that are not")
    if not np.isin(labels, (-1, 1)).all():
        raise ValueError(f"y must be -1 or +1, got {labels[~np.isin(labels, (-1, 1))][0]}")
    for label in (-1, 1):
        count = np.count_nonzero(labels == label)
        if count < 2:
            raise ValueError(f"each class must have at least two rows, got {count} with label {label:+d}")
    if all(np.ptp(rows[labels == label], axis=0).max(initial=0) == 0 for label in (-1, 1)):
        raise ValueError("every feature is constant within the classes: there is no spread to predict from")


@jax.jit
def _moments(x: jax.Array, y: jax.Array) -> ClassMoments:
    members = jnp.stack([y > 0, y < 0])
    counts = jnp.sum(members, axis=1).astype(x.dtype)
    means = jnp.stack([jnp.sum(jnp.where(of[:, None], x, 0.0), axis=0) for of in members]) / counts[:, None]
    deviations = [jnp.where(of[:, None], x - mean[None], 0.0) for of, mean in zip(members, means, strict=True)]
    classes = list(zip(deviations, counts, strict=True))
    first, second = (jnp.matmul(part.T, part, precision="highest") / (count - 1.0) for part, count in classes)
    s, basis = jnp.linalg.eigh(0.5 * (first + second))
    s = jnp.maximum(s, 0.0)
    theta = 0.5 * (means[0] - means[1])
    along = jnp.matmul(theta, basis, precision="highest")
    noise = 0.25 * s * jnp.sum(1.0 / counts)
    direction = jnp.matmul(basis, along / (s + jnp.mean(s)), precision="highest")
    return ClassMoments(
        center=0.5 * (means[0] + means[1]),
        eigenvalues=s,
        theta_squared=jnp.maximum(along**2 - noise, 0.0),
        basis=basis,
        covariance_difference=jnp.linalg.norm(first - second) / jnp.linalg.norm(first + second),
        excess_kurtosis=jnp.stack([_excess_kurtosis(part, count, direction) for part, count in classes]),
    )


def _excess_kurtosis(deviations: jax.Array, count: jax.Array, direction: jax.Array) -> jax.Array:
    score = jnp.matmul(deviations, direction, precision="highest")
    variance = jnp.sum(score**2) / count
    return jnp.sum(score**4) / (count * variance**2) - 3.0
