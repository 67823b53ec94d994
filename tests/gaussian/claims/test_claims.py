"""The theorems as signed numbers: against training sets that are drawn, their limits, and their hypotheses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import ScoreLaw, population_ece, population_mce, turning_ratio
from mixjax.gaussian.claims import CLAIMS, theorems_3
from mixjax.gaussian.claims.claim import LARGEST_WEIGHT
from mixjax.gaussian.claims.theorems_3 import chosen_weight

N, REPLICATES = 16, 5_000


def test_there_are_eleven():
    assert list(CLAIMS) == ["3.1", "3.2", "3.3", "3.4", "3.5", "4.1", "4.2", "4.3", "5.1", "5.2", "5.3"]


@pytest.mark.slow
def test_mixup_helps_is_the_difference_of_literal_training_sets(key, rng):
    """Theorem 3.1 at n = 16, p = 8: Kolmogorov-Smirnov, false alarm 1e-6; the weight is 1/3."""
    theta = np.zeros(8)
    theta[0] = 1.0
    y = rng.choice([-1.0, 1.0], (REPLICATES, N, 1))
    x = y * theta + rng.standard_normal((REPLICATES, N, 8))
    errors = []
    for t in (0.0, 1 / 3):
        mixed = (1 - t) * (x * y).mean(axis=1) + t * x.mean(axis=1) * y.mean(axis=1)
        law = ScoreLaw.from_moments((mixed @ theta).astype(np.float32), (mixed**2).sum(axis=1).astype(np.float32))
        errors.append(np.asarray(population_ece(law)))
    ours = np.asarray(CLAIMS["3.1"].value(key, [N], REPLICATES, ratio=0.5, theta_norm=1.0))
    assert ours.shape == (1, REPLICATES)
    assert stats.ks_2samp(ours[0], errors[1] - errors[0], method="asymp").pvalue > 1e-6


@pytest.mark.parametrize("theorem, sign, error", [
    ("3.1", 1, population_ece), ("3.2", -1, population_ece), ("5.1", 1, population_mce), ("5.2", -1, population_mce),
])  # fmt: skip
def test_the_number_is_a_difference_of_errors(theorem, sign, error, key, monkeypatch):
    """Of laws that are given: mixed less plain where Mixup is said to help, plain less mixed where to hurt."""
    laws = ScoreLaw.from_moments(np.float32([[[1.0, 0.5]], [[0.6, 0.3]]]), np.float32([[[1.5, 0.2]], [[0.4, 0.4]]]))
    monkeypatch.setattr(theorems_3, "_sample", lambda *_, **__: laws)
    cell = {"ratio": 0.5} if sign == 1 else {"p": 5.0, "alpha": 1.0}
    plain, mixed = np.asarray(error(laws))
    found = CLAIMS[theorem].value(key, [16], 2, theta_norm=1.0, **cell)
    np.testing.assert_array_equal(found, sign * (mixed - plain))


def test_the_weight_is_what_a_beta_law_can_have():
    np.testing.assert_allclose(chosen_weight(0.5, 1.0), 1 / 3, rtol=1e-6)
    assert chosen_weight(5.0, 1.0) == LARGEST_WEIGHT < 0.5


@pytest.mark.parametrize("theorem, cell, limit", [
    ("3.2", {"p": 5, "theta_norm": 1.0, "alpha": 1.0}, -0.0602534),
    ("5.2", {"p": 5, "theta_norm": 1.0, "alpha": 1.0}, -0.0897361),
    ("3.1", {"ratio": 0.5, "theta_norm": 1.0}, -0.0571791),
    ("5.1", {"ratio": 0.5, "theta_norm": 1.0}, -0.0897361),  # MCE(rho) = MCE(1 / rho), and both slopes are 2/3
])  # fmt: skip
def test_limits(theorem, cell, limit):
    """ECE and MCE at slope 1.5 or 2/3 from cases of their own: scipy quadrature of E |s(2 rho v) - s(2v)|."""
    np.testing.assert_allclose(CLAIMS[theorem].limit(**cell), limit, atol=2e-6)


def test_hypotheses_and_conditions():
    claim = CLAIMS["3.3"]
    turn = float(turning_ratio(2.0))
    assert claim.stated(theta_norm=2.0, low=1.0, high=turn / 2)
    assert claim.met(theta_norm=2.0, low=1.0, high=0.999 * turn)
    assert not claim.met(theta_norm=2.0, low=1.0, high=1.001 * turn)
    assert not CLAIMS["5.3"].met(theta_norm=2.0, low=1.0, high=2.0)
    assert not CLAIMS["3.1"].stated(ratio=0.0, theta_norm=1.0)
    assert not CLAIMS["3.2"].stated(p=5, theta_norm=0.0, alpha=1.0)  # without signal every Mixup helps
    assert CLAIMS["3.4"].stated(ratio=1.0, theta_norm=1.0, test_norm=1.4, cosine=1.0)
    assert not CLAIMS["3.4"].stated(ratio=1.0, theta_norm=1.0, test_norm=1.6, cosine=1.0)
    assert not CLAIMS["4.1"].stated(ratio=5.0, relative_norm=3.0, per_label=200.0)
    assert CLAIMS["4.3"].met(ratio=12.0, theta_norm=2.0, per_label=10.0)
    assert not CLAIMS["4.3"].met(ratio=12.0, theta_norm=2.0, per_label=100.0)
