"""Theorems 5.1 to 5.3 as signed numbers: those of Section 3 for the MCE."""

from __future__ import annotations

import numpy as np

from mixjax.gaussian.claims.theorems_3 import helps, hurts, improves_with_capacity
from mixjax.gaussian.maximum import population_mce

THEOREM_5_1 = helps("5.1", "Where p is comparable to n, some Beta(alpha, beta) makes MCE(mix) < MCE.", population_mce)
THEOREM_5_2 = hurts("5.2", "Where p/n tends to 0, every fixed Beta(alpha, beta) makes MCE(mix) > MCE.", population_mce)
THEOREM_5_3 = improves_with_capacity(
    "5.3",
    "The derivative of MCE(mix) in alpha at 0+ is negative, and decreases with p/n up to c_max.",
    population_mce,
    np.inf,
)
