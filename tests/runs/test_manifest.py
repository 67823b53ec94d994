"""Manifests: unreadable ones, those of a newer release, and those of another spec or environment are refused."""

import json

import pytest

from mixjax.runs import RunDirectory, RunError, read_manifest
from tests.runs.run_folder import ARRAYS, ENVIRONMENT, RUN, SPEC


def test_another_spec_is_refused_with_what_differs(run):
    run.write("a", ARRAYS)
    with pytest.raises(RunError, match=r"another spec \(seed is 0 there and 1 here\)"):
        RunDirectory.open(run.path, **RUN | {"spec": {**SPEC, "seed": 1}})


def test_of_a_run_of_something_else_only_that_is_said(run):
    run.write("a", ARRAYS)
    said = r'another spec \(experiment is null there and "s" here; study is "s" there and null here\)'
    with pytest.raises(RunError, match=said):
        RunDirectory.open(run.path, **RUN | {"spec": {"experiment": "s", "n": 3}})


@pytest.mark.medium
def test_a_folder_where_nothing_was_computed_is_taken_over(run):
    """But not while a run is at work in it, and not once it holds a unit or a file that no run begins with."""
    again = RUN | {"spec": {**SPEC, "seed": 1}}
    with pytest.raises(RunError, match="another run is working"):
        RunDirectory.open(run.path, **again)
    run.close()
    (run.path / "checkpoint").touch()
    with pytest.raises(RunError, match=r"another spec .*choose another folder \(--out\)"):
        RunDirectory.open(run.path, **again)
    (run.path / "checkpoint").unlink()
    said = []
    with RunDirectory.open(run.path, **again, warn=said.append) as taken:
        assert taken.manifest["spec"]["seed"] == 1
        taken.write("a", ARRAYS)
    assert said == [f"{run.path} held a run with another spec and no finished unit; it now holds this run"]
    with pytest.raises(RunError, match="another spec"):
        RunDirectory.open(run.path, **RUN)


def test_another_environment_is_refused_until_the_run_is_finished(run):
    other = {**ENVIRONMENT, "jax": "2"}
    with pytest.raises(RunError, match='jax is "1" there and "2" here'):
        RunDirectory.open(run.path, **RUN | {"environment": other})
    (run.path / "dataset.nc").touch()
    assert RunDirectory.open(run.path, **RUN | {"environment": other}, warn=lambda _: None).finished


def test_a_run_that_other_code_finished_is_announced(tmp_path):
    """An edit and another JAX are; another device is not, and neither is the same code. Every contributor is named."""
    made, lines = {"commit": "a", "jax": "1", "device": "x"}, []

    def reopen(environment, **options):
        RunDirectory.open(tmp_path / "run", **RUN | {"environment": environment}, warn=lines.append, **options).close()

    reopen(made)
    reopen({**made, "commit": "a-modified-\x1b"}, allow_mixed=True)
    (tmp_path / "run" / "dataset.nc").touch()
    assert not lines
    reopen({**made, "device": "y"})
    assert lines == [
        rf"{tmp_path}/run was finished earlier, by commit a with jax 1 and commit a-modified-\x1b with jax 1; nothing "
        "was computed (now it would be commit a with jax 1: choose another folder for that)"
    ]
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    del manifest["mixed"]
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    for changed, count in (({"device": "y"}, 1), ({"commit": "b"}, 2), ({"jax": "2"}, 3)):
        reopen({**made, **changed})
        assert len(lines) == count


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"format": 999}', '{"format": 1}', '{"format": 1, "spec": [], "environment": {}}', "\x00"],
)
def test_an_unreadable_manifest_is_refused(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(RunError, match=r"manifest\.json"):
        read_manifest(tmp_path)
    with pytest.raises(RunError, match=r"manifest\.json"):
        RunDirectory.open(tmp_path, **RUN)
    assert (tmp_path / "manifest.json").read_text() == content


def test_a_manifest_of_a_newer_release_is_refused(run):
    run.close()
    manifest = json.loads((run.path / "manifest.json").read_text())
    (run.path / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    says = r"written by a newer release \(format 2, and this one reads 1\); upgrade mixjax"
    with pytest.raises(RunError, match=says):
        RunDirectory.open(run.path, **RUN)
