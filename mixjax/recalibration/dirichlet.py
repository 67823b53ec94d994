r"""Dirichlet calibration: softmax(W log p + b) of the probabilities p, with a penalty on what mixes classes.

These are the probabilities of K classes whose p follow Dirichlet laws; as a map of logits it is matrix scaling of
their log softmax. With K^2 + K parameters it needs a penalty. ODIR, "off-diagonal and intercept", leaves the diagonal
of W alone:

    mean negative log likelihood + lambda mean_{i != j} W_ij^2 + mu mean_i b_i^2.

The sum is convex. Adding a constant to a column of W, or to b, changes no probability, so that at the minimum the
entries of each column off the diagonal sum to 0, as those of b do.

Reference: M. Kull et al., "Beyond temperature scaling: obtaining well-calibrated multi-class probabilities with
Dirichlet calibration" (NeurIPS 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from mixjax.calibration.rows.clean import known_nan, positive_scalar, refuse
from mixjax.calibration.rows.sums import total
from mixjax.numerics.arguments import as_floats
from mixjax.numerics.meshes import jitted
from mixjax.numerics.newton import Expansion, minimize, standardized
from mixjax.numerics.pytree import pytree
from mixjax.recalibration.labeled import CleanLogits, FitResult, LabeledLogits
from mixjax.recalibration.likelihood import Likelihood, likelihood, margins_over_label, one_hot, softmax
from mixjax.typing import ArrayLike

_REASONS = (
    "Dirichlet calibration has no best fit: it mixes the log probabilities of all classes, and a logit is -inf",
    "Dirichlet calibration has no best fit: a class has no rows, and its diagonal entry of W goes to infinity",
    "Dirichlet calibration has no single best fit: the logits of a class have the same probability in all rows",
    "Dirichlet calibration did not converge: the labels can be told apart without error by the diagonal of W alone, so "
    "that it is infinite, or the penalties are too small for the dtype of the logits",
)


@pytree
@dataclass(frozen=True, eq=False)
class DirichletCalibration:
    """The map softmax(matrix @ log_softmax(logits) + bias).

    Attributes:
      matrix: shape [K, K]; row k makes the score of class k.
      bias: shape [K]; fitted ones sum to 0.

    Example:
      >>> import jax.numpy as jnp
      >>> from mixjax.recalibration import DirichletCalibration
      >>> sharper = DirichletCalibration(matrix=2 * jnp.eye(2), bias=jnp.zeros(2))
      >>> round(float(sharper(jnp.log(jnp.array([0.75, 0.25])))[0]), 3)
      0.9
    """

    matrix: Float[Array, "K K"]
    bias: Float[Array, " K"]

    def __call__(self, logits: ArrayLike) -> Float[Array, "*batch K"]:
        """Return probabilities in the shape and dtype (float32 at least) of `logits`, classes along the last axis.

        A last axis other than K raises ValueError, as does an infinite logit, which is NaN under `jit`.
        """
        (logits,) = as_floats(logits=logits)
        if logits.ndim == 0 or logits.shape[-1:] != self.bias.shape:
            raise ValueError(f"logits must have {self.bias.shape[0]} classes along the last axis, got {logits.shape}")
        matrix, bias = (jnp.asarray(value, logits.dtype) for value in (self.matrix, self.bias))
        probs = _apply(logits, matrix, bias)
        if known_nan(logits, probs):
            given = np.asarray(logits)
            refuse("logits", given, np.isfinite(given), "finite", None)
        return probs


def fit_dirichlet_calibration(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    off_diagonal_penalty: ArrayLike = 1.0,
    bias_penalty: ArrayLike = 1.0,
    weights: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> DirichletCalibration:
    """Fit the matrix and the biases that make held-out labels most likely, with a penalty on what mixes classes.

    Args:
      logits: shape [N, K] or [..., K], K >= 2, finite; of probabilities their logarithms.
      labels: whole numbers in [0, K), of the shape of `logits` without its last axis.
      off_diagonal_penalty, bias_penalty: lambda and mu of mean negative log likelihood + lambda mean_{i != j} W_ij^2 +
        mu mean_i b_i^2, positive scalars. The larger, the nearer is W to a diagonal, and b to 0. Choose them by
        cross-validation, over powers of ten.
      weights, where: as in docs/conventions.md.

    Returns:
      A function of logits, and a pytree. NaN as in `mixjax.recalibration`.

    Raises:
      ValueError: for wrong shapes or values, with the first offending row; and for logits of -inf.
      TypeError: for wrong dtypes.
      RuntimeError: if the iteration does not converge, with the norm of the gradient.

    Accuracy: slopes below 1e-12 in float64, 2e-5 of the probabilities in float32:
    tests/recalibration/test_dirichlet.py.
    Cost: about ten iterations of N K^2 (K + 1)^2 multiplications, and memory for N K (K + 1) numbers: for some ten
    classes.

    Example:
      >>> from mixjax.recalibration import fit_dirichlet_calibration
      >>> logits, labels = [[0, 0], [0, 1], [0, 0], [2, 2], [2, 1], [1, 2]], [1, 0, 0, 1, 0, 1]
      >>> fitted = fit_dirichlet_calibration(logits, labels)
      >>> print([round(float(value), 2) for value in fitted.matrix.ravel()])
      [0.62, 0.0, 0.0, 0.93]
    """
    rows = LabeledLogits.of(logits, labels, weights, where)
    dtype = np.dtype(rows.logits.dtype)
    penalties = (
        positive_scalar("off_diagonal_penalty", off_diagonal_penalty, dtype),
        positive_scalar("bias_penalty", bias_penalty, dtype),
    )
    return DirichletCalibration(*rows.raise_if_invalid(_fit(rows, penalties), _REASONS))


@jitted(rows=True)
def _apply(logits: jax.Array, matrix: jax.Array, bias: jax.Array) -> jax.Array:
    scores = jnp.matmul(jax.nn.log_softmax(logits, axis=-1), matrix.T, precision=lax.Precision.HIGHEST)
    return softmax(scores + bias.reshape((1,) * (logits.ndim - 1) + bias.shape))


@jitted()
def _fit(rows: LabeledLogits, penalties: tuple[jax.Array, jax.Array]) -> FitResult:
    clean = rows.clean()
    num_classes = clean.logits.shape[1]
    one = jnp.ones((len(clean.logits), 1), clean.logits.dtype)
    features = jnp.concatenate([jax.nn.log_softmax(clean.logits, axis=-1), one], axis=1)
    identity = jnp.eye(num_classes, num_classes + 1, dtype=features.dtype)
    is_label = one_hot(clean.labels, num_classes)
    data = (features, is_label, clean, _quadratic_form(identity, penalties))
    size = jnp.sqrt(total(clean.share * jnp.mean(lax.stop_gradient(features) ** 2, axis=1)))
    start = identity.ravel() / jnp.maximum(size, 1.0)  # where no probability is so near 0 or 1 that its slope is lost
    minimum = minimize(_expansion, clean.zeros(identity.size) + start, data)
    parameters = minimum.point.reshape(num_classes, num_classes + 1)
    counts = (clean.share > 0)[:, None]
    occurs = jnp.any(counts & is_label, axis=0)
    constant = standardized(features[:, :-1], clean.share).constant
    loss = total(clean.share * _likelihood(minimum.point, features, is_label).loss)
    certain = ~(loss > float(jnp.finfo(loss.dtype).eps))  # on the way to 0: slopes are rounded to 0 before
    impossible = jnp.any(counts & ~clean.possible)
    problems = (impossible, ~jnp.all(occurs), jnp.any(constant), ~minimum.converged | certain)
    return FitResult.of((parameters[:, :-1], parameters[:, -1]), problems, minimum.gradient_norm, clean.lost)


def _quadratic_form(identity: Float[Array, "K K+1"], penalties: tuple[jax.Array, jax.Array]) -> Float[Array, "P P"]:
    """Return the matrix Q of the penalty x' Q x / 2 of the entries x of (W, b).

    It holds the square of the sum of each column off the diagonal, too. At the minimum these sums are 0, and what would
    change them changes no probability: without the squares its curvature would be that of small penalties alone.
    """
    num_classes, (off_diagonal, bias) = len(identity), penalties
    outside = 1.0 - identity
    of_matrix = 2.0 * off_diagonal / (num_classes * (num_classes - 1)) * outside[:, :-1]
    curvatures = jnp.concatenate([of_matrix, 2.0 * bias / num_classes * outside[:, -1:]], axis=1)
    same = jnp.eye(num_classes + 1, dtype=identity.dtype)[None, :, None, :]
    of_sums = outside[:, :, None, None] * outside[None, None] * same
    return jnp.diag(curvatures.ravel()) + of_sums.reshape(identity.size, identity.size)


def _expansion(
    point: jax.Array, features: jax.Array, is_label: jax.Array, clean: CleanLogits, penalty: Float[Array, "P P"]
) -> Expansion:
    """Return the penalized mean loss, and its derivatives in the rows of (W, b)."""
    rows = clean.share[:, None]
    loss, probs, residual = _likelihood(point, features, is_label)
    slope = _product(penalty, point)
    value = total(clean.share * loss) + 0.5 * jnp.sum(slope * point)
    gradient = _product((rows * residual).T, features).ravel() + slope
    return Expansion(value, gradient, _hessian(probs, residual, features, rows) + penalty)


def _likelihood(point: jax.Array, features: jax.Array, is_label: jax.Array) -> Likelihood:
    scores = _product(features, point.reshape(is_label.shape[1], -1).T)
    return likelihood(margins_over_label(scores, is_label), is_label, jnp.ones_like(is_label))


def _hessian(probs: jax.Array, residual: jax.Array, features: jax.Array, rows: jax.Array) -> jax.Array:
    """Return mean (p_j [j = k] - p_j p_k) x x' of classes j and k."""
    (_, num_classes), size = probs.shape, features.shape[1]

    def by_class(share: jax.Array) -> jax.Array:
        return (share[:, :, None] * features[:, None]).reshape(-1, num_classes * size)

    products = -_product(by_class(rows * probs).T, by_class(probs)).reshape(num_classes, size, num_classes, size)
    own = rows * probs * jnp.where(residual < 0, -residual, 1.0 - probs)  # p (1 - p), with its digits for p near 1
    blocks = _product(by_class(own).T, features).reshape(num_classes, size, 1, size)
    same = jnp.eye(num_classes, dtype=bool)[:, None, :, None]
    return jnp.where(same, blocks, products).reshape(num_classes * size, num_classes * size)


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)
