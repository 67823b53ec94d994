"""Runs whose parts were made apart: what merges, what is refused, and what a folder says of itself."""

import json
import os
import shutil

import pytest

from mixjax import sims
from mixjax.runs import RunDirectory, RunError, read_manifest
from mixjax.sims.cli import main
from mixjax.sims.engine.execution import ExecutionOptions, execute
from mixjax.sims.engine.units import Layout
from mixjax.sims.merging import merge
from mixjax.sims.status import describe, status
from tests.sims.small_run import AXES, SMALL, assert_same_bits, planned


def make(folder, part=(1, 1), layout=SMALL, **axes):
    return execute(planned(layout, **axes), folder, ExecutionOptions(part=part))


@pytest.fixture(scope="module")
def folders(tmp_path_factory, small_folder):
    """The two halves of a run, and the whole."""
    folder = tmp_path_factory.mktemp("runs")
    assert not make(folder / "first", (1, 2))
    assert not make(folder / "second", (2, 2))
    (folder / "whole").symlink_to(small_folder)
    return folder


def refused(folders, out, words, **options):
    with pytest.raises(RunError, match=words):
        merge(folders, out, **options)


@pytest.mark.medium
def test_halves_are_the_whole_to_the_last_bit(folders, tmp_path):
    assert [len(status(folders / half).inventory.stored) for half in ("first", "second")] == [5, 4]
    merged = merge([folders / "first", folders / "second"], tmp_path / "out")
    assert (merged.state, merged.left) == ("finished", 0)
    assert_same_bits(sims.load(folders / "whole"), sims.load(tmp_path / "out"))
    made_with = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert made_with["units"] == "0 of 9"
    assert made_with["sittings"] == 3  # of the halves, and the merging


@pytest.mark.medium
def test_what_overlaps_is_kept_once_and_what_lacks_is_left_to_be_computed(folders, tmp_path):
    merged = merge([folders / "first", folders / "first"], tmp_path / "out")
    assert (merged.state, merged.left) == ("stopped", 4)
    seen = []
    sims.run("phase_diagram", tmp_path / "out", progress=lambda *units: seen.append(units), **AXES)
    assert seen[0] == (5, 9)
    assert merge([folders / "whole", folders / "second"], tmp_path / "again").state == "finished"
    assert merge([folders / "second"], tmp_path / "again").state == "finished"  # already whole


@pytest.mark.medium
def test_damage_is_left_out_and_said(folders, tmp_path):
    shutil.copytree(folders / "first", tmp_path / "first")
    shard = sorted((tmp_path / "first" / "shards").iterdir())[1]
    shard.write_bytes(shard.read_bytes()[:-1])
    said = []
    merged = merge([tmp_path / "first", folders / "second"], tmp_path / "out", warn=said.append)
    assert (merged.state, merged.left) == ("stopped", 1)
    assert said == [f"{tmp_path / 'first'}: 1 shard ({shard.stem}) truncated, altered or misplaced: to be recomputed"]


@pytest.mark.medium
def test_other_specs_layouts_and_environments_are_refused_with_what_differs(folders, tmp_path):
    make(tmp_path / "seed", (1, 9), seed=1)
    refused([folders / "first", tmp_path / "seed"], tmp_path / "out", r"differ in their spec: seed is 0 in .* and 1 in")
    make(tmp_path / "layout", (1, 9), layout=Layout(1, 8, 1))
    refused([folders / "first", tmp_path / "layout"], tmp_path / "out", "differ in their layout: unit_cells is 2 in")
    assert not (tmp_path / "out").exists()
    refused([folders / "first"], tmp_path / "layout", "cut differently: unit_cells is 1 in .* and 2 in")
    shutil.copytree(folders / "second", tmp_path / "jax")
    manifest = json.loads((tmp_path / "jax" / "manifest.json").read_text())
    manifest["environment"]["jax"] = "another"
    (tmp_path / "jax" / "manifest.json").write_text(json.dumps(manifest))
    both = [folders / "first", tmp_path / "jax"]
    refused(both, tmp_path / "out", 'environment: jax is .* and "another" in .*; --allow-mixed merges them')
    assert merge(both, tmp_path / "out", allow_mixed=True).state == "finished"
    made_with = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert [environment["jax"] == "another" for environment in made_with["environments"]] == [False, True]


@pytest.mark.medium
def test_the_same_unit_with_other_numbers_is_refused(folders, tmp_path):
    """As from a machine that computes wrongly: its checksums are right."""
    shutil.copytree(folders / "first", tmp_path / "wrong")
    shard = min((tmp_path / "wrong" / "shards").iterdir())
    wrong = RunDirectory(tmp_path / "wrong", read_manifest(tmp_path / "wrong"))
    arrays = wrong.read(shard.stem)
    wrong.write(shard.stem, {**arrays, "ece.mean": arrays["ece.mean"] + 1})
    refused(
        [folders / "first", tmp_path / "wrong"], tmp_path / "out", f"unit {shard.stem} has other numbers in .*wrong"
    )


@pytest.mark.medium
def test_what_holds_no_run_or_none_of_this_release(folders, tmp_path):
    refused([tmp_path], tmp_path / "out", "holds no run")
    shutil.copytree(folders / "first", tmp_path / "other")
    manifest = json.loads((folders / "first" / "manifest.json").read_text())
    for part, value in (
        ("spec", {**manifest["spec"], "study": "nosuch"}),
        ("spec", {**manifest["spec"], "study": ["phase_diagram"]}),
        ("config", {**manifest["config"], "replicates": 7}),
        ("config", {"nosuch": 1}),
        ("layout", {"unit_cells": 0}),
    ):
        (tmp_path / "other" / "manifest.json").write_text(json.dumps({**manifest, part: value}))
        with pytest.raises(RunError, match="is not of a study of this release"):
            status(tmp_path / "other")


@pytest.mark.slow
def test_as_commands(folders, tmp_path, capsys, one_figure):
    assert main(["merge", str(folders / "first"), str(folders / "second"), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith(
        f"phase_diagram in {tmp_path / 'out'}: finished\n9 of 9 units done (100%), 0 left\n"
    )
    assert main(["status", str(folders / "first")]) == 0
    assert "5 of 9 units done (56%), 4 left" in capsys.readouterr().out
    assert main(["merge", str(folders / "first")]) == 2
    assert main(["phase_diagram", "--part", "3/2"]) == 2
    assert "must be K/N with K from 1 to N" in capsys.readouterr().err


@pytest.mark.medium
def test_rate_and_time_left_are_of_late(folders, tmp_path):
    """Five shards, ten seconds apart, after a pause of an hour; four units are left."""
    shutil.copytree(folders / "first", tmp_path / "run")
    for index, shard in enumerate(sorted((tmp_path / "run" / "shards").iterdir())):
        when = 1e9 + 10 * index + (3600 if index else 0)
        os.utime(shard, (when, when))
    found = status(tmp_path / "run")
    assert found.rate == pytest.approx(0.1)
    assert "0.1 units/s; 40 s left once it is resumed" in describe(found, tmp_path / "run")
