"""Event files, by a writer in place of tensorboardX that keeps what it is given."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mixjax.runs import RunError
from mixjax.train.runs.records import write_records
from mixjax.train.runs.tensorboard import write_events


class Writer:
    """A file in its folder, as tensorboardX makes one; `points` holds all points of all writers."""

    points: dict[str, list[tuple[str, float, int]]]

    def __init__(self, folder):
        self.file = Path(folder) / "events.out.tfevents.1"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        assert not self.file.exists()
        self.file.touch()

    def add_scalar(self, name, value, step):
        self.points.setdefault("/".join(self.file.parts[-4:-1]), []).append((name, value, step))

    def close(self):
        self.file.write_text("closed")


@pytest.fixture
def points(monkeypatch):
    Writer.points = {}
    monkeypatch.setitem(sys.modules, "tensorboardX", SimpleNamespace(SummaryWriter=Writer))
    return Writer.points


@pytest.fixture
def run(tmp_path):
    """A run of two nets, with an evaluation that is no epoch."""
    common = {"job": "mlp", "net": "mlp-3x1", "classes": 10, "seed": 0, "accuracy": 0.9}
    write_records(
        tmp_path / "records.jsonl",
        [
            {**common, "arm": "erm", "evaluation": "test", "epoch": 1, "ece": 0.25, "train_mix_loss": 2.0},
            {**common, "arm": "erm", "evaluation": "test", "epoch": 2, "ece": 0.125, "train_mix_loss": 1.0},
            {**common, "arm": "mixup", "evaluation": "test", "epoch": 1, "ece": 0.5},
            {**common, "arm": "mixup", "evaluation": "test-rotate", "epoch": 1, "ece": 0.75, "severity": 1.0},
        ],
    )
    return tmp_path


def test_each_net_has_a_folder_and_its_epochs(points, run):
    """Of the test set alone: metrics by their names, and the loss of the mixed batches where it is recorded."""
    folder = write_events(run)
    assert folder == run / "tensorboard"
    assert points == {
        "mlp-3x1/erm/seed0": [
            ("accuracy", 0.9, 1), ("ece", 0.25, 1), ("train_mix_loss", 2.0, 1),
            ("accuracy", 0.9, 2), ("ece", 0.125, 2), ("train_mix_loss", 1.0, 2),
        ],
        "mlp-3x1/mixup/seed0": [("accuracy", 0.9, 1), ("ece", 0.5, 1)],
    }  # fmt: skip
    assert {file.read_text() for file in folder.rglob("events*")} == {"closed"}


def test_files_of_an_earlier_call_are_replaced(points, run):
    """The writer refuses a file that is there; other files stay."""
    (write_events(run) / "mine.txt").touch()
    write_events(run)
    assert sorted(file.name for file in (run / "tensorboard").rglob("*.*")) == ["events.out.tfevents.1"] * 2 + [
        "mine.txt"
    ]


def test_without_the_library_the_message_names_it(monkeypatch, run):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(RunError, match="pip install tensorboardX"):
        write_events(run)


def test_a_run_without_records_is_refused(points, tmp_path):
    with pytest.raises(RunError, match="records"):
        write_events(tmp_path)
    assert not (tmp_path / "tensorboard").exists()


def test_a_folder_that_cannot_be_written_is_an_error_of_the_run(points, run):
    (run / "tensorboard").write_text("in the way")
    with pytest.raises(RunError, match=r"cannot write to .*tensorboard"):
        write_events(run)


@pytest.mark.parametrize("field", ["net", "arm"])
@pytest.mark.parametrize("name", ["..", "../outside", "a/b", "", "a\0b"])
def test_a_name_that_leaves_the_folder_is_refused(points, run, field, name):
    """Records may be somebody else's. Files that were written before stay."""
    record = {"job": "mlp", "net": "a", "classes": 10, "seed": 0, "arm": "erm", "evaluation": "test", "epoch": 1}
    write_events(run)
    before = sorted((run / "tensorboard").rglob("*"))
    write_records(run / "records.jsonl", [record, record | {field: name}])
    with pytest.raises(RunError, match="cannot be the name of a folder"):
        write_events(run)
    assert sorted((run / "tensorboard").rglob("*")) == before


def test_a_run_that_has_no_epoch_yet_is_refused(points, run):
    write_records(run / "records.jsonl", [])
    with pytest.raises(RunError, match="no epoch to show yet"):
        write_events(run)


def test_links_are_not_followed(points, run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    kept = tmp_path / "elsewhere" / "events.out.tfevents.1"
    kept.write_text("mine")
    (run / "tensorboard").symlink_to(kept.parent)
    with pytest.raises(RunError, match="is a link; a run has files and folders only"):
        write_events(run)
    assert [*kept.parent.iterdir()] == [kept]
