"""Published results: what the README says is what the run's files say, and nothing else is overwritten."""

from __future__ import annotations

import dataclasses
import json
import shutil

import pytest

from mixjax.runs import RunDirectory, RunError
from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.experiments.capacity import WIDTH
from mixjax.train.loop.metrics import METRICS
from mixjax.train.runs.publishing import publish, redraw
from mixjax.train.runs.records import write_records
from mixjax.train.runs.summary import summary_csv
from tests.train.conftest import change_manifest

SPEC = {
    "experiment": "width",
    "options": {"epochs": 2, "width": [8, 16]},
    "dataset": {"name": "digits", "source": "scikit-learn", "sha256": "ab" * 32, "rows": [150, 355], "classes": 10},
    "metrics": {"num_bins": 15, "unit": "fraction"},
}
MADE = {
    "mixjax": "0.1.0", "commit": "0123456789ab", "jax": "0.10.1", "jaxlib": "0.10.1", "python": "3.11.9",
    "platform": "cpu", "device": "a processor", "devices": 1, "cores": 2, "memory_gib": 23,
    "command": "python -m train width --out run", "seconds": 1.5, "jobs": "2 of 2",
}  # fmt: skip
NLL = {8: ([2.0, 2.25, 2.125], [1.5, 2.0, 1.25]), 16: ([1.0, 1.5, 1.75], [0.75, 1.0, 2.0])}  # (erm, mixup) by seed


def records():
    """Two widths, two arms, three seeds; the first epoch is better and is not reported."""
    for width, arms in NLL.items():
        for arm, values in zip(("erm", "mixup"), arms, strict=True):
            for seed, value in enumerate(values):
                for epoch in (1, 2):
                    net = f"mlp-{width}x1"
                    common = {"job": net, "net": net, "width": width, "depth": 1, "arm": arm, "seed": seed}
                    figures = {name: 0.125 for name in METRICS} | {"accuracy": 0.9, "nll": value / (3 - epoch)}
                    yield {**common, "epoch": epoch, "classes": 10, "alpha": 1.0, "evaluation": "test", **figures}
                table = {"count": [20.0] * 15, "confidence": [0.5] * 15, "accuracy_in_bin": [0.5] * 15}
                yield {**common, "epoch": 2, "classes": 10, "evaluation": "reliability", **table}


@pytest.fixture(scope="module", autouse=True)
def two_figures():
    """Instead of seven; `test_figures` draws them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPERIMENTS, "width", dataclasses.replace(WIDTH, figures=WIDTH.figures[:2]))
        yield


@pytest.mark.medium
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"jobs": "1 of 2"}, "1.5 s, compilation included; jobs: 1 of 2"),  # of a release that timed the last sitting
        ({"jobs": "1 of 2", "sittings": 3}, "1.5 s, over 3 sittings, compilation included; jobs: 2"),
        ({"jobs": "2 of 2", "sittings": 1}, "1.5 s, compilation included; jobs: 2"),
    ],
)
def test_seconds_are_those_of_all_sittings(finished, tmp_path, more, told):
    run = shutil.copytree(finished, tmp_path / "run")
    (run / "provenance.json").write_text(json.dumps(MADE | more))
    assert f"| computing | {told} |" in publish(run, tmp_path / "published").read_text()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "width"
    RunDirectory.open(folder, spec=SPEC, environment={}, layout={}, product="summary.csv").close()
    write_records(folder / "records.jsonl", records())
    (folder / "provenance.json").write_text(json.dumps(MADE))
    (folder / "summary.csv").write_text(summary_csv(list(records())))
    return folder


@pytest.fixture(scope="module")
def published(finished, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "width"
    assert publish(finished, folder) == folder / "README.md"
    return folder


@pytest.mark.medium
def test_the_readme_says_what_the_run_says(published, tmp_path):
    rows = dict(line.strip("| ").split(" | ", 1) for line in (published / "README.md").read_text().splitlines()
                if line.startswith("| ") and line != "| | |")  # fmt: skip
    assert rows["command"] == "`python -m train width --out run`"
    assert rows["options"] == "epochs = 2, width = [8, 16]"
    assert rows["data"] == (
        "digits (scikit-learn): 150 training and 355 test rows, 10 classes, SHA-256 abababababababab..."
    )
    assert rows["metrics"] == "num_bins = 15, unit = fraction"
    assert rows["computing"] == "1.5 s, compilation included; jobs: 2 of 2"
    assert rows["machine"] == "a processor, 2 cores, 23 GiB; devices: 1 cpu"
    assert rows["versions"] == "mixjax 0.1.0 (0123456789ab), jax 0.10.1, jaxlib 0.10.1, Python 3.11.9"
    assert str(tmp_path.parent) not in (published / "README.md").read_text()


@pytest.mark.medium
def test_every_figure_is_there_with_its_caption(published):
    text = (published / "README.md").read_text()
    pictures = sorted(path.stem for path in (published / "figures").glob("*.png"))
    assert pictures == sorted(figure.name for figure in WIDTH.figures[:2])
    for name in pictures:
        caption = (published / "figures" / f"{name}.txt").read_text().strip()
        assert f"![{name}](figures/{name}.png)\n\n{caption}" in text
    assert {path.name for path in published.iterdir()} == {"README.md", "summary.csv", "figures"}


@pytest.mark.medium
def test_published_results_are_made_anew_and_nothing_else_is_touched(finished, published, tmp_path):
    folder = shutil.copytree(published, tmp_path / "again")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.suffix != ".png" and path.is_file()}
    (folder / "summary.csv").write_text("old")
    publish(finished, folder)
    assert {path: path.read_bytes() for path in before} == before
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "README.md").write_text("my own")
    with pytest.raises(RunError, match="holds files that are not published results; choose another folder"):
        publish(finished, mine)
    assert [path.name for path in mine.iterdir()] == ["README.md"]


@pytest.mark.medium
def test_an_interrupted_publication_may_be_overwritten_and_leaves_no_old_figures(finished, tmp_path, monkeypatch):
    folder, figures = tmp_path / "published", WIDTH.figures[:2]

    def interrupted(_):
        raise KeyboardInterrupt

    broken = (figures[0], dataclasses.replace(figures[1], draw=interrupted))
    monkeypatch.setitem(EXPERIMENTS, "width", dataclasses.replace(WIDTH, figures=broken))
    with pytest.raises(KeyboardInterrupt):
        publish(finished, folder)
    left_out = (dataclasses.replace(figures[0], draw=lambda _: None), figures[1])
    monkeypatch.setitem(EXPERIMENTS, "width", dataclasses.replace(WIDTH, figures=left_out))
    shown = [line for line in publish(finished, folder).read_text().splitlines() if line.startswith("![")]
    assert shown == [f"![{figures[1].name}](figures/{figures[1].name}.png)"]
    assert {path.stem for path in (folder / "figures").iterdir()} == {figures[1].name}
    monkeypatch.setitem(EXPERIMENTS, "width", dataclasses.replace(WIDTH, name="depth"))
    with pytest.raises(RunError, match="holds published results of train width; choose another folder"):
        publish(finished, folder)


def test_results_of_a_study_of_the_same_name_stay(finished, published, tmp_path):
    """`temperature` and `pseudo_label` are studies and experiments; here it is the command alone that differs."""
    folder = shutil.copytree(published, tmp_path / "study")
    readme = folder / "README.md"
    readme.write_text(readme.read_text().replace("python -m train width", "python -m sims width"))
    with pytest.raises(RunError, match="holds published results of sims width; choose another folder"):
        publish(finished, folder)


def test_published_figures_are_drawn_anew_from_the_table(published, tmp_path):
    """The origin stays, and says what was drawn; pictures that a table has not are kept, and none is added."""
    folder = shutil.copytree(published, tmp_path / "again")
    origin = [line for line in (folder / "README.md").read_text().splitlines() if line.startswith("| ")]
    (folder / "figures" / "rms_ece.png").unlink()
    (folder / "figures" / "rms_ece.txt").unlink()
    before = (folder / "figures" / "ece.txt").read_text()
    (folder / "figures" / "ece.txt").write_text("old")
    assert redraw(folder) == redraw(folder) == folder / "README.md"  # again: one row on figures, not two
    text = (folder / "README.md").read_text()
    (note,) = [line for line in text.splitlines() if line.startswith("| figures |")]
    assert note.startswith("| figures | drawn anew from `summary.csv` by mixjax")
    assert [line for line in text.splitlines() if line.startswith("| ") and line != note] == origin
    assert (folder / "figures" / "ece.txt").read_text() == before
    assert before.strip() in text
    assert "rms_ece.png" not in text and not (folder / "figures" / "rms_ece.png").exists()
    assert (folder / "summary.csv").read_text() == summary_csv(list(records()))


def test_pictures_that_a_table_has_not_are_kept(published, tmp_path, monkeypatch):
    """A diagram of bins stays, with its caption, and the README says of which run it is."""
    folder = shutil.copytree(published, tmp_path / "again")
    monkeypatch.setitem(EXPERIMENTS, "width", dataclasses.replace(WIDTH, figures=(WIDTH.figures[0], WIDTH.figures[-1])))
    (folder / "figures" / "reliability.png").write_bytes(b"a picture")
    (folder / "figures" / "reliability.txt").write_text("Its caption.\n")
    text = redraw(folder).read_text()
    assert "; of the run itself: reliability |" in text
    assert "![reliability](figures/reliability.png)\n\nIts caption." in text
    assert (folder / "figures" / "reliability.png").read_bytes() == b"a picture"


@pytest.mark.parametrize("missing", ["README.md", "summary.csv", "origin", "experiment"])
def test_what_cannot_be_drawn_anew(published, tmp_path, missing):
    folder = shutil.copytree(published, tmp_path / "again")
    readme = folder / "README.md"
    if missing == "origin":
        readme.write_text("# width\n\nmy own\n")
    elif missing == "experiment":
        readme.write_text(readme.read_text().replace("# width", "# heights", 1))
    else:
        (folder / missing).unlink()
    with pytest.raises(RunError, match="holds no published result of width, depth"):
        redraw(folder)


def damaged(table, damage):
    """A table of six rows below its header, the arms erm, mixup and mixup - erm of two nets."""
    lines = table.splitlines()
    if damage == "cells":
        lines[2] += ",7"
    elif damage in ("nan", "inf", "much"):
        lines[2] = lines[2].replace("0.9", damage, 1)
    elif damage == "diverged":
        lines = [f"{line},{'diverged' if row == 0 else 'inf'}" for row, line in enumerate(lines)]
    elif damage == "net":
        lines = [line.replace("mlp-8x1", "wide") for line in lines]
    elif damage == "columns":
        lines = [line.replace("severity", "strength") for line in lines]
    else:
        lines = {"empty": [], "header": lines[:1], "arm": lines[:2] + lines[3:], "difference": lines[:6]}[damage]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("empty", ", line 1: no names of columns"),
        ("header", " has no rows"),
        ("cells", ", line 3: 43 cells, where the table has 42 columns"),
        ("nan", ", line 3: accuracy_mean is 'nan', which is not a finite number"),
        ("inf", ", line 3: accuracy_mean is 'inf', which is not a finite number"),
        ("diverged", ", line 2: diverged is 'inf', which is not a finite number"),
        ("much", ", line 3: accuracy_mean is 'much', which is not a finite number"),
        ("net", "wide is not the name of a fully connected net, such as mlp-300x4"),
        ("columns", " is not a summary of nets: it has no column 'severity'"),
        ("arm", " has no row of mixup for mlp-8x1 on test, severity 0; it was cut"),
        ("difference", " has no row of mixup - erm for mlp-16x1 on test, severity 0; it was cut"),
    ],
)
def test_a_damaged_table_is_not_drawn(published, tmp_path, damage, says):
    folder = shutil.copytree(published, tmp_path / "again")
    path = folder / "summary.csv"
    path.write_text(damaged(path.read_text(), damage))
    with pytest.raises(RunError) as found:
        redraw(folder)
    assert str(found.value) == says if damage == "net" else str(found.value).startswith(f"{path}{says}")


@pytest.mark.parametrize("damage", ["unfinished", "no provenance", "half a provenance", "no data"])
def test_what_cannot_be_published(finished, tmp_path, damage):
    run = shutil.copytree(finished, tmp_path / "run")
    message = "does not name command; no run wrote it"
    if damage == "unfinished":
        (run / "summary.csv").unlink()
        message = "holds no finished run"
    elif damage == "no provenance":
        (run / "provenance.json").unlink()
        message = r"provenance.json cannot be read"
    elif damage == "half a provenance":
        (run / "provenance.json").write_text('{"seconds": 1}')
    else:
        change_manifest(run, lambda manifest: manifest.update(spec={"experiment": "width", "options": {}}))
        message = "manifest.json does not name the training data of the nets"
    with pytest.raises(RunError, match=message):
        publish(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
