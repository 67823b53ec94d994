"""Run folders: opened and resumed, those of somebody else, and what is stored in them."""

import shutil

import pytest

from mixjax.runs import RunDirectory, RunError, read_manifest
from tests.runs.run_folder import ARRAYS, ENVIRONMENT, LAYOUT, RUN, SPEC


def test_the_same_spec_resumes_and_keeps_its_layout(run):
    run.close()
    again = RunDirectory.open(run.path, **RUN | {"layout": {"unit_cells": 99}})
    assert again.manifest["layout"] == LAYOUT


def test_somebody_elses_folder_is_refused(tmp_path):
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(RunError, match="not a run"):
        RunDirectory.open(tmp_path, **RUN)
    with pytest.raises(RunError, match="cannot write"):
        RunDirectory.open(tmp_path / "photo.jpg", **RUN)


def test_a_folder_is_created_with_its_parents_and_may_be_empty(tmp_path):
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "a" / "b" / "c"):
        run = RunDirectory.open(path, **RUN)
        assert not run.finished
        assert read_manifest(path)["spec"] == SPEC


def test_an_inventory_tells_whole_from_damaged_and_strange(run):
    for name in "abc":
        run.write(name, ARRAYS)
    (run.path / "shards" / "b.npz").write_bytes(b"")
    (run.path / "shards" / "notes.txt").touch()
    (run.path / "shards" / ".tmp-x").touch()
    found = run.inventory(["a", "b", "c", "d"])
    assert (found.stored, found.damaged, found.strays) == ({"a", "c"}, ("b",), ("notes.txt",))
    assert found.remarks() == [
        "1 shard (b) truncated, altered or misplaced: to be recomputed",
        "1 file (notes.txt) in shards/ not of this run: left alone",
    ]
    assert run.inventory(["d"]).remarks() == ["4 files (a.npz, ...) in shards/ not of this run: left alone"]
    shutil.rmtree(run.path / "shards")
    assert not run.inventory(["a"]).stored


def test_an_environment_that_is_allowed_is_listed(run):
    """...and may go on with the run afterwards without being allowed again."""
    run.close()
    other = {**ENVIRONMENT, "jax": "2"}
    for allowed in (True, False):
        with RunDirectory.open(run.path, **RUN | {"environment": other}, allow_mixed=allowed) as mixed:
            assert mixed.environments == [ENVIRONMENT, other]
    assert read_manifest(run.path)["mixed"] == [other]


def test_debris_of_a_killed_start_is_no_obstacle(tmp_path):
    """A kill before the manifest leaves an empty shards/ and a temporary file at most."""
    (tmp_path / "shards").mkdir()
    (tmp_path / ".tmp-x").touch()
    assert RunDirectory.open(tmp_path, **RUN).manifest["spec"] == SPEC
