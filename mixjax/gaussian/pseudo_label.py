r"""Pseudo-labels: the exact law of Algorithm 1's classifiers, at a cost of a few scalars an unlabeled point.

Paper: Algorithm 1 and Theorems 4.1 to 4.3; the law is not in the paper. Take sigma = 1, u = theta_init / |theta_init|
and b = <u, theta_u>, theta_u being the mean of the unlabeled data (theta itself, or that of another domain). For an
unlabeled point, m = y u'x ~ N(b, 1) is independent of y, and its pseudo-label is y' = y sgn m. So y' is a fair sign
independent of m, and the sums over unlabeled points are

    along u:       sum x y' = sum |m|,                    sum x = sum y' |m|,
    across it:     sum x y' = (sum sgn m) theta_u + G,    sum x = (sum y) theta_u + H,    y = y' sgn m,

where G and H are N(0, n_u I) with correlation (sum y')/n_u, independent of the rest. Coordinates: u; w_1 along what is
left of theta; w_2 along what then is left of theta_u; and lengths in the other p - 3 directions.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.samplers import cell_source, standard_normals
from mixjax.gaussian.unlabeled_sums import SumsLaw, UnlabeledSums, unlabeled_sums
from mixjax.numerics.arguments import Rule, aligned, checked
from mixjax.numerics.options import check_option, check_size
from mixjax.numerics.threefry import Source, single
from mixjax.random import centered_chisquare_from, rademacher_mean_from
from mixjax.typing import ArrayLike

_LABELS, _NORMALS, _ACROSS, _POOLED, _REST = range(24, 29)  # what the words of a source are spent on


def sample_pseudo_label_scores(
    key: PRNGKeyArray,
    *,
    n_labeled: ArrayLike,
    n_unlabeled: ArrayLike,
    p: ArrayLike,
    theta_norm: ArrayLike,
    t: ArrayLike,
    unlabeled_norm: ArrayLike | None = None,
    cosine: ArrayLike = 1.0,
    replicates: int,
    sums: SumsLaw = "exact",
) -> dict[str, ScoreLaw]:
    r"""Sample score laws of Algorithm 1's classifiers on test data of mean theta (sigma = 1), for many data sets.

    Draws are keyed by the key and everything but t: entries that differ only in t have the same data sets.

    Args:
      key: spent.
      n_labeled, p: whole numbers from 1 to 1e10; data, as theta_norm, t, unlabeled_norm and cosine.
      n_unlabeled: whole numbers from 0; data, up to 2^24 with "exact" sums and to 1e10 with "gaussian" ones.
      theta_norm: |theta| >= 0 (divide by sigma first).
      t: Mixup weight in [0, 1], of "mix".
      unlabeled_norm: |theta_u| >= 0; None is |theta|.
      cosine: of the angle between theta_u and theta; 1 or -1 at p = 1.
      replicates: data sets per entry; static.
      sums: static. "exact" draws every m, at a cost that grows with the largest n_unlabeled. "gaussian" draws the sums
        over them from the normal law of the same means and covariances, to which they tend, at one cost for every
        n_unlabeled; its skewness is off by about 1/sqrt(n_unlabeled) (tests/gaussian/test_pseudo_label.py).

    Returns:
      "init", trained on the labeled data; "final", on all, with pseudo-labels; "mix", with Mixup in this last step.
      Each of shape broadcast(n_labeled, p, theta_norm, t, unlabeled_norm, cosine) + (replicates,). NaN where p = 1 and
      |cosine| < 1. Reference: Algorithm 1, Theorems 4.1 to 4.3.

    Example:
      >>> import jax
      >>> from mixjax.gaussian import sample_pseudo_label_scores
      >>> laws = sample_pseudo_label_scores(jax.random.key(0), n_labeled=10, n_unlabeled=99, p=5, theta_norm=1.0, t=0.3,
      ...                                   replicates=2, sums="gaussian")
      >>> sorted(laws), laws["mix"].mean.shape
      (['final', 'init', 'mix'], (2,))
    """
    unlabeled_norm = theta_norm if unlabeled_norm is None else unlabeled_norm
    check_option("sums", sums, SumsLaw)
    check_size("replicates", replicates)
    cell = {"n_labeled": n_labeled, "n_unlabeled": n_unlabeled, "p": p, "theta_norm": theta_norm}
    special = {"n_unlabeled": _DRAWN} if sums == "exact" else {}
    arrays = checked(special, **cell, unlabeled_norm=unlabeled_norm, cosine=cosine, t=t)
    return _sample_pseudo_label_scores(single(key), *aligned(*arrays), sums=sums, replicates=replicates)


_DRAWN = Rule("a whole number from 0 to 2^24", lambda v: (v >= 0) & (v <= 2**24) & (v == v.round()))


@partial(jax.jit, static_argnames=("sums", "replicates"))
def _sample_pseudo_label_scores(
    key: PRNGKeyArray, *values: jax.Array, sums: SumsLaw, replicates: int
) -> dict[str, ScoreLaw]:
    *cell, t = values
    n, n_u, p, theta, theta_u, cosine = jnp.broadcast_arrays(*cell)
    cosine = jnp.where((p == 1) & (jnp.abs(cosine) < 1), jnp.nan, cosine)
    wrong = jnp.isnan(n_u) | jnp.isnan(p) | jnp.isnan(theta) | jnp.isnan(theta_u) | jnp.isnan(cosine)
    cell = [jnp.where(wrong, jnp.nan, n), p, theta, theta_u, cosine, n_u]
    source = cell_source(key, cell, replicates)
    n, p, theta, theta_u, cosine, n_u = (value[..., None] for value in cell)
    z = standard_normals(source.fold_in(_NORMALS), 3, n)
    labels = rademacher_mean_from(source.fold_in(_LABELS), n)
    start = _start(source, z[:2], n, p, theta, theta_u, cosine)
    pooled = _pool(source, z[2], start, unlabeled_sums(source, start.b, n_u, sums), labels, n, n_u, p)
    laws = {
        "init": start.law,
        "final": _law(pooled, start, jnp.zeros_like(t[..., None])),
        "mix": _law(pooled, start, t[..., None]),
    }
    return {name: ScoreLaw(*jnp.broadcast_arrays(*law, laws["mix"].mean)[:2]) for name, law in laws.items()}


class _Start(NamedTuple):
    """The labeled estimator, and theta and theta_u in coordinates that begin with its direction u.

    length: |theta_init|. signal: of theta along u and w_1. b, across: of theta_u along u, and along w_1 and w_2.
    """

    law: ScoreLaw
    length: jax.Array
    signal: tuple[jax.Array, jax.Array]
    b: jax.Array
    across: tuple[jax.Array, jax.Array]


def _start(
    source: Source,
    z: tuple[jax.Array, ...],
    n: jax.Array,
    p: jax.Array,
    theta: jax.Array,
    theta_u: jax.Array,
    cosine: jax.Array,
) -> _Start:
    """Draw theta_init = (theta + a_1) e_1 + a_2 e_2 + r e_3, with e_1 along theta and e_2 along the rest of theta_u."""
    scale = jax.lax.rsqrt(n)
    a1, a2 = scale * z[0], jnp.where(p >= 2, scale * z[1], 0.0)
    df = jnp.maximum(p - 2.0, 0.0)
    r_square = jnp.maximum(df + centered_chisquare_from(source.fold_in(_ACROSS), df), 0.0) / n
    across_square = a2**2 + r_square
    along = theta + a1
    length = jnp.sqrt(along**2 + across_square)
    across = jnp.sqrt(across_square)
    u1, u2 = along / length, a2 / length
    sine = across / length  # of the angle between u and theta
    turned = jnp.where(across > 0, a2 / jnp.where(across > 0, across, 1.0), 0.0)  # e_2 along the part of u across theta
    aside = theta_u * jnp.sqrt((1.0 - cosine) * (1.0 + cosine))
    rest = jnp.sqrt(jnp.maximum(1.0 - turned**2, 0.0))
    return _Start(
        law=ScoreLaw(theta * along, along * a1 + across_square),
        length=length,
        signal=(theta * u1, theta * sine),
        b=theta_u * cosine * u1 + aside * u2,
        across=(theta_u * cosine * sine - aside * u1 * turned, jnp.where(p >= 3, aside * rest, 0.0)),
    )


class _Pooled(NamedTuple):
    """Means over all points, in the coordinates of `_Start`; a pair is (mean of x y', mean of x).

    label: mean of y'. along, first, second: along u, w_1, w_2. rest: the lengths of both in the other directions, the
    second as its part along the first and the square of the remainder.
    """

    label: jax.Array
    along: tuple[jax.Array, jax.Array]
    first: tuple[jax.Array, jax.Array]
    second: tuple[jax.Array, jax.Array]
    rest: tuple[jax.Array, jax.Array, jax.Array]


def _pool(
    source: Source,
    z: jax.Array,
    start: _Start,
    unlabeled: UnlabeledSums,
    label: jax.Array,
    n: jax.Array,
    n_u: jax.Array,
    p: jax.Array,
) -> _Pooled:
    """Average labeled and unlabeled points; in every direction across u the noises are G and n D + H."""
    spread = (1.0 - label) * (1.0 + label)
    share = unlabeled.pseudo_label / jnp.maximum(n_u, 1.0)  # the correlation of G and H
    g_scale = jnp.sqrt(n_u)
    h_scale = jnp.sqrt(n * spread + n_u * (1.0 - share) * (1.0 + share))  # of n D + H given G
    noise = standard_normals(source.fold_in(_POOLED), 5, n)

    def pair(g: jax.Array, h: jax.Array, signal: jax.Array, exists: jax.Array) -> tuple[jax.Array, jax.Array]:
        g = jnp.where(exists, g_scale * g, 0.0)
        h = jnp.where(exists, share * g + h_scale * h, 0.0)
        return (unlabeled.sign * signal + g) / total, (unlabeled.label * signal + h) / total

    total = n + n_u
    df = jnp.maximum(p - 3.0, 0.0)
    length = g_scale * jnp.sqrt(jnp.maximum(df + centered_chisquare_from(source.fold_in(_REST), df), 0.0))
    less = jnp.maximum(p - 4.0, 0.0)
    remainder = jnp.maximum(less + centered_chisquare_from(source.fold_in(_REST + 1), less), 0.0)
    aligned_part = jnp.where(p >= 4, share * length + h_scale * noise[4], 0.0)
    labeled = n * label * start.length + jnp.sqrt(n * spread) * z
    return _Pooled(
        label=(n * label + unlabeled.pseudo_label) / total,
        along=((n * start.length + unlabeled.size) / total, (labeled + unlabeled.signed_size) / total),
        first=pair(noise[0], noise[1], start.across[0], p >= 2),
        second=pair(noise[2], noise[3], start.across[1], p >= 3),
        rest=(length / total, aligned_part / total, (h_scale / total) ** 2 * remainder),
    )


def _law(pooled: _Pooled, start: _Start, t: jax.Array) -> ScoreLaw:
    """Return the law of (1 - t) mean(x y') + t mean(x) mean(y') on test data of mean theta."""
    keep, push = 1.0 - t, t * pooled.label
    along, first, second, rest = (keep * pair[0] + push * pair[1] for pair in pooled[1:])
    mean = along * start.signal[0] + first * start.signal[1]
    error_square = second**2 + rest**2 + push**2 * pooled.rest[2]
    return ScoreLaw(mean, along * (along - start.signal[0]) + first * (first - start.signal[1]) + error_square)
