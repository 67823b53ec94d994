"""Theorems 4.1 to 4.3 as signed numbers: Algorithm 1's classifiers against each other.

Sums over unlabeled points are drawn point by point up to `EXACT_UP_TO` of them, and beyond from the normal law that
they tend to (`sample_pseudo_label_scores`). Sizes that a configuration gives as a `Rate` follow the labeled size n_l.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.claims.claim import LARGEST_WEIGHT, Claim, Flags, Rate, Values, rate
from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.population import population_ece
from mixjax.gaussian.pseudo_label import sample_pseudo_label_scores
from mixjax.gaussian.pseudo_label_limits import limit_pseudo_label_scores
from mixjax.gaussian.unlabeled_sums import SumsLaw
from mixjax.typing import ArrayLike, Real

EXACT_UP_TO = 10_000  # unlabeled points; the skewness of a sum is then off by 1 %
WEIGHTS = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, LARGEST_WEIGHT])
_VANISHING = 1e-9  # p/n at which the limit for p/n -> 0 is taken
_FEWEST = 1e-3  # unlabeled points a label, for n_u that vanishes beside n_l
_NO_ECE = 1e-12  # from which on both classifiers are taken for calibrated
_NORMS = np.geomspace(1e-3, 1e3, 1201)  # |theta| that are tried, .5 % apart


def exact_sums(n: ArrayLike, *, n_u: Rate, **_: Real | Rate) -> Flags:
    """Return whether the sums over unlabeled points are drawn from their exact law, at each size."""
    return n_u.whole(n) <= EXACT_UP_TO


def _pseudo_label_ece(
    key: PRNGKeyArray,
    n: ArrayLike,
    replicates: int,
    *,
    p: Rate,
    n_u: Rate,
    theta_norm: Real | Rate,
    t: ArrayLike = 0.0,
) -> dict[str, jax.Array]:
    """Sample the ECE of Algorithm 1's classifiers, shape [sizes, replicates]; "mix" is the least over t[size, :]."""
    sizes = {"n_labeled": np.asarray(n), "n_unlabeled": n_u.whole(n), "p": p.whole(n)}
    sizes |= {"theta_norm": rate(theta_norm).at(n)}
    shape = (len(sizes["p"]), len(WEIGHTS))  # for all claims, so that one program is compiled
    weights = np.broadcast_to(np.asarray(t, np.float32), shape)

    def one(index: int, exact: bool) -> dict[str, jax.Array]:
        cell: dict[str, Any] = {name: np.float32(size[index]) for name, size in sizes.items()}
        cell |= {"t": weights[index]}
        law: SumsLaw = "exact" if exact else "gaussian"
        laws = sample_pseudo_label_scores(key, **cell, replicates=replicates, sums=law)
        return {name: population_ece(law).min(axis=0) for name, law in laws.items()}

    found = [one(index, bool(exact)) for index, exact in enumerate(exact_sums(n, n_u=n_u))]
    return {name: jnp.stack([errors[name] for errors in found]) for name in ("init", "final", "mix")}


def _limit_laws(p: Rate, n_u: Rate, theta_norm: Real, t: Real = 0.0) -> dict[str, ScoreLaw]:
    """Return the limits for n_u in proportion to n_l."""
    ratio = max(p.per_size.limit, _VANISHING)
    return limit_pseudo_label_scores(ratio, ratio / n_u.per_size.limit, theta_norm, t)


def _limit(first: str, second: str, p: Rate, n_u: Rate, theta_norm: Real, t: Real = 0.0) -> float:
    """Return the limit of a difference of ECE: 0 where n_u vanishes beside n_l, so that "final" tends to "init"."""
    if n_u.power < 1:
        return 0.0
    laws = _limit_laws(p, n_u, theta_norm, t)
    return float(population_ece(laws[first]) - population_ece(laws[second]))


def sufficient_norm(relative_norm: Real | np.ndarray, per_label: Real | np.ndarray) -> np.ndarray:
    """Return the |theta| from which on pseudo-labels lower the ECE in the limit: "sufficiently large" in Theorem 4.1.

    Args:
      relative_norm: |theta| / sqrt(p/n_l) > 0, which lies between C1 and C2.
      per_label: n_u / n_l >= 0; 0 where n_u grows and vanishes beside n_l.

    Returns:
      Values of the broadcast shape, right to .5 %: the last of a grid at which they do not lower it.
    """
    shape = np.broadcast_shapes(np.shape(relative_norm), np.shape(per_label))
    with jax.enable_x64(True):
        labeled_ratio = (_NORMS / np.broadcast_to(relative_norm, shape)[..., None]) ** 2
        per_label = np.maximum(np.broadcast_to(per_label, shape), _FEWEST)[..., None]
        laws = limit_pseudo_label_scores(labeled_ratio, labeled_ratio / per_label, _NORMS, 0.0)
        init, final = (np.asarray(population_ece(laws[name])) for name in ("init", "final"))
    fails = (final >= init) & (init > _NO_ECE)
    return np.where(fails, _NORMS, 0.0).max(axis=-1)


def _helps_with_few_labels() -> dict[str, Any]:
    """Claim ECE(final) - ECE(init) < 0 at p = ratio n_l and |theta| = relative_norm sqrt(p / n_l)."""

    def cell(ratio: Real, relative_norm: Real, n_u: Rate) -> dict[str, Any]:
        return {"p": Rate(ratio, 1), "n_u": n_u, "theta_norm": relative_norm * float(np.sqrt(ratio))}

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, **values: Any) -> Values:
        errors = _pseudo_label_ece(key, n, replicates, **cell(**values))
        return errors["final"] - errors["init"]

    def limit(**values: Any) -> float:
        return _limit("final", "init", **cell(**values))

    def stated(ratio: Real, relative_norm: Real, n_u: Rate) -> bool:
        enough = sufficient_norm(relative_norm, n_u.per_size.limit)
        return n_u.power > 0 and bool(relative_norm * np.sqrt(ratio) > enough)

    return {"value": value, "limit": limit, "stated": stated}


def _hurts_with_many_labels() -> dict[str, Any]:
    """Claim ECE(init) - ECE(final) < 0 at a fixed p."""

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, **cell: Any) -> Values:
        errors = _pseudo_label_ece(key, n, replicates, **cell)
        return errors["init"] - errors["final"]

    def limit(*, p: Rate, theta_norm: Real | Rate, n_u: Rate) -> float:
        return _limit("init", "final", p, n_u, rate(theta_norm).limit)

    return {
        "value": value,
        "limit": limit,
        "stated": lambda p, theta_norm, n_u: p.power == 0 and n_u.power > 0 and np.isfinite(rate(theta_norm).limit),
        "met": lambda p, theta_norm, n_u: n_u.power > 0.5,
    }


def _mixup_repairs() -> dict[str, Any]:
    """Claim ECE(mix) - ECE(final) < 0, with the weight that calibrates in the limit.

    Where the limit is under-confident no weight calibrates; there the best of `WEIGHTS` counts, chosen after the data.
    """

    def over_confidence(limits: dict[str, ScoreLaw]) -> np.ndarray:
        """Return 1 - rho of "final": the best weight."""
        return np.asarray(limits["final"].gap / limits["final"].var, np.float64)

    def weights(limits: dict[str, ScoreLaw]) -> np.ndarray:
        best = over_confidence(limits)[..., None]
        return np.where(best > 0, np.minimum(best, LARGEST_WEIGHT), WEIGHTS)

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, p: Rate, theta_norm: Real, n_u: Rate) -> Values:
        ratios = p.whole(n) / np.asarray(n), p.whole(n) / n_u.whole(n)
        t = weights(limit_pseudo_label_scores(*ratios, theta_norm, 0.0))
        errors = _pseudo_label_ece(key, n, replicates, p=p, theta_norm=theta_norm, n_u=n_u, t=t)
        return errors["mix"] - errors["final"]

    def limit(*, p: Rate, theta_norm: Real, n_u: Rate) -> float:
        if n_u.power < 1:
            return 0.0
        return min(_limit("mix", "final", p, n_u, theta_norm, t) for t in weights(_limit_laws(p, n_u, theta_norm)))

    def met(*, p: Rate, theta_norm: Real, n_u: Rate) -> bool:
        if n_u.power == 1:
            return bool(over_confidence(_limit_laws(p, n_u, theta_norm)) > 0)
        return max(p.power, n_u.power) > 0.5

    return {
        "value": value,
        "limit": limit,
        "stated": lambda p, theta_norm, n_u: p.power > 0 and n_u.power > 0 and theta_norm > 0,
        "met": met,
    }


THEOREM_4_1 = Claim(
    "4.1",
    "Where C1 sqrt(p/n_l) <= |theta| <= C2 sqrt(p/n_l), C1 < 1/2 and C2 > 2, and p/n_l, |theta| and n_u are "
    "sufficiently large, ECE(final) < ECE(init) with high probability.",
    "ECE(final) - ECE(init) of each data set, for |theta| from 0.1 to 2.5 sqrt(p/n_l).",
    **_helps_with_few_labels(),
    reading='"For some C1, C2" is read as: whatever they are, as in Theorem 4.3, so that "sufficiently large" may '
    "depend on them. It is what the paper asks for, and we add how large: |theta| > sufficient_norm(|theta| / "
    "sqrt(p/n_l), n_u/n_l), a number for every C1 and C2. For n_u that grows at any rate it is 1.07 at C1 = .4, 6.6 "
    "at C1 = .1 and grows like .67/C1; for n_u = 200 n_l it is .29 and .08. p/n_l, at least (|theta|/C2)^2, is then "
    "large too.",
    exact=exact_sums,
)
THEOREM_4_2 = Claim(
    "4.2",
    "Where |theta| and p are bounded and n_l and n_u tend to infinity, ECE(init) < ECE(final) with high probability.",
    "ECE(init) - ECE(final) of each data set, at fixed p and n_u = n_l^a.",
    **_hurts_with_many_labels(),
    condition="n_u / sqrt(n_l) -> infinity: the change that pseudo-labels make, of order n_u/n_l, exceeds the noise of "
    "the labeled classifier, of order 1/sqrt(n_l).",
    reading="The statement lets n_l and n_u tend to infinity at any rates. theta = 0 and |theta| that falls with n "
    "are in the hypothesis, and there it holds too.",
    favorable="With n_u in proportion to n_l it holds.",
    exact=exact_sums,
)
THEOREM_4_3 = Claim(
    "4.3",
    "Where C1 < |theta| < C2 for some constants and p, n_l and n_u are sufficiently large, some Beta(alpha, beta) in "
    "the last step makes ECE(mix) < ECE(final), with high probability.",
    "ECE(mix) - ECE(final) of each data set, with the weight that calibrates in the limit, chosen before the data; "
    "where the limit is under-confident, with the best of eight weights from .01 to .499, chosen after the data.",
    **_mixup_repairs(),
    condition="pseudo-labels leave the classifier over-confident, p/n_u >= overshoot_ratio(p/n_l, |theta|), by more "
    "than the noise: sqrt(n_l) (p/n_l + n_u/n_l) -> infinity.",
    reading='"For some C1, C2" is read as: whatever they are, as in Theorem 4.1. The paper uses it under the '
    "conditions of Theorem 4.1, and there, at p/n_l = 12, |theta| = 2 and n_u = 100 n_l, it fails: at p = 600, n_l = "
    "50, n_u = 5000 no weight helps.",
    favorable="With p and n_u in proportion to n_l noise does no harm, but many unlabeled points overshoot where "
    '|theta|^2 > 1.616. Read as "there are C1 and C2", C2^2 < 1.616 saves it.',
    exact=exact_sums,
)
