"""Whether a run has room: in memory, and in the files of its results."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mixjax.runs import memory
from mixjax.train.loop.job import Arm, Job, Phase, Recipe
from mixjax.train.nets.shapes import MLPShape
from mixjax.train.runs import room
from mixjax.train.runs.records import MOST_RECORDS
from mixjax.train.runs.room import check_records, check_room

NET = MLPShape(12, 2)  # for 64 pixels and ten classes 780 + 156 + 130 parameters
NEEDED = 12 * 3 * 1066  # bytes: three float32 of each parameter of three nets


def job_of(seeds: int, epochs: int = 1) -> Job:
    return Job("job", Recipe(NET), (Arm("erm", (0.0,)),), tuple(range(seeds)), (Phase(epochs),))


def test_nets_have_room_in_memory_or_are_refused(digits, monkeypatch):
    monkeypatch.setattr(room, "_memory", lambda: NEEDED)
    check_room([job_of(3)], digits)
    monkeypatch.setattr(room, "_memory", lambda: NEEDED - 1)
    with pytest.raises(ValueError, match=r"job: 3 nets side by side of 1,066 parameters take .* GiB of memory with"):
        check_room([job_of(3)], digits)


def test_results_have_room_in_a_file_or_are_refused(digits):
    """355 x 10 logits and 262 records of 1024 characters, four bytes each, of a net: 987 nets are below 2^30 bytes."""
    check_room([job_of(987, epochs=262)], digits)
    with pytest.raises(ValueError, match=r"logits and records of 988 nets side by side take 1 GiB, and 1 are kept"):
        check_room([job_of(988, epochs=262)], digits)


def test_records_have_room_in_a_file_or_are_refused():
    check_records([job_of(2**9, 2**8), job_of(2**8, 2**9)])
    with pytest.raises(ValueError, match=f"{MOST_RECORDS + 1:,} nets and epochs are more than the {MOST_RECORDS:,}"):
        check_records([job_of(2**9, 2**9), job_of(1)])


def test_memory_is_that_of_the_devices(monkeypatch, tmp_path):
    """Of a CPU as much as the container allows: 2 GiB are 2 GiB."""
    (tmp_path / "memory.max").write_text(f"{2 * 2**30}\n")
    monkeypatch.setattr(memory, "_CGROUP", tmp_path / "memory.max")
    assert room._memory() == 2 * 2**30
    gpu = SimpleNamespace(platform="gpu", memory_stats=lambda: {"bytes_limit": 80 * 2**30})
    monkeypatch.setattr(room.jax, "local_devices", lambda: [gpu, gpu])
    assert room._memory() == 160 * 2**30
    silent = SimpleNamespace(platform="gpu", memory_stats=lambda: None)
    monkeypatch.setattr(room.jax, "local_devices", lambda: [silent])
    assert room._memory() == float("inf")
