"""The jobs of a run, one after another: what several of them share."""

from __future__ import annotations

import dataclasses

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.loop.job import Arm, Job, Phase, Recipe
from mixjax.train.loop.program import Program
from mixjax.train.nets.shapes import MLPShape
from mixjax.train.running import run


def test_jobs_that_begin_alike_train_their_first_phase_once(tmp_path, monkeypatch):
    """The second of two arms trains its last epoch alone; what they shared is not kept."""
    epochs, original = [], Program.epoch

    def counted(self, nets, members, epoch, size):
        epochs.append(epoch)
        return original(self, nets, members, epoch, size)

    recipe, phases = Recipe(MLPShape(10, 1), batch_size=20), (Phase(2), Phase(1, "all"))
    jobs = tuple(
        Job(arm.slug, recipe, (arm,), (0,), phases, division="halves")
        for arm in (Arm("plain", (0.0, 0.0)), Arm("mixed", (0.0, 1.0)))
    )
    replaced = dataclasses.replace(EXPERIMENTS["pseudo_label"], jobs=lambda config: jobs)
    monkeypatch.setitem(EXPERIMENTS, "pseudo_label", replaced)
    monkeypatch.setattr(Program, "epoch", counted)
    run("pseudo_label", tmp_path, train_rows=80, keep_checkpoints=True)
    assert epochs == [0, 1, 2, 2]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["mixed", "plain"]
