r"""The theorems of the paper as signed numbers of a training set, negative where the theorem's statement is true of it.

Theorem x.y is `CLAIMS["x.y"]`: 3.1, 3.2, 3.4 and 3.5 (in its special case of an unknown sigma) are in `theorems_3`, 4.1
to 4.3 in `theorems_4`, 5.1 and 5.2 in `theorems_5`, 3.3 and 5.3 in `capacity`. `claim` says what a `Claim` is, and a
`Rate`, by which a configuration gives a size that follows n: `Rate(2, 0.5)` is p = 2 sqrt(n).

"There exist alpha, beta" is read as: chosen for the configuration, before the data, as those of the calibrated limit.
A Beta law reaches weights below 1/2 only, so that the choice is at most `claim.LARGEST_WEIGHT`.
"""

from mixjax.gaussian.claims.capacity import THEOREM_3_3, THEOREM_5_3
from mixjax.gaussian.claims.claim import Claim, Rate
from mixjax.gaussian.claims.theorems_3 import THEOREM_3_1, THEOREM_3_2, THEOREM_3_4, THEOREM_3_5
from mixjax.gaussian.claims.theorems_4 import THEOREM_4_1, THEOREM_4_2, THEOREM_4_3
from mixjax.gaussian.claims.theorems_5 import THEOREM_5_1, THEOREM_5_2

__all__ = ["CLAIMS", "Claim", "Rate"]

CLAIMS: dict[str, Claim] = {
    claim.theorem: claim
    for claim in (
        *(THEOREM_3_1, THEOREM_3_2, THEOREM_3_3, THEOREM_3_4, THEOREM_3_5),
        *(THEOREM_4_1, THEOREM_4_2, THEOREM_4_3),
        *(THEOREM_5_1, THEOREM_5_2, THEOREM_5_3),
    )
}
