"""The dimension-free sampler against literal training sets drawn with NumPy, and against exact moments.

Two samples of a law are compared by Kolmogorov-Smirnov. `KS_CHECKS` bounds the number of comparisons in this file;
each is made at level 1e-6 / KS_CHECKS, so that a right sampler fails under a fresh key with probability 1e-6.
"""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian.estimators import sigma_estimator, weighted_estimator
from mixjax.gaussian.law import score_law
from mixjax.gaussian.model import class_mean, sample_data
from mixjax.gaussian.samplers import draw_noise, sample_scores, score_law_of
from mixjax.numerics.threefry import Source

drawn_noise, law_of_noise = jax.jit(draw_noise), jax.jit(score_law_of)
KS_CHECKS = 500
REPLICATES = COMPARED = 20_000  # of ours, and of literal ones

# n, p, theta_norm, t, sigma
CONFIGURATIONS = [
    (1, 1, 1.0, 0.3, 1.0),
    (1, 5, 0.5, 0.5, 2.0),
    (2, 1, 1.0, 0.3, 0.5),
    (2, 2, 0.7, 1.0, 1.0),
    (3, 2, 2.0, 0.3, 1.0),
    (5, 1, 0.2, 0.1, 1.0),
    (4, 3, 1.0, 0.5, 3.0),
    (10, 2, 0.0, 0.3, 1.0),
    (8, 20, 1.5, 1 / 3, 1.0),
    (50, 3, 1.0, 0.2, 0.7),
    (30, 40, 0.5, 0.45, 1.0),
    (100, 1, 0.3, 0.5, 1.0),
    (7, 7, 4.0, 0.3, 1.0),
    (3, 2, 0.5, 1.0, 1.0),  # t = 1: what is left is mostly D
    (5, 4, 0.3, 0.9, 2.0),
]
LARGEST = (1e10, 1e10, 1.0, 0.3, 1.0)  # beside them, beyond literal simulation
IN_SHORT = (0, 2, 4, 6, 8, 13)  # the others in the long run


def same_law(ours, theirs):
    """Two-sample Kolmogorov-Smirnov; values are rounded so that atoms agree, and NaN counts as one more value."""
    ours, theirs = (np.nan_to_num(np.round(np.asarray(x[:COMPARED], float), 5), nan=-1e9) for x in (ours, theirs))
    assert stats.ks_2samp(ours, theirs, method="asymp").pvalue > 1e-6 / KS_CHECKS


@pytest.fixture(scope="module")
def exact(module_key):
    """Laws, each [t = 0 or t, configuration, replicate]; with known sigma in float64, with others in float32."""

    def sample(estimate, dtype):
        n, p, theta_norm, t, sigma = np.array([*CONFIGURATIONS, LARGEST], dtype).T
        options = {"n": n, "p": p, "theta_norm": theta_norm, "sigma": sigma, "t": np.stack([0 * t, t])}
        law = sample_scores(module_key, **options, replicates=REPLICATES, sigma_estimate=estimate)
        assert law.mean.dtype == law.gap.dtype == dtype
        return jax.tree.map(lambda part: np.asarray(part, float), law)

    dtypes = {"known": np.float64, "paper": np.float32, "pooled": np.float32}
    return {estimate: sample(estimate, dtype) for estimate, dtype in dtypes.items()}


def literal(rng, n, p, theta_norm, t, sigma):
    """Mean, variance and sigma_hat^2 in both readings, by drawing training sets: nothing here is from mixjax."""
    replicates = int(min(COMPARED, 4e6 / (n * p)))
    theta = np.zeros(p)
    theta[0] = theta_norm
    y = rng.choice([-1.0, 1.0], (replicates, n, 1))
    x = y * theta + sigma * rng.standard_normal((replicates, n, p))
    plain, other = np.mean(x * y, axis=1), np.mean(x, axis=1) * np.mean(y, axis=1)
    residuals = x - y * plain[:, None, :]
    squares = {
        "paper": np.sum(np.sum(residuals, axis=1) ** 2, axis=1) / (n * p),
        "pooled": np.sum(residuals**2, axis=(1, 2)) / (n * p),
        "known": np.full(replicates, sigma**2),
    }
    squares["paper"][np.abs(y.mean(axis=(1, 2))) == 1] = np.nan  # 0 up to rounding
    estimates = [(1 - weight) * plain + weight * other for weight in (0.0, t)]
    return squares, [(e @ theta, np.sum(e**2, axis=1)) for e in estimates]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "index", [pytest.param(k, marks=() if k in IN_SHORT else pytest.mark.slow) for k in range(len(CONFIGURATIONS))]
)
def test_equals_literal_simulation(index, exact, rng):
    """Mean, variance, gap and slope, plain and mixed, the differences made by Mixup, in each reading of sigma."""
    sigma = CONFIGURATIONS[index][-1]
    squares, moments = literal(rng, *CONFIGURATIONS[index])
    for estimate, law in exact.items():
        square = np.where(squares[estimate] > 0, squares[estimate], np.nan)
        ours, theirs = [], []
        for k, (a, q) in enumerate(moments):
            mean, var = a / square, sigma**2 * q / square**2  # m = a / sigma_hat^2, w = sigma^2 q / sigma_hat^4
            theirs.append(np.array([mean, var, var - mean]))
            mean, gap = law.mean[k, index], law.gap[k, index]
            ours.append(np.array([mean, mean + gap, gap]))
        for k in (0, 1):
            for ours_now, theirs_now in zip(ours[k], theirs[k], strict=True):
                same_law(ours_now, theirs_now)
            with np.errstate(invalid="ignore"):
                same_law(ours[k][0] / ours[k][1], theirs[k][0] / theirs[k][1])
        for our_change, their_change in zip(ours[1] - ours[0], theirs[1] - theirs[0], strict=True):
            same_law(our_change, their_change)


@pytest.mark.parametrize("index", range(len(CONFIGURATIONS)))
def test_expected_moments(index, exact):
    """E a = E kappa |theta|^2 and E q = E kappa^2 (|theta|^2 + p/n) + t^2 E ybar^2 (1 - ybar^2) p/n, for sigma = 1.

    kappa = 1 - t (1 - ybar^2), E ybar^2 = 1/n, E ybar^4 = (3n - 2)/n^3. Within 5 standard errors: 60 checks of 6e-7.
    """
    n, p, theta_norm, t, sigma = CONFIGURATIONS[index]
    square, fourth = 1 / n, (3 * n - 2) / n**3
    theta_square = (theta_norm / sigma) ** 2
    for k, weight in enumerate((0.0, t)):
        kappa = 1 - weight * (1 - square)
        kappa_square = (1 - weight) ** 2 + 2 * weight * (1 - weight) * square + weight**2 * fourth
        mean = kappa * theta_square
        var = kappa_square * (theta_square + p / n) + weight**2 * (square - fourth) * p / n
        ours = exact["known"].mean[k, index], exact["known"].mean[k, index] + exact["known"].gap[k, index]
        for sample, expected in zip(ours, (mean, var), strict=True):
            assert abs(sample.mean() - expected) <= 5 * sample.std() / np.sqrt(sample.size) + 1e-12


@pytest.mark.slow
def test_the_library_has_a_literal_form_of_the_same(exact, key):
    """`sample_data`, `weighted_estimator`, `sigma_estimator` and `score_law` put together, for one configuration."""
    n, p, theta_norm, t, sigma = CONFIGURATIONS[6]
    theta = class_mean(p, theta_norm)

    @jax.jit
    @jax.vmap
    def replicate(k):
        x, y = sample_data(k, n=n, theta=theta, sigma=sigma)
        law = score_law(weighted_estimator(x, y, t), theta, sigma=sigma)
        return law, sigma_estimator(x, y, sigma_estimate="pooled") ** 2 / sigma**2

    law, square = replicate(jax.random.split(key, COMPARED))
    same_law(exact["known"].mean[1, 6], law.mean)
    same_law(exact["known"].gap[1, 6], law.gap)
    same_law(exact["pooled"].mean[1, 6], law.mean / square)
    same_law(exact["pooled"].gap[1, 6] + exact["pooled"].mean[1, 6], law.var / square**2)


def test_equal_labels_are_nan_in_the_papers_reading_only(exact):
    """Probability 2^(1-n), or with n = 1 always, also for the pooled sigma_hat; binomial test at 1e-6."""
    for index, (n, p, *_) in enumerate(CONFIGURATIONS):
        assert np.isfinite(exact["known"].gap[:, index]).all()
        missing = np.isnan(exact["paper"].mean[0, index])
        np.testing.assert_array_equal(missing, np.isnan(exact["paper"].gap[1, index]))
        if p > 1 or n < 10:  # see the next test
            assert stats.binomtest(int(missing.sum()), REPLICATES, 2.0 ** (1 - n)).pvalue > 1e-6
        if p > 1 or n != 2:
            np.testing.assert_array_equal(np.isnan(exact["pooled"].mean[:, index]), n == 1)


def test_a_small_sigma_hat_is_not_lost_in_float32(exact):
    """At p = 1 the paper's sigma_hat^2 is a chi-square of one degree of freedom at any n; no labels are equal here."""
    assert CONFIGURATIONS[11][:2] == (100, 1)
    assert np.isfinite(exact["paper"].mean[:, 11]).all()


def test_the_largest_size(exact):
    """n = p = 1e10, t = 0: gap = a + a^2 + chi2/n is normal to 1e-5, with mean 1 and variance 1/n + 2p/n^2."""
    law = exact["known"]
    assert stats.kstest((law.gap[0, -1] - 1) / np.sqrt(3e-10), "norm", mode="asymp").pvalue > 1e-6
    assert stats.kstest((law.mean[0, -1] - 1) / 1e-5, "norm", mode="asymp").pvalue > 1e-6
    np.testing.assert_allclose(law.mean[1, -1], 0.7 * law.mean[0, -1], rtol=1e-8)  # D and ybar are of order 1e-5


def test_replicates_are_independent(exact):
    """Lagged correlations of gaps: 6 standard errors, 2e-9 each."""
    for gap in exact["known"].gap[1, :-1]:
        gap = (gap - gap.mean()) / gap.std()
        for lag in (1, 2, REPLICATES // 2):
            assert abs(np.mean(gap[lag:] * gap[:-lag])) < 6 / np.sqrt(REPLICATES - lag)


# --- the six numbers ------------------------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("n, p", [(3, 1), (3, 2), (20, 3), (100, 12)])
def test_noise_has_independent_parts_of_the_right_law(key, n, p):
    """KS of each part; correlations of parts and of their squares within 6 standard errors, 2e-9 each."""
    size = 50_000
    source = Source.of(key, (size,))
    noise = drawn_noise(source, np.full(size, n, np.float32), np.full(size, p, np.float32))
    parts = {name: np.asarray(part, float) for name, part in noise._asdict().items()}
    same = partial(stats.kstest, mode="asymp")
    assert same(parts["along"], "norm").pvalue > 1e-8
    assert same(parts["difference_along"], "norm").pvalue > 1e-8
    for name, df in (("across", p - 1), ("difference_across", p - 2)):
        if df > 0:
            assert same(parts[name] + df, stats.chi2(df).cdf).pvalue > 1e-8
        else:
            np.testing.assert_array_equal(parts.pop(name), 0)
    if p > 1:
        assert same(parts["difference_aligned"], "norm").pvalue > 1e-8
    else:
        np.testing.assert_array_equal(parts.pop("difference_aligned"), 0)
    columns = np.array(list(parts.values()))
    columns = np.concatenate([columns, columns**2])
    correlations = np.corrcoef(columns) - np.eye(len(columns))
    own = np.kron([[0, 1], [1, 0]], np.eye(len(parts)))  # a part and its own square
    assert np.abs(correlations * (1 - own)).max() < 6 / np.sqrt(size)


def exact_gap(noise, n, p, theta, t):
    """<theta_hat, theta_hat - theta> in long double, in the basis of theta, the rest of A and the rest of D."""
    wide = np.longdouble
    ybar, z, across, d, aligned, rest = (np.asarray(part).astype(wide) for part in noise)
    n, p, theta, t = wide(n), wide(p), wide(theta), wide(t)
    plain = np.array([theta + z / np.sqrt(n), np.sqrt((p - 1 + across) / n), 0 * z])
    difference = np.sqrt((1 - ybar**2) / n) * np.array([d, aligned, np.sqrt(max(p - 2, 0) + rest)])
    mixed = (1 - t + t * ybar**2) * plain + t * ybar * difference
    error = mixed - np.array([theta, 0, 0], wide)[:, None]
    return np.sum(mixed * error, axis=0)


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("t", [0.0, 0.3])
@pytest.mark.parametrize("n, p, theta", [(1e8, 5, 1.0), (1e8, 5, 0.1), (1e10, 1, 2.0), (1e8, 1e8, 1.0)])
def test_float32_gap_is_relative(key, n, p, theta, t):
    """1e-5 of the gap computed in long double from the same six float32 numbers; var - mean would be noise at n = 1e8.

    Of 1000 gaps that change sign, the few below 1/100 of their usual size may be worse by that much.
    """
    args = [np.float32(x) for x in (n, p)]
    noise = drawn_noise(Source.of(key, (1000,)), *(np.full(1000, x) for x in args))
    law = law_of_noise(noise, *args, np.float32(theta), np.float32(t))
    expected = exact_gap(noise, n, p, np.float32(theta), np.float32(t))
    assert law.gap.dtype == np.float32
    usual = np.median(np.abs(expected))
    error = np.abs(np.asarray(law.gap, np.longdouble) - expected) / np.maximum(np.abs(expected), usual / 100)
    assert error.max() < 1e-5
