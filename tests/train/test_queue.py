"""`python -m train paper`: what fits into a budget, in order; each run is what its own command leaves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from mixjax.runs import RunError
from mixjax.train import cli, queue
from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.figures.paper import PANELS
from mixjax.train.queue import QUEUE, Entry, work_through
from mixjax.train.runs.options import configured
from tests.train.conftest import SMALL

ONE = Entry("width", "quick", SMALL)
TWO = Entry("depth", "quick", SMALL | {"depth": (1, 2)})
MIXED = Entry("shift", "quick", SMALL)
MISSING = Entry("width", "paper")


@pytest.fixture
def paced(monkeypatch):
    """A hundred seconds a job."""
    monkeypatch.setattr(queue, "forecast", lambda jobs, dataset: 100.0 * len(jobs))
    monkeypatch.setenv("MIXJAX_DATA", "/nonexistent")
    monkeypatch.setattr("mixjax.datasets.loading._SYSTEM", ())


@pytest.mark.parametrize(
    ("budget", "verdicts"),
    [
        (90, ["does not fit", "no data", "does not fit", "does not fit"]),
        (250, ["run", "no data", "does not fit", "run"]),  # what is shorter and less telling fills the budget
        (400, ["run", "no data", "run", "run"]),
    ],
)
def test_what_fits_is_listed_with_its_command_and_time(budget, verdicts, paced, capsys, tmp_path):
    assert work_through((ONE, MISSING, TWO, MIXED), budget, tmp_path) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("measuring")]
    for line, verdict, entry in zip(lines, verdicts, (ONE, MISSING, TWO, MIXED), strict=True):
        assert line.startswith(verdict) and f"{entry.experiment} --preset {entry.preset}" in line
    assert "does not fit (about 3.3 min): depth" in lines[2] or budget != 90
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_refused_does_not_end_the_queue(paced, tmp_path, capsys):
    called = []

    def run(name: str, words: list[str]) -> int:
        called.append((name, words))
        if name == "width":
            raise RunError("no room")
        return 1

    (tmp_path / "shift-quick").mkdir()
    (tmp_path / "shift-quick" / "summary.csv").touch()
    assert work_through((ONE, TWO, MIXED), 1000, tmp_path, "data", run) == 0  # digits take no folder
    assert "cannot be run, digits takes no data_dir" in capsys.readouterr().err and not called
    assert work_through((ONE, TWO, MIXED), 1000, tmp_path, None, run) == 2
    assert [name for name, _ in called] == ["width", "depth"]
    assert called[1][1][-2:] == ["--out", str(tmp_path / "depth-quick")]
    error = capsys.readouterr().err
    assert "error: no room" in error and "finished: shift" in error


@pytest.mark.medium
def test_it_leaves_what_the_command_alone_leaves(finished, tmp_path, monkeypatch, capsys):
    """And measures real steps; the same command again finds it finished."""
    monkeypatch.setattr(queue, "QUEUE", (ONE,))
    monkeypatch.setitem(EXPERIMENTS, "width", dataclasses.replace(EXPERIMENTS["width"], figures=()))
    assert cli.main(["paper", "--budget", "1s", "--out", str(tmp_path), "--dry-run"]) == 0
    for verdict in ("run (about", "finished: width"):
        assert cli.main(["paper", "--budget", "1h", "--out", str(tmp_path)]) == 0
        assert verdict in capsys.readouterr().err
    for name in ("records.jsonl", "summary.csv"):
        assert (tmp_path / "width-quick" / name).read_bytes() == (Path(finished) / name).read_bytes()


def test_the_queue_has_every_panel_of_the_paper_and_folders_of_their_own():
    assert len({entry.folder for entry in QUEUE}) == len(QUEUE)
    assert {(entry.experiment, entry.preset) for entry in QUEUE if not entry.options} == PANELS.keys()
    for entry in QUEUE:
        config = configured(entry.experiment, entry.preset, **entry.options)
        assert not entry.options or (config.dataset, config.train_rows, config.seeds) == ("fashion_mnist", 0, 5)
