"""The metric of clu: a stream is its rows, in a Collection, masked, merged and reduced over devices."""

import flax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from clu import metrics
from scipy.special import softmax

from mixjax.calibration import classwise_ece, mce, top_label_ece
from mixjax.calibration.clu_metric import calibration_error

K = 4
NAMES = ("logits", "labels", "mask")


@flax.struct.dataclass
class Metrics(metrics.Collection):
    accuracy: metrics.Accuracy
    ece: calibration_error("logits", num_bins=10)
    classwise: calibration_error("logits", num_bins=10, num_classes=K)


@pytest.fixture
def batches(rng):
    """Three batches of 64 rows, the last half empty."""
    logits = rng.normal(size=(3, 64, K)).astype(np.float32)
    labels = rng.integers(0, K, (3, 64)).astype(np.int32)
    mask = np.ones((3, 64), bool)
    mask[-1, 32:] = False
    logits[-1, 40:] = np.nan
    return logits, labels, mask


@pytest.mark.slow
def test_a_collection(batches):
    count = jax.jit(lambda *batch: Metrics.single_from_model_output(**dict(zip(NAMES, batch, strict=True))))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # clu's own accuracy needs both
        found = Metrics.empty()
        for batch in zip(*batches, strict=True):
            found = found.merge(count(*batch))
        values = found.compute()
        together = jax.vmap(count)(*batches).reduce().compute()
    logits, labels, mask = batches
    probs, labels = softmax(logits[mask], axis=-1), labels[mask]
    for name, function in {"ece": top_label_ece, "classwise": classwise_ece}.items():
        value = function(probs, labels, num_bins=10)
        np.testing.assert_allclose(values[name], value, atol=3e-7)
        np.testing.assert_allclose(together[name], value, atol=3e-7)


@pytest.mark.medium
def test_confidences_and_a_norm():
    metric = calibration_error("confidence", edges=[0, 0.7, 1], norm=np.inf)
    rows = [0.9, 0.6, 0.4], [1, 0, 0]
    found = metric.empty().merge(metric.from_model_output(confidence=rows[0], correct=rows[1], logits=jnp.zeros(3)))
    np.testing.assert_allclose(found.compute(), mce(*rows, edges=[0, 0.7, 1]), atol=1e-7)
    assert np.isnan(metric.empty().compute())


def test_what_is_missing_is_named():
    with pytest.raises(TypeError, match="logits and labels are needed by keyword, got no 'labels'"):
        calibration_error("logits").from_model_output(logits=np.zeros((2, K)))
    with pytest.raises(ValueError, match="num_classes needs logits or probs"):
        calibration_error("confidence", num_classes=K)
