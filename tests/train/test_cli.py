"""`python -m train`: from an experiment to published figures, and one sentence and status 2 for what is wrong."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from mixjax.runs import RunDirectory
from mixjax.train import cli
from mixjax.train.cli import main
from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.loop.metrics import METRICS
from mixjax.train.runs.summary import cells_of
from tests.paths import ROOT
from tests.train.conftest import SMALL

TINY = [word for option, value in SMALL.items() for word in (f"--{option.replace('_', '-')}", str(value).strip("(),"))]

FIGURES = EXPERIMENTS["width"].figures[:1]

BAD = {
    "unknown experiment": (["heights"], "no experiment 'heights'"),
    "unknown option": (["width", "--gamma", "1"], "unrecognized arguments: --gamma 1"),
    "half a width": (["width", "--width", "10,1.5"], "--width: must be a whole number, got '1.5'"),
    "another dtype": (["width", "--dtype", "float16"], "invalid choice: 'float16'"),
    "no data": (["width", "--dataset", "cifar10", "--data-dir", "."], "get cifar-10-binary.tar.gz from"),
    "no run to draw": (["figures", "/nonexistent"], "holds no run"),
    "no run to publish": (["publish", "/nonexistent", "x"], "holds no run"),
    "no result to draw anew": (["redraw", "/nonexistent"], "holds no published result"),
    "no folder": (["figures"], "figures takes 1 folder, as in: python -m train figures runs/training/width"),
    "one run to merge": (["merge", "x", "y"], "merge takes a new folder and two or more runs, as in: python -m train"),
    "one folder": (["publish", "x"], "publish takes 2 folders"),
    "no such place": (["width", *TINY, "--out", "/proc/nowhere/run"], "cannot write to"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_status_2(case, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, message = BAD[case]
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_something_else_is_neither_drawn_nor_published(capsys, tmp_path):
    RunDirectory.open(tmp_path / "run", spec={"study": "phase_diagram"}, environment={}, layout={})
    for command in (["figures", str(tmp_path / "run")], ["publish", str(tmp_path / "run"), str(tmp_path / "results")]):
        assert main(command) == 2
        assert "is not one of width, depth, pseudo_label" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_usage_and_options(capsys):
    assert main([]) == 2
    assert "pseudo_label" in capsys.readouterr().out
    assert main(["--help"]) == 0
    with pytest.raises(SystemExit, match="0"):
        main(["width", "--help"])
    printed = capsys.readouterr().out
    assert all(option in printed for option in ("--learning-rate", "--norm", "--train-rows", "--keep-checkpoints"))
    printed = " ".join(printed.split())
    assert "(default: 10,18,30,55,100,180,300,550)" in printed  # without --preset
    assert "quick --width 30,100,300 --epochs 25 --seeds 2" in printed


@pytest.mark.slow
def test_from_experiment_to_published_figures(capsys, tmp_path, monkeypatch):
    """With one of its figures; `test_figures` draws them all."""
    run, folder = tmp_path / "run", tmp_path / "results"
    monkeypatch.setitem(EXPERIMENTS, "width", dataclasses.replace(EXPERIMENTS["width"], figures=FIGURES))
    assert main(["width", *TINY, "--out", str(run)]) == 0
    out = capsys.readouterr().out
    assert "no Mixup" in out
    assert f"figure: {run}/figures/ece.png" in out
    assert "One seed" in (run / "figures" / "ece.txt").read_text()
    assert main(["publish", str(run), str(folder)]) == 0
    text = (folder / "README.md").read_text()
    assert str(tmp_path) not in text
    assert "python -m train width --out run --preset digits --train-rows 710 --seeds 1 --epochs 2" in text
    assert (folder / "summary.csv").read_text() == (run / "summary.csv").read_text()
    (run / "figures" / "ece.png").unlink()
    assert main(["figures", str(run)]) == 0
    assert (run / "figures" / "ece.png").exists()


def test_the_table_names_shifts_and_severities_and_marks_chance(capsys):
    """A severity of 0 is named as well, and a net near chance."""
    common = {"job": "mlp", "net": "mlp-3x1", "classes": 10, "arm": "erm", "seed": 0, "epoch": 1}
    metrics = dict.fromkeys(METRICS, 0.25)
    rows = [("test", {}, 0.9), ("noise", {"severity": 0.0}, 0.9), ("noise", {"severity": 0.5}, 0.2)]
    records = [common | metrics | {"evaluation": name, "accuracy": right} | more for name, more, right in rows]
    cli._print_summary(cells_of(records))
    lines = [line.split()[3:-4] for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert lines == [["test", "0.9000"], ["noise", "0", "0.9000"], ["noise", "0.5", "0.2000!"]]


@pytest.mark.medium
def test_a_run_in_which_a_net_diverges_ends_with_status_1_and_its_name(capsys, tmp_path, monkeypatch, spoil):
    """The others are trained, summarized and drawn; the same command again says the same."""
    monkeypatch.setitem(EXPERIMENTS, "width", dataclasses.replace(EXPERIMENTS["width"], figures=FIGURES))
    spoil(1, 1, 4)
    for again in (False, True):
        assert main(["width", *TINY, "--out", str(tmp_path)]) == 1
        out, error = capsys.readouterr()
        expected = "diverged: mlp-8x1, arm mixup, seed 0 (step 5 of epoch 2)"
        assert out.splitlines()[-1].startswith(f"{expected}. In another folder")
        assert "! a net that diverged" in out
        assert again or f"{expected}; other nets go on" in error
    assert [path.name for path in (tmp_path / "predictions").iterdir()] == ["mlp-8x1-erm-seed0.npz"]
    assert "1 of 1 of mlp-8x1, Mixup" in (tmp_path / "figures" / "ece.txt").read_text()


def test_an_interrupt_says_resume_hint(capsys, tmp_path, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run", interrupted)
    assert main(["width", *TINY, "--out", str(tmp_path / "run")]) == 130
    assert "same command resumes" in capsys.readouterr().err


@pytest.mark.medium
def test_as_a_command():
    command = [sys.executable, "-m", "train", "heights"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no experiment 'heights'")
    assert "Traceback" not in done.stderr
