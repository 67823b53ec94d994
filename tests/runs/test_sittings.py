"""The seconds of a run: those of every sitting, whatever ended it, and of merged parts each once."""

import errno
import json

import pytest

from mixjax.runs import RunDirectory, RunError, Sittings, sittings
from mixjax.runs.storage import located
from tests.runs.run_folder import RUN, SPEC


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set."""
    now = [100.0]
    monkeypatch.setattr(sittings.time, "perf_counter", lambda: now[0])
    return now


def test_a_run_that_was_resumed_took_all_sittings(tmp_path, clock):
    """Of 30 seconds, of which the last that were stored are 20, since it was killed; of 5; and of 1 until now."""
    first = Sittings(tmp_path)
    clock[0] += 20
    first.record(at_once=False)
    clock[0] += 10
    second = Sittings(tmp_path)
    clock[0] += 5
    second.record()
    third = Sittings(tmp_path)
    clock[0] += 1
    assert third.total() == {"seconds": 26.0, "sittings": 3}


def test_records_are_seconds_apart(tmp_path, clock):
    one = Sittings(tmp_path)
    written = []
    for _ in range(20):
        clock[0] += 0.25
        one.record(at_once=False)
        if (tmp_path / "sittings.json").exists():
            written.append(next(iter(json.loads((tmp_path / "sittings.json").read_text()).values())))
    assert sorted(set(written)) == [2.0, 4.0]


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    one = Sittings(tmp_path)
    monkeypatch.setattr("os.replace", full)
    with pytest.raises(RunError, match=f"^cannot write to {tmp_path}: the disk is full; finished work is kept"):
        one.record()


def test_in_a_store(clock):
    folder = located("memory://sittings/run")
    one = Sittings(folder)
    clock[0] += 10
    one.record(at_once=False)
    assert not (folder / "sittings.json").exists()
    clock[0] += 30
    one.record(at_once=False)
    assert Sittings(folder).total() == {"seconds": 40.0, "sittings": 2}


def test_parts_count_once(tmp_path, clock):
    """A folder is merged, and then merged again with another."""
    for name, seconds in (("a", 3), ("b", 4)):
        (tmp_path / name).mkdir()
        part = Sittings(tmp_path / name)
        clock[0] += seconds
        part.record()
    for parts in ("a", "ab", "bba"):
        merged = Sittings(tmp_path, [tmp_path / name for name in parts])
        merged.record()
    assert merged.total() == {"seconds": 7.0, "sittings": 5}


@pytest.mark.parametrize("content", ["", "[1]", '{"a": -1}', '{"a": "x"}', '{"a": NaN}', '{"a": true}', "[" * 100])
def test_a_damaged_file_counts_for_nothing(tmp_path, clock, content):
    (tmp_path / "sittings.json").write_text(content)
    one = Sittings(tmp_path)
    clock[0] += 1
    assert one.total() == {"seconds": 1.0, "sittings": 1}
    one.record()
    assert Sittings(tmp_path).total()["sittings"] == 2


def test_a_folder_that_is_taken_over_begins_anew(tmp_path, clock):
    with RunDirectory.open(tmp_path / "run", **RUN) as run:
        Sittings(run.path).record()
    with RunDirectory.open(tmp_path / "run", **RUN | {"spec": {**SPEC, "seed": 1}}, warn=lambda _: None) as run:
        assert Sittings(run.path).total()["sittings"] == 1
