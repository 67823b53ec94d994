"""Runs in an object store: the same numbers as on a disk, after whatever happens to the store meanwhile."""

import json
from functools import partial

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import mixjax.runs
import sims.cli
import train.cli
from mixjax.runs import RunError
from mixjax.runs.lease import Lease
from mixjax.runs.storage import located
from mixjax.sims.cli import main
from mixjax.sims.configuration import work_of
from mixjax.sims.engine.execution import ExecutionOptions, execute
from mixjax.sims.merging import merge
from mixjax.sims.status import describe, status
from tests.sims.small_run import AXES, OPTIONS, SMALL, assert_same_bits, planned, resumed

KEPT = "finished work is kept, and the same command resumes from it"


class LostError(Exception):
    """What packages of stores raise: no OSError."""


class Frail(MemoryFileSystem):
    """A store that is lost after some objects were put; it has buckets, which have to be there."""

    protocol = "frail"
    left = 10**9
    store, pseudo_dirs = {}, [""]

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.removeprefix("frail://"))

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        if not Frail.left:
            raise LostError("the connection is lost")
        Frail.left -= ".lock" not in path
        super().pipe_file(path, value, mode, **kwargs)


fsspec.register_implementation("frail", Frail, clobber=True)


@pytest.fixture(autouse=True)
def _empty():
    """No store outlives a test."""
    yield
    Frail.left = 10**9
    for system in (MemoryFileSystem, Frail):
        system.store.clear()
        system.pseudo_dirs[:] = [""]


@pytest.fixture
def finished(undisturbed):
    """A finished run in a store."""
    resumed("memory://bucket/run")
    return located("memory://bucket/run")


@pytest.mark.medium
def test_a_run_is_that_of_a_disk(undisturbed):
    out, said = "memory://bucket/run", []
    table, stored = resumed(out, said.append)
    assert stored == 0
    assert_same_bits(undisturbed, table)
    assert_same_bits(undisturbed, sims.load(out))
    assert said == []
    assert sorted(child.name for child in located(out).iterdir()) == [
        "dataset.nc", "manifest.json", "provenance.json", "shards", "sittings.json",
    ]  # fmt: skip
    found = status(out)
    assert (found.state, found.number, found.left) == ("finished", 9, 0)
    again, stored = resumed(out)  # loaded, not computed
    assert stored is None
    assert_same_bits(undisturbed, again)
    with pytest.raises(RunError, match=r"another spec .*replicates is 2500 there and 2000 here"):
        sims.run("phase_diagram", out, **{**AXES, "replicates": 2000})


def interrupted(out):
    """A run that ends when four units are stored."""

    def interrupt(done, _):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sims.run("phase_diagram", out, layout=SMALL, progress=interrupt, **AXES)


@pytest.mark.medium
def test_interrupted_and_gone_on_with(undisturbed):
    """Also in a folder of a bucket that holds other things."""
    out = located("memory://bucket/runs/map")
    located("memory://bucket/runs/other").write_bytes(b"of somebody else")

    interrupted(out)
    found = status(out)
    assert found.state == "stopped"
    assert 4 <= len(found.inventory.stored) < 9
    assert describe(found, out).startswith("phase_diagram in memory://bucket/runs/map: stopped\n")
    with pytest.raises(RunError, match="the run in memory://bucket/runs/map is not finished"):
        sims.load(out)
    table, stored = resumed(out)
    assert stored == len(found.inventory.stored)
    assert_same_bits(undisturbed, table)


@pytest.mark.medium
def test_damaged_and_vanished_objects_are_computed_anew(finished, undisturbed):
    shards = sorted((finished / "shards").iterdir(), key=str)
    shards[2].write_bytes(shards[2].read_bytes()[:-1])
    finished.system.rm_file(shards[4].key)
    finished.system.rm_file((finished / "dataset.nc").key)
    said = []
    table, stored = resumed(finished, said.append)
    assert stored == 7
    assert_same_bits(undisturbed, table)
    assert said == [
        f"memory://bucket/run: 1 shard ({shards[2].stem}) truncated, altered or misplaced: to be recomputed",
        f"memory://bucket/run: 1 shard ({shards[4].stem}) missing before the last stored one: to be computed",
    ]


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "puts",
    [0, pytest.param(1, marks=pytest.mark.slow), 5, pytest.param(10, marks=pytest.mark.slow), 11],
    ids=["lease", "shard", "mid-run", "provenance", "table"],
)
def test_a_store_that_is_lost_keeps_what_it_has(puts, undisturbed):
    """While each kind of object is put: one sentence, and the same call goes on."""
    Frail.left = puts
    with pytest.raises(RunError) as raised:
        resumed("frail://bucket/run")
    assert str(raised.value).startswith("frail://bucket/run/")
    assert str(raised.value).endswith(f" cannot be written: the connection is lost; {KEPT}")
    Frail.left = 10**9
    table, stored = resumed("frail://bucket/run")
    assert stored == min(max(puts - 1, 0), 9)
    assert_same_bits(undisturbed, table)


@pytest.mark.slow
def test_a_damaged_table_is_made_anew(finished, undisturbed):
    table = finished / "dataset.nc"
    table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(RunError, match=r"memory://bucket/run/dataset.nc is damaged; delete it"):
        sims.load(finished)
    finished.system.rm_file(table.key)
    again, stored = resumed(finished)
    assert stored == 9
    assert_same_bits(undisturbed, again)


@pytest.mark.slow
def test_parts_merge_from_and_into_stores_and_disks(undisturbed, tmp_path):
    work = planned(SMALL)
    parts = ["memory://bucket/first", str(tmp_path / "second")]
    for number, part in enumerate(parts, start=1):
        assert not execute(work, located(part), ExecutionOptions(part=(number, 2), warn=[].append))
    said = []
    assert merge(parts, "memory://bucket/whole", warn=said.append).state == "finished"
    assert said == []
    assert_same_bits(undisturbed, sims.load("memory://bucket/whole"))


@pytest.mark.medium
def test_a_run_that_is_taken_over_ends_and_loses_nothing(undisturbed, monkeypatch):
    """It was suspended for long, and stores no more when it wakes; another goes on from what is there."""
    out, leases = located("memory://bucket/run"), []

    def hold(*given, **options):
        leases.append(Lease(*given, **options))
        return leases[-1]

    def suspend(done, _):
        if done == 4 and len(leases) == 1:
            hold(out, [].append, period=1000.0, pause=lambda _: None)
            leases[0].renew()

    monkeypatch.setattr(mixjax.runs.directory, "Lease", hold)
    with pytest.raises(RunError, match=r"^another run \(process .*\) has taken over memory://bucket/run, because this"):
        sims.run("phase_diagram", out, layout=SMALL, progress=suspend, **AXES)
    stored = len(status(out).inventory.stored)
    assert 4 <= stored < 9
    leases[1].close()
    table, before = resumed(out)
    assert before == stored
    assert_same_bits(undisturbed, table)


@pytest.mark.slow
def test_as_commands(finished, capsys):
    out, folder = str(finished), "memory://results/map"
    assert main(["phase_diagram", *OPTIONS, "--out", out]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"figure: {out}/figures/ece_difference.png"
    picture = finished / "figures" / "ece_difference.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "n = 50" in picture.with_suffix(".txt").read_text()
    drawn = picture.modified()
    assert main(["phase_diagram", *OPTIONS, "--out", out]) == 0
    assert picture.modified() == drawn  # not drawn again
    assert main(["verify", out]) == 0
    assert "agrees with" in (finished / "verification.txt").read_text()
    assert main(["status", out]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "9 of 9 units done (100%), 0 left"
    assert main(["publish", out, folder]) == 0
    assert capsys.readouterr().out == f"{folder}/README.md\n"
    assert "bucket" not in (located(folder) / "README.md").read_text()
    assert main(["publish", out, out]) == 2
    assert f"{out} holds files that are not published results" in capsys.readouterr().err


@pytest.mark.slow
def test_a_result_names_no_bucket(monkeypatch, undisturbed):
    """But the folder in it, as for a folder elsewhere on a disk."""
    monkeypatch.setattr(sims.cli, "_conclude", lambda *_: 0)
    monkeypatch.setattr(sims.cli, "work_of", partial(work_of, layout=SMALL))
    assert main(["phase_diagram", *OPTIONS, "--out", "memory://bucket/runs/map"]) == 0
    for child in located("memory://bucket/runs/map").iterdir():
        if child.name != "shards":
            assert b"bucket" not in child.read_bytes()
    made_with = json.loads(located("memory://bucket/runs/map/provenance.json").read_text())
    assert made_with["command"].startswith("python -m sims phase_diagram --preset default --out map --n 50")
    assert made_with["units"] == "9 of 9"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["phase_diagram", *OPTIONS, "--out", "nosuch://bucket/run"], "Protocol not known: nosuch"),
        (["phase_diagram", *OPTIONS, "--out", "memory://bucket/../run"], "no empty part in its name"),
        (["status", "memory://bucket/run"], "memory://bucket/run holds no run"),
        (["figures", "memory://bucket/run"], "memory://bucket/run holds no run"),
        (["merge", "memory://bucket/run", "--out", "memory://bucket/all"], "memory://bucket/run holds no run"),
    ],
)
def test_wrong_urls_are_one_sentence_and_status_2(arguments, words, capsys):
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("arguments", [["width", "--out", "s3://bucket/run"], ["figures", "s3://bucket/run"]])
def test_runs_of_nets_are_on_a_disk(arguments, capsys):
    assert train.cli.main(arguments) == 2
    assert capsys.readouterr().err == "error: s3://bucket/run is a URL, but this command needs a folder on a disk\n"


def test_s3(bucket, undisturbed, monkeypatch):
    """As `memory://`, through s3fs."""
    out = located(f"s3://{bucket}/runs/map")

    interrupted(out)
    found = status(out)
    assert 4 <= len(found.inventory.stored) < 9
    shard = next((out / "shards").iterdir())
    shard.write_bytes(shard.read_bytes()[:-1])
    said = []
    table, stored = resumed(out, said.append)
    assert stored == len(found.inventory.stored) - 1
    assert_same_bits(undisturbed, table)
    assert any("truncated, altered or misplaced" in line for line in said)
    assert status(out).state == "finished"
    with pytest.raises(RunError, match=r"s3://elsewhere/run/.lock/1 cannot be written: .*bucket does not exist"):
        resumed("s3://elsewhere/run")
    (out / "manifest.json").write_once(b"{}")
    assert (out / "manifest.json").read_bytes() != b"{}"
