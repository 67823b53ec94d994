"""The nnx metric: a stream is its rows, under jit, masked, and beside flax's own metrics."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from scipy.special import softmax

from mixjax.calibration.metric import CalibrationMetric
from tests.calibration.exact import binned_error

K = 4


@pytest.fixture
def batches(rng):
    """Five batches of 64 rows, the last half empty."""
    logits = rng.normal(size=(5, 64, K)).astype(np.float32)
    labels = rng.integers(0, K, (5, 64)).astype(np.int32)
    mask = np.ones((5, 64), bool)
    mask[-1, 32:] = False
    logits[-1, 40:] = np.nan
    return logits, labels, mask


def kept(batches):
    logits, labels, mask = batches
    return softmax(logits[mask], axis=-1), labels[mask]


def top(batches):
    """Confidence and correctness of the top label, in NumPy."""
    probs, labels = kept(batches)
    return probs.max(axis=-1), probs.argmax(axis=-1) == labels


@nnx.jit
def count(metric, logits, labels, mask):
    metric.update(logits=logits, labels=labels, mask=mask)


@pytest.mark.medium
def test_top_label_of_logits_under_jit(batches):
    metric = CalibrationMetric("logits", num_bins=10, norm=2)
    assert np.isnan(metric.compute())
    for batch in zip(*batches, strict=True):
        count(metric, *batch)
    np.testing.assert_allclose(metric.compute(), binned_error(*top(batches), num_bins=10, norm=2), atol=3e-7)
    assert metric.state.num_rows() == 4 * 64 + 32
    again = nnx.merge(*metric.split())
    np.testing.assert_array_equal(again.compute(), metric.compute())
    metric.reset()
    assert np.isnan(metric.compute())


@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [None, K])
@pytest.mark.parametrize("given", ["logits", "probs"])
def test_masked_rows_may_hold_anything(batches, given, num_classes):
    """`where` and `mask` are the same; with classes the error is class-wise."""
    logits, labels, mask = last = [part[-1] for part in batches]
    scores = np.where(mask[:, None], logits if given == "logits" else softmax(logits, axis=-1), np.inf)
    expected = binned_error(*top(last), num_bins=15)
    if num_classes:
        probs, kept_labels = kept(last)
        expected = np.mean([binned_error(probs[:, k], kept_labels == k, num_bins=15) for k in range(K)])
    for name in ("where", "mask"):
        metric = CalibrationMetric(given, num_classes=num_classes)
        metric.update(**{given: scores, name: mask}, labels=np.where(mask, labels, -1))
        np.testing.assert_allclose(metric.compute(), expected, atol=3e-7)


@pytest.mark.medium
def test_confidences(batches):
    confidence, correct = top(batches)
    metric, weights = CalibrationMetric("confidence", closed="right"), np.arange(len(correct)) % 5 + np.float32(1)
    metric.update(confidence=confidence, correct=correct, weights=weights)
    exact = binned_error(confidence, correct, num_bins=15, weights=weights, closed="right")
    np.testing.assert_allclose(metric.compute(), exact, atol=3e-7)


@pytest.mark.slow
def test_beside_other_metrics(batches):
    """`MultiMetric` gives every metric all keywords."""
    logits, labels, _ = batches
    both = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), ece=CalibrationMetric("logits"))
    with jax.numpy_dtype_promotion("standard"):  # flax's accuracy compares int64 with int32, and divides by int32
        both.update(logits=jnp.asarray(logits[0]), labels=jnp.asarray(labels[0]))
        values = both.compute()
    np.testing.assert_allclose(values["accuracy"], np.mean(logits[0].argmax(axis=-1) == labels[0]), rtol=1e-6)
    first = [part[0] for part in batches]
    np.testing.assert_allclose(values["ece"], binned_error(*top(first), num_bins=15), atol=3e-7)


@pytest.mark.parametrize("call, error, words", [
    (lambda: CalibrationMetric("percent"), ValueError, "given must be one of"),
    (lambda: CalibrationMetric("confidence", num_classes=3), ValueError, "num_classes needs logits or probs"),
    (lambda: CalibrationMetric(norm=0.5), ValueError, "norm"),
    (lambda: CalibrationMetric(num_bins=0), ValueError, "num_bins"),
    (lambda: CalibrationMetric().update(logits=np.zeros((2, 3))), TypeError, "got no 'labels'"),
    (lambda: CalibrationMetric("probs").update(logits=np.zeros((2, 3)), labels=[0, 1]), TypeError, "got no 'probs'"),
    (lambda: CalibrationMetric().update(logits=0, labels=0, where=True, mask=True), TypeError, "got both"),
    (lambda: CalibrationMetric().update(logits=np.zeros((2, 3)), labels=[0, 3]), ValueError, "label"),
    (lambda: CalibrationMetric().update(logits=np.full((2, 3), np.inf), labels=[0, 2]), ValueError, "below infinity"),
    (lambda: CalibrationMetric("probs").update(probs=np.zeros((2, 3)), labels=[0, 2]), ValueError, "that sum to 1"),
])  # fmt: skip
def test_wrong_use_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.medium
def test_without_flax_it_says_what_to_install():
    """...and nothing else of mixjax imports flax."""
    program = (
        "import sys; sys.modules['flax'] = None\n"
        "import mixjax, mixjax.calibration, mixjax.recalibration\n"
        "try:\n    import mixjax.calibration.metric\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "mixjax.calibration.metric needs flax: pip install 'mixjax[nnx]'\n"
