"""Forecasts: the steps and epochs of the jobs, at a pace that is given."""

from __future__ import annotations

import pytest

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.loop.program import ENOUGH_STEPS
from mixjax.train.runs.forecast import Pace, forecast, measured_steps
from mixjax.train.runs.options import configured
from tests.train.conftest import SMALL


def test_jobs_at_a_known_pace(digits):
    """710 rows in batches of 16 are 44 steps: an epoch of 44 x 0.5 + 2 s, twice; compiled once a shape."""
    jobs = EXPERIMENTS["width"].jobs(configured("width", **SMALL | {"width": (8, 9)}))
    measured = []

    def pace(job, dataset):
        measured.append(job.name)
        return Pace(0.5, 2.0, 7.0)

    assert forecast(jobs, digits, pace) == pytest.approx(2 * (7 + 2 * (44 * 0.5 + 2)))
    assert measured == ["mlp-8x1", "mlp-9x1"]


@pytest.mark.parametrize(("steps", "measured"), [(3, 3), (ENOUGH_STEPS - 1, 4), (900, ENOUGH_STEPS)])
def test_the_program_that_is_timed_is_that_of_an_epoch(steps, measured):
    """Of a net that unrolls four steps where an epoch has enough, as small ResNets do on a CPU."""
    assert measured_steps(lambda steps: 4 if steps >= ENOUGH_STEPS else 1, steps) == measured
    assert measured_steps(lambda steps: 250, steps) == min(steps, 4)


def test_a_first_phase_that_jobs_share_counts_once(digits):
    """355 rows in batches of 20 are 17 steps, all 710 are 35; three arms, of which one has no pseudo-labels."""
    config = configured("pseudo_label", epochs=4, batch_size=20, seeds=2)
    jobs = [part for job in EXPERIMENTS["pseudo_label"].jobs(config) for part in job.split_by_member()]
    found = forecast(jobs, digits, lambda job, dataset: Pace(1.0, 0.0, 0.0))
    assert found == 2 * (2 * 17 + 2 * 17 + 2 * 35 + 2 * 35)
    scored = forecast(jobs, digits, lambda job, dataset: Pace(0.0, 1.0, 0.0))
    assert scored == 2 * (2 + 3 * 2)
