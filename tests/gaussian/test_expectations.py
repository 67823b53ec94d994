"""Noise-free expectations against enumeration with SciPy's laws, Monte Carlo, and the limit p/n -> c.

The independent law (theory, section 4): ybar = 2 Bin(n, 1/2)/n - 1 and, given it, theta_hat(t) ~ N(kappa theta, tau^2 I).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import interpolate, optimize, stats

from mixjax.gaussian import ScoreLaw, critical_ratio, expected_errors, limit_scores, population_errors, sample_scores
from mixjax.gaussian.expectations import _chisquare_rule, _mean_label_square_rule

# n, p, |theta|, t: one row a regime
CELLS = {
    "one sample, one dimension": (1, 1, 1.0, 0.3),
    "one sample": (1, 50, 1.0, 0.3),
    "two samples": (2, 3, 2.0, 0.45),
    "one dimension": (5, 1, 1.5, 0.3),
    "two dimensions": (20, 2, 1.0, 0.2),
    "three dimensions": (10, 3, 0.5, 0.5),
    "no Mixup": (10, 10, 1.0, 0.0),
    "all Mixup": (8, 5, 1.0, 1.0),
    "no signal": (30, 10, 0.0, 0.3),
    "weak signal": (100, 30, 0.1, 0.25),
    "calibrated": (1000, 500, 1.0, 1 / 3),
    "high dimension": (100, 1000, 2.0, 1 / 3),
    "low dimension": (10000, 10, 2.0, 0.45),
    "huge": (10**6, 10**6, 2.0, 1 / 3),
}
N, P, THETA, T = (np.array(column, float) for column in zip(*CELLS.values(), strict=True))
ERRORS = ("ece", "ece2", "mce")


@pytest.fixture(scope="module")
def expected():
    """Errors of all CELLS, by number of nodes."""
    return {nodes: expected_errors(n=N, p=P, theta_norm=THETA, t=T, num_nodes=nodes) for nodes in (12, 32)}


@pytest.fixture(scope="module")
def errors_of():
    return jax.jit(population_errors)


# --- enumeration -----------------------------------------------------------------------------------


def gauss(low, high, count=80):
    """Gauss-Legendre nodes and weights on [low, high], which may be arrays."""
    x, w = np.polynomial.legendre.leggauss(count)
    low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
    return low + (high - low) * (x + 1) / 2, (high - low) * w / 2


def enumerated(n, p, theta, t, errors_of):
    """E over all label counts, a rule on the quantiles of chi^2_{p-1}, and one on Z split at the kinks of the errors."""
    heads = np.arange(n + 1)
    ybar, label_weights = 2 * heads / n - 1, stats.binom.pmf(heads, n, 0.5)
    kappa = 1 - t + t * ybar**2
    tau = np.sqrt((kappa**2 + t**2 * ybar**2 * (1 - ybar**2)) / n)
    if p == 1:
        chi, chi_weights = np.zeros(1), np.ones(1)
    else:  # chi^2 = s^2: the density of s is smooth
        s, w = gauss(0.0, np.sqrt(stats.chi2.isf(1e-15, p - 1)))
        chi, chi_weights = s**2, w * stats.chi.pdf(s, p - 1)
    kappa, tau, label_weights = (a[:, None] for a in (kappa, tau, label_weights))
    length = tau**2 * chi
    root = np.sqrt(np.maximum(theta**2 - 4 * length, 0))
    kinks = [(u - kappa * theta) / tau for u in (0 * root, (theta - root) / 2, (theta + root) / 2)]
    inner = np.clip(np.stack([*kinks, 0 * root], -1), -8.5, 8.5)
    edges = np.sort(
        np.concatenate([np.full_like(inner[..., :1], -8.5), inner, np.full_like(inner[..., :1], 8.5)], -1), -1
    )
    z, w = gauss(edges[..., :-1], edges[..., 1:], 30)
    u = kappa[..., None, None] * theta + tau[..., None, None] * z
    mean, var = theta * u, u**2 + length[..., None, None]
    law = ScoreLaw.from_moments(mean, np.where(var > 0, var, 1.0))
    weights = (label_weights * chi_weights)[..., None, None] * w * stats.norm.pdf(z)
    return [np.sum(np.asarray(error) * weights) for error in errors_of(law)]


@pytest.mark.parametrize("cell", ["one sample, one dimension", "one dimension", "two samples", "no Mixup", "all Mixup"])
def test_small_cells_are_enumerated(cell, expected, errors_of):
    """Their n is below 2 * 32 / 2: the labels are exact, and only the rules for Z and the chi-square remain."""
    index = list(CELLS).index(cell)
    n, p, theta, t = CELLS[cell]
    reference = enumerated(n, p, theta, t, errors_of)
    exact = p == 1  # no chi-square
    for name, value in zip(ERRORS, reference, strict=True):
        found = getattr(expected[32], name)[index]
        np.testing.assert_allclose(found, value, rtol=1e-9 if exact else 2e-3 if p == 3 else 1e-6, err_msg=name)


# --- Monte Carlo -----------------------------------------------------------------------------------


def test_agrees_with_monte_carlo(expected, module_key, errors_of):
    """|z| < 5 for each of 42 means: false alarms below 42 * 6e-7 = 3e-5."""
    replicates = 40_000
    law = sample_scores(module_key, n=N, p=P, theta_norm=THETA, t=T, replicates=replicates)
    for name, draws in errors_of(law)._asdict().items():
        draws = np.asarray(draws)
        assert np.isfinite(draws).all()
        error = draws.std(axis=1) / np.sqrt(replicates)
        certain = error < 1e-12  # the MCE without signal
        z = (draws.mean(axis=1) - getattr(expected[32], name)) / np.where(certain, 1.0, error)
        assert np.abs(z[~certain]).max() < 5, dict(zip(CELLS, z, strict=True))
        assert np.abs(z[certain]).max(initial=0) < 1e-10
        assert (error[~certain] < 4e-3).all()  # or the test could not fail


def test_differences_are_those_of_paired_draws(module_key, errors_of):
    """E ECE_t - E ECE_0 within 5 standard errors of the paired mean (6e-7), whose error is a tenth of the unpaired one."""
    t = np.array([0.0, 0.2])
    cell = dict(n=1000, p=800, theta_norm=2.0)
    expected = expected_errors(**cell, t=t).ece
    draws = np.asarray(errors_of(sample_scores(module_key, **cell, t=t, replicates=40_000)).ece)
    difference = draws[1] - draws[0]
    error = difference.std() / 200
    assert error < draws[1].std() / 200 / 2
    assert abs(difference.mean() - (expected[1] - expected[0])) < 5 * error
    assert abs(difference.mean()) > 20 * error


def test_sigma_is_a_unit(expected):
    index = list(CELLS).index("two dimensions")
    scaled = expected_errors(n=20, p=2, theta_norm=3.0, t=0.2, sigma=3.0)
    np.testing.assert_allclose(scaled.ece, expected[12].ece[index], rtol=1e-12)


# --- the rules -------------------------------------------------------------------------------------


def test_more_nodes_converge(expected):
    """The accuracy that the docstring promises for 12 nodes, by the dimension and the sample size."""
    smallest = np.minimum(N, P)
    promised = np.where(smallest >= 50, 1e-6, np.where(smallest >= 10, 1e-4, 1e-2))
    for name in ERRORS:
        coarse, fine = (np.asarray(getattr(expected[nodes], name)) for nodes in (12, 32))
        assert (np.abs(coarse - fine) <= promised * fine).all(), (
            name,
            dict(zip(CELLS, coarse / fine - 1, strict=True)),
        )


@pytest.mark.parametrize("n", [1, 2, 3, 7, 11])
def test_label_rule_is_the_law_itself_when_n_is_small(n):
    """n < 2 * 6: the nodes with weight are the possible values of ybar^2, with SciPy's binomial probabilities."""
    nodes, weights = (np.asarray(a) for a in _mean_label_square_rule(jnp.float64(n), 6))
    heads = np.arange(n + 1)
    squares = np.round((2 * heads / n - 1) ** 2, 12)
    values = np.unique(squares)
    probabilities = [stats.binom.pmf(heads[squares == value], n, 0.5).sum() for value in values]
    used = weights > 1e-12
    np.testing.assert_allclose(nodes[used], values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(weights[used], probabilities, rtol=1e-12)


@pytest.mark.parametrize("n", [12, 50, 1001, 10**8])
def test_label_rule_is_exact_for_polynomials(n):
    """Degree 11 in ybar^2 with 6 nodes. The moments of ybar by SciPy, or of the normal limit times 1 + O(1/n)."""
    nodes, weights = (np.asarray(a) for a in _mean_label_square_rule(jnp.float64(n), 6))
    for degree in range(12):
        if n < 10**6:
            heads = np.arange(n + 1)
            moment = np.sum(stats.binom.pmf(heads, n, 0.5) * (2 * heads / n - 1) ** (2 * degree))
        else:
            moment = stats.norm.moment(2 * degree) / float(n) ** degree
        np.testing.assert_allclose(np.sum(weights * nodes**degree), moment, rtol=1e-9 if n < 10**6 else 1e-5)


@pytest.mark.parametrize("df", [1, 2, 3, 10, 1000, 10**8])
def test_chisquare_rule_is_exact_for_polynomials(df):
    """Degree 11 with 6 nodes; E (X/df)^k = (df)(df+2)...(df+2k-2) / df^k."""
    nodes, weights = (np.asarray(a) for a in _chisquare_rule(jnp.float64(df), 6))
    for degree in range(12):
        moment = np.prod((df + 2.0 * np.arange(degree)) / df)
        np.testing.assert_allclose(np.sum(weights * (nodes / df) ** degree), moment, rtol=1e-10)
    assert (nodes >= 0).all()


def test_chisquare_rule_without_freedom_is_a_point():
    nodes, weights = _chisquare_rule(jnp.float64(0), 6)
    np.testing.assert_array_equal(nodes, 0)
    np.testing.assert_allclose(weights.sum(), 1, rtol=1e-12)


def test_without_mixup_the_labels_do_not_matter(expected, errors_of):
    """At t = 0, theta_hat ~ N(theta, I/n) whatever the labels: all mass on balanced labels gives the same."""
    index = list(CELLS).index("no Mixup")
    n, p, theta, _ = CELLS["no Mixup"]
    s, w = gauss(0.0, np.sqrt(stats.chi2.isf(1e-15, p - 1)))
    z, v = gauss(
        [-8.5, -np.sqrt(n) * theta, 0.0], [-np.sqrt(n) * theta, 0.0, 8.5], 400
    )  # kinks are for the nodes to resolve
    u = theta + z.ravel()[:, None] / np.sqrt(n)
    law = ScoreLaw.from_moments(theta * u + 0 * s, u**2 + s**2 / n)
    weights = (v * stats.norm.pdf(z)).ravel()[:, None] * w * stats.chi.pdf(s, p - 1)
    np.testing.assert_allclose(np.sum(weights * errors_of(law).ece), expected[32].ece[index], rtol=1e-5)


# --- the limit -------------------------------------------------------------------------------------


def test_errors_tend_to_their_limit(expected, errors_of):
    """At n = p = 1e6 within a few 1/n."""
    limit = errors_of(limit_scores(1.0, 2.0, 1 / 3))
    for name in ERRORS:
        np.testing.assert_allclose(getattr(expected[12], name)[-1], getattr(limit, name), rtol=0, atol=3e-6)


def zero_of_the_difference(n, theta, t, metric, near):
    """The p/n at which E[error(mix)] = E[error], from the differences at nine dimensions around `near`."""
    p = np.round(n * near * np.linspace(0.8, 1.25, 9))
    errors = getattr(expected_errors(n=n, p=p[:, None], theta_norm=theta, t=np.array([0.0, t])), metric)
    difference = interpolate.BarycentricInterpolator(p / n, np.asarray(errors[:, 1] - errors[:, 0]))
    assert difference(p[0] / n) > 0 > difference(p[-1] / n)  # Mixup hurts below, helps above
    return optimize.brentq(difference, p[0] / n, p[-1] / n, xtol=1e-12)


@pytest.mark.parametrize("metric, norm", [("ece", 1), ("ece2", 2), ("mce", np.inf)])
@pytest.mark.parametrize("theta, t", [(2.0, 1 / 3), (1.0, 0.2)])
def test_zero_contour_approaches_the_limit_curve(metric, norm, theta, t):
    """The distance falls like 1/n: by about ten for each factor of ten in n."""
    limit = float(critical_ratio(theta, t, norm=norm))
    distances = [abs(zero_of_the_difference(n, theta, t, metric, limit) - limit) for n in (100, 1000, 10_000)]
    assert distances[1] < distances[0] / 5
    assert distances[2] < distances[1] / 5
    assert distances[2] < 2e-3 * limit
    assert distances[0] > 1e-4 * limit  # at n = 100 there is something to see


# --- shapes, dtypes, errors ------------------------------------------------------------------------


def test_arguments_broadcast_and_take_any_dtype():
    found = expected_errors(n=np.array([[10], [20]]), p=np.float32([3, 4, 5]), theta_norm=1, t=0.1, num_nodes=4)
    assert all(error.shape == (2, 3) for error in found)
    assert found.ece.dtype == jnp.float32
    single = expected_errors(n=20, p=4, theta_norm=1, t=np.float32(0.1), num_nodes=4)
    assert single.mce.shape == ()
    np.testing.assert_allclose(single, [error[1, 1] for error in found], rtol=1e-6)


def test_float32_is_close():
    cell = dict(n=[50, 1000, 10**6], p=[50, 2000, 10**6], theta_norm=[1, 2, 2], t=[0.2, 1 / 3, 0.45])
    double = expected_errors(**{name: np.float64(value) for name, value in cell.items()})
    single = expected_errors(**{name: np.float32(value) for name, value in cell.items()})
    for name in ERRORS:
        np.testing.assert_allclose(getattr(single, name), getattr(double, name), rtol=0, atol=5e-6)


def test_changing_values_does_not_recompile(compilations):
    expected_errors(n=50, p=10, theta_norm=1.0, t=0.1, num_nodes=4)
    del compilations[:]
    for n, p, theta, t in [(100, 2, 0.5, 0.2), (7, 10**6, 0.0, 0.0), (1, 1, 3.0, 0.5)]:
        expected_errors(n=n, p=p, theta_norm=theta, t=t, num_nodes=4)
    assert not compilations


CELL = dict(n=10, p=3, theta_norm=1.0, t=0.2)
BAD = {
    "n = 0": (dict(n=0), ValueError, "n must be a whole number, 1 or more, got 0"),
    "n = 2.5": (dict(n=2.5), ValueError, "n must be a whole number, 1 or more, got 2.5"),
    "p = -1": (dict(p=-1), ValueError, "p must be a whole number, 1 or more, got -1"),
    "NaN": (dict(p=np.nan), ValueError, "p must be a whole number, 1 or more, got nan"),
    "negative theta": (dict(theta_norm=-1.0), ValueError, "theta_norm must be finite and not negative, got -1.0"),
    "t > 1": (dict(t=1.1), ValueError, r"t must be in \[0, 1\], got 1.1"),
    "sigma = 0": (dict(sigma=0.0), ValueError, "sigma must be finite and positive, got 0.0"),
    "few nodes": (dict(num_nodes=3), ValueError, "num_nodes must be at least 4, got 3"),
    "half a node": (dict(num_nodes=8.0), TypeError, "num_nodes must be an int, got float"),
}


@pytest.mark.parametrize("change, error, message", BAD.values(), ids=BAD.keys())
def test_bad_arguments(change, error, message):
    with pytest.raises(error, match=message):
        expected_errors(**{**CELL, **change})
