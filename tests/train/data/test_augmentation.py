"""Crops and flips: each image its own, in the direction that they should have."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.train.data import augmentation
from mixjax.train.data.streams import Stream, stream_key

MANY = 8100
augment = jax.jit(augmentation.augment, static_argnames=("crop_padding", "flip"))  # as a step does


def placed(images: jax.Array) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the one bright pixel of each image."""
    images = np.asarray(images)[..., 0]
    assert (images.sum(axis=(1, 2)) == 255).all()
    return np.nonzero(images)[1:]


@pytest.fixture(scope="module")
def moved() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and flip of many copies of a 17x17 image with a bright pixel at (8, 6) and a gray column."""
    image = np.zeros((17, 17, 2), np.uint8)
    image[8, 6, 0], image[8, 8, 1] = 255, 1  # the second channel marks what lies to the right
    found = np.asarray(augment(stream_key(1, Stream.AUGMENT, 0, 0), jnp.tile(jnp.asarray(image), (MANY, 1, 1, 1))))
    row, column = placed(found[..., :1])
    _, _, right = np.nonzero(found[..., 1])
    return row, column, right < column


def test_flips_are_left_to_right_and_half_of_all(moved):
    """The mark stays in the row of the pixel. 5 standard errors: false-alarm rate 6e-7."""
    share = moved[2].mean()
    assert abs(share - 0.5) < 5 * 0.5 / MANY**0.5


def test_offsets_are_uniform_and_independent(moved):
    """9 x 9 cells of 100 images on average; chi-square with 80 degrees of freedom exceeds 165 at a rate of 6e-8."""
    row, column, flipped = moved
    right = np.where(flipped, 16 - column, column)  # undone: where the crop put it
    counts = np.histogram2d(row - 8, right - 6, bins=(np.arange(-4.5, 5), np.arange(-4.5, 5)))[0]
    assert counts.sum() == MANY
    assert ((counts - 100) ** 2 / 100).sum() < 165


def test_every_augmentation_is_a_window_of_the_padded_image(rng):
    """Each is found among the 81 crops and their mirror images, by search."""
    images = rng.integers(1, 256, (6, 5, 7, 3), np.uint8)
    padded = np.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
    for number, found in enumerate(np.asarray(augment(jax.random.key(3), jnp.asarray(images)))):
        windows = [padded[number, y : y + 5, x : x + 7] for y in range(9) for x in range(9)]
        assert any((found == other).all() for window in windows for other in (window, window[:, ::-1]))


@pytest.mark.medium
def test_draws_differ_by_epoch_step_and_image_and_repeat():
    image = jnp.zeros((32, 40, 40, 1), np.uint8).at[:, 20, 15].set(255)
    places = {
        at: tuple(zip(*placed(augment(stream_key(0, Stream.AUGMENT, *at), image)), strict=True))
        for at in ((0, 0), (0, 1), (1, 0))
    }
    assert len(set(places.values())) == 3
    assert all(len(set(images)) > 16 for images in places.values())
    again = zip(*placed(augment(stream_key(0, Stream.AUGMENT, 1, 0), image)), strict=True)
    assert tuple(again) == places[1, 0]


@pytest.mark.slow
def test_the_draws_of_an_image_do_not_depend_on_the_batch(key, rng):
    images = jnp.asarray(rng.integers(0, 256, (64, 6, 6, 1), np.uint8))
    np.testing.assert_array_equal(augment(key, images)[:4], augment(key, images[:4]))
    seeds = jax.vmap(lambda seed: augment(stream_key(seed, Stream.AUGMENT, 0, 0), images))(jnp.arange(2))
    np.testing.assert_array_equal(seeds[1], augment(stream_key(1, Stream.AUGMENT, 0, 0), images))


@pytest.mark.slow
def test_each_can_be_left_out(key, rng):
    images = jnp.asarray(rng.integers(1, 256, (64, 6, 6, 1), np.uint8))
    np.testing.assert_array_equal(augment(key, images, crop_padding=0, flip=False), images)
    flipped = np.asarray(augment(key, images, crop_padding=0))
    same = [(row == image).all() for row, image in zip(flipped, np.asarray(images), strict=True)]
    assert 0 < sum(same) < 64
    np.testing.assert_array_equal(flipped[np.invert(same)], images[np.invert(same), :, ::-1])


def test_what_is_refused(key):
    with pytest.raises(ValueError, match=r"images must be \[B, H, W, C\]"):
        augment(key, jnp.zeros((4, 4, 1)))
