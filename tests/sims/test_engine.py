"""The engine: moments, and numbers that do not depend on how the work is cut."""

import zlib

import jax
import numpy as np
import pytest

import sims
from mixjax.gaussian import population_errors, sample_scores
from sims.engine import BLOCK, Layout, Moments, plan
from sims.grid import gaussian_grid

AXES = {"n": "50", "ratio": "0.2,1,3", "theta_norm": "0.5,2", "alpha": "0,1", "replicates": 1300, "seed": 3}


@pytest.fixture(scope="module")
def table():
    return sims.run("phase_diagram", **AXES)


def assert_same_bits(one, other):
    assert set(one) == set(other)
    for name in one:
        np.testing.assert_array_equal(one[name].values, other[name].values, err_msg=str(name))


@pytest.mark.parametrize("layout", [Layout(3, 8, 1), Layout(1, 8, 1)], ids=str)
def test_the_size_of_a_unit_changes_no_bit(table, layout):
    assert_same_bits(table, sims.run("phase_diagram", layout=layout, **AXES))


def test_a_cell_alone_is_the_cell_in_a_grid(table):
    alone = sims.run("phase_diagram", **{**AXES, "ratio": "1", "theta_norm": "2"})
    assert_same_bits(table.sel(ratio=[1.0], theta_norm=[2.0]).drop_vars("summary", errors="ignore"), alone)


def test_moments_are_those_of_the_draws(table):
    """The same key construction by hand: two blocks, the second of 300; float32 means within 2e-6."""
    root = jax.random.fold_in(jax.random.key(AXES["seed"], impl="threefry2x32"), zlib.crc32(b"phase_diagram"))
    t = np.array([0.0, 0.0, 1 / 3], np.float32)
    errors = []
    for block, size in ((0, BLOCK), (1, 300)):
        key = jax.random.fold_in(root, block)
        law = sample_scores(key, n=np.float32(50), p=50, theta_norm=np.float32(2.0), t=t, replicates=BLOCK)
        errors.append(np.asarray(population_errors(law).ece, np.float64)[:, :size])
    ece = np.concatenate(errors, axis=1)
    cell = table.sel(n=50, ratio=1.0, theta_norm=2.0)
    difference = ece[1:] - ece[:1]
    np.testing.assert_allclose(cell["ece"], ece[0].mean(), rtol=2e-6)
    np.testing.assert_allclose(cell["ece_se"], ece[0].std(ddof=1) / np.sqrt(1300), rtol=1e-4)
    np.testing.assert_allclose(cell["ece_difference"], difference.mean(axis=1), rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(cell["ece_mix_better"], (difference < 0).mean(axis=1), rtol=1e-6)
    assert int(cell["replicates_used"]) == 1300


def test_no_mixup_is_no_difference(table):
    none = table.isel(mixup=0)
    for metric in ("ece", "ece2", "mce"):
        assert (none[f"{metric}_difference"] == 0).all()
        assert (none[f"{metric}_mix_better"] == 0).all()


def test_merged_moments_are_those_of_all(rng):
    parts = [rng.normal(3.0, 2.0, (4, size)) for size in (5, 1, 17)]
    moments = [Moments(np.full(4, float(x.shape[1])), x.mean(1), ((x - x.mean(1)[:, None]) ** 2).sum(1)) for x in parts]
    merged = moments[0].merge(moments[1]).merge(moments[2])
    everything = np.concatenate(parts, axis=1)
    np.testing.assert_allclose(merged.mean, everything.mean(1), rtol=1e-14)
    np.testing.assert_allclose(merged.standard_deviation, everything.std(1, ddof=1), rtol=1e-13)


def test_merging_with_nothing_is_the_identity():
    some, nothing = Moments(*np.ones((3, 2))), Moments(*np.zeros((3, 2)))
    for merged in (some.merge(nothing), nothing.merge(some)):
        np.testing.assert_array_equal(merged.mean, some.mean)
        np.testing.assert_array_equal(merged.m2, some.m2)


def test_the_plan_covers_every_cell_and_replicate_once():
    grid = gaussian_grid(n="10", ratio="0.1:1:7", p=None, theta_norm="1,2,3", alpha="1", beta="same")
    units = plan(grid, 2500, Layout(5, 8, 1))
    covered = np.zeros(21)
    for unit in units:
        covered[unit.start : unit.stop] += unit.replicates
    assert (covered == 2500).all()
    assert len({unit.name for unit in units}) == len(units)
