"""The nnx metric: a stream is its rows, under jit, masked, and beside flax's own metrics."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from mixjax import classwise_ece, ece, top_label_ece
from mixjax.calibration.metric import CalibrationMetric

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
    return jax.nn.softmax(logits[mask], axis=-1), labels[mask]


@nnx.jit
def count(metric, logits, labels, mask):
    metric.update(logits=logits, labels=labels, mask=mask)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_top_label_of_logits_under_jit(batches, norm):
    metric = CalibrationMetric("logits", num_bins=10, norm=norm)
    assert np.isnan(metric.compute())
    for batch in zip(*batches, strict=True):
        count(metric, *batch)
    np.testing.assert_allclose(metric.compute(), top_label_ece(*kept(batches), num_bins=10, norm=norm), atol=3e-7)
    assert metric.state.num_rows() == 4 * 64 + 32
    metric.reset()
    assert np.isnan(metric.compute())


def test_where_and_mask_are_the_same(batches):
    logits, labels, mask = (part[-1] for part in batches)
    for name in ("where", "mask"):
        metric = CalibrationMetric("logits")
        metric.update(logits=logits, labels=labels, **{name: mask})
        np.testing.assert_allclose(metric.compute(), top_label_ece(*kept((logits, labels, mask))), atol=3e-7)


@pytest.mark.parametrize("num_classes", [None, K])
@pytest.mark.parametrize("given", ["logits", "probs"])
def test_masked_rows_may_hold_anything(batches, given, num_classes):
    logits, labels, mask = (part[-1] for part in batches)
    scores = logits if given == "logits" else jax.nn.softmax(logits, axis=-1)
    metric, hidden = (CalibrationMetric(given, num_classes=num_classes) for _ in range(2))
    metric.update(**{given: scores[mask]}, labels=labels[mask])
    hidden.update(**{given: np.where(mask[:, None], scores, np.inf)}, labels=np.where(mask, labels, -1), mask=mask)
    np.testing.assert_allclose(hidden.compute(), metric.compute(), atol=3e-7)


def test_class_by_class(batches):
    metric = CalibrationMetric("logits", num_bins=7, num_classes=K)
    for logits, labels, mask in zip(*batches, strict=True):
        metric.update(logits=logits, labels=labels, mask=mask)
    np.testing.assert_allclose(metric.compute(), classwise_ece(*kept(batches), num_bins=7), atol=3e-7)


def test_confidences_and_probabilities(batches):
    probs, labels = kept(batches)
    metric = CalibrationMetric("probs", closed="right")
    metric.update(probs=probs, labels=labels)
    np.testing.assert_allclose(metric.compute(), top_label_ece(probs, labels, closed="right"), atol=3e-7)
    metric = CalibrationMetric("confidence")
    weights = np.arange(len(labels), dtype=np.float32)
    metric.update(confidence=probs[:, 0], correct=labels == 0, weights=weights)
    np.testing.assert_allclose(metric.compute(), ece(probs[:, 0], labels == 0, weights=weights), atol=3e-7)


def test_beside_other_metrics(batches):
    """`MultiMetric` gives every metric all keywords."""
    logits, labels, _ = batches
    both = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), ece=CalibrationMetric("logits"))
    with jax.numpy_dtype_promotion("standard"):  # flax's accuracy compares int64 with int32, and divides by int32
        both.update(logits=jnp.asarray(logits[0]), labels=jnp.asarray(labels[0]))
        values = both.compute()
    np.testing.assert_allclose(values["accuracy"], np.mean(logits[0].argmax(axis=-1) == labels[0]), rtol=1e-6)
    np.testing.assert_allclose(values["ece"], top_label_ece(jax.nn.softmax(logits[0], axis=-1), labels[0]), atol=3e-7)


def test_it_can_be_split_and_put_together(batches):
    logits, labels, _ = batches
    metric = CalibrationMetric("logits")
    metric.update(logits=logits[0], labels=labels[0])
    again = nnx.merge(*metric.split())
    np.testing.assert_array_equal(again.compute(), metric.compute())


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


def test_without_flax_it_says_what_to_install():
    """...and nothing else of mixjax imports flax."""
    program = (
        "import sys; sys.modules['flax'] = None\n"
        "import mixjax, mixjax.calibration, mixjax.recalibration\n"
        "try:\n    import mixjax.calibration.metric\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "mixjax.calibration.metric needs flax: pip install 'mixjax[nnx]'\n"
