"""The limit p/n -> c against adaptive quadrature and root finding of the definitions.

Paper: Theorems 3.1, 3.2, 5.1 and 5.2. A score is v ~ N(m, w), m = (1-t) |theta|^2, w = (1-t)^2 (|theta|^2 + c).
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from mixjax.gaussian import mixup_weight, population_ece
from mixjax.gaussian.capacity import derivative_at_zero
from mixjax.gaussian.limits import best_weight, critical_ratio, critical_weight, limit_scores
from tests.gaussian.limit_errors import boundary, ece, error_of_norm, gap

NORMS = (1, 2, np.inf)
WITH_NORMS = pytest.mark.parametrize("norm", NORMS, ids=["ECE", "ECE_2", "MCE"])
weights_at, ratios_at = partial(boundary, critical_weight), partial(boundary, critical_ratio)


@pytest.mark.parametrize("norm", [1, 2])
def test_reference_is_that_of_quadpack(norm):
    """The rule of the reference against adaptive quadrature over z, split where v = 0."""
    for c, theta, t in [(0.1, 1, 0), (2, 2, 1 / 3), (40, 2, 0.9), (1, 0.3, 0.5)]:
        m, sd = (1 - t) * theta**2, (1 - t) * np.sqrt(theta**2 + c)
        f = lambda z, m=m, sd=sd: stats.norm.pdf(z) * gap(abs(m + sd * z), m / sd**2) ** norm  # noqa: E731
        parts = [
            integrate.quad(f, a, b, epsabs=1e-14, limit=200)[0] for a, b in [(-12, -m / sd), (-m / sd, 3), (3, 12)]
        ]
        np.testing.assert_allclose(ece(c, theta, t, norm), sum(parts) ** (1 / norm), rtol=0, atol=1e-12)


# --- the law ---------------------------------------------------------------------------------------


def test_law_is_that_of_section_5():
    c, theta, t = np.meshgrid([0, 0.1, 1, 30], [0, 0.3, 1, 4], [0, 0.2, 0.5, 1], indexing="ij")
    law = limit_scores(c, theta, t)
    np.testing.assert_allclose(law.mean, (1 - t) * theta**2, rtol=1e-15)
    np.testing.assert_allclose(law.var, (1 - t) ** 2 * (theta**2 + c), rtol=1e-13, atol=1e-15)


def test_gap_does_not_cancel():
    """At c = 1e-12 the difference of mean and variance in float64 has four digits; the gap must have all."""
    law = limit_scores(1e-12, 2.0, 0.0)
    np.testing.assert_allclose(law.gap, 1e-12, rtol=1e-15)
    np.testing.assert_allclose(limit_scores(np.float32(1e-9), np.float32(2), np.float32(0)).gap, 1e-9, rtol=1e-6)


def test_best_weight_without_signal_or_noise():
    np.testing.assert_array_equal(best_weight([1.0, 0.0, 0.0], [0.0, 2.0, 0.0]), [1, 0, np.nan])


@pytest.mark.medium
def test_best_weight_calibrates_exactly():
    c, theta = np.array([0.1, 1.0, 3.9, 50.0]), np.array([1.0, 0.5, 2.0, 3.0])
    best = best_weight(c, theta)
    np.testing.assert_allclose(best, c / (c + theta**2), rtol=1e-15)
    assert population_ece(limit_scores(c, theta, best)).max() < 1e-15
    for c_i, theta_i, best_i in zip(c, theta, best, strict=True):
        assert ece(c_i, theta_i, float(best_i)) < 1e-14 < ece(c_i, theta_i, float(best_i) + 0.01)


# --- critical weight and critical ratio ------------------------------------------------------------

# |theta|^2, c -> the second root of ECE_t = ECE_0 (theory, section 5, to six digits)
CRITICAL_WEIGHTS = {(1, 0.1): 0.170217, (1, 0.3): 0.395229, (4, 0.5): 0.195773, (4, 2): 0.488964}


def test_critical_weights_of_the_theory():
    (square, c), expected = np.array(list(CRITICAL_WEIGHTS)).T, list(CRITICAL_WEIGHTS.values())
    np.testing.assert_allclose(weights_at(c, np.sqrt(square)), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("square, last", [(0.25, 0.370), (1, 2.97), (4, 37.6)])
def test_beyond_a_ratio_every_weight_helps(square, last):
    """The last c with a root is known to three digits."""
    theta = np.sqrt(square)
    below, above = weights_at(np.array([0.99, 1.01]) * last, theta)
    assert below < 1
    assert above == np.inf
    weights = np.linspace(0.02, 0.999, 40)
    assert all(ece(1.01 * last, theta, t) < ece(1.01 * last, theta, 0) for t in weights)
    assert any(ece(0.97 * last, theta, t) > ece(0.97 * last, theta, 0) for t in weights)


def test_critical_ratios_of_the_theory():
    t = mixup_weight(1.0, 1.0)
    np.testing.assert_allclose(ratios_at(2.0, t), 1.0411, rtol=0, atol=6e-5)
    np.testing.assert_allclose(ratios_at(2.0, t, norm=np.inf), 0.8990, rtol=0, atol=6e-5)


@pytest.mark.few(1)
@WITH_NORMS
def test_critical_weight_is_the_root(norm):
    """Brent's method on errors integrated by QUADPACK."""
    thetas, ratios = np.array([0.5, 1.0, 2.0, 4.0]), np.array([0.1, 0.3, 0.5, 2.0])
    found, error = weights_at(ratios, thetas, norm=norm), error_of_norm(norm)
    for theta, c, t in zip(thetas, ratios, found, strict=True):
        start = c / (theta**2 + c)
        root = optimize.brentq(
            lambda s, c=c, theta=theta: error(c, theta, s) - error(c, theta, 0), start, 1 - 1e-6, xtol=1e-13
        )
        np.testing.assert_allclose(t, root, rtol=0, atol=1e-9)


@pytest.mark.few(1)
@WITH_NORMS
def test_critical_ratio_is_the_root(norm):
    thetas, weights = np.array([0.3, 1.0, 2.0, 4.0]), np.array([0.05, 1 / 3, 0.45, 0.49])
    found, error = ratios_at(thetas, weights, norm=norm), error_of_norm(norm)
    for theta, t, c in zip(thetas, weights, found, strict=True):
        end = theta**2 * t / (1 - t)
        root = optimize.brentq(
            lambda b, theta=theta, t=t: error(b, theta, t) - error(b, theta, 0), 1e-4 * end, end, xtol=1e-13
        )
        np.testing.assert_allclose(c, root, rtol=1e-8)


@pytest.mark.medium
@WITH_NORMS
def test_weight_and_ratio_are_inverse(norm):
    theta, t = (a.ravel() for a in np.meshgrid([0.3, 1.0, 2.0, 4.0], [0.01, 0.1, 1 / 3, 0.49]))
    np.testing.assert_allclose(weights_at(ratios_at(theta, t, norm=norm), theta, norm=norm), t, rtol=1e-8)


def test_closed_forms_of_the_mce():
    theta, c, t = np.array([0.5, 1.0, 3.0]), np.array([0.1, 1.0, 20.0]), np.array([0.1, 0.3, 0.6])
    np.testing.assert_allclose(critical_weight(c, theta, norm=np.inf), 1 - (theta**2 / (theta**2 + c)) ** 2, rtol=1e-14)
    np.testing.assert_allclose(critical_ratio(theta, t, norm=np.inf), theta**2 * ((1 - t) ** -0.5 - 1), rtol=1e-14)


@pytest.mark.medium
@WITH_NORMS
def test_degenerate_boundaries(norm):
    """Without signal every weight helps the ECE, and none changes the MCE; at c = 0 none helps; (0, 0) is no law."""
    mce = np.isinf(norm)
    np.testing.assert_array_equal(
        ratios_at([0.0, 0.0, 2.0], [0.3, 0.0, 0.0], norm=norm), [*[np.nan if mce else 0] * 2, 0]
    )
    expected = [np.nan if mce else np.inf, 0, np.nan]
    np.testing.assert_array_equal(weights_at([1.0, 0.0, 0.0], [0.0, 2.0, 0.0], norm=norm), expected)
    same, changed = (error_of_norm(norm)(1.0, 0.0, t) for t in (0.0, 0.3))
    assert (abs(same - changed) < 1e-12) == mce  # by the definition


POINTS = {critical_weight: ([0.5, 0.1], [2.0, 1.0]), critical_ratio: ([2.0, 1.0], [1 / 3, 0.1])}


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, np.inf])
@pytest.mark.parametrize("function", POINTS)
def test_gradients_of_the_boundaries(function, norm):
    """Against central differences of the boundary itself: truncation 1e-8, rounding 1e-13 / 1e-4."""
    points = np.array(POINTS[function])
    gradient = jax.jit(jax.grad(lambda *args: jnp.sum(function(*args, norm=norm)), (0, 1)))(*points)
    for index in (0, 1):
        step = 1e-4 * np.eye(2)[index][:, None]
        difference = boundary(function, *(points + step), norm) - boundary(function, *(points - step), norm)
        np.testing.assert_allclose(gradient[index], difference / 2e-4, rtol=1e-6)
        assert np.abs(gradient[index]).min() > 0.05


# --- shapes, dtypes, errors ------------------------------------------------------------------------


@pytest.mark.slow
def test_arguments_broadcast():
    ratio, theta, t = np.ones((3, 1)), np.ones(4), np.full((2, 1, 1), 0.2)
    calls = {
        (2, 3, 4): [partial(limit_scores, ratio, theta, t), partial(derivative_at_zero, ratio, theta, beta=1 + t)],
        (3, 4): [partial(best_weight, ratio, theta), partial(critical_weight, ratio, theta)],
        (2, 1, 4): [partial(critical_ratio, theta, t)],
        (): [partial(best_weight, 1, 2), partial(critical_weight, 1, 2), partial(derivative_at_zero, 1, 2)],
    }
    for shape, functions in calls.items():
        for function in functions:
            for found in jax.tree.leaves(jax.eval_shape(function)):
                assert found.shape == shape
                assert found.dtype == jnp.float64


def test_changing_values_does_not_recompile(compilations):
    weights_at(0.3, 1.0), ratios_at(1.0, 0.3)
    del compilations[:]
    for value in np.linspace(0.1, 0.4, 5):
        weights_at(value, 1.5), ratios_at(1 + value, value)
    assert not compilations


@pytest.mark.parametrize("norm", [0.5, -np.inf])
@pytest.mark.parametrize("critical", [critical_weight, critical_ratio])
def test_norms_below_one_are_refused(critical, norm):
    with pytest.raises(ValueError, match=f"norm must be at least 1, got {norm}"):
        critical(1.0, 0.5, norm=norm)
