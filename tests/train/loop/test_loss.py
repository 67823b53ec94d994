"""Cross-entropy: soft targets, labels, and the two terms of the reference code are one loss."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax

from mixjax.train.loop.loss import cross_entropy, smooth

CLASSES = 6


@pytest.fixture
def logits(rng):
    return (4 * rng.normal(size=(40, CLASSES))).astype(np.float32)


def reference(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return -log_softmax(logits.astype(np.float64), axis=1)[np.arange(len(labels)), labels]


def test_soft_targets_are_the_two_terms_of_the_reference_code(rng, logits):
    """It is lambda CE(own) + (1 - lambda) CE(partner's), to 1e-6 of the loss."""
    own, other, lam = rng.integers(0, CLASSES, 40), rng.integers(0, CLASSES, 40), rng.beta(1, 1, 40)
    targets = lam[:, None] * np.eye(CLASSES)[own] + (1 - lam)[:, None] * np.eye(CLASSES)[other]
    expected = lam * reference(logits, own) + (1 - lam) * reference(logits, other)
    found = cross_entropy(jnp.asarray(logits), jnp.asarray(targets, jnp.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.medium
def test_smoothed_labels_are_those_of_the_paper_and_of_the_theory(logits):
    """PyTorch's loss in two terms; in two classes the theory's labels -1 and +1, shrunk by 1 - epsilon."""
    labels, log_probs = np.arange(40) % CLASSES, log_softmax(logits.astype(np.float64), axis=1)
    found = cross_entropy(jnp.asarray(logits), smooth(jnp.asarray(np.eye(CLASSES, dtype=np.float32)[labels]), 0.1))
    expected = -0.9 * log_probs[np.arange(40), labels] - 0.1 * log_probs.mean(1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    two = smooth(jnp.eye(2), 0.1)
    np.testing.assert_allclose(two[:, 1] - two[:, 0], [-0.9, 0.9], rtol=1e-6)
    one_hot = jnp.eye(CLASSES)
    assert smooth(one_hot, 0.0) is one_hot


def test_labels_count_as_one_hot_vectors(rng, logits):
    labels = rng.integers(0, CLASSES, 40).astype(np.int32)
    by_label = cross_entropy(jnp.asarray(logits), jnp.asarray(labels))
    np.testing.assert_array_equal(
        by_label, cross_entropy(jnp.asarray(logits), jnp.asarray(np.eye(CLASSES, dtype=np.float32)[labels]))
    )
    np.testing.assert_allclose(by_label, reference(logits, labels), rtol=1e-6, atol=1e-6)


def test_a_row_without_a_label_counts_nothing():
    assert cross_entropy(jnp.ones((1, 3), jnp.float32), jnp.array([-1], jnp.int32))[0] == 0


def test_bfloat16_logits_are_computed_with_in_float32():
    """Of logits that bfloat16 holds exactly, the loss is that of float32."""
    logits = np.array([[20.0, 1.5, -3.0], [40.0, 39.5, 0.25]], np.float32)
    found = cross_entropy(jnp.asarray(logits, jnp.bfloat16), jnp.array([1, 1], jnp.int32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, cross_entropy(jnp.asarray(logits), jnp.array([1, 1], jnp.int32)))


@pytest.mark.slow
def test_large_logits_overflow_nothing():
    assert cross_entropy(jnp.array([[1e30, -1e30]], jnp.float32), jnp.array([0], jnp.int32))[0] == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 4), (1, 2, 3)])
def test_targets_of_another_shape(shape):
    """A wrong rank or size raises."""
    with pytest.raises(ValueError, match=r"targets must be labels \[N\] or have the shape of the logits, \(2, 3\)"):
        cross_entropy(jnp.zeros((2, 3), jnp.float32), jnp.zeros(shape, jnp.float32))
