"""KDE calibration error: against densities of SciPy, on the boundary, and its derivatives."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import beta

from mixjax.calibration import kde_ece, kde_ece_canonical

GRID = np.geomspace(1e-4, 1, 17)


def log_kernels(g, f, h):
    """log k(g_j; f_i), [j, i], from the densities."""
    if f.ndim == 1:
        return beta.logpdf(g[:, None], f[None] / h + 1, (1 - f[None]) / h + 1)
    a = f / h + 1
    return gammaln(a.sum(1)) - gammaln(a).sum(1) + np.log(g) @ (a - 1).T


def literal(g, f, targets, claims, h=None, norm=1):
    """From the definition, kernels being evaluated at g."""
    n = len(f)
    if h is None:
        h = GRID[np.argmax([likelihood(log_kernels(g, f, h)) for h in GRID])]
    log_k = log_kernels(g, f, h)
    log_k[np.arange(n), np.arange(n)] = -np.inf
    weights = np.exp(log_k - log_k.max(1, keepdims=True))
    gaps = np.abs(weights @ targets / weights.sum(1, keepdims=True) - claims)
    return gaps.max() if norm == np.inf else ((gaps**norm).sum() / n) ** (1 / norm)


def likelihood(log_k):
    log_k = np.where(np.eye(len(log_k), dtype=bool), -np.inf, log_k)
    return logsumexp(log_k, axis=1).sum()


def binary(confidence, correct, h=None, norm=1, g=None):
    return literal(confidence if g is None else g, confidence, correct[:, None], confidence[:, None], h, norm)


SIZE = 131


@pytest.mark.few(1)
@pytest.mark.parametrize(("bandwidths", "norm"), [((None,), 2), ((1e-3, 0.02, 1.0), 1), *(
    pytest.param((0.02,), norm, marks=pytest.mark.slow) for norm in (60, np.inf)
)])  # fmt: skip
def test_beta_densities_agree(bandwidths, norm, rng):
    confidence = rng.beta(4, 1.5, SIZE)
    correct = rng.random(SIZE) < 0.8 * confidence
    for h in bandwidths:
        narrow = confidence.astype(np.float32)
        expected = binary(narrow.astype(np.float64), correct, h, norm)
        np.testing.assert_allclose(kde_ece(narrow, correct, bandwidth=h, norm=norm), expected, rtol=0, atol=1e-5)
    value = kde_ece(confidence, correct, bandwidth=0.02, norm=1)
    np.testing.assert_allclose(value, binary(confidence, correct, 0.02, 1), rtol=0, atol=1e-11)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize(("h", "dtype", "atol"), [
    (None, np.float64, 1e-11), (0.05, np.float32, 1e-5),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in [(None, np.float32, 1e-5), (0.05, np.float64, 1e-11)]),
])  # fmt: skip
def test_dirichlet_densities_agree(h, dtype, atol, rng):
    probs, labels = rng.dirichlet(np.ones(3), SIZE), rng.integers(0, 3, SIZE)
    expected = literal(probs, probs, np.eye(3)[labels], probs, h, norm=2)
    value = kde_ece_canonical(probs.astype(dtype), labels, bandwidth=h, norm=2)
    np.testing.assert_allclose(value, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("ends", [(0.0,), (1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 0.0)])
def test_on_the_boundary_kernels_are_limits(ends, rng):
    """...of evaluation next to it, one or several rows being there; also in float32, and also with ties inside."""
    confidence = np.concatenate([ends, [0.02, 0.02, 0.98], rng.uniform(0.05, 0.95, SIZE - 3 - len(ends))])
    correct = rng.random(SIZE) < 0.5
    near = np.clip(confidence, 1e-300, 1)
    one = confidence == 1  # no number is 1 - 1e-300, but its mirror image is
    mirrored = np.where(one, 1e-300, 1 - near)
    h = 0.05
    a, b = confidence / h + 1, (1 - confidence) / h + 1
    log_k = (
        (a - 1) * np.log(near)[:, None] + (b - 1) * np.log(mirrored)[:, None] + gammaln(a + b) - gammaln(a) - gammaln(b)
    )
    np.fill_diagonal(log_k, -np.inf)
    weights = np.exp(log_k - log_k.max(1, keepdims=True))
    expected = np.abs(weights @ correct / weights.sum(1) - confidence).mean()
    np.testing.assert_allclose(kde_ece(confidence, correct, bandwidth=h), expected, rtol=0, atol=1e-12)
    narrow = kde_ece(confidence.astype(np.float32), correct, bandwidth=h)
    np.testing.assert_allclose(narrow, expected, rtol=0, atol=1e-5)
    assert 0 <= kde_ece(confidence.astype(np.float32), correct, norm=2) <= 1


@pytest.mark.slow
def test_vectors_on_the_boundary():
    """A corner sees the centers with least mass off it: those of the corner, or the nearest."""
    probs = np.array([[1.0, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0.25, 0.75]])
    value = kde_ece_canonical(probs, [0, 1, 2, 1], bandwidth=0.1)
    ratios = np.array([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])  # the last is nearest to row 2
    np.testing.assert_allclose(value, np.abs(ratios - probs).sum() / 4, atol=1e-12)


@pytest.mark.slow
def test_many_rows_in_blocks(rng):
    """More than a block, and than those whose likelihood chooses the bandwidth."""
    confidence = rng.beta(2, 1, 600)
    correct = rng.random(600) < confidence
    value = kde_ece(confidence, correct)
    near = [binary(confidence, correct, h) for h in GRID[4:13]]
    assert min(abs(value - n) for n in near) < 1e-11
    order = rng.permutation(600)
    np.testing.assert_allclose(kde_ece(confidence[order], correct[order]), value, rtol=0, atol=1e-12)


@pytest.mark.medium
def test_second_derivatives_raise():
    with pytest.raises(NotImplementedError, match="kde_ece has first derivatives only, no second ones"):
        jax.hessian(kde_ece)(np.array([0.2, 0.7]), np.array([0, 1]), bandwidth=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_gradients_are_finite_differences(norm, rng):
    confidence = np.concatenate([[0.0, 1.0, 0.3, 0.3], rng.uniform(0.02, 0.98, SIZE - 4)])
    correct = rng.random(SIZE) < 0.5
    loss = lambda c: kde_ece(c, correct, bandwidth=0.02, norm=norm)  # noqa: E731
    gradient = jax.jit(jax.grad(loss))(confidence)
    assert np.isfinite(gradient).all()
    for i in (2, 4, 50, 130):
        step = 1e-6 * (np.arange(SIZE) == i)
        slope = (loss(confidence + step) - loss(confidence - step)) / 2e-6
        np.testing.assert_allclose(gradient[i], slope, rtol=1e-5, atol=1e-8)


@pytest.mark.slow
def test_canonical_gradients_are_finite_differences(rng):
    probs, labels = rng.dirichlet(np.ones(3), SIZE), rng.integers(0, 3, SIZE)
    probs[:3] = np.eye(3)[[0, 0, 2]]
    loss = lambda g: kde_ece_canonical(g, labels, bandwidth=0.05, norm=2)  # noqa: E731
    gradient = np.asarray(jax.jit(jax.grad(loss))(probs))
    assert np.isfinite(gradient).all()
    move = np.where(np.arange(SIZE) < 3, 0, rng.normal(size=SIZE))[:, None] * np.array([1.0, 0.5, -1.5])
    move *= 1e-6 * probs.min(axis=1, keepdims=True)
    slope = (loss(probs + move) - loss(probs - move)) / 2
    np.testing.assert_allclose(np.sum(gradient * move), slope, rtol=1e-5)


@partial(jax.jit, static_argnums=3)
@jax.grad
def slopes(confidence, correct, where, norm):
    return kde_ece(confidence, correct, where=where, norm=norm, bandwidth=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_gradients_are_finite(dtype):
    ends, small, ties = ([0, 0, 1, 1], [0, 1, 1, 0]), ([0, 1, 1e-38, 0.5], [0, 1, 0, 1]), ([0.5] * 4, [0, 1] * 2)
    for confidence, correct in (ends, small, ties):
        rows = np.array([*confidence, np.nan], dtype), np.array([*correct, 1]), np.arange(5) < 4
        for norm in (1, 2):
            gradient = slopes(*rows, norm)
            assert np.isfinite(gradient).all()
            assert gradient[4] == 0


def test_few_rows():
    """Two rows see each other, however far that is; one has no other."""
    both = [True, True]
    assert np.isnan(kde_ece(np.float32([0.5, 0.6]), [1, 1], where=[True, False], bandwidth=0.1))
    for confidence, correct, error in (([0.5, 0.6], [1, 1], 0.45), ([0.0, 1.0], [0, 0], 0.5)):
        value = kde_ece(np.float32(confidence), correct, where=both, bandwidth=0.1)
        np.testing.assert_allclose(value, error, rtol=1e-6)
    for tiny in (1e-40, 2e-38, 1e-30, 1e-9):
        np.testing.assert_allclose(kde_ece(np.float32([tiny, 1.0]), [0, 1], where=both, bandwidth=1e-4), 1)


def test_wrong_options_are_refused():
    for bandwidth, message in ((0.0, "finite and positive, got 0"), ([0.1], r"a scalar, got shape \(1,\)")):
        with pytest.raises(ValueError, match=f"bandwidth must be {message}"):
            kde_ece([0.5, 0.5], [1, 0], bandwidth=bandwidth)
        with pytest.raises(ValueError, match=f"bandwidth must be {message}"):
            kde_ece_canonical([[0.5, 0.5]], [1], bandwidth=bandwidth)
    assert np.isnan(jax.jit(lambda h: kde_ece([0.5, 0.6], [1, 0], bandwidth=h))(-1.0))
