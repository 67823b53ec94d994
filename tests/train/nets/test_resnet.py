"""The pre-activation ResNet-18: parameters, and logits beside the architecture written out in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from mixjax.train.nets import PreActResNet18
from mixjax.train.nets.shapes import ResNetShape, check_net

COUNTS = {  # classes, channels, final norm: by hand, and of public PyTorch code
    (10, 3, False): 11_171_146,
    (100, 3, False): 11_217_316,
    (10, 1, False): 11_169_994,
    (10, 3, True): 11_172_170,
    (100, 3, True): 11_218_340,
    (10, 1, True): 11_171_018,
}
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


@pytest.mark.parametrize(("classes", "channels", "final_norm"), COUNTS)
def test_parameter_counts(classes, channels, final_norm):
    count = ResNetShape(final_norm=final_norm).parameter_count((32, 32, channels), classes)
    assert count == COUNTS[classes, channels, final_norm]


@pytest.mark.parametrize("final_norm", [False, True])
def test_as_many_parameters_are_counted_as_are_built(final_norm):
    shape = ResNetShape(0.07, final_norm)
    net = nnx.eval_shape(lambda: shape.build((16, 16, 2), 5, rngs=nnx.Rngs(0)))
    built = sum(leaf.size for leaf in jax.tree.leaves(nnx.state(net, nnx.Param)))
    assert shape.parameter_count((16, 16, 2), 5) == built


@pytest.mark.medium
def test_one_image_trains_if_the_last_stage_has_pixels_enough():
    """Three strides of two: 16 x 16 pixels become 2 x 2, and 8 x 8 become one, which has no variance."""
    check_net(ResNetShape(1 / 64), (16, 16, 1), 2, 1)
    with pytest.raises(ValueError, match="needs more than one value of each channel to train"):
        check_net(ResNetShape(1 / 64), (8, 8, 1), 2, 1)


def test_running_statistics_are_6784():
    net = nnx.eval_shape(lambda: ResNetShape().build((32, 32, 3), 10, rngs=nnx.Rngs(0)))
    assert sum(leaf.size for leaf in jax.tree.leaves(nnx.state(net, nnx.BatchStat))) == 6784


def lived_in(multiplier: float, channels: int, final_norm: bool, rng: np.random.Generator) -> PreActResNet18:
    """A net whose numbers are not those of a start, statistics, scales and biases of normalizations among them."""
    net = nnx.eval_shape(lambda: PreActResNet18(10, channels, multiplier, final_norm, rngs=nnx.Rngs(0)))
    graph, state = nnx.split(net)
    net = nnx.merge(graph, jax.tree.map(lambda leaf: random_leaf(leaf.shape, rng), state))
    for norm in norms_of(net):
        for part in (norm.var, norm.scale):
            part[...] = jnp.asarray(rng.uniform(0.5, 2, part[...].shape), jnp.float32)
    return net


def random_leaf(shape: tuple[int, ...], rng: np.random.Generator) -> jax.Array:
    scale = (2 / np.prod(shape[:-1])) ** 0.5 if len(shape) > 1 else 0.2
    return jnp.asarray(rng.normal(0, scale, shape), jnp.float32)


def norms_of(net: PreActResNet18) -> Iterator[Any]:
    for stage in net.stages:
        for block in stage:
            yield from (block.first_norm, block.second_norm)
    if net.norm is not None:
        yield net.norm


def convolved(images: np.ndarray, kernel: np.ndarray, stride: int) -> np.ndarray:
    """A sum over the places of the kernel, with explicit zeros on all sides."""
    size = len(kernel)
    side, (height, width) = (size - 1) // 2, images.shape[1:3]
    padded = np.pad(images, ((0, 0), (side, side), (side, side), (0, 0)))
    rows, columns = -(-height // stride), -(-width // stride)
    return sum(
        padded[:, y : y + stride * rows : stride, x : x + stride * columns : stride][:, :rows, :columns] @ kernel[y, x]
        for y in range(size)
        for x in range(size)
    )


def numpy_logits(net: PreActResNet18, images: np.ndarray, train: bool) -> np.ndarray:
    """By the definition, in float64."""

    def weights(layer):
        return np.asarray(layer.kernel[...], np.float64)

    def active(norm, values):
        mean, var, scale, bias = (
            np.asarray(part[...], np.float64) for part in (norm.mean, norm.var, norm.scale, norm.bias)
        )
        mean, var = (values.mean((0, 1, 2)), values.var((0, 1, 2))) if train else (mean, var)
        return np.maximum((values - mean) / np.sqrt(var + 1e-5) * scale + bias, 0)

    values = convolved(images.astype(np.float64), weights(net.stem), 1)
    for (_, stride), stage in zip(STAGES, net.stages, strict=True):
        for number, block in enumerate(stage):
            step = stride if number == 0 else 1
            first = active(block.first_norm, values)
            shortcut = values if block.shortcut is None else convolved(first, weights(block.shortcut), step)
            inner = active(block.second_norm, convolved(first, weights(block.first), step))
            values = shortcut + convolved(inner, weights(block.second), 1)
    if net.norm is not None:
        values = active(net.norm, values)
    return values.mean((1, 2)) @ weights(net.head) + np.asarray(net.head.bias[...], np.float64)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("multiplier", "final_norm", "shape", "train"),
    [
        (1 / 64, True, (2, 9, 7, 2), False),
        pytest.param(1 / 64, False, (5, 12, 16, 2), True, marks=pytest.mark.slow),
        pytest.param(1, False, (1, 32, 32, 3), False, marks=pytest.mark.slow),
        pytest.param(1 / 8, False, (3, 28, 28, 1), False, marks=pytest.mark.slow),
    ],
    ids=["odd sizes, final norm", "training", "full", "28x28"],
)
def test_logits_are_those_of_the_definition(rng, multiplier, final_norm, shape, train):
    """To 1e-4, float32 against float64."""
    net = lived_in(multiplier, shape[-1], final_norm, rng)
    images = rng.normal(size=shape).astype(np.float32)
    expected = numpy_logits(net, images, train)
    net.train() if train else net.eval()
    found = nnx.jit(lambda net, images: net(images))(net, jnp.asarray(images))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.medium
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16])
def test_the_hook_is_given_the_images_and_the_inputs_of_the_stages(dtype):
    """Hidden values are bfloat16 where it is asked for, and logits float32."""
    seen = {}

    def look(values, layer):
        seen[layer] = (values.shape, values.dtype)
        return values

    def logits(images):
        net = PreActResNet18(10, 1, 1 / 16, dtype=dtype, rngs=nnx.Rngs(0))
        assert net.mixing_layers == 3
        assert {leaf.dtype for leaf in jax.tree.leaves(nnx.state(net))} == {np.dtype(np.float32)}
        return net(images, look)

    assert jax.eval_shape(logits, jnp.zeros((2, 8, 8, 1), jnp.float32)).dtype == jnp.float32
    shapes = [(2, 8, 8, 1), (2, 8, 8, 4), (2, 8, 8, 4), (2, 4, 4, 8), (2, 2, 2, 16)]
    assert seen == {layer: (shape, dtype if layer else jnp.float32) for layer, shape in enumerate(shapes)}


@pytest.mark.slow
def test_products_under_bfloat16_have_eight_bits(rng):
    images = jnp.asarray(rng.normal(size=(2, 8, 8, 1)), jnp.float32)
    nets = [PreActResNet18(10, 1, 1 / 16, dtype=dtype, rngs=nnx.Rngs(0)) for dtype in (jnp.float32, jnp.bfloat16)]
    full, half = (net(images) for net in nets)
    assert 0 < abs(full - half).max() < 0.2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_classes": 0}, "num_classes must be at least 1, got 0"),
        ({"in_channels": 0}, "in_channels must be at least 1, got 0"),
        ({"width_multiplier": 0}, "width_multiplier must be finite and positive, got 0"),
        ({"width_multiplier": float("inf")}, "width_multiplier must be finite and positive, got inf"),
        ({"width_multiplier": float("nan")}, "width_multiplier must be finite and positive, got nan"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        PreActResNet18(**{"num_classes": 10, "in_channels": 3, **changes}, rngs=nnx.Rngs(0))
