"""Theorems 3.3 and 5.3 in the limit: the stored ways agree, and the map turns where the turning ratio says."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.slow
def test_three_ways_agree(table_of):
    """Closed form and autodiff to rounding; differences of second order to 1e-8, in float64."""
    table = table_of("capacity")
    for metric in ("ece", "mce"):
        closed = table[f"{metric}_closed"].values[:, ::10]
        np.testing.assert_allclose(table[f"{metric}_autodiff"], closed, rtol=1e-12)
        np.testing.assert_allclose(table[f"{metric}_differences"], closed, atol=1e-8)


@pytest.mark.slow
def test_the_map_turns_at_the_turning_ratio(table_of):
    """ECE: falls below it and rises above; MCE: rises everywhere, against Theorem 5.3."""
    table = table_of("capacity")
    below = table["map_ratio_curve"] < 0.99 * table["turning_ratio"]
    above = table["map_ratio_curve"] > 1.01 * table["turning_ratio"]
    assert (table["ece_growth"].where(below, 1.0) > 0).all()
    assert (table["ece_growth"].where(above, -1.0) < 0).all()
    assert below.any()
    assert above.any()
    assert (table["mce_growth"] < 0).all()
