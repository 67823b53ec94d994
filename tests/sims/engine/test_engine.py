"""The engine: moments, and numbers that do not depend on how the work is cut."""

from __future__ import annotations

import zlib
from itertools import groupby

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax import sims
from mixjax.gaussian import population_errors, sample_scores
from mixjax.sims.configuration import work_of
from mixjax.sims.engine.compute import compute, tiles_on_devices
from mixjax.sims.engine.moments import merged
from mixjax.sims.engine.program import BLOCK, Experiment
from mixjax.sims.engine.units import Layout, plan
from mixjax.sims.grid import Grid, gaussian_grid
from mixjax.sims.studies.comparison import EXPERIMENT

AXES = {"n": "50", "ratio": "0.2,1,3", "theta_norm": "0.5,2", "alpha": "0,1", "replicates": 1300, "seed": 3}


@pytest.fixture(scope="module")
def table():
    return sims.run("phase_diagram", **AXES)


# --- the phase diagram's own program ---------------------------------------------------------------


def moments_of_grid(layout=None, **axes):
    """The moments of all values, each of shape [cells, ...], without the table that is made of them."""
    work = work_of("phase_diagram", layout=layout, **{**AXES, **axes})
    cut, stored = work.layout("cpu"), {}
    names = work.names(cut)
    assert list(work.compute(names, cut, stored.__setitem__)) == names
    return merged([stored[name] for name in block] for _, block in groupby(names, key=lambda name: name[-6:]))


@pytest.fixture(scope="module")
def whole():
    return moments_of_grid()


@pytest.mark.medium
@pytest.mark.parametrize("layout", [Layout(2, 8, 1), Layout(1, 8, 1), Layout(90, 8, 1)], ids=str)
def test_the_size_of_units_changes_no_bit(whole, layout):
    other = moments_of_grid(layout)
    assert whole.keys() == other.keys()
    for name, moments in whole.items():
        for kind in ("count", "mean", "m2"):
            np.testing.assert_array_equal(getattr(moments, kind), getattr(other[name], kind), err_msg=name)


@pytest.mark.medium
def test_a_cell_alone_is_the_cell_in_a_grid(whole):
    """p/n = 1 and |theta| = 2 is the fourth of six."""
    alone = moments_of_grid(ratio="1", theta_norm="2")
    for name, moments in whole.items():
        for kind in ("count", "mean", "m2"):
            np.testing.assert_array_equal(getattr(moments, kind)[[3]], getattr(alone[name], kind), err_msg=name)


@pytest.mark.medium
@pytest.mark.parametrize("threads", [1, 3])
def test_order_and_threads_change_no_bit(threads):
    """...and means are stored in float32, though this suite has 64-bit types on."""
    grid = gaussian_grid(**{name: AXES[name] for name in ("n", "ratio", "theta_norm", "alpha")}, p=None, beta="same")
    layout = Layout(2, 8, 1)
    units, tiles = plan(grid, 1300, layout), tiles_on_devices(EXPERIMENT, grid, study="x", seed=0, layout=layout)
    assert len(units) == 6
    stored = {}, {}
    for into, order, count in ((stored[0], units, None), (stored[1], units[::-1], threads)):
        assert list(compute(tiles, order, into.__setitem__, threads=count)) == order
    for unit in units:
        for name, array in stored[0][unit].items():
            assert array.dtype == {"count": np.int32, "mean": np.float32, "m2": np.float64}[name.split(".")[1]]
            np.testing.assert_array_equal(array, stored[1][unit][name])


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
    np.testing.assert_allclose(cell["ece_mix"] - cell["ece"], cell["ece_difference"], rtol=0, atol=1e-7)
    better = (difference < 0).mean(axis=1) + 0.5 * (difference == 0).mean(axis=1)  # ties count half
    np.testing.assert_allclose(cell["ece_mix_better"], better, rtol=1e-6)
    assert int(cell["replicates_used"]) == 1300


def test_no_mixup_is_no_difference(table):
    none = table.isel(mixup=0)
    for metric in ("ece", "rms_ece", "mce"):
        assert (none[f"{metric}_difference"] == 0).all()
        assert (none[f"{metric}_difference_se"] == 0).all()
        assert (none[f"{metric}_mix_better"] == 0.5).all()  # ties count half
        assert (none[f"{metric}_mix_better_low"] < 0.5).all()
        assert (none[f"{metric}_mix_better_high"] > 0.5).all()
        np.testing.assert_array_equal(none[f"{metric}_mix"], none[metric])


# --- a small experiment of its own -----------------------------------------------------------------

traced = []


def draw(key, cells, settings, replicates):
    """n plus noise of standard deviation p, one stream a block; degenerate where the noise is above theta_norm."""
    traced.append(None)
    noise = jax.random.normal(key, (1, replicates), jnp.float32)
    value = cells["n"][:, None] + cells["p"][:, None] * noise
    return jnp.where(noise < cells["theta_norm"][:, None], value, jnp.nan)


def times_weight(value, settings):
    return {"plain": value, "mixed": value[:, None, :] * (1.0 - settings["t"][None, :, None])}


TOY = Experiment(draw, times_weight)
LAYOUT = Layout(3, 4, 2)


def noise(seed, study, replicates):
    """Of each block, as `draw` makes it."""
    root = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), zlib.crc32(study.encode()))
    blocks = [
        jax.random.normal(jax.random.fold_in(root, b), (BLOCK,), jnp.float32) for b in range(-(-replicates // BLOCK))
    ]
    return np.concatenate(blocks).astype(np.float64)[:replicates]


def toy(n, p, theta, t, replicates, *, seed=5, study="toy"):
    """Its tiles, and its units of work."""
    cells = {"n": np.asarray(n, float), "p": np.asarray(p, float), "theta_norm": np.asarray(theta, float)}
    grid = Grid({"cell": np.arange(len(cells["n"]))}, cells, {"t": np.asarray(t, float)})
    return tiles_on_devices(TOY, grid, study=study, seed=seed, layout=LAYOUT), plan(grid, replicates, LAYOUT)


def toy_moments(n, p, theta, t, *, replicates=2300, **stream):
    (tiles, units), stored = toy(n, p, theta, t, replicates, **stream), {}
    assert list(compute(tiles, units, stored.__setitem__)) == units
    return merged([stored[unit] for unit in units if unit.block == b] for b in range(-(-replicates // BLOCK)))


@pytest.mark.medium
def test_a_store_that_fails_stops_the_work():
    """...with its own error; what is already stored stays, and nothing more is begun."""
    (tiles, units), stored = toy(*np.ones((3, 300)), [0.0], 1000), []

    def store(unit, moments):
        if len(stored) == 5:
            raise OSError("no room")
        stored.append(unit)

    with pytest.raises(OSError, match="no room"):
        list(compute(tiles, units, store, threads=2))
    assert len(stored) == 5
    assert set(stored) < set(units[:8])  # at most two are under way beside the one that failed


def test_work_that_is_left_is_not_gone_on_with():
    (tiles, units), stored = toy(*np.ones((3, 300)), [0.0], 1000), []
    done = compute(tiles, units, lambda unit, _: stored.append(unit))
    next(done)
    done.close()
    assert 1 <= len(stored) < 100


@pytest.mark.medium
def test_streamed_moments_are_numpys():
    """Five cells in two units of three blocks, the last of 300; float32 sums of 1000 within 1e-6."""
    n, p, t = [1, 2, 3, 40, 5], [1, 2, 1, 3, 1], [0.0, 0.25]
    moments = toy_moments(n, p, [9.0] * 5, t)
    values = np.array(n)[:, None] + np.array(p)[:, None] * noise(5, "toy", 2300)
    mixed = values[:, None] * (1 - np.array(t)[None, :, None])
    for found, all_draws in ((moments["plain"], values), (moments["mixed"], mixed)):
        np.testing.assert_array_equal(found.count, 2300)
        np.testing.assert_allclose(found.mean, all_draws.mean(-1), rtol=1e-6)
        np.testing.assert_allclose(found.standard_deviation, all_draws.std(-1, ddof=1), rtol=1e-5)
        np.testing.assert_allclose(found.standard_error, all_draws.std(-1, ddof=1) / 2300**0.5, rtol=1e-5)


def test_degenerate_replicates_are_left_out_and_counted():
    """A cell without, one with half, and one with nothing but degenerate replicates."""
    moments = toy_moments([7, 7, 7], [1, 1, 1], [9.0, 0.0, -9.0], [0.0])["plain"]
    z = noise(5, "toy", 2300)
    np.testing.assert_array_equal(moments.count, [2300, (z < 0).sum(), 0])
    np.testing.assert_allclose(moments.mean[:2], [7 + z.mean(), 7 + z[z < 0].mean()], rtol=1e-6)
    np.testing.assert_allclose(moments.standard_deviation[1], z[z < 0].std(ddof=1), rtol=1e-5)
    assert np.isnan(moments.standard_deviation[2])


def test_seed_and_study_decide_the_draws():
    cell = ([1], [1], [9.0], [0.0])
    base = toy_moments(*cell)["plain"].mean
    np.testing.assert_array_equal(base, toy_moments(*cell)["plain"].mean)
    assert base != toy_moments(*cell, seed=6)["plain"].mean
    assert base != toy_moments(*cell, study="other")["plain"].mean


def test_changing_values_compiles_nothing(compilations):
    """Cells, weights, replicates and seeds are data: the program is traced and compiled once in a process."""
    toy_moments([1], [1], [9.0], [0.1, 0.2])
    del compilations[:], traced[:]
    for number in range(10):
        cells = (np.arange(1, 3 + number), [2 + number] * (2 + number), [number / 3] * (2 + number))
        toy_moments(*cells, [0.3, 0.03 * number], replicates=700 + 200 * number, seed=number)
    assert compilations == []
    assert traced == []


# --- plans ---------------------------------------------------------------------------------------


def test_the_plan_covers_every_cell_and_replicate_once():
    grid = gaussian_grid(n="10", ratio="0.1:1:7", p=None, theta_norm="1,2,3", alpha="1", beta="same")
    units = plan(grid, 2500, Layout(5, 8, 1))
    covered = np.zeros(21)
    for unit in units:
        covered[unit.start : unit.stop] += unit.replicates
    assert (covered == 2500).all()
    assert len({unit.name for unit in units}) == len(units)


@pytest.mark.parametrize("cells", [(0, 8, 1), (1, 8, 3), (4, 0, 1)])
def test_a_layout_is_checked(cells):
    with pytest.raises(ValueError, match="tile_cells a multiple of draw_cells"):
        Layout(*cells)
