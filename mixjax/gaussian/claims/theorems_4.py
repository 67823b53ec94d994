"""Theorems 4.1 to 4.3 as signed numbers: Algorithm 1's classifiers against each other.

Sums over unlabelled points are drawn from the normal law that they tend to (`sample_pseudo_label_scores`).
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import PRNGKeyArray

from mixjax.gaussian.claims.claim import LARGEST_WEIGHT, Claim, Values, dimension
from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.population import population_ece
from mixjax.gaussian.pseudo_label import sample_pseudo_label_scores
from mixjax.gaussian.pseudo_label_limits import limit_pseudo_label_scores

_SMALLEST_WEIGHT = 0.05  # where the best would be no Mixup


def _pseudo_label_ece(key: PRNGKeyArray, n: ArrayLike, per_label: float, **cell: Any) -> dict[str, jax.Array]:
    """Sample the ECE of Algorithm 1's classifiers at n labelled and per_label n unlabelled points."""
    n = np.asarray(n, np.float32)
    cell = {name: value if name == "replicates" else np.asarray(value, np.float32) for name, value in cell.items()}
    laws = sample_pseudo_label_scores(key, n_labeled=n, n_unlabeled=np.rint(per_label * n), sums="gaussian", **cell)
    return {name: population_ece(law) for name, law in laws.items()}


def _theorem_4_1() -> Claim:
    """Claim ECE(final) - ECE(init) < 0 where p / n_l is large and |theta| = relative_norm sqrt(p / n_l)."""

    def value(
        key: PRNGKeyArray, n: ArrayLike, replicates: int, *, ratio: float, relative_norm: float, per_label: float
    ) -> Values:
        cell = {"p": dimension(n, ratio), "theta_norm": relative_norm * np.sqrt(ratio), "t": 0.0}
        errors = _pseudo_label_ece(key, n, per_label, replicates=replicates, **cell)
        return errors["final"] - errors["init"]

    def limit(*, ratio: float, relative_norm: float, per_label: float) -> float:
        laws = limit_pseudo_label_scores(ratio, ratio / per_label, relative_norm * np.sqrt(ratio), 0.0)
        return float(population_ece(laws["final"]) - population_ece(laws["init"]))

    def stated(ratio: float, relative_norm: float, per_label: float) -> bool:
        return ratio >= 4 and 0.5 <= relative_norm <= 2 and per_label >= 100

    statement = "Where labels are few, |theta| ~ sqrt(p / n_l), pseudo-labels make ECE(final) < ECE(init)."
    return Claim("4.1", statement, value, limit, stated)


def _theorem_4_2() -> Claim:
    """Claim ECE(init) - ECE(final) < 0 at a fixed p."""

    def value(
        key: PRNGKeyArray, n: ArrayLike, replicates: int, *, p: float, theta_norm: float, per_label: float
    ) -> Values:
        errors = _pseudo_label_ece(key, n, per_label, replicates=replicates, p=p, theta_norm=theta_norm, t=0.0)
        return errors["init"] - errors["final"]

    def limit(*, p: float, theta_norm: float, per_label: float) -> float:
        small = 1e-9  # p / n, at which the shares of both kinds of labels are still what they are
        laws = limit_pseudo_label_scores(small, small / per_label, theta_norm, 0.0)
        return float(population_ece(laws["init"]) - population_ece(laws["final"]))

    statement = "Where labels are many, p fixed, pseudo-labels make ECE(final) > ECE(init)."
    return Claim("4.2", statement, value, limit, stated=lambda p, theta_norm, per_label: theta_norm > 0)


def _theorem_4_3() -> Claim:
    """Claim ECE(mix) - ECE(final) < 0 at p = ratio n_l, with the weight that calibrates in the limit."""

    def final(ratio: float, theta_norm: float, per_label: float) -> ScoreLaw:
        return limit_pseudo_label_scores(ratio, ratio / per_label, theta_norm, 0.0)["final"]

    def weight(**cell: float) -> float:
        """Return the best weight, or the smallest that counts as Mixup where the classifier is under-confident."""
        return float(np.clip(1.0 - float(final(**cell).slope), _SMALLEST_WEIGHT, LARGEST_WEIGHT))

    def value(key: PRNGKeyArray, n: ArrayLike, replicates: int, **cell: float) -> Values:
        ratio, theta_norm, per_label = cell["ratio"], cell["theta_norm"], cell["per_label"]
        laws = {"p": dimension(n, ratio), "theta_norm": theta_norm, "t": weight(**cell)}
        errors = _pseudo_label_ece(key, n, per_label, replicates=replicates, **laws)
        return errors["mix"] - errors["final"]

    def limit(**cell: float) -> float:
        ratio, per_label = cell["ratio"], cell["per_label"]
        laws = limit_pseudo_label_scores(ratio, ratio / per_label, cell["theta_norm"], weight(**cell))
        return float(population_ece(laws["mix"]) - population_ece(laws["final"]))

    return Claim(
        "4.3",
        "Some Beta(alpha, beta) in the last step makes ECE(mix) < ECE(final).",
        value,
        limit,
        stated=lambda ratio, theta_norm, per_label: theta_norm > 0 and ratio > 0,
        met=lambda **cell: bool(final(**cell).gap > 0),
        condition="pseudo-labels have not made the classifier under-confident: "
        "p / n_u >= overshoot_ratio(p / n_l, |theta|).",
    )


THEOREM_4_1, THEOREM_4_2, THEOREM_4_3 = _theorem_4_1(), _theorem_4_2(), _theorem_4_3()
