"""Fully connected nets: how many parameters, what they compute, and what is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from mixjax.train.nets import MLP
from mixjax.train.nets.shapes import MLPShape, check_net

CIFAR = (32, 32, 3)
COUNTS = {  # by hand, as in the notes on the paper: width, depth -> parameters for 3072 inputs and ten classes
    (10, 8): 31_610,
    (100, 8): 379_010,
    (400, 8): 2_356_010,
    (1000, 8): 10_090_010,
    (3000, 8): 72_270_010,
    (400, 1): 1_233_210,
    (400, 24): 4_922_410,
    (80, 1): 246_650,
    (80, 24): 395_690,
}


@pytest.mark.parametrize(("width", "depth"), COUNTS)
def test_parameter_counts(width, depth):
    assert MLPShape(width, depth).parameter_count(CIFAR, 10) == COUNTS[width, depth]


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_as_many_parameters_are_counted_as_are_built(norm):
    shape = MLPShape(7, 3, norm)
    net = nnx.eval_shape(lambda: shape.build((4, 5, 3), 6, rngs=nnx.Rngs(0)))
    built = sum(leaf.size for leaf in jax.tree.leaves(nnx.state(net, nnx.Param)))
    assert shape.parameter_count((4, 5, 3), 6) == built


def numpy_logits(net: MLP, rows: np.ndarray, train: bool) -> np.ndarray:
    """The net by its definition, in float64."""
    values = rows.reshape(len(rows), -1).astype(np.float64)
    for place, layer in enumerate(net.hidden):
        values = values @ np.asarray(layer.kernel[...], np.float64) + np.asarray(layer.bias[...])
        if net.norms:
            norm = net.norms[place]
            parts = (norm.mean, norm.var, norm.scale, norm.bias)
            mean, var, scale, bias = (np.asarray(part[...], np.float64) for part in parts)
            mean, var = (values.mean(0), values.var(0)) if train else (mean, var)
            values = (values - mean) / np.sqrt(var + 1e-5) * scale + bias
        values = np.maximum(values, 0)
    return values @ np.asarray(net.head.kernel[...], np.float64) + np.asarray(net.head.bias[...])


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("norm", ["none", "batch"])
@pytest.mark.parametrize("train", [False, True])
def test_logits_are_those_of_the_definition(rng, norm, train):
    """In evaluation mode batch normalization uses the running statistics; float32 against float64."""
    net = MLP(12, 5, 7, 3, norm, "torch", rngs=nnx.Rngs(0))
    for each in net.norms:
        each.mean[...] = jnp.asarray(rng.normal(size=7), jnp.float32)
        each.var[...] = jnp.asarray(rng.uniform(0.5, 2, 7), jnp.float32)
    rows = rng.normal(size=(9, 2, 2, 3)).astype(np.float32)
    expected = numpy_logits(net, rows, train)
    net.train() if train else net.eval()
    np.testing.assert_allclose(net(jnp.asarray(rows)), expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_logits_are_float32_under_bfloat16(rng):
    """The products are bfloat16, whose eight bits show; parameters and logits are float32."""
    rows = jnp.asarray(rng.normal(size=(4, 2, 2, 3)), jnp.float32)
    nets = [MLP(12, 5, 7, 2, dtype=dtype, rngs=nnx.Rngs(0)) for dtype in (jnp.float32, jnp.bfloat16)]
    full, half = (net(rows) for net in nets)
    assert full.dtype == half.dtype == jnp.float32
    assert {leaf.dtype for leaf in jax.tree.leaves(nnx.state(nets[1], nnx.Param))} == {jnp.dtype(jnp.float32)}
    assert 1e-4 < abs(full - half).max() < 0.05 * abs(full).max()
    assert (half != half.astype(jnp.bfloat16).astype(jnp.float32)).any()  # not eight bits in float32's clothes


@pytest.mark.medium
def test_the_hook_is_given_the_inputs_of_each_layer(rng):
    net, seen = MLP(12, 5, 7, 3, rngs=nnx.Rngs(0)), {}

    def look(values, place):
        seen[place] = values.shape
        return values

    net(jnp.zeros((4, 2, 2, 3)), look)
    assert seen == {0: (4, 12), 1: (4, 7), 2: (4, 7), 3: (4, 7)}
    assert net.mixing_layers == len(seen)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"depth": 0}, "depth must be at least 1, got 0"),
        ({"num_classes": 0}, "num_classes must be at least 1, got 0"),
        ({"in_features": -1}, "in_features must be at least 1, got -1"),
        ({"norm": "layer"}, "norm must be one of"),
        ({"init": "zero"}, "init must be one of"),
    ],
)
def test_what_is_refused(changes, message):
    sizes = {"in_features": 4, "num_classes": 2, "width": 3, "depth": 1, **changes}
    with pytest.raises(ValueError, match=message):
        MLP(**sizes, rngs=nnx.Rngs(0))


def test_a_net_that_no_memory_holds_is_refused_before_it_is_made():
    with pytest.raises(ValueError, match=r"mlp-1000000x8 has 7,003,\d+,\d+,\d+ parameters, which is more than 2\^31"):
        check_net(MLPShape(1_000_000, 8), CIFAR, 10, 64)
    with pytest.raises(ValueError, match="depth must be at most 1000, because each layer is compiled, got 1000000000"):
        check_net(MLPShape(1, 10**9), CIFAR, 10, 64)


@pytest.mark.parametrize(("norm", "batch_size"), [("none", 1), ("batch", 2)])
def test_a_batch_of_one_row_is_refused_where_it_is_normalized(norm, batch_size):
    check_net(MLPShape(3, 2, norm), (2, 2, 1), 2, batch_size)
    with pytest.raises(ValueError, match="needs more than one value of each channel to train"):
        check_net(MLPShape(3, 2, "batch"), (2, 2, 1), 2, 1)
