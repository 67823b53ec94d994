"""The limit p/n -> c against adaptive quadrature, root finding and finite differences of the definitions.

Paper: Theorems 3.1 to 3.3 and 5.1 to 5.3. A score is v ~ N(m, w), m = (1-t) |theta|^2, w = (1-t)^2 (|theta|^2 + c).
"""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from mixjax.gaussian import mixup_weight, population_ece, population_mce
from mixjax.gaussian.limits import best_weight, critical_ratio, critical_weight, derivative_at_zero, limit_scores

# --- the definitions, integrated -------------------------------------------------------------------


def gap(v, rho):
    """|s(2 rho v) - s(2v)| for v >= 0."""
    return np.abs(special.expit(2 * rho * v) - special.expit(2 * v))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


@cache
def ece(c, theta, t, norm=1):
    """(E gap(|v|)^r)^(1/r), v ~ N(m, w): 60 Gauss nodes on each panel between the scales of gap and density."""
    m, w = (1 - t) * theta**2, (1 - t) ** 2 * (theta**2 + c)
    rho, sd = m / w, np.sqrt(w)
    end = m + 12 * sd
    edges = np.unique(np.clip([0, 0.3, 1, 3, 10, sd, m - 5 * sd, m - 2 * sd, m, m + 2 * sd, m + 5 * sd, end], 0, end))
    width = np.diff(edges)[:, None]
    v = edges[:-1, None] + width * (NODES + 1) / 2
    density = stats.norm.pdf(v, m, sd) + stats.norm.pdf(-v, m, sd)
    return np.sum(width * WEIGHTS / 2 * gap(v, rho) ** norm * density) ** (1 / norm)


@pytest.mark.parametrize("norm", [1, 2])
def test_reference_is_that_of_quadpack(norm):
    """The rule above against adaptive quadrature over z, split where v = 0."""
    for c, theta, t in [(0.1, 1, 0), (2, 2, 1 / 3), (40, 2, 0.9), (1, 0.3, 0.5)]:
        m, sd = (1 - t) * theta**2, (1 - t) * np.sqrt(theta**2 + c)
        f = lambda z, m=m, sd=sd: stats.norm.pdf(z) * gap(abs(m + sd * z), m / sd**2) ** norm  # noqa: E731
        parts = [
            integrate.quad(f, a, b, epsabs=1e-14, limit=200)[0] for a, b in [(-12, -m / sd), (-m / sd, 3), (3, 12)]
        ]
        np.testing.assert_allclose(ece(c, theta, t, norm), sum(parts) ** (1 / norm), rtol=0, atol=1e-12)


def mce(c, theta, t):
    rho = theta**2 / ((1 - t) * (theta**2 + c))
    peak = optimize.minimize_scalar(
        lambda v: -gap(v, rho), bounds=(1e-9, 20), method="bounded", options={"xatol": 1e-12}
    )
    return -peak.fun


def error_of_norm(norm):
    return mce if np.isinf(norm) else partial(ece, norm=norm)


NORMS = (1, 2, np.inf)
WITH_NORMS = pytest.mark.parametrize("norm", NORMS, ids=["ECE", "ECE_2", "MCE"])


SIZE = 36  # of every batch of boundaries below, so that each function is compiled once for each norm and dtype


def boundary(function, first, second, norm=1):
    """`critical_weight` or `critical_ratio` at pairs, in batches of SIZE."""
    first, second = (np.atleast_1d(a).astype(float) for a in np.broadcast_arrays(first, second))
    padded = (np.pad(a, (0, SIZE - len(a)), mode="edge") for a in (first, second))
    return np.asarray(function(*padded, norm=norm))[: len(first)]


weights_at, ratios_at = partial(boundary, critical_weight), partial(boundary, critical_ratio)


def limit_error(c, theta, t, norm):
    """The library's own error of the limit, a scalar function to differentiate."""
    law = limit_scores(c, theta, t)
    return population_mce(law) if np.isinf(norm) else population_ece(law, norm=norm)


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


@WITH_NORMS
def test_mixup_helps_on_the_right_side(norm):
    """The sign of ECE_t - ECE_0 on either side of both boundaries."""
    error = error_of_norm(norm)
    t, c = float(weights_at(0.5, 2.0, norm=norm)[0]), float(ratios_at(2.0, 0.3, norm=norm)[0])
    assert error(0.5, 2.0, 0.99 * t) < error(0.5, 2.0, 0) < error(0.5, 2.0, 1.01 * t)
    assert error(1.01 * c, 2.0, 0.3) < error(1.01 * c, 2.0, 0)
    assert error(0.99 * c, 2.0, 0.3) > error(0.99 * c, 2.0, 0)


@WITH_NORMS
def test_weight_and_ratio_are_inverse(norm):
    theta, t = (a.ravel() for a in np.meshgrid([0.3, 1.0, 2.0, 4.0], [0.01, 0.1, 1 / 3, 0.49]))
    np.testing.assert_allclose(weights_at(ratios_at(theta, t, norm=norm), theta, norm=norm), t, rtol=1e-8)


def test_closed_forms_of_the_mce():
    theta, c, t = np.array([0.5, 1.0, 3.0]), np.array([0.1, 1.0, 20.0]), np.array([0.1, 0.3, 0.6])
    np.testing.assert_allclose(critical_weight(c, theta, norm=np.inf), 1 - (theta**2 / (theta**2 + c)) ** 2, rtol=1e-14)
    np.testing.assert_allclose(critical_ratio(theta, t, norm=np.inf), theta**2 * ((1 - t) ** -0.5 - 1), rtol=1e-14)


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


@pytest.mark.parametrize("norm", [1, np.inf], ids=["ECE", "MCE"])
@pytest.mark.parametrize(
    "function, points", [(critical_weight, ([0.5, 0.1], [2.0, 1.0])), (critical_ratio, ([2.0, 1.0], [1 / 3, 0.1]))]
)
def test_gradients_of_the_boundaries(function, points, norm):
    """Against central differences of the boundary itself: truncation 1e-8, rounding 1e-13 / 1e-4."""
    points = np.array(points)
    gradient = jax.jit(jax.grad(lambda *args: jnp.sum(function(*args, norm=norm)), (0, 1)))(*points)
    for index in (0, 1):
        step = 1e-4 * np.eye(2)[index][:, None]
        difference = boundary(function, *(points + step), norm) - boundary(function, *(points - step), norm)
        np.testing.assert_allclose(gradient[index], difference / 2e-4, rtol=1e-6)
        assert np.abs(gradient[index]).min() > 0.05


# --- accuracy of the docstrings ---------------------------------------------------------------------

SIGNALS = np.array([0.1, 1.0, 2.0, 4.0, 8.0])
LITTLE_TO_MUCH = np.array([1e-6, 1e-4, 0.01, 0.1, 1 / 3, 0.6, 0.9])
FRACTIONAL = 1.2


def log_gap(u, keep, plain, apart):
    """log of |s(2 plain u) - s(2 keep u)| = sinh(apart u) / (2 cosh(plain u) cosh(keep u)), apart = |plain - keep|."""
    ends = np.log1p(np.exp(-2 * keep * u)) + np.log1p(np.exp(-2 * plain * u))
    return np.log(-np.expm1(-2 * apart * u)) - 2 * np.minimum(keep, plain) * u - ends


def exact_excess(c, theta, t, norm):
    """log(E gap_t^r / E gap_0^r), with every small difference exact.

    At the plain classifier's score u Mixup claims s(2 (1-t) u), it claims s(2u), and s(2 rho_0 u) is true.
    """
    square, var = theta**2, theta**2 + c
    sd, plain = np.sqrt(var), square / var
    around = np.maximum(square + sd * np.arange(-40, 41), 0)
    edges = np.unique(np.concatenate([[0], 2.0 ** np.arange(-12, 6), around]))
    width = np.diff(edges)[:, None]
    u = edges[:-1, None] + width * (NODES + 1) / 2
    log_density = np.log1p(np.exp(-2 * plain * u)) - (u - square) ** 2 / (2 * var)  # folded, up to a constant
    moments = [
        special.logsumexp(norm * log_gap(u, keep, plain, apart) + log_density, b=width * WEIGHTS)
        for keep, apart in ((1 - t, abs(t - c / var)), (1.0, c / var))
    ]
    return moments[0] - moments[1]


@cache
def exact_ratio(theta, t, norm):
    """The boundary, by Brent's method in the share of theta^2 t / (1 - t)."""
    end = theta**2 * t / (1 - t)
    return end * optimize.brentq(
        lambda part: exact_excess(part * end, theta, t, norm), 1e-6, 1 - 1e-6, xtol=1e-15, rtol=1e-14
    )


@pytest.mark.parametrize("norm", [1, 2, FRACTIONAL, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_accuracy_of_the_boundaries(dtype, norm):
    """And NaN where the ECE, about exp(-theta^2 / 2), underflows: bisection would take a zero beside the root."""
    theta, t = (a.ravel() for a in np.meshgrid(SIGNALS, LITTLE_TO_MUCH))
    double, fractional = dtype == np.float64, norm == FRACTIONAL
    if np.isinf(norm):
        exact = theta**2 * np.expm1(-0.5 * np.log1p(-t))
    else:
        exact = np.array([exact_ratio(*pair, norm) for pair in zip(theta, t, strict=True)])
    loud = np.append(theta, 50 if double else 20).astype(dtype)
    ratio = critical_ratio(loud, np.append(t, 0.3).astype(dtype), norm=norm)
    weight = critical_weight(np.append(exact, 0.5).astype(dtype), loud, norm=norm)
    assert ratio.dtype == weight.dtype == dtype
    np.testing.assert_allclose(ratio[:-1], exact, rtol=(5e-8 if fractional else 1e-11) if double else 1e-5)
    np.testing.assert_allclose(weight[:-1], t, rtol=0, atol=(1e-8 if fractional else 1e-11) if double else 5e-6)
    np.testing.assert_array_equal(np.isnan([ratio[-1], weight[-1]]), not np.isinf(norm))


# --- derivatives at alpha -> 0+ --------------------------------------------------------------------

POINTS = [(0.1, 1.0), (1.0, 1.0), (1.0, 2.0), (9.0, 0.5), (40.0, 3.0), (1e-3, 2.0)]
AT_POINTS = pytest.mark.parametrize("c, theta", POINTS)
C, THETA = np.array(POINTS).T


@pytest.fixture(scope="module")
def derivatives():
    """d ECE / dt and d MCE / dt at t = 0 (2 / (beta + 1) is 1 at beta = 1) at POINTS."""
    return {norm: np.asarray(derivative_at_zero(C, THETA, beta=1.0, norm=norm)) for norm in (1, np.inf)}


def test_ece_derivative_is_the_integral(derivatives):
    """-(1/2) E |v| sech^2 v by mpmath."""
    for (c, theta), found in zip(POINTS, derivatives[1], strict=True):
        m, w = theta**2, theta**2 + c

        def integrand(v, m=m, w=w):
            return mpmath.npdf(v, m, mpmath.sqrt(w)) * abs(v) * mpmath.sech(v) ** 2

        expected = -mpmath.quad(integrand, [-40, -5, -1, 0, 1, 3, 6, 15, 40]) / 2
        np.testing.assert_allclose(found, float(expected), rtol=1e-11)


def test_mce_derivative_is_the_closed_form(derivatives):
    """-(1/2) v sech^2 v at the stationary point of tanh v - tanh rho v, by Brent's method."""
    for (c, theta), found in zip(POINTS, derivatives[np.inf], strict=True):
        rho = theta**2 / (theta**2 + c)
        v = optimize.brentq(
            lambda v, rho=rho: np.log(np.cosh(v) / np.cosh(rho * v)) + np.log(rho) / 2, 1e-3, 20, xtol=1e-14
        )
        np.testing.assert_allclose(found, -0.5 * v / np.cosh(v) ** 2, rtol=1e-8 if rho < 0.999 else 1e-5)


@pytest.mark.parametrize("norm", [1, np.inf], ids=["ECE", "MCE"])
def test_derivative_is_that_of_autodiff(norm, derivatives):
    """Of the limit's error: backward in t, and forward in alpha through the Mixup weight."""
    error = partial(limit_error, norm=norm)
    backward = jax.jit(jax.vmap(jax.grad(error, 2)))(C, THETA, np.zeros_like(C))
    np.testing.assert_allclose(backward, derivatives[norm], rtol=1e-9)
    forward = jax.jit(lambda alpha: jax.jvp(lambda a: error(1.0, 2.0, mixup_weight(a, 3.0)), (alpha,), (1.0,))[1])
    np.testing.assert_allclose(forward(0.0), derivatives[norm][2] * 2 / (3 + 1), rtol=1e-9)


@pytest.mark.parametrize("norm", [1, np.inf], ids=["ECE", "MCE"])
def test_derivative_where_the_plain_classifier_is_calibrated(norm):
    """At c = 0 any Mixup hurts: (error_t - 0) / t at t = 1e-6, by the definition, is the one-sided derivative."""
    thetas = np.array([0.5, 1.0, 2.0])
    found = derivative_at_zero(0.0, thetas, beta=1.0, norm=norm)
    slope = [error_of_norm(norm)(0.0, theta, 1e-6) / 1e-6 for theta in thetas]
    np.testing.assert_allclose(found, slope, rtol=1e-5)
    just_above = derivative_at_zero(1e-12, thetas, beta=1.0, norm=norm)
    np.testing.assert_allclose(just_above, -found, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivative_without_signal(dtype):
    """Of the MCE, which is 1/2 for every t, 0; of the ECE -E |v| sech^2(v) / 2, v ~ N(0, c); NaN without a law."""
    mce, ece_slope = (derivative_at_zero(dtype([1, 0]), dtype(0), beta=dtype(1), norm=norm) for norm in (np.inf, 1))
    np.testing.assert_array_equal(mce, [0, np.nan])
    expected = -integrate.quad(lambda v: stats.norm.pdf(v) * v / np.cosh(v) ** 2, 0, 12, epsabs=1e-14)[0]
    np.testing.assert_allclose(ece_slope, [expected, np.nan], rtol=1e-5 if dtype == np.float32 else 1e-11)


@pytest.mark.parametrize("norm, tolerance", [(1, 1e-5), (np.inf, 3e-4)], ids=["ECE", "MCE"])
def test_derivative_in_float32(norm, tolerance):
    c, theta = (a.ravel() for a in np.meshgrid([1e-6, 1e-3, 0.1, 1, 30], SIGNALS))
    single = derivative_at_zero(c.astype(np.float32), theta.astype(np.float32), beta=np.float32(1), norm=norm)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, derivative_at_zero(c, theta, beta=1.0, norm=norm), rtol=tolerance)


def test_derivative_scales_with_beta(derivatives):
    betas = np.array([0.5, 1.0, 4.0])
    found = derivative_at_zero(1.0, 2.0, beta=betas)
    np.testing.assert_allclose(found, derivatives[1][2] * 2 / (betas + 1), rtol=1e-14)


def test_a_little_mixup_helps_by_the_derivative():
    """(ECE_t - ECE_0) / t at t = 1e-5, integrated, is the derivative up to O(t)."""
    slope = (ece(1.0, 2.0, 1e-5) - ece(1.0, 2.0, 0)) / 1e-5
    np.testing.assert_allclose(derivative_at_zero(1.0, 2.0, beta=1.0), slope, rtol=1e-4)


# --- which of the paper's monotonicity claims hold (theory, section 6) -----------------------------

RATIOS = np.geomspace(1e-3, 200, 400)
FALLS_UP_TO = {0.25: 0.371, 2.5: 1.48, 3: 3.90, 4: 9.99, 6: 28.0, 9: 70.0}  # |theta|^2 -> c, to three digits
RISES = (0.42, 1.0, 1.7, 2.2)


@pytest.fixture(scope="module")
def slopes():
    """The derivative of the ECE on RATIOS for each |theta|^2."""
    squares = np.array([*FALLS_UP_TO, *RISES])
    values = derivative_at_zero(RATIOS, np.sqrt(squares)[:, None], beta=1.0)
    return dict(zip(squares.tolist(), np.asarray(values), strict=True))


@pytest.mark.parametrize("square", RISES)
def test_ece_derivative_rises_with_the_ratio_for_moderate_signal(square, slopes):
    """Theorem 3.3 claims that it falls."""
    assert (slopes[square] < 0).all()
    assert (np.diff(slopes[square]) > 0).all()


@pytest.mark.parametrize("square, last", FALLS_UP_TO.items())
def test_ece_derivative_falls_up_to_a_ratio(square, last, slopes):
    """...and so it does for a strong signal, up to a ratio, and for a very weak one."""
    rises = np.diff(slopes[square]) > 0
    inside, outside = RATIOS[1:] < 0.99 * last, RATIOS[:-1] > 1.01 * last
    assert inside.any()
    assert outside.any()
    assert not rises[inside].any()
    assert rises[outside].all()


def test_mce_derivative_rises_with_the_ratio():
    """Theorem 5.3 claims the opposite, for every signal that is large enough."""
    squares = np.array([[0.1], [1.0], [4.0], [16.0], [100.0]])
    slopes = derivative_at_zero(RATIOS, np.sqrt(squares), beta=1.0, norm=np.inf)
    assert (slopes < 0).all()
    assert (np.diff(slopes, axis=1) > 0).all()


# --- shapes, dtypes, errors ------------------------------------------------------------------------


def test_arguments_broadcast():
    ratio, theta, t = np.ones((3, 1)), np.ones(4), np.full((2, 1, 1), 0.2)
    assert limit_scores(ratio, theta, t).mean.shape == (2, 3, 4)
    assert best_weight(ratio, theta).shape == critical_weight(ratio, theta, norm=np.inf).shape == (3, 4)
    assert critical_ratio(theta, t, norm=np.inf).shape == (2, 1, 4)
    assert derivative_at_zero(ratio, theta, beta=np.ones((2, 1, 1)), norm=np.inf).shape == (2, 3, 4)
    for scalar in (best_weight(1, 2), critical_weight(1, 2), derivative_at_zero(1, 2, beta=1)):
        assert scalar.shape == ()
        assert scalar.dtype == jnp.float64


def test_batch_equals_one_by_one():
    theta, t = np.array([0.5, 2.0, 3.0]), np.array([0.1, 0.4, 0.2])
    together = ratios_at(theta, t)
    for i in range(3):
        np.testing.assert_allclose(together[i], ratios_at(theta[i], t[i]), rtol=1e-13)


def test_changing_values_does_not_recompile(compilations):
    weights_at(0.3, 1.0), ratios_at(1.0, 0.3)
    del compilations[:]
    for value in np.linspace(0.1, 0.4, 5):
        weights_at(value, 1.5), ratios_at(1 + value, value)
    assert not compilations


BAD_CALLS = {
    "negative ratio": (lambda: limit_scores(-0.1, 1, 0), "ratio must be finite and not negative, got -0.1"),
    "infinite ratio": (lambda: critical_weight(np.inf, 1), "ratio must be finite and not negative, got inf"),
    "NaN ratio": (lambda: best_weight([1.0, np.nan], 1), "ratio must be finite and not negative, got nan"),
    "negative theta": (lambda: critical_ratio(-1, 0.2), "theta_norm must be finite and not negative, got -1"),
    "t above 1": (lambda: limit_scores(1, 1, 1.5), r"t must be in \[0, 1\], got 1.5"),
    "t = 1": (lambda: critical_ratio(1, 1.0), r"t must be in \[0, 1\), got 1.0"),
    "negative t": (lambda: critical_ratio(1, -0.1), r"t must be in \[0, 1\), got -0.1"),
    "beta = 0": (lambda: derivative_at_zero(1, 1, beta=0.0), "beta must be finite and positive, got 0.0"),
    "norm -inf": (lambda: derivative_at_zero(1, 1, beta=1, norm=-np.inf), "norm must be 1 or inf, got -inf"),
    "norm -inf, weight": (lambda: critical_weight(1, 1, norm=-np.inf), "norm must be at least 1, got -inf"),
    "norm -inf, ratio": (lambda: critical_ratio(1, 0.5, norm=-np.inf), "norm must be at least 1, got -inf"),
    "norm 2": (lambda: derivative_at_zero(1, 1, beta=1, norm=2), "norm must be 1 or inf, got 2"),
    "norm below 1": (lambda: critical_weight(1, 1, norm=0.5), "norm must be at least 1, got 0.5"),
    "norm below 1, ratio": (lambda: critical_ratio(1, 0.5, norm=0.5), "norm must be at least 1, got 0.5"),
}


@pytest.mark.parametrize("call, message", BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
