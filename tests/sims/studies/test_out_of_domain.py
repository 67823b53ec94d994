"""Out of domain, end to end at a small size: against exact expectations within the domain, and the limit's boundary."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax import sims
from mixjax.gaussian import expected_errors


@pytest.mark.slow
def test_on_the_training_domain_it_is_the_phase_diagram():
    """theta' = theta: mean ECE and difference within 5 standard errors of noise-free expectations."""
    table = sims.run("out_of_domain", n="200", ratio="0.5,2", theta_norm="1.5", test_norm="1.5", angle="0",
                     alpha="0.5,5", replicates=2000)  # fmt: skip
    cell = table.isel(n=0, theta_norm=0, test_norm=0, angle=0)
    t = np.concatenate([[0.0], table["t"].values])
    expected = np.asarray(expected_errors(n=200, p=np.array([[100], [400]]), theta_norm=1.5, t=t).ece)
    assert (np.abs(cell["ece"] - expected[:, 0]) < 5 * cell["ece_se"]).all()
    assert (np.abs(cell["ece_difference"] - (expected[:, 1:] - expected[:, :1])) < 5 * cell["ece_difference_se"]).all()


@pytest.mark.slow
def test_a_little_mixup_helps_up_to_the_boundary_of_the_limit_and_not_to_half_of_it():
    """At n = 10,000 and t = 0.02, where a cell's standard error is far below what it shows; bias O(1/n) + O(t)."""
    table = sims.run("out_of_domain", n="10000", ratio="2", theta_norm="1.5", test_norm="2.5:3.2:6", angle="0,20",
                     alpha="0.02,0.5", replicates=2000)  # fmt: skip
    found = float(table["helps_up_to"].isel(mixup=0).squeeze())
    assert 0.9 < found < 1.02
    np.testing.assert_array_equal(table["sufficient"], table["excess"] <= 0.5)
    np.testing.assert_array_equal(table["some_mixup_helps_limit"], table["excess"] < 1)
