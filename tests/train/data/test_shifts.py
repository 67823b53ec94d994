"""Shifts of images, beside the same in loops of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.train.data.shifts import SHIFTS, noisy, pale, rotated

MAX_PIXEL = 16


@pytest.fixture
def images(rng):
    return rng.integers(0, MAX_PIXEL + 1, (3, 5, 6, 2), np.uint8)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("name", SHIFTS)
def test_severity_0_changes_nothing(images, name):
    shift = SHIFTS[name]
    assert shift.severities[0] == 0 and (np.diff(shift.severities) > 0).all()
    np.testing.assert_allclose(shift.apply(images, 0.0, MAX_PIXEL), images, atol=1e-5)


def by_bilinear_weights(plane: np.ndarray, degrees: float) -> np.ndarray:
    """Each pixel from the four around the place that the turn brings to it; beyond the border is 0."""
    height, width = plane.shape
    cosine, sine = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    turned = np.zeros(plane.shape)
    for row, column in np.ndindex(plane.shape):
        y, x = row - (height - 1) / 2, column - (width - 1) / 2
        from_y, from_x = cosine * y + sine * x + (height - 1) / 2, cosine * x - sine * y + (width - 1) / 2
        for i in range(height):
            for j in range(width):
                turned[row, column] += max(0, 1 - abs(from_y - i)) * max(0, 1 - abs(from_x - j)) * plane[i, j]
    return turned


@pytest.mark.parametrize("degrees", [30.0, -75.0, 200.0])
def test_a_turn_is_bilinear(images, degrees):
    found = np.asarray(rotated(images, degrees, MAX_PIXEL))
    for image, turned in zip(images, found, strict=True):
        for channel in range(2):
            expected = by_bilinear_weights(image[..., channel].astype(float), degrees)
            np.testing.assert_allclose(turned[..., channel], expected, atol=2e-4)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_quarter_turns_are_counter_clockwise(rng, quarters):
    images = rng.integers(0, MAX_PIXEL + 1, (2, 4, 4, 1), np.uint8)
    expected = np.rot90(images, quarters, axes=(1, 2))
    np.testing.assert_allclose(rotated(images, 90.0 * quarters, MAX_PIXEL), expected, atol=2e-4)


def test_noise_is_normal_cut_off_and_always_the_same():
    """Of 60,000 pixels in the middle of the scale: mean and standard deviation to 5 standard errors, rate 1e-6."""
    images = np.full((60, 25, 40, 1), 128, np.uint8)
    found = np.asarray(noisy(images, 0.1, 255))
    noise, sd = found - 128.0, 25.5
    assert abs(noise.mean()) < 5 * sd / 60_000**0.5
    assert abs(noise.std() / sd - 1) < 5 / 120_000**0.5
    np.testing.assert_array_equal(found, noisy(images, 0.1, 255))
    strong = np.asarray(noisy(images, 0.5, 255))
    unclipped = 128 + 5 * noise
    np.testing.assert_allclose(strong, np.clip(unclipped, 0, 255), atol=1e-3)
    assert strong.min() == 0 and strong.max() == 255


@pytest.mark.parametrize("lost", [0.25, 0.9, 1.0])
def test_contrast_is_lost_towards_the_mean_pixel(images, lost):
    for image, found in zip(images, np.asarray(pale(images, lost, MAX_PIXEL)), strict=True):
        mean = image.astype(float).mean()
        np.testing.assert_allclose(found, mean + (1 - lost) * (image - mean), atol=1e-5)
