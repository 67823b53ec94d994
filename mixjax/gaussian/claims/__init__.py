r"""The theorems of the paper as signed numbers of a training set, negative where the theorem's statement is true of it.

Paper: Theorems 3.1 to 3.4, 4.1 to 4.3, 5.1 to 5.3, and 3.5 in its special case of an unknown sigma. A `Claim` has the
hypothesis as a predicate of a configuration (what stays while n grows), the condition that the paper omits, if there
is one, the signed number of training sets of size n, and its limit.

"There exist alpha, beta" is read as: chosen for the configuration, before the data, as those of the calibrated limit.
A Beta law reaches weights below 1/2 only, so that the choice is at most `LARGEST_WEIGHT`.
"""

from __future__ import annotations

import numpy as np

from mixjax.gaussian.claims.claim import Claim
from mixjax.gaussian.claims.mixup import helps, helps_out_of_domain, hurts, improves_with_capacity
from mixjax.gaussian.claims.pseudo_label import few_labels, many_labels, mixup_at_the_last_step
from mixjax.gaussian.maximum import population_mce
from mixjax.gaussian.population import population_ece

__all__ = ["CLAIMS", "Claim"]


def _all() -> tuple[Claim, ...]:
    return (
        helps("3.1", "Where p is comparable to n, some Beta(alpha, beta) makes ECE(mix) < ECE.", population_ece),
        hurts("3.2", "Where p/n tends to 0, every fixed Beta(alpha, beta) makes ECE(mix) > ECE.", population_ece),
        improves_with_capacity(
            "3.3",
            "The derivative of ECE(mix) in alpha at 0+ is negative, and decreases with p/n up to c_max.",
            population_ece,
            1,
            condition="|theta| is large enough for c_max: c_max <= turning_ratio(|theta|).",
        ),
        helps_out_of_domain(
            "3.4", "Where <theta' - theta, theta> <= p / (2n), some Beta(alpha, beta) makes ECE(mix) < ECE on theta'."
        ),
        helps(
            "3.5",
            "With an approximate inverse of the generator, some Beta(alpha, beta) makes ECE(mix) < ECE.",
            population_ece,
            sigma_estimate="paper",
        ),
        few_labels("4.1", "Where labels are few, |theta| ~ sqrt(p / n_l), pseudo-labels make ECE(final) < ECE(init)."),
        many_labels("4.2", "Where labels are many, p fixed, pseudo-labels make ECE(final) > ECE(init)."),
        mixup_at_the_last_step(
            "4.3",
            "Some Beta(alpha, beta) in the last step makes ECE(mix) < ECE(final).",
            "pseudo-labels have not made the classifier under-confident: p / n_u >= overshoot_ratio(p / n_l, |theta|).",
        ),
        helps("5.1", "Where p is comparable to n, some Beta(alpha, beta) makes MCE(mix) < MCE.", population_mce),
        hurts("5.2", "Where p/n tends to 0, every fixed Beta(alpha, beta) makes MCE(mix) > MCE.", population_mce),
        improves_with_capacity(
            "5.3",
            "The derivative of MCE(mix) in alpha at 0+ is negative, and decreases with p/n up to c_max.",
            population_mce,
            np.inf,
        ),
    )


CLAIMS: dict[str, Claim] = {claim.theorem: claim for claim in _all()}
