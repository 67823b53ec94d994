"""What is said of a run before it starts, and what is refused then."""

from dataclasses import replace

import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.sims import grid
from mixjax.sims.cli import main
from mixjax.sims.engine import tiles, work
from mixjax.sims.engine.execution import ExecutionOptions, execute
from mixjax.sims.engine.forecast import amount, several
from tests.sims.small_run import planned


@pytest.mark.medium
def test_the_plan_comes_first_and_says_what_it_costs(tmp_path):
    """Six cells, two settings and three blocks of replicates; what is left is what counts."""
    order = []
    options = ExecutionOptions(announce=order.append, progress=lambda *units: order.append(units))
    execute(planned(), tmp_path, options)
    size, cost, *progress = order
    assert size == "phase_diagram: 6 cells x 2 settings x 2,500 replicates = 30,000, in 3 units"
    assert cost.startswith("at least ")
    assert "estimated from the first tile" in cost
    assert progress == [(0, 3), (1, 3), (2, 3), (3, 3)]
    (tmp_path / "dataset.nc").unlink()
    order.clear()
    execute(planned(), tmp_path, options)
    assert order == [f"{size}, all stored", (3, 3)]
    order.clear()
    execute(planned(), tmp_path / "part", replace(options, part=(2, 2)))
    assert order[0] == f"{size}, 1 of them in this part"


def test_the_forecast_is_a_tile_times_their_number(monkeypatch):
    """A clock by which a tile takes one second: 100 units of eight tiles on two threads, and 30 s of compiling."""
    clock = iter([0, 31, 31, 32, 32, 33])
    monkeypatch.setattr(work.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(work, "default_threads", lambda: 2)
    sizes = []
    monkeypatch.setattr(tiles.Tiles, "moments", lambda _, unit, warn: sizes.append(unit))
    large = planned(ratio="0.05:8:64:log", theta_norm="1:2:10")
    assert large.seconds(large.layout("cpu"), 100) == 30 + 8 * 100 / 2
    assert {unit.stop - unit.start for unit in sizes} == {8}


def test_the_full_map_says_its_size_and_cost_and_asks_nothing(tmp_path, monkeypatch, capsys):
    """256 x 256 cells x 16 Mixup settings x 10,000 replicates; a terminal that is read from is an error."""

    def begun(*_):
        raise RunError("work begins")

    monkeypatch.setattr(work.GridWork, "seconds", lambda *_: 1234.0)
    monkeypatch.setattr(work.GridWork, "compute", begun)
    monkeypatch.setattr("sys.stdin", None)
    assert main(["phase_diagram", "--preset", "full", "--out", str(tmp_path)]) == 2
    size, cost, *_, end = capsys.readouterr().err.strip().splitlines()
    assert size == "phase_diagram: 65,536 cells x 16 settings x 10,000 replicates = 10.5 billion, in 10,240 units"
    assert cost.startswith("at least 21 min with ")
    assert end == "error: work begins"


def test_amounts_and_plurals():
    assert [amount(number) for number in (950, 7e7, 1.5e9, 1e12)] == ["950", "70 million", "1.5 billion", "1 trillion"]
    assert (several(1, "unit"), several(2000, "unit")) == ("1 unit", "2,000 units")


def test_a_grid_too_large_for_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(grid, "memory", lambda: 2**20)
    monkeypatch.setattr(np, "meshgrid", None)
    with pytest.raises(
        RunError, match=r"100 ratio x 100 theta_norm x 2 settings = 20,000 values takes 0.0056 GiB .*cut it"
    ):
        planned(ratio="1:2:100", theta_norm="1:2:100")


def test_a_run_of_too_many_units_is_refused_before_they_are_listed():
    with pytest.raises(
        RunError, match=r"at most 1,048,576 units, .* got 1 of cells by 2,147,484 of replicates; cut it"
    ):
        many = planned(replicates=2**31 - 1)
        many.names(many.layout("cpu"))
