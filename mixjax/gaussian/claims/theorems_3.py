"""Theorems 3.1, 3.2, 3.4 and 3.5 as signed numbers: the ECE with Mixup against that of the plain classifier.

`theorems_5` has the same of the MCE, by the same functions: `helps` (3.1, 3.5 and 5.1) and `hurts` (3.2 and 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.claims.claim import LARGEST_WEIGHT, Claim, Error, Rate, Values, rate
from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.limits import best_weight, limit_scores
from mixjax.gaussian.ood import best_ood_weight, limit_ood_scores, sample_ood_scores
from mixjax.gaussian.population import population_ece
from mixjax.gaussian.samplers import sample_scores
from mixjax.gaussian.weights import mixup_weight
from mixjax.typing import ArrayLike, Real

CHOSEN = "with the weight that calibrates in the limit, or the largest of a Beta law, chosen before the data"


def reachable(weight: ArrayLike) -> np.ndarray:
    """Return weights, cut to what a Beta law has."""
    return np.asarray(np.minimum(np.asarray(weight, np.float64), LARGEST_WEIGHT))


def chosen_weight(ratio: ArrayLike, theta_norm: ArrayLike) -> np.ndarray:
    """Return the weight that calibrates in the limit p/n -> ratio, or the largest of a Beta law."""
    return reachable(best_weight(ratio, theta_norm))


def _with_plain(t: np.ndarray) -> np.ndarray:
    """Return the weights 0 of the plain classifier and t of the mixed one, shape [2, sizes]."""
    return np.stack([np.zeros_like(t), t]).astype(np.float32)


def _sample(key: PRNGKeyArray, n: ArrayLike, t: ArrayLike, **options: Any) -> ScoreLaw:
    """Sample the plain and the mixed classifier on the same training sets, shape [2, sizes, replicates]."""
    t = np.broadcast_to(np.asarray(t), np.asarray(n).shape)
    options = {name: np.asarray(options.pop(name), np.float32) for name in ("p", "theta_norm")} | options
    return sample_scores(key, n=np.asarray(n, np.float32), t=_with_plain(t), **options)


def _in_proportion(p: Rate, theta_norm: Real | Rate) -> bool:
    """Return whether p/n tends to a positive number and |theta| stays bounded."""
    return p.power == 1 and p.factor > 0 and math.isfinite(rate(theta_norm).limit)


def helps(error: Error, met: Callable[[Rate], bool] = lambda theta_norm: True, **options: Any) -> dict[str, Any]:
    """Claim error(mix) - error < 0 at p in proportion to n, with the weight chosen for (p/n, |theta|)."""

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, p: Rate, theta_norm: Real | Rate) -> Values:
        sizes, norms = p.whole(n), rate(theta_norm).at(n)
        t = chosen_weight(sizes / np.asarray(n), norms)
        plain, mixed = error(_sample(key, n, t, p=sizes, theta_norm=norms, replicates=replicates, **options))
        return mixed - plain

    def limit(*, p: Rate, theta_norm: Real | Rate) -> float:
        ratio, norm = p.per_size.limit, rate(theta_norm).limit
        plain, mixed = error(limit_scores(ratio, norm, np.array([0.0, chosen_weight(ratio, norm)])))
        return float(mixed - plain)

    return {
        "value": value,
        "limit": limit,
        "stated": _in_proportion,
        "met": lambda p, theta_norm: met(rate(theta_norm)),
    }


def hurts(error: Error) -> dict[str, Any]:
    """Claim error - error(mix) < 0 at p/n -> 0 and a fixed alpha = beta."""

    def value(
        key: PRNGKeyArray, n: ArrayLike, replicates: int, *, p: Rate, theta_norm: Real | Rate, alpha: Real
    ) -> Values:
        t = float(mixup_weight(alpha, alpha))
        laws = _sample(key, n, t, p=p.whole(n), theta_norm=rate(theta_norm).at(n), replicates=replicates)
        plain, mixed = error(laws)
        return plain - mixed

    def limit(*, p: Rate, theta_norm: Real | Rate, alpha: Real) -> float:
        norm = rate(theta_norm).limit
        if norm == 0:
            return 0.0
        plain, mixed = error(limit_scores(0.0, norm, np.array([0.0, float(mixup_weight(alpha, alpha))])))
        return float(plain - mixed)

    def stated(p: Rate, theta_norm: Real | Rate, alpha: Real) -> bool:
        return p.power < 1 and alpha > 0 and math.isfinite(rate(theta_norm).limit)

    def met(p: Rate, theta_norm: Real | Rate, alpha: Real) -> bool:
        """Return whether p/n vanishes beside |theta|^2."""
        norm = rate(theta_norm)
        return norm.factor > 0 and p.power - 1 < 2 * norm.power

    return {"value": value, "limit": limit, "stated": stated, "met": met}


def helps_out_of_domain() -> dict[str, Any]:
    """Claim ECE(mix) - ECE < 0 on test data of another mean, with the weight best in the limit."""

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, *, p: Rate, **means: Real) -> Values:
        sizes = p.whole(n)
        t = reachable(best_ood_weight(sizes / np.asarray(n), **means))
        cell = {"n": np.asarray(n, np.float32), "p": sizes.astype(np.float32), "t": _with_plain(t)}
        laws = sample_ood_scores(key, **cell, replicates=replicates, **means)
        plain, mixed = population_ece(laws)
        return mixed - plain

    def limit(*, p: Rate, **means: Real) -> float:
        ratio = p.per_size.limit
        t = reachable(best_ood_weight(ratio, **means))
        plain, mixed = population_ece(limit_ood_scores(ratio, t=np.array([0.0, t]), **means))
        return float(mixed - plain)

    def stated(*, p: Rate, **means: Real) -> bool:
        return p.factor > 0 and bool(limit_ood_scores(0.5 * p.per_size.limit, t=0.0, **means).gap >= 0)

    def met(*, p: Rate, **means: Real) -> bool:
        """Return whether p/n - <theta' - theta, theta> stays large beside its noise, of order 1/sqrt(n)."""
        return p.power > 0.5 or bool(limit_ood_scores(0.0, t=0.0, **means).gap > 0)

    return {"value": value, "limit": limit, "stated": stated, "met": met}


BOUNDED_BELOW = (
    "|theta| bounded below, or p/n below critical_ratio(|theta|, t), which is of the order of |theta|^2: without "
    "signal every Mixup {without}, and the n from which on it hurts grows like p/|theta|^2."
)
TAU = (
    "The threshold tau comes before theta in the statement, and |theta| < C lets theta be 0 or tend to 0 with n. No "
    "choice of tau helps, since theta = 0 fails at p = 5 for every n."
)
ONE_THETA = "For one theta other than 0 at a time it holds, at every {regime} that is run."

THEOREM_3_1 = Claim(
    "3.1",
    "There are c2 > c1 > 0 such that for p/n in (c1, c2) and |theta| < C some Beta(alpha, beta) makes ECE(mix) < ECE, "
    "with high probability.",
    f"ECE(mix) - ECE of each training set, {CHOSEN}.",
    **helps(population_ece),
    reading="The weight is chosen for p/n and |theta|. theta = 0 and |theta| that falls with n are in the hypothesis, "
    "and there it holds too. The statement holds though a step of its proof does not: the proof takes t = 1 - rho, the "
    "weight that calibrates, and where rho < 1/2 no Beta law has it. The largest weight of a Beta law helps there.",
)
THEOREM_3_2 = Claim(
    "3.2",
    "There is tau = o(1) such that for p/n <= tau and |theta| < C every fixed Beta(alpha, beta) makes ECE < ECE(mix), "
    "with high probability.",
    "ECE - ECE(mix) of each training set, with alpha = beta fixed.",
    **hurts(population_ece),
    condition=BOUNDED_BELOW.format(without="lowers the ECE"),
    reading=TAU,
    favorable=ONE_THETA.format(regime="rate p = n^a with a < 1"),
)
THEOREM_3_4 = Claim(
    "3.4",
    "Where <theta' - theta, theta> <= p/(2n) and p and n are large enough, some Beta(alpha, beta) makes ECE(mix) < ECE "
    "on test data of mean theta', with high probability.",
    f"ECE(mix) - ECE on theta' of each training set, {CHOSEN}.",
    **helps_out_of_domain(),
    condition="sqrt(n) p/n -> infinity: p/n exceeds the noise of <theta_hat, theta'>, whose size is "
    "|2 theta - theta'|/sqrt(n). Where <theta' - theta, theta> is below 0 and stays there, nothing must be added.",
    reading='"Some Beta(alpha, beta)" is in the appendix and not in the main text; for a fixed law, theta\' = theta '
    "would contradict Theorem 3.2. The bound p/(2n) is for sigma = 1, as in the appendix; for other sigma it is read "
    "as sigma^2 p/(2n). The statement has no lower bound on p/n. The verdict rests on p = sqrt(n), where both n and p "
    "go to infinity, as Section 3.1 says. A fixed p is outside of that and fails too. No choice of a weight before "
    "the data does better at theta' = theta than Phi(p/(sqrt(n) |theta|)), the probability that the classifier is "
    "over-confident.",
    favorable="With p in proportion to n it holds.",
)
THEOREM_3_5 = Claim(
    "3.5",
    "With an approximate inverse of the generator (Assumption 3.1), there are c2 > c1 > 0 such that for p/n in "
    "(c1, c2) and |theta| < C some Beta(alpha, beta) makes ECE(mix) < ECE, with high probability.",
    f"ECE(mix) - ECE of each training set, with the paper's estimate of sigma, {CHOSEN}.",
    **helps(population_ece, sigma_estimate="paper"),
    special="the unknown sigma of Section 3.4, whose law is exact. In general: three families of generators at the "
    "sizes and the weight of the study `generative`.",
    reading="The paper's estimate of sigma has its norm outside of the sum: its square has the relative noise of "
    "chi^2_p / p, so that it is not consistent at fixed p. The general statement cannot be tested at all generators; "
    "real images, whose inverse is not known, are outside of it.",
)
