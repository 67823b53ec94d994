"""Folders and shards that somebody else made: no link is followed, nothing is believed, and nothing is executed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from mixjax.runs import RunDirectory, RunError, read_manifest
from mixjax.runs import shards as _shards
from mixjax.runs.lease import Lease, holder_of
from mixjax.runs.shards import seal
from mixjax.runs.storage import ObjectPath
from mixjax.runs.untrusted import parse_json, read_json, refuse_links
from tests.fuzzing import NUMBER, mutated, survive
from tests.runs import run_folder
from tests.runs.run_folder import RUN, SPEC

ARRAYS = run_folder.ARRAYS | {"text": np.array("[1, 2]")}


@pytest.fixture
def run(run):
    run.write("a", ARRAYS)
    return run


PLACES = [".lock", "manifest.json", "shards", "shards/a.npz", "dataset.nc", "provenance.json", "verification.txt",
          "figures", "figures/.tmp-ece.png", "predictions/.tmp-predictions.npz", "checkpoints/job/1"]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_a_folder_with_links_or_pipes_is_refused_and_nothing_beyond_is_touched(run, tmp_path, place, kind):
    run.close()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".tmp-mine").write_text("mine")
    (outside / "file").write_text("mine")
    path = run.path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        (path / "a.npz").unlink()
        path.rmdir()
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"link": outside if "." not in path.name else outside / "file"}.get(kind, outside / "new"))
    says = f"{path.name} is {'no file' if kind == 'pipe' else 'a link'}; a run has files"
    for attempt in (lambda: read_manifest(run.path), lambda: RunDirectory.open(run.path, **RUN)):
        with pytest.raises(RunError, match=says):
            attempt()
    assert sorted(child.name for child in outside.iterdir()) == [".tmp-mine", "file"]
    assert {child.read_text() for child in outside.iterdir()} == {"mine"}


def test_links_in_what_is_no_run_are_not_looked_for(tmp_path):
    """Of somebody's home it is said that it is no run, not that a link there is one too many."""
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(RunError, match="holds no run"):
        read_manifest(tmp_path)
    with pytest.raises(RunError, match="holds files that are not a run"):
        RunDirectory.open(tmp_path, **RUN)


def test_the_folder_itself_may_be_a_link(run, tmp_path):
    (tmp_path / "link").symlink_to(run.path)
    refuse_links(tmp_path / "link")
    assert read_manifest(tmp_path / "link")["spec"] == SPEC


@pytest.mark.parametrize("name", ["../manifest", "/etc/passwd", "a/b", "../..", "a\0b"])
def test_a_unit_has_a_name_and_no_path(run, name):
    for call in (run.has, run.read, lambda name: run.write(name, ARRAYS)):
        with pytest.raises(RunError, match="is not the name of a unit of work"):
            call(name)


JSON = {
    "deep": "[" * 33 + "]" * 33,
    "deeper": "[" * 100_000,
    "deep objects": '{"a":' * 50_000,
    "digits": "1" * 21,
    "many digits": '{"replicates": 1' + "0" * 5000 + "}",
    "NaN": '{"a": NaN}',
    "Infinity": "[-Infinity]",
    "many lists": "[" + "[]," * 2**20 + "0]",
    "two values": "1 2",
    "nothing": "",
}


@pytest.mark.parametrize("case", JSON)
def test_json_that_is_refused(case):
    with pytest.raises(ValueError):
        parse_json(JSON[case])


def test_json_that_is_read():
    value = {"a": [1, -1.5e300, 2**64 - 1, "\u00e9\n", None, True], "b": {"c": [[]]}}
    assert parse_json(json.dumps(value)) == value
    assert parse_json("[" * 32 + "]" * 32)


def test_a_json_file_is_no_longer_than_its_limit(tmp_path):
    (tmp_path / "a.json").write_text(" " * 100 + "1")
    assert read_json(tmp_path / "a.json", 101) == 1
    with pytest.raises(ValueError, match="more than 100 bytes"):
        read_json(tmp_path / "a.json", 100)
    with open(tmp_path / "a.json", "wb") as file:
        file.truncate(2**40)  # without a byte on the disk
    with pytest.raises(ValueError, match="more than 67108864 bytes"):
        read_json(tmp_path / "a.json")


def test_names_are_shown_on_one_line(run):
    (run.path / "shards" / "x\n\x1b[2J").touch()
    assert run.inventory(["a"]).remarks() == [r"1 file (x\n\x1b[2J) in shards/ not of this run: left alone"]


UNIT = hashlib.sha256(json.dumps(SPEC, sort_keys=True).encode()).digest() + b"a"  # which the checksum is of, too


def resealed(body: bytes) -> bytes:
    return body + hashlib.sha256(UNIT + body).digest()


def shard_of(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """A shard of any members, with the right checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = bytes(32)
    return resealed(buffer.getvalue()[:-32])


def saved(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


class Trap:
    """Unpickling it would raise."""

    def __reduce__(self):
        return eval, ("1/0",)


LONG = saved(np.zeros(8)).replace(b"(8,), }" + b" " * 12, b"(8000000000000,), }")
HOSTILE = {
    "a shape of 64 TB": shard_of({"mean.npy": LONG}),
    "a bomb": shard_of({"mean.npy": saved(np.zeros(10**7))}, zipfile.ZIP_DEFLATED),
    "another compression": shard_of({"mean.npy": saved(np.zeros(8))}, zipfile.ZIP_LZMA),
    "objects": shard_of({"mean.npy": saved(np.array([Trap()], object))}),
    "no array": shard_of({"mean.npy": b"words"}),
    "no npz": resealed(b"words"),
    "nothing": resealed(b""),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_shard_with_a_checksum_is_not_believed(run, case):
    assert b"8000000000000" in LONG
    (run.path / "shards" / "a.npz").write_bytes(shard_of({"mean.npy": saved(np.zeros(8))}))
    assert run.has("a")  # as the others would be, were it not for what is in them
    (run.path / "shards" / "a.npz").write_bytes(HOSTILE[case])
    assert not run.has("a")
    with pytest.raises(RunError, match="missing or damaged"):
        run.read("a")


def test_a_shard_that_is_too_large_is_neither_written_nor_read(run, monkeypatch):
    monkeypatch.setattr(_shards, "MOST_BYTES", 10_000)
    with pytest.raises(RunError, match=r"results of 1[0-9]{4} bytes, and may have 10000; make it smaller"):
        run.write("b", {"mean": np.zeros(2000)})
    with open(run.path / "shards" / "a.npz", "wb") as file:
        file.truncate(2**40)
    assert not run.has("a")


def test_damaged_shards_are_damaged_or_whole(run, rng, tmp_path):
    """Changes before the checksum is made, in the archive or in a member; and after it."""
    whole, path = seal(ARRAYS, UNIT), run.path / "shards" / "a.npz"
    members = {f"{name}.npy": saved(array) for name, array in ARRAYS.items()}
    methods = [zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]

    def shards():
        for number in range(NUMBER):
            if number % 3 == 0:
                yield mutated(whole, rng)
            elif number % 3 == 1:
                yield resealed(mutated(whole[:-32], rng))
            else:
                name = list(members)[rng.integers(3)]
                yield shard_of({**members, name: mutated(members[name], rng, 1)}, methods[rng.integers(len(methods))])

    def read(content: bytes) -> None:
        path.write_bytes(content)
        arrays = run.read("a")
        assert run.has("a") and sum(array.nbytes for array in arrays.values()) <= len(content)

    counts = survive(shards(), read, tmp_path / "bad")
    assert counts["refused"] > NUMBER / 3 and counts["read"] > 0, counts


def test_no_more_is_allocated_than_a_file_holds(run):
    tracemalloc.start()
    assert run.has("a")
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def planted(**leases):
    """A folder of a store with objects where leases are."""
    system = MemoryFileSystem(global_store=False, skip_instance_cache=True)
    folder = ObjectPath("memory://bucket/run", "/bucket/run", system)
    for name, content in leases.items():
        (folder / ".lock" / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b'"host"', b"{}", b"9" * 10_000, b'{"host": "a"}'])
def test_what_is_no_lease(content):
    """It is taken for that of a dead holder where a lease could be, and is nothing under another name."""
    others, said = ["-1", "0", "01", "9" * 100, "a"], []
    folder = planted(**dict.fromkeys(["1", *others], content))
    with Lease(folder, said.append, pause=lambda _: None) as held:
        held.check()
        assert said[0].startswith("memory://bucket/run is held by process unknown on unknown: watching")
        assert sorted(path.name for path in (folder / ".lock").iterdir()) == sorted([*others, "2"])


def test_a_terminal_obeys_no_host():
    holder = {"host": "\x1b[2J", "process": 7, "token": "", "renewals": 0}
    folder = planted(**{"1": json.dumps(holder).encode()})
    assert holder_of(folder).startswith(r"process 7 on \x1b[2J, which renewed its lease at 20")
