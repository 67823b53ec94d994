"""A record holds what is finite: JSON has no other numbers, and a file that cannot be written would end a run."""

from __future__ import annotations

import json

import numpy as np

from mixjax.train.loop.history import record_of
from mixjax.train.loop.job import Arm, Job, Phase, Recipe
from mixjax.train.nets.shapes import MLPShape


def test_figures_that_are_not_finite_are_left_out():
    """As the loss of a net on images that are shifted far, which float32 does not hold."""
    job = Job("job", Recipe(MLPShape(3, 1)), (Arm("erm", (0.0,)),), (0,), (Phase(1),))
    figures = {"accuracy": 0.25, "nll": np.inf, "ece": np.nan, "signed_gap": -np.inf}
    record = record_of(job, job.members[0], 0, 10, figures)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["accuracy"] == 0.25 and not {"nll", "ece", "signed_gap"} & record.keys()
