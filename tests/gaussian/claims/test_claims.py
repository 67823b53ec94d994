"""The theorems as signed numbers: against training sets that are drawn, their limits, and their hypotheses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from mixjax.gaussian import ScoreLaw, limit_pseudo_label_scores, population_ece, population_mce, turning_ratio
from mixjax.gaussian.claims import CLAIMS, Rate, theorems_3
from mixjax.gaussian.claims.claim import LARGEST_WEIGHT
from mixjax.gaussian.claims.theorems_3 import chosen_weight
from mixjax.gaussian.claims.theorems_4 import EXACT_UP_TO, WEIGHTS, sufficient_norm

N, REPLICATES = 16, 5_000
ROOT, HALF, SAME = Rate(1, 0.5), Rate(0.5, 1), Rate(1, 1)


def test_there_are_eleven():
    assert list(CLAIMS) == ["3.1", "3.2", "3.3", "3.4", "3.5", "4.1", "4.2", "4.3", "5.1", "5.2", "5.3"]


@pytest.mark.parametrize("rate, text, at_100, per_size", [
    (Rate(5), "5", 5, 0.0),
    (Rate(0), "0", 0, 0.0),
    (Rate(1, 1), "n", 100, 1.0),
    (Rate(0.5, 1), "0.5 n", 50, 0.5),
    (Rate(2, 0.5), "2 n^0.5", 20, 0.0),
    (Rate(1, 1.5), "n^1.5", 1000, np.inf),
])  # fmt: skip
def test_rates(rate, text, at_100, per_size):
    assert str(rate) == text
    np.testing.assert_allclose(rate.at([100]), [at_100])
    assert rate.whole(100) == max(at_100, 1)
    assert rate.per_size.limit == per_size


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
    ours = np.asarray(CLAIMS["3.1"].value(key, [N], REPLICATES, p=HALF, theta_norm=1.0))
    assert ours.shape == (1, REPLICATES)
    assert stats.ks_2samp(ours[0], errors[1] - errors[0], method="asymp").pvalue > 1e-6


@pytest.mark.slow
def test_no_weight_helps_literal_data_with_many_pseudo_labels(rng):
    """Theorem 4.3 at p = 600, n_l = 50, n_u = 5000, |theta| = 2, inside of 4.1: for none of 12 data sets."""
    n, n_u, p = 50, 5000, 600
    theta = np.zeros(p)
    theta[0] = 2.0
    for _ in range(12):
        y, y_u = (rng.choice([-1.0, 1.0], (size, 1)) for size in (n, n_u))
        x, x_u = (signs * theta + rng.standard_normal((len(signs), p)) for signs in (y, y_u))
        pseudo = np.sign(x_u @ (x * y).mean(axis=0))[:, None]
        x, y = np.concatenate([x, x_u]), np.concatenate([y, pseudo])
        t = np.array([0.0, *WEIGHTS])[:, None]
        mixed = (1 - t) * (x * y).mean(axis=0) + t * x.mean(axis=0) * y.mean()
        law = ScoreLaw.from_moments((mixed @ theta).astype(np.float32), (mixed**2).sum(axis=1).astype(np.float32))
        plain, *others = np.asarray(population_ece(law))
        assert plain < min(others)


@pytest.mark.slow
def test_the_noise_decides_3_4_where_p_is_the_root_of_n(key):
    """P(t* / 2 < over-confidence) from normal numbers, within 5 standard errors and .01 for t of order 1/100."""
    n, replicates = 10_000, 20_000
    found = (CLAIMS["3.4"].value(key, [n], replicates, p=ROOT, theta_norm=1.0, test_norm=1.0, cosine=1.0) < 0).mean()
    ratio = 1 / np.sqrt(n)  # p/n, the mean of <theta_hat - theta, theta_hat>, whose variance is 1/n + 2 p/n^2
    expected = stats.norm.cdf(0.5 * ratio / np.sqrt(1 / n + 2 * ratio / n))
    np.testing.assert_allclose(found, expected, atol=5 * np.sqrt(0.25 / replicates) + 0.01)


@pytest.mark.parametrize("theorem, sign, error", [
    ("3.1", 1, population_ece), ("3.2", -1, population_ece), ("5.1", 1, population_mce), ("5.2", -1, population_mce),
])  # fmt: skip
def test_the_number_is_a_difference_of_errors(theorem, sign, error, key, monkeypatch):
    """Of laws that are given: mixed less plain where Mixup is said to help, plain less mixed where to hurt."""
    laws = ScoreLaw.from_moments(np.float32([[[1.0, 0.5]], [[0.6, 0.3]]]), np.float32([[[1.5, 0.2]], [[0.4, 0.4]]]))
    monkeypatch.setattr(theorems_3, "_sample", lambda *_, **__: laws)
    cell = {"p": HALF} if sign == 1 else {"p": Rate(5), "alpha": 1.0}
    plain, mixed = np.asarray(error(laws))
    found = CLAIMS[theorem].value(key, [16], 2, theta_norm=1.0, **cell)
    np.testing.assert_array_equal(found, sign * (mixed - plain))


def test_the_weight_is_what_a_beta_law_can_have():
    np.testing.assert_allclose(chosen_weight([0.5, 5.0], 1.0), [1 / 3, LARGEST_WEIGHT], rtol=1e-6)
    assert LARGEST_WEIGHT < 0.5


@pytest.mark.medium
@pytest.mark.parametrize("theorem, cell, limit", [
    ("3.2", {"p": Rate(5), "theta_norm": 1.0, "alpha": 1.0}, -0.0602534),
    ("3.2", {"p": Rate(1, 0.9), "theta_norm": 1.0, "alpha": 1.0}, -0.0602534),
    ("5.2", {"p": ROOT, "theta_norm": 1.0, "alpha": 1.0}, -0.0897361),
    ("3.1", {"p": HALF, "theta_norm": 1.0}, -0.0571791),
    ("5.1", {"p": HALF, "theta_norm": 1.0}, -0.0897361),  # MCE(rho) = MCE(1 / rho), and both slopes are 2/3
    ("3.2", {"p": Rate(5), "theta_norm": Rate(1, -0.5), "alpha": 1.0}, 0.0),
    ("3.4", {"p": ROOT, "theta_norm": 1.0, "test_norm": 1.0, "cosine": 1.0}, 0.0),
    ("4.2", {"p": Rate(5), "theta_norm": 1.0, "n_u": ROOT}, 0.0),
    ("5.1", {"p": HALF, "theta_norm": 0.0}, 0.0),
])  # fmt: skip
def test_limits(theorem, cell, limit):
    """ECE and MCE at slope 1.5 or 2/3 from cases of their own: scipy quadrature of E |s(2 rho v) - s(2v)|."""
    np.testing.assert_allclose(CLAIMS[theorem].limit(**cell), limit, atol=2e-6)


@pytest.mark.medium
def test_theta_must_be_large_enough_for_3_3_and_never_is_for_5_3():
    turn = float(turning_ratio(2.0))
    assert CLAIMS["3.3"].stated(theta_norm=2.0, c_max=0.999 * turn)
    assert not CLAIMS["3.3"].stated(theta_norm=2.0, c_max=1.001 * turn)
    assert CLAIMS["5.3"].stated(theta_norm=2.0, c_max=1.0)
    assert not CLAIMS["5.3"].met(theta_norm=2.0, c_max=1.0)


def quadrature_ece(mean, var):
    rho, sd = mean / var, np.sqrt(var)

    def gap(v):
        return abs(np.tanh(rho * v) - np.tanh(v)) / 2 * stats.norm.pdf(v, mean, sd)

    return integrate.quad(gap, mean - 12 * sd, mean + 12 * sd, points=[0], limit=200, epsabs=1e-13)[0]


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("relative_norm, per_label", [(0.1, 1.0), (0.4, 1.0), (0.2, 10.0), (2.5, 200.0)])
def test_theta_must_be_large_enough_for_4_1(relative_norm, per_label):
    """By SciPy's quadrature pseudo-labels do not lower the ECE at this |theta|, and do from the next of the grid on."""
    norms = sufficient_norm(relative_norm, per_label) * np.array([0.9999, 1.012, 1.5, 2.0, 5.0])
    ratio = (norms / relative_norm) ** 2
    laws = limit_pseudo_label_scores(ratio, ratio / per_label, norms, 0.0)
    init, final = (
        [quadrature_ece(*pair) for pair in zip(np.asarray(laws[name].mean), np.asarray(laws[name].var), strict=True)]
        for name in ("init", "final")
    )
    assert (np.array(final) < init).tolist() == [False, True, True, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("norm, helps", [(4.0, False), (8.0, True)])
def test_4_1_at_a_tenth_of_the_root_of_p_over_n(norm, helps, key):
    """C1 = .1 and n_u = n_l = 1000, with exact sums: |theta| = 4 is below `sufficient_norm` and 8 above it."""
    cell = {"ratio": 100.0 * norm**2, "relative_norm": 0.1, "n_u": SAME}
    share = float((CLAIMS["4.1"].value(key, [1000], 1000, **cell) < 0).mean())
    assert CLAIMS["4.1"].stated(**cell) == helps
    assert share > 0.99 if helps else share < 0.05


@pytest.mark.slow
def test_3_5_needs_no_larger_n_with_a_pooled_sigma(key):
    """At n = 3,162 on, as with sigma known, where the paper's estimate needs 100,000: p = 0.1 n is the slowest."""
    cell = {"p": Rate(0.1, 1), "theta_norm": 1.0}
    n = [3162, 100_000]
    pooled, paper = (theorems_3.helps(population_ece, sigma_estimate=name)["value"] for name in ("pooled", "paper"))
    shares = [(np.asarray(value(key, n, 4000, **cell)) < 0).mean(axis=1) for value in (pooled, paper)]
    assert shares[0].min() > 0.99
    assert shares[1][0] < 0.9
    assert shares[1][1] > 0.99


IN_PROPORTION = {"p": HALF, "theta_norm": 1.0}
LOW = {"p": Rate(5), "theta_norm": 1.0, "alpha": 1.0}
OOD = {"p": SAME, "theta_norm": 1.0, "test_norm": 1.0, "cosine": 1.0}
FEW = {"ratio": 5.0, "relative_norm": 1.0, "n_u": Rate(200, 1)}
MANY = {"p": Rate(5), "theta_norm": 1.0, "n_u": Rate(10, 1)}
REPAIRED = {"p": Rate(12, 1), "theta_norm": 2.0, "n_u": Rate(10, 1)}


@pytest.mark.parametrize("theorem, cell, stated, met", [
    ("3.1", IN_PROPORTION, True, True),
    ("3.1", IN_PROPORTION | {"theta_norm": 0.0}, True, True),
    ("3.1", IN_PROPORTION | {"p": ROOT}, False, True),
    ("3.1", IN_PROPORTION | {"theta_norm": ROOT}, False, True),  # |theta| < C
    ("3.2", LOW, True, True),
    ("3.2", LOW | {"p": Rate(1, 0.9)}, True, True),
    ("3.2", LOW | {"p": SAME}, False, False),
    ("3.2", LOW | {"theta_norm": 0.0}, True, False),  # the paper does not exclude it
    ("3.2", LOW | {"theta_norm": Rate(1, -0.25)}, True, True),
    ("3.2", LOW | {"theta_norm": Rate(1, -0.5)}, True, False),
    ("3.4", OOD, True, True),
    ("3.4", OOD | {"test_norm": 1.4}, True, True),
    ("3.4", OOD | {"test_norm": 1.6}, False, True),
    ("3.4", OOD | {"p": ROOT}, True, False),
    ("3.4", OOD | {"p": Rate(5), "cosine": 0.5}, True, True),
    ("4.1", FEW, True, True),
    ("4.1", FEW | {"relative_norm": 3.0}, True, True),
    ("4.1", FEW | {"n_u": ROOT}, True, True),
    ("4.1", FEW | {"relative_norm": 0.1}, True, True),
    ("4.1", FEW | {"relative_norm": 0.1, "n_u": ROOT}, False, True),  # |theta| is not sufficiently large
    ("4.1", FEW | {"n_u": Rate(200)}, False, True),  # n_u is not
    ("4.2", MANY, True, True),
    ("4.2", MANY | {"theta_norm": 0.0}, True, True),
    ("4.2", MANY | {"theta_norm": Rate(1, -0.5)}, True, True),
    ("4.2", MANY | {"theta_norm": ROOT}, False, True),  # |theta| < C
    ("4.2", MANY | {"n_u": ROOT}, True, False),
    ("4.2", MANY | {"p": HALF}, False, True),
    ("4.3", REPAIRED, True, True),
    ("4.3", REPAIRED | {"n_u": Rate(100, 1)}, True, False),
    ("4.3", REPAIRED | {"p": ROOT, "n_u": ROOT}, True, False),
    ("4.3", REPAIRED | {"p": ROOT, "n_u": Rate(1, 0.75)}, True, True),
    ("5.1", IN_PROPORTION | {"theta_norm": 0.0}, True, False),
    ("5.1", IN_PROPORTION | {"theta_norm": Rate(1, -0.25)}, True, True),
    ("5.1", IN_PROPORTION | {"theta_norm": Rate(1, -0.5)}, True, False),
    ("5.2", LOW | {"theta_norm": 0.0}, True, False),
])  # fmt: skip
def test_hypotheses_and_what_must_be_added(theorem, cell, stated, met):
    assert CLAIMS[theorem].stated(**cell) == stated
    assert CLAIMS[theorem].met(**cell) == met


def test_what_is_exact():
    n = [10, 100, 10_000]
    assert CLAIMS["3.1"].exact(n, **IN_PROPORTION).all()
    assert CLAIMS["4.2"].exact(n, **MANY).tolist() == [True, True, False]
    assert CLAIMS["4.2"].exact([EXACT_UP_TO], **MANY | {"n_u": SAME}).all()
