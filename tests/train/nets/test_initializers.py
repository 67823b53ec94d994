"""Starts of the nets: variances, bounds and laws, and the same numbers from the same seed."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from scipy import stats

from mixjax.train.nets import MLP
from mixjax.train.nets.initializers import layer_initializers

FAN_IN = 400


@pytest.mark.medium
def test_torch_is_uniform_in_weights_and_biases(key):
    """Uniform up to 1/sqrt(n), biases too, by Kolmogorov and Smirnov at level 1e-6; deviations to 2 %."""
    kernel, bias = layer_initializers("torch", FAN_IN)
    weights, biases = np.asarray(kernel(key, (FAN_IN, 300))), np.asarray(bias(key, (300,)))
    assert weights.dtype == biases.dtype == np.float32
    for numbers in (weights.ravel(), biases):
        assert abs(numbers).max() <= FAN_IN**-0.5
        assert stats.kstest(numbers * FAN_IN**0.5, stats.uniform(-1, 2).cdf).pvalue > 1e-6
    np.testing.assert_allclose(weights.std(), (3 * FAN_IN) ** -0.5, rtol=0.02)
    assert biases.all()


@pytest.mark.parametrize(("init", "rectified", "variance"), [("he", True, 2), ("he", False, 1), ("lecun", True, 1)])
def test_the_others_are_normal_with_no_bias(key, init, rectified, variance):
    """At level 1e-6."""
    kernel, bias = layer_initializers(init, FAN_IN, rectified=rectified)
    weights = np.asarray(kernel(key, (FAN_IN, 300))).ravel()
    assert stats.kstest(weights * (FAN_IN / variance) ** 0.5, "norm").pvalue > 1e-6
    assert not np.asarray(bias(key, (300,))).any()


@pytest.mark.slow
def test_blocks_differ_and_a_larger_layer_begins_as_a_smaller_one(key):
    kernel, _ = layer_initializers("he", FAN_IN)
    weights = np.asarray(kernel(key, (3 * 2**15 + 5,)))
    blocks = np.split(weights[: 3 * 2**15], 3)
    assert not any((one == other).any() for one, other in pairwise(blocks))
    np.testing.assert_array_equal(weights[:100], kernel(key, (100,)))


@pytest.mark.medium
def test_layers_and_seeds_differ_and_a_seed_repeats():
    def weights(seed):
        net = MLP(6, 3, 6, 3, init="torch", rngs=nnx.Rngs(seed))
        return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(nnx.state(net, nnx.Param))]

    assert weights(0) == weights(0)
    assert len({*weights(0), *weights(1)}) == 2 * len(weights(0))


@pytest.mark.slow
def test_a_signal_keeps_its_scale_with_he_and_dies_with_torch(rng):
    """By 1 and by 6^(-1/2) a ReLU layer, over seven, to a factor of two: why `he` is the default."""
    rows = jnp.asarray(rng.normal(size=(64, 300)), jnp.float32)
    first, last = {}, {}
    for init in ("he", "torch"):
        seen: list[np.ndarray] = []
        net = MLP(300, 2, 300, 8, init=init, rngs=nnx.Rngs(0))
        net(rows, lambda values, place, seen=seen: (seen.append(np.asarray(values)), values)[1])
        first[init], last[init] = seen[1], seen[-1]
    assert 0.5 < np.sqrt((last["he"] ** 2).mean() / (first["he"] ** 2).mean()) < 2
    assert last["torch"].std(0).mean() / first["torch"].std(0).mean() < 2 * 6**-3.5  # between rows; the biases stay


@pytest.mark.slow
def test_a_traced_start_is_the_same(key):
    kernel, _ = layer_initializers("he", FAN_IN)
    shape = (3, 2**15 + 5)
    np.testing.assert_array_equal(jax.jit(lambda k: kernel(k, shape))(key), kernel(key, shape))


def test_an_unknown_name():
    with pytest.raises(ValueError, match=r"init must be one of \('he', 'lecun', 'torch'\), got 'zero'"):
        layer_initializers("zero", 3)
