"""Jobs: names that are also those of files."""

from __future__ import annotations

import pytest

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.loop.job import Arm


def test_a_slug_by_hand():
    assert Arm("pseudo-label + Mixup", (0.0,)).slug == "pseudo-label-mixup"
    assert Arm("Mixup, one lambda a row", (1.0,)).slug == "mixup-one-lambda-a-row"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_names_of_files_are_plain_and_differ(name):
    experiment = EXPERIMENTS[name]
    jobs = [
        part
        for job in experiment.jobs(experiment.config(**experiment.presets["quick"]))
        for part in job.split_by_member()
    ]
    nets = [f"{job.recipe.net.name}-{member.arm.slug}-seed{member.seed}" for job in jobs for member in job.members]
    for names in ([job.name for job in jobs], nets):
        assert len(set(names)) == len(names)
        assert all(name.isascii() and " " not in name and "," not in name and "+" not in name for name in names)
