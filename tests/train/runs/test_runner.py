"""The jobs of a run, one after another: what several of them share, and the features of each net."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.loop.job import Arm, Job, Phase
from mixjax.train.loop.program import TrainingProgram
from mixjax.train.running import run
from tests.train.conftest import RECIPE, SMALL


@pytest.mark.slow
def test_jobs_that_begin_alike_train_their_first_phase_once(tmp_path, monkeypatch):
    """The second of two arms trains its last epoch alone, with Mixup; what they shared is not kept."""
    epochs, shown, original = [], [], TrainingProgram.epoch

    def counted(self, nets, members, epoch, size):
        epochs.append((epoch, size, members.alpha.tolist()))
        return original(self, nets, members, epoch, size)

    jobs = tuple(
        Job(arm.slug, RECIPE, (arm,), (0, 1), (Phase(2), Phase(1, "all")), division="halves")
        for arm in (Arm("plain", (0.0, 0.0)), Arm("mixed", (0.0, 1.0)))
    )
    replaced = dataclasses.replace(EXPERIMENTS["pseudo_label"], jobs=lambda config: jobs)
    monkeypatch.setitem(EXPERIMENTS, "pseudo_label", replaced)
    monkeypatch.setattr(TrainingProgram, "epoch", counted)
    show = lambda done, total, text: shown.append((done, total, text.rpartition(", ")[2]))  # noqa: E731
    run("pseudo_label", tmp_path, train_rows=710, keep_checkpoints=True, progress=show)
    plain, mixed = [0.0, 0.0], [1.0, 1.0]
    assert epochs == [(0, 355, plain), (1, 355, plain), (2, 710, plain), (2, 710, mixed)]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["images.json", "mixed", "plain"]
    assert [done for done, _, _ in shown] == [0, 22, 22, 44, 44, 88, 88, 132, 176, 176]  # 22 + 22 + 44 steps each
    assert {entry[1:] for entry in shown} == {(176, "plain"), (176, "mixed")}


@pytest.mark.medium
def test_the_logits_are_an_affine_function_of_the_features(tmp_path):
    """A file a net, of the test rows; float32 logits to 1e-4."""
    run("width", tmp_path, **SMALL, keep_features=True)
    files = sorted(path.name for path in (tmp_path / "features").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "predictions").iterdir()) and len(files) == 2
    for name in files:
        with np.load(tmp_path / "features" / name) as kept, np.load(tmp_path / "predictions" / name) as predicted:
            assert kept["features"].shape == (355, 8) and (kept["features"] >= 0).all()  # after a ReLU
            np.testing.assert_array_equal(kept["labels"], predicted["labels"])
            affine = np.column_stack([kept["features"], np.ones(355)])
            left = predicted["logits"] - affine @ np.linalg.lstsq(affine, predicted["logits"], rcond=None)[0]
            assert np.abs(left).max() < 1e-4
