"""The jobs of a run, one after another: what several of them share."""

from __future__ import annotations

import dataclasses

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.loop.job import Arm, Job, Phase
from mixjax.train.loop.program import TrainingProgram
from mixjax.train.running import run

from tests.train.conftest import RECIPE


def test_jobs_that_begin_alike_train_their_first_phase_once(tmp_path, digits_file, monkeypatch):
    """The second of two arms trains its last epoch alone; what they shared is not kept."""
    epochs, shown, original = [], [], TrainingProgram.epoch

    def counted(self, nets, members, epoch, size):
        epochs.append((epoch, size))
        return original(self, nets, members, epoch, size)

    jobs = tuple(
        Job(arm.slug, RECIPE, (arm,), (0, 1), (Phase(2), Phase(1, "all")), division="halves")
        for arm in (Arm("plain", (0.0, 0.0)), Arm("mixed", (0.0, 1.0)))
    )
    replaced = dataclasses.replace(EXPERIMENTS["pseudo_label"], jobs=lambda config: jobs)
    monkeypatch.setitem(EXPERIMENTS, "pseudo_label", replaced)
    monkeypatch.setattr(TrainingProgram, "epoch", counted)
    show = lambda done, total, text: shown.append((done, total, text.rpartition(", ")[2]))  # noqa: E731
    run("pseudo_label", tmp_path, dataset=digits_file, keep_checkpoints=True, progress=show)
    assert epochs == [(0, 160), (1, 160), (2, 320), (2, 320)]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["mixed", "plain"]
    assert [done for done, _, _ in shown] == [0, 10, 10, 20, 20, 40, 40, 60, 80, 80]  # 10 + 10 + 20 steps each
    assert {entry[1:] for entry in shown} == {(80, "plain"), (80, "mixed")}
