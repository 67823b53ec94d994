"""Convolutions and normalization beside those of XLA: values, gradients in both modes, other dtypes, and `vmap`."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from mixjax.train.nets import convolution
from mixjax.train.nets.convolution import convolve
from mixjax.train.nets.winograd import convolve_by_tiles

OPTIONS = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
TOLERANCES = {"float32": 1e-5, "float64": 1e-12}  # of the largest number
CASES = {  # N, pixels, C, K, size, stride: each way that there is, odd sizes, one image, a last part that is smaller
    "parts": (70, 14, 8, 3, 3, 1),
    "parts, stride 2": (70, 15, 8, 8, 3, 2),
    "one image": (1, 7, 3, 8, 3, 2),
    "one part": (90, 7, 1, 8, 3, 1),
    "1 x 1": (2, 7, 3, 8, 1, 2),
    "1 x 1, even": (1, 8, 8, 4, 1, 2),
}
WHOLE = {  # of the ResNet-18 at 28 x 28 and 32 x 32
    f"{pixels}, {inputs} to {outputs}, stride {stride}": (64, pixels, inputs, outputs, 3, stride)
    for pixels, inputs, outputs, stride in (
        (28, 64, 64, 1), (32, 64, 64, 1), (28, 64, 128, 2), (14, 128, 128, 1),
        (14, 128, 256, 2), (7, 256, 256, 1), (8, 256, 256, 1), (7, 256, 512, 2), (4, 512, 512, 1), (7, 512, 512, 1),
        (28, 16, 16, 1), (28, 1, 64, 1), (32, 3, 64, 1),
    )
}  # fmt: skip


def given(rng, case, dtype):
    number, pixels, inputs, outputs, size, _ = case
    shapes = (number, pixels, pixels, inputs), (size, size, inputs, outputs)
    return [jnp.asarray(rng.normal(size=shape), dtype) for _ in range(2) for shape in shapes]


def ways(function, case):
    """Value, both gradients by reverse mode, and a derivative by forward mode."""
    *_, size, stride = case
    call = partial(function, strides=(stride, stride), padding=((size // 2,) * 2,) * 2, **OPTIONS)

    def all_of(images, kernel, *along):
        outputs, pull = jax.vjp(call, images, kernel)
        slopes = jax.random.normal(jax.random.key(0), outputs.shape, "float32").astype(outputs.dtype)
        return outputs, *pull(slopes), jax.jvp(call, (images, kernel), along)[1]

    return all_of


def by_xla(images, kernel, strides, padding, **options):
    return lax.conv_general_dilated(images, kernel, strides, padding, **options)


def assert_close(found, expected, dtype):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=TOLERANCES[dtype] * abs(theirs).max())


def check(rng, case, dtype):
    """Beside XLA in float64: its own float32 is off by more than 1e-5 in sums over all pixels of a batch."""
    arguments = given(rng, case, dtype)
    found = jax.jit(ways(convolve, case))(*arguments)
    assert_close(found, jax.jit(ways(by_xla, case))(*(part.astype("float64") for part in arguments)), dtype)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=() if name.startswith("parts") else pytest.mark.medium)
        for name, case in CASES.items()
    ],
)
def test_as_of_xla(rng, case, dtype):
    check(rng, case, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("case", WHOLE.values(), ids=WHOLE)
def test_as_of_xla_at_the_sizes_of_the_resnet(rng, case, dtype):
    check(rng, case, dtype)


@pytest.mark.medium
@pytest.mark.parametrize("shape", [(1, 4, 4), pytest.param((3, 7, 5), marks=pytest.mark.slow)], ids=["even", "odd"])
def test_tiles_are_of_winograd(rng, shape):
    """In float64, where the coefficients are exact."""
    images, kernel, *_ = (jnp.asarray(rng.normal(size=size)) for size in ((*shape, 3), (3, 3, 3, 2)))
    expected = by_xla(images, kernel, (1, 1), ((1, 1), (1, 1)), **OPTIONS)
    np.testing.assert_allclose(jax.jit(convolve_by_tiles)(images, kernel), expected, rtol=0, atol=1e-12)


def test_many_channels_are_convolved_by_tiles(rng, monkeypatch):
    """Where there are many on both sides: the net's rule, at a size that costs little."""
    monkeypatch.setattr(convolution, "_MANY_CHANNELS", 4)
    monkeypatch.setattr(convolution, "convolve_by_tiles", lambda images, kernel: "tiles")
    for inputs, outputs, size, stride, tiles in ((4, 4, 3, 1, True), (3, 4, 3, 1, False), (4, 4, 3, 2, False)):
        images, kernel, *_ = given(rng, (1, 4, inputs, outputs, size, stride), "float32")
        found = convolve(images, kernel, (stride, stride), ((1, 1), (1, 1)), **OPTIONS)
        assert (isinstance(found, str)) == tiles


@pytest.mark.parametrize(
    ("number", "pixels", "channels", "part"), [(64, 32, 64, 2), (64, 32, 16, 8), (512, 32, 64, 16), (1, 512, 1, 1)]
)
def test_parts_are_small_and_few(number, pixels, channels, part):
    """A part's inputs and outputs are 2^18 values at most, unless it is one image or there would be more than 32."""
    shape = (number, pixels, pixels, channels)
    assert convolution._images_of_a_part(shape, shape) == part


def test_no_images_have_no_gradient():
    images, kernel = jnp.zeros((0, 4, 4, 2)), jnp.ones((3, 3, 2, 2))
    call = partial(convolve, strides=(1, 1), padding=((1, 1), (1, 1)), **OPTIONS)
    np.testing.assert_array_equal(jax.grad(lambda kernel: call(images, kernel).sum())(kernel), 0)


@pytest.mark.medium
def test_over_members(rng):
    """Under `vmap`, of both arguments, beside one at a time."""
    case = CASES["parts"]
    members = [given(rng, case, "float32") for _ in range(2)]
    found = jax.jit(jax.vmap(ways(convolve, case)))(*(jnp.stack(leaves) for leaves in zip(*members, strict=True)))
    for number, arguments in enumerate(members):
        expected = jax.jit(ways(by_xla, case))(*arguments)
        assert_close([part[number] for part in found], expected, "float32")


@pytest.mark.parametrize(("platform", "dtype"), [("gpu", "float32"), ("cpu", "bfloat16")])
def test_elsewhere_it_is_xlas(rng, monkeypatch, platform, dtype):
    """On other platforms and in other dtypes the program is the very one."""
    monkeypatch.setattr(jax, "default_backend", lambda: platform)
    case = CASES["parts"]
    arguments = given(rng, case, dtype)
    found, expected = (str(jax.make_jaxpr(ways(function, case))(*arguments)) for function in (convolve, by_xla))
    assert found == expected
