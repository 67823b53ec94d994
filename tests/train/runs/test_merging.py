"""Runs that are merged: more seeds and widths in one table, and nothing that does not belong together."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.train.cli import main
from mixjax.train.running import load_records, run
from mixjax.train.runs.merging import merge
from mixjax.train.runs.publishing import publish
from mixjax.train.runs.stored import rows_of
from tests.train.conftest import SMALL, change_manifest


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "second"
    run("width", out, first_seed=1, **SMALL)
    return out


@pytest.mark.medium
def test_two_runs_of_a_seed_are_one_run_of_two(finished, second, tmp_path):
    """Beside a run of both seeds, whose nets are other programs: rounding apart, the same nets."""
    merge([finished, second], tmp_path / "both")
    together = run("width", tmp_path / "together", **SMALL | {"seeds": 2})
    found = load_records(tmp_path / "both")
    key = lambda record: (record["evaluation"], record["arm"], record["seed"], record["epoch"])  # noqa: E731
    assert sorted(map(key, found)) == sorted(map(key, together))
    for one, other in zip(sorted(found, key=key), sorted(together, key=key), strict=True):
        if one["evaluation"] == "test":
            np.testing.assert_allclose([one["nll"], one["brier"]], [other["nll"], other["brier"]], rtol=1e-4)
    rows = rows_of((tmp_path / "both" / "summary.csv").read_text())
    assert [(row.arm, row.seeds) for row in rows] == [("erm", 2), ("mixup", 2), ("mixup - erm", 2)]
    assert len(list((tmp_path / "both" / "predictions").iterdir())) == 4


@pytest.mark.medium
@pytest.mark.parametrize("change", [lambda spec: spec.pop("options"), lambda spec: spec.update(jobs=3),
                                    lambda spec: spec["options"].update(width=["8", 8])])  # fmt: skip
def test_a_manifest_without_options_or_jobs_is_refused(change, finished, second, tmp_path):
    changed = shutil.copytree(second, tmp_path / "changed")
    change_manifest(changed, lambda manifest: change(manifest["spec"]))
    with pytest.raises(RunError, match=r"changed/manifest\.json does not name the options and the jobs of the run"):
        merge([finished, changed], tmp_path / "out")


@pytest.mark.medium
def test_nets_are_in_order_of_their_size(finished, second, tmp_path):
    wide = shutil.copytree(finished, tmp_path / "wide")
    for file in (wide / "records.jsonl", wide / "summary.csv"):
        file.write_text(file.read_text().replace("mlp-8x1", "mlp-16x1"))
    merge([wide, second], tmp_path / "both")
    rows = rows_of((tmp_path / "both" / "summary.csv").read_text())
    assert [row.net for row in rows] == ["mlp-8x1"] * 3 + ["mlp-16x1"] * 3


@pytest.mark.medium
def test_a_merged_run_is_published_with_all_its_commands(finished, second, tmp_path, capsys):
    assert main(["merge", str(tmp_path / "both"), str(finished), str(second)]) == 0
    table, following = capsys.readouterr().out.splitlines()
    assert (
        table == str(tmp_path / "both" / "summary.csv") and "figures both" in following and "publish both" in following
    )
    text = publish(tmp_path / "both", tmp_path / "published").read_text()
    assert "seeds = 2" in text and "python -m train merge both width second" in text
    assert ", over 2 sittings, compilation included" in text
    with pytest.raises(RunError, match="not empty"):
        merge([finished, second], tmp_path / "both")


@pytest.mark.medium
def test_a_merged_run_says_which_seeds_and_how_many_jobs_it_has(finished, second, tmp_path):
    """Without the option first_seed, where it would say something else."""

    def other(name, old, new):
        folder = shutil.copytree(second, tmp_path / name)
        for file in (folder / "records.jsonl", folder / "summary.csv"):
            file.write_text(file.read_text().replace(old, new))
        return folder

    fifth, wide = other("fifth", '"seed": 1', '"seed": 5'), other("wide", "mlp-8x1", "mlp-16x1")
    for run_, seeds in ((second, "2, first_seed = 0"), (fifth, "[0, 5]"), (wide, "[0] of mlp-8x1 and [1] of mlp-16x1")):
        out = tmp_path / f"{run_.name}-merged"
        merge([finished, run_], out)
        text = publish(out, tmp_path / f"{run_.name}-published").read_text()
        assert f"seeds = {seeds}" in text and ("first_seed" in text) is (run_ == second)
        assert "; jobs: 2 |" in text


@pytest.mark.medium
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda manifest: manifest["spec"]["options"].update(alpha=0.5), "not parts of one run: .*alpha"),
        (lambda manifest: manifest["spec"]["dataset"].update(sha256="0"), "not parts of one run: .*sha256"),
        (lambda manifest: manifest["environment"].update(commit="other"), "not parts of one run: .*commit"),
    ],
)
def test_what_does_not_belong_together_is_refused(change, message, finished, second, tmp_path):
    changed = shutil.copytree(second, tmp_path / "changed")
    change_manifest(changed, change)
    with pytest.raises(RunError, match=message):
        merge([finished, changed], tmp_path / "both")
    assert not (tmp_path / "both").exists()


@pytest.mark.medium
def test_a_net_that_is_in_both_is_refused(finished, tmp_path):
    with pytest.raises(RunError, match=r"mlp-8x1, arm erm, seed 0 is in .* and in .*; choose another --first-seed"):
        merge([finished, finished], tmp_path / "both")
    with pytest.raises(RunError, match="two or more runs"):
        merge([finished], tmp_path / "both")
