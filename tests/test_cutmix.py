"""CutMix: which box of which image is pasted, the law of its area, and what is refused.

`mixed_images` is the one program that draws from a Beta law, which takes seconds to compile.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from mixjax.mixing import CutMixDraw, MixupDraw, cutmix, draw_cutmix

TARGETS = np.eye(6)
ROWS = 2000  # images that say which row they are in each pixel
CODED = np.broadcast_to(np.arange(ROWS, dtype=np.float32)[:, None, None, None], (ROWS, 9, 7, 1))


@jax.jit
def mixed_images(key, alpha, beta):
    return cutmix(key, CODED, np.eye(ROWS, dtype=np.float32), alpha=alpha, beta=beta, weight="sample")


@pytest.fixture(scope="module")
def images_and_targets(module_key):
    return [np.asarray(part) for part in mixed_images(module_key, 1.0, 1.0)]


@pytest.mark.medium
def test_cutmix_targets_are_the_areas(images_and_targets):
    """Decoded from the pixels: one box of the partner's, and targets in the proportion of the areas."""
    images, targets = images_and_targets
    images, rows = images[..., 0].astype(int), np.arange(ROWS)
    inside = images != rows[:, None, None]
    partner = np.where(inside, images, -1).max((1, 2))
    mixed = np.flatnonzero(partner >= 0)
    areas = inside.mean((1, 2))
    np.testing.assert_allclose(targets[rows, rows][mixed], 1 - areas[mixed], atol=1e-6)
    np.testing.assert_allclose(targets[mixed, partner[mixed]], areas[mixed], atol=1e-6)
    np.testing.assert_allclose(targets.sum(axis=1), 1, atol=1e-6)
    assert len(np.unique(partner[mixed])) == len(mixed) > 1000  # a permutation
    assert len(np.unique(areas)) > 20  # a box for each row
    for row in mixed[:200]:
        assert len(np.unique(images[row][inside[row]])) == 1
        assert inside[row].sum() == np.prod([np.ptp(at) + 1 for at in np.nonzero(inside[row])])  # a whole rectangle


@pytest.mark.medium
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.2, 0.2), (1.0, 3.0)])
def test_cutmix_boxes_follow_their_law(key, rng, alpha, beta):
    """The share that is pasted beside 20,000 boxes drawn in NumPy: two samples, level 1e-6."""
    found = 63 - (np.asarray(mixed_images(key, alpha, beta)[0])[..., 0] == CODED[..., 0]).sum((1, 2))
    cut, expected = np.sqrt(1 - rng.beta(alpha, beta, 20_000)), np.ones(20_000)
    for length in (9, 7):
        side, center = np.floor(length * cut), rng.integers(0, length, 20_000)
        first = center - side // 2
        expected *= np.minimum(first + side, length) - np.maximum(first, 0)
    assert stats.ks_2samp(found, np.rint(expected)).pvalue > 1e-6


def mean_share(length: int, rule: str) -> float:
    """Return the mean share of a square image that is pasted at alpha = 1: over lambda, and every center."""
    side = length * np.sqrt(1 - (np.arange(20_000) + 0.5) / 20_000)[:, None]
    center = np.arange(length)[None]
    if rule == "paper":
        center, low, high = np.linspace(0, length, 2001)[None], side / 2, side / 2
    elif rule == "here":
        low, high = np.floor(side) // 2, np.floor(side) - np.floor(side) // 2
    else:
        low, high = np.floor(side) // 2, np.floor(side) // 2
    covered = (np.minimum(center + high, length) - np.maximum(center - low, 0)).mean(1) / length
    return (covered**2).mean()


@pytest.mark.medium
def test_the_docstring_of_cutmix_tells_how_much_each_rule_pastes(key):
    """...the paper's, which is 1/2 - 1/5 + 1/48; that of its authors' code; and this one, as it is drawn."""
    for rule in ("paper", "here", "its authors' code"):
        told = " ".join(f"{mean_share(length, rule):.3f}"[1:] for length in (8, 32, 224))
        assert f"{rule} {told}" in " ".join(cutmix.__doc__.split())
    assert mean_share(8, "paper") == pytest.approx(1 / 2 - 1 / 5 + 1 / 48, abs=1e-3)
    draw = jax.jit(lambda key: draw_cutmix(key, 20_000, (8, 8), alpha=1.0, weight="sample").area.lam)
    share = 1 - np.asarray(draw(key))
    assert abs(share.mean() - mean_share(8, "here")) < 5 * share.std() / 20_000**0.5  # false alarms: 6e-7


@pytest.mark.medium
def test_cutmix_under_jit_takes_alpha_as_data(key, images_and_targets, compilations):
    """0 is the identity, and what is out of range NaN."""
    images, targets = mixed_images(key, 0.0, 1.0)
    np.testing.assert_array_equal(images, CODED)
    np.testing.assert_array_equal(targets, np.eye(ROWS))
    for alpha, beta in ((-1.0, 1.0), (np.nan, 1.0), (1.0, 0.0)):
        assert np.isnan(np.diag(mixed_images(key, alpha, beta)[1])).all()
    assert not compilations


def test_one_box_for_a_batch():
    inside = np.zeros((9, 7), bool)
    inside[2:5, 1:3] = True
    area = MixupDraw(np.float32(1 - 6 / 63), np.array([1, 0]))
    pasted = np.asarray(jax.jit(CutMixDraw.paste)(CutMixDraw(inside, area), CODED[:2]))[..., 0]
    np.testing.assert_array_equal(pasted, [np.where(inside, 1, 0), np.where(inside, 0, 1)])


@pytest.mark.slow
@pytest.mark.parametrize("weight", ["batch", "sample"])
@pytest.mark.parametrize("pairing", ["reverse", "roll"])
def test_cutmix_outside_of_jit(key, weight, pairing):
    images, targets = cutmix(key, CODED[:40], np.eye(40, dtype=np.float32), alpha=1.0, weight=weight, pairing=pairing)
    images = np.asarray(images)[..., 0].astype(int)
    areas = np.array([np.bincount(image.ravel(), minlength=40) / image.size for image in images])
    np.testing.assert_allclose(targets, areas, atol=1e-6)
    partner = np.arange(40)[::-1] if pairing == "reverse" else np.roll(np.arange(40), -1)
    assert ((images == np.arange(40)[:, None, None]) | (images == partner[:, None, None])).all()


def test_cutmix_refuses_what_are_no_images_of_the_targets(key):
    with pytest.raises(ValueError, match=r"images must have shape \[N, H, W, C\], got \(6, 6\)"):
        cutmix(key, TARGETS, TARGETS, alpha=1.0)
    with pytest.raises(TypeError, match=r"images must be floating, got uint8; use images.astype\(float\)"):
        cutmix(key, np.zeros((6, 3, 3, 1), np.uint8), TARGETS, alpha=1.0)
    with pytest.raises(ValueError, match="images and targets must have one leading axis in common"):
        cutmix(key, np.zeros((5, 3, 3, 1)), TARGETS, alpha=1.0)
