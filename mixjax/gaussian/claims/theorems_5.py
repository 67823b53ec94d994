"""Theorems 5.1 and 5.2 as signed numbers: those of Section 3 for the MCE; `capacity` has 5.3."""

from __future__ import annotations

from mixjax.gaussian.claims.claim import Claim
from mixjax.gaussian.claims.theorems_3 import BOUNDED_BELOW, CHOSEN, ONE_THETA, TAU, helps, hurts
from mixjax.gaussian.maximum import population_mce

THEOREM_5_1 = Claim(
    "5.1",
    "There are c2 > c1 > 0 such that for p/n in (c1, c2) and |theta| < C some Beta(alpha, beta) makes MCE(mix) < MCE, "
    "with high probability.",
    f"MCE(mix) - MCE of each training set, {CHOSEN}.",
    **helps(population_mce, met=lambda theta_norm: theta_norm.factor > 0 and theta_norm.power > -0.5),
    condition="theta is not 0, and sqrt(n) |theta| -> infinity: without signal the MCE is 1/2 for every weight, and 1 "
    "where <theta_hat, theta> is negative.",
    reading="|theta| < C lets theta be 0, or fall with n.",
    favorable=ONE_THETA.format(regime="p/n"),
)
THEOREM_5_2 = Claim(
    "5.2",
    "There is tau = o(1) such that for p/n <= tau and |theta| < C every fixed Beta(alpha, beta) makes MCE < MCE(mix), "
    "with high probability.",
    "MCE - MCE(mix) of each training set, with alpha = beta fixed.",
    **hurts(population_mce),
    condition=BOUNDED_BELOW.format(without="leaves the MCE at 1/2"),
    reading=TAU,
    favorable=ONE_THETA.format(regime="rate p = n^a with a < 1"),
)
