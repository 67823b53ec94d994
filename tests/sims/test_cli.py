"""The command line: one clear sentence and status 2 for what is wrong, and work that survives an interrupt."""

import subprocess
import sys
from pathlib import Path

import pytest

import sims.cli
from mixjax.sims import publishing
from mixjax.sims.cli import main
from tests.paths import ROOT

TINY = ["--n", "50", "--ratio", "0.2,1,3", "--theta-norm", "0.5,2", "--alpha", "0,1", "--replicates", "1000"]

BAD = {
    "unknown study": (["nosuch"], "no study 'nosuch'; choose from"),
    "misspelt study": (["phase_diagramm"], "no study 'phase_diagramm' (did you mean phase_diagram?); choose from"),
    "misspelt option": (["phase_diagram", "--theta-nrm", "1"], "--theta-nrm 1 (did you mean --theta-norm?);"),
    "no port": (["phase_diagram", "--scheduler", "localhost"], "ends in its port, as in tcp://host:8786"),
    "unknown preset": (["phase_diagram", "--preset", "huge"], "no preset 'huge'"),
    "unknown option": (["phase_diagram", "--gamma", "1"], "unrecognized arguments: --gamma 1"),
    "option without value": (["phase_diagram", "--n"], "--n: expected one argument"),
    "not a number of replicates": (["phase_diagram", "--replicates", "x"], "must be a whole number, got 'x'"),
    "half a replicate": (["phase_diagram", "--replicates", "1.5"], "--replicates: must be a whole number, got '1.5'"),
    "no seed": (["phase_diagram", "--seed", "nan"], "--seed: must be a whole number, got 'nan'"),
    "huge grid": (["phase_diagram", "--ratio", "1:2:5e5", "--theta-norm", "1:2:5e5"], "cut it into several runs"),
    "no replicates": (["phase_diagram", "--replicates", "0"], "replicates must be"),
    "no run to draw": (["figures", "/nonexistent"], "holds no run"),
    "no run to verify": (["verify", "/nonexistent"], "holds no run"),
    "no folder": (["figures"], "takes 1 folder"),
    "one folder": (["publish", "runs/x"], "takes 2 folders"),
    "no such place": (["phase_diagram", *TINY, "--out", "/proc/nowhere/run"], "cannot write to"),
}


def interrupted(*_args, **_kwargs):
    raise KeyboardInterrupt


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


def test_a_folder_with_other_files_is_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert main(["phase_diagram", *TINY, "--out", str(tmp_path)]) == 2
    assert "holds files that are not a run (thesis.tex); choose another folder (--out)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_no_arguments_show_the_usage(capsys):
    assert main([]) == 2
    assert "phase_diagram" in capsys.readouterr().out
    assert main(["--help"]) == 0
    usage = capsys.readouterr().out
    assert main(["verify", "--help"]) == 0
    line = capsys.readouterr().out
    assert line == "usage: python -m sims verify RUN       compare a stored run with the exact expectations\n"
    assert line.removeprefix("usage: ") in usage


@pytest.mark.medium
def test_from_study_to_published_figures(capsys, tmp_path, one_figure):
    run, folder = tmp_path / "run", tmp_path / "results"
    assert main(["phase_diagram", *TINY, "--out", str(run)]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"figure: {run}/figures/ece_difference.png"
    assert Path(last.removeprefix("figure: ")).stat().st_size > 10_000
    caption = (run / "figures" / "ece_difference.txt").read_text()
    assert "n = 50" in caption
    assert "1000 training sets a cell" in caption
    assert main(["verify", str(run)]) == 0
    assert "agrees with" in capsys.readouterr().out
    assert main(["publish", str(run), str(folder)]) == 0
    text = (folder / "README.md").read_text()
    assert str(tmp_path) not in text
    assert "python -m sims phase_diagram --preset default --out run --n 50" in text
    assert main(["publish", str(run), str(folder)]) == 0  # over what was published before
    other = tmp_path / "project"
    other.mkdir()
    (other / "README.md").write_text("my own")
    assert main(["publish", str(run), str(other)]) == 2
    assert [path.name for path in other.iterdir()] == ["README.md"]
    assert (other / "README.md").read_text() == "my own"
    rows = (folder / "table.csv").read_text().splitlines()
    assert len(rows) == 1 + 12
    assert rows[0].startswith("n,p,ratio,theta_norm,alpha,beta,t,")
    (run / "figures" / "ece_difference.png").unlink()
    assert main(["figures", str(run)]) == 0
    assert (run / "figures" / "ece_difference.png").exists()


@pytest.mark.medium
def test_publishing_that_is_interrupted_is_done_again(folder_of, tmp_path, monkeypatch, one_figure):
    run, folder = str(folder_of("phase_diagram")), tmp_path / "results"
    with monkeypatch.context() as patch:
        patch.setattr(publishing, "write_figures", interrupted)
        assert main(["publish", run, str(folder)]) == 130
    assert main(["publish", run, str(folder)]) == 0
    assert (folder / "README.md").read_text().count("![") == len(list((folder / "figures").glob("*.png"))) > 0


def test_an_interrupt_says_how_to_go_on(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(sims.cli, "execute", interrupted)
    assert main(["phase_diagram", *TINY, "--out", str(tmp_path / "run")]) == 130
    assert "same command resumes" in capsys.readouterr().err


@pytest.mark.slow
def test_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "sims", "nosuch"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no study 'nosuch'")
    assert "Traceback" not in done.stderr
