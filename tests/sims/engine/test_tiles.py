"""Tiles that memory has no room for: they are halved, and no bit changes."""

from __future__ import annotations

import json
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.errors import JaxRuntimeError

from mixjax.runs import RunError, Sittings
from mixjax.sims.cluster import tasks
from mixjax.sims.cluster.tasks import ENVIRONMENT, compute_parts, worker_provenance
from mixjax.sims.engine import devices, tiles
from mixjax.sims.engine.compute import compute, tiles_on_devices
from mixjax.sims.engine.execution import ExecutionOptions, compute_missing, opened
from mixjax.sims.engine.program import Experiment, Program, compiled
from mixjax.sims.engine.tiles import smaller
from mixjax.sims.engine.units import Layout, plan
from mixjax.sims.grid import Grid
from tests.sims.small_run import planned

AXES = {"replicates": 1300, "seed": 3}
REFUSED = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123456 bytes.\nwith a second line"


def _draw(key, cells, settings, replicates):
    keys = jax.vmap(lambda n: jax.random.fold_in(key, n.astype(jnp.int32)))(cells["n"])
    return jax.vmap(lambda one: jax.random.normal(one, (replicates,), jnp.float32))(keys)


TOY = Experiment(_draw, lambda drawn, settings: {"x": jnp.exp(drawn)[:, None] * settings["t"][None, :, None]})
GRID = Grid({"cell": np.arange(45)}, {"n": np.arange(45.0)}, {"t": np.array([0.1, 0.3])})
LAYOUT = {"unit_cells": 64, "tile_cells": 8, "draw_cells": 1}
UNITS = plan(GRID, 1300, Layout(15, 8, 1))


@pytest.fixture
def limit(monkeypatch):
    """Call it with the largest tile that works, when others fail, and with what."""

    def limited(largest, when="computing", error=JaxRuntimeError, text=REFUSED, after=0):
        calls = []

        def failing(*_):
            calls.append(None)
            if len(calls) > after:
                raise error(text)
            return working[0](*_)

        working = []

        def limited_program(experiment, tile, *others):
            if tile <= largest:
                return compiled(experiment, tile, *others)
            if when == "compiling":
                raise error(text)
            if after:
                working.append(compiled(experiment, tile, *others).call)
            return Program(failing, 0)

        monkeypatch.setattr(tiles, "compiled", limited_program)

    return limited


def toy(tile=(8, 1), warn=print):
    layout, stored = Layout(15, *tile), {}
    places = tiles_on_devices(TOY, GRID, study="toy", seed=0, layout=layout)
    list(compute(places, UNITS, stored.__setitem__, threads=2, warn=warn))
    return stored


def assert_same(one, other):
    """Of units by name, arrays by name."""
    assert one.keys() == other.keys()
    for unit, moments in one.items():
        assert moments.keys() == other[unit].keys()
        for name, values in moments.items():
            np.testing.assert_array_equal(values, other[unit][name])


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("when", "error"), [("compiling", JaxRuntimeError), ("computing", JaxRuntimeError), ("computing", MemoryError)]
)
def test_a_tile_that_is_refused_is_halved(limit, when, error):
    """8, 4, 2: each is said once, though two threads find it out."""
    alike, said = toy(), []
    limit(2, when, error)
    assert_same(alike, toy(warn=said.append))
    assert len(said) == 2
    assert said[0].startswith("no room for tiles of 8 cells on ")
    assert said[0].endswith("(RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123456 bytes.): "
                            "from now on they have 4, which changes no number")  # fmt: skip
    assert "4 cells" in said[1] and "they have 2" in said[1]


@pytest.mark.slow
def test_cells_that_are_drawn_at_once_are_halved_with_the_tile(limit):
    """As on an accelerator."""
    alike, said = toy((16, 16)), []
    limit(4)
    assert_same(alike, toy((16, 16), said.append))
    assert len(said) == 2


@pytest.fixture(scope="module")
def whole():
    """Every part of the phase diagram, in tiles of eight."""
    work = planned(**AXES)
    return {name: work.part(name, LAYOUT) for name in work.names(LAYOUT)}


@pytest.mark.slow
def test_a_run_changes_no_bit_and_keeps_its_layout(limit, tmp_path, whole):
    """The phase diagram, on the smallest tile of its default; the manifest goes on saying what it was begun with."""
    work, said = planned(**AXES), []
    options = ExecutionOptions(warn=said.append, announce=lambda _: None)
    limit(2)
    with opened(work, tmp_path, worker_provenance(), options) as directory:
        assert compute_missing(work, directory, options, Sittings(tmp_path)) == (2, 2)
        assert_same(whole, {name: directory.read(name) for name in whole})
        assert directory.manifest["layout"] == LAYOUT
    assert [line.split(" on ")[0] for line in said] == [f"no room for tiles of {size} cells" for size in (8, 4)]


@pytest.mark.slow
def test_a_worker_halves_too_and_what_it_says_comes_back(limit, whole):
    """`compute_parts` as Dask calls it, without Dask; the second part has nothing to say."""
    environment = {name: str(worker_provenance()[name]) for name in ENVIRONMENT}
    task = "phase_diagram", json.dumps(planned(**AXES).stored_config), LAYOUT, environment
    limit(2)
    tasks._work.cache_clear()
    done = [compute_parts(task, (name,)) for name in whole]
    together = compute_parts(task, tuple(whole))
    tasks._work.cache_clear()
    assert [len(one.remarks) for one in done] == [2, 0] and together.remarks == []
    assert_same(whole, dict(zip(whole, together.parts, strict=True)))
    assert_same(whole, dict(zip(whole, (one.parts[0] for one in done), strict=True)))


def test_where_the_smallest_is_refused_one_sentence_says_so(limit):
    """...and what is finished is kept."""
    stored, said = {}, []
    places = tiles_on_devices(TOY, GRID, study="toy", seed=0, layout=Layout(15, 2, 1))
    limit(0, after=2)
    with pytest.raises(RunError, match=r"no room for 2 cells with 2 settings and 1,000 replicates \(RESOURCE.*kept"):
        list(compute(places, UNITS, stored.__setitem__, threads=1, warn=said.append))
    assert (len(stored), said) == (2, [])


def test_other_errors_are_not_taken_for_it(limit):
    limit(0, text="INTERNAL: something else")
    with pytest.raises(JaxRuntimeError, match="something else"):
        toy()


# --- by XLA's own account ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_account_of_xla_grows_with_the_tile():
    """At least the draws of all cells, and their scores for two settings."""
    device, settings = jax.local_devices()[0], (("t", 2),)
    taken = [compiled(TOY, tile, 1, ("n",), settings, device).bytes for tile in (4, 8, 16)]
    assert 1.5 < taken[1] / taken[0] < 2.5
    assert taken[2] >= 16 * 1000 * 4
    assert taken == sorted(taken)


@pytest.mark.medium
def test_a_tile_has_room_before_it_is_tried(monkeypatch):
    alike, said = toy(), []
    taken = compiled(TOY, 4, 1, ("n",), (("t", 2),), jax.local_devices()[0]).bytes
    monkeypatch.setattr(tiles, "room_on", lambda _: taken)
    assert_same(alike, toy(warn=said.append))
    assert len(said) == 1
    assert "tiles of 8 cells" in said[0] and "are free" in said[0] and "they have 4" in said[0]


@pytest.mark.medium
def test_the_smallest_is_tried_whatever_there_is(monkeypatch):
    alike = toy()
    monkeypatch.setattr(tiles, "room_on", lambda _: 0)
    assert_same(alike, toy(warn=lambda _: None))


def test_what_is_smaller():
    sizes = {(8, 1): (4, 1), (3, 1): (2, 1), (2, 1): None, (1, 1): None, (12, 2): (6, 2), (4, 2): None}
    sizes |= {(512, 512): (256, 256), (3, 3): (2, 2), (2, 2): None}
    assert {size: smaller(*size) for size in sizes} == sizes


def test_the_room_is_a_share_for_each_thread(monkeypatch):
    """Of the machine's memory on a CPU, and of the device's on an accelerator; without bound where it tells none."""
    monkeypatch.setattr(devices, "memory", lambda: 64 * 2**30)
    monkeypatch.setattr(devices, "default_threads", lambda: 4)
    monkeypatch.setattr(devices.jax, "local_device_count", lambda: 2)
    assert devices.room_on(jax.local_devices()[0]) == 8 * 2**30
    gpu = SimpleNamespace(platform="gpu", memory_stats=lambda: {"bytes_limit": 80 * 2**30})
    assert devices.room_on(gpu) == 20 * 2**30
    assert devices.room_on(SimpleNamespace(platform="gpu", memory_stats=lambda: None)) >= 2**60
