"""Where a rising difference crosses 0: exact on a line in the logarithm, at the edges, and with noise."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from mixjax.sims.studies.held_out_worth import crossing, worth_variables

POINTS = np.geomspace(0.1, 100, 7)


def test_a_line_in_the_logarithm_crosses_where_it_is_zero():
    """difference = slope log(m / m0), of standard error s: at m0, and from m0 e^(-1.96 s / slope) to m0 e^(+...)."""
    wanted, slope, error = np.array([0.7, 5.0, 23.0]), 0.02, 0.004
    difference = slope * (np.log(POINTS) - np.log(wanted)[:, None])
    parts = {"difference": difference, "difference_se": np.full_like(difference, error)}
    table = xr.Dataset({f"{w}_{p}": (("ratio", "held_out_ratio"), v) for w in ("plain", "mix", "best", "estimated")
                        for p, v in parts.items()}, {"held_out_ratio": POINTS})  # fmt: skip
    found = worth_variables(table.isel(held_out_ratio=[3, 0, 1, 6, 2, 5, 4]))
    width = np.exp(1.959964 * error / slope)
    np.testing.assert_allclose(found["best_worth"], wanted, rtol=1e-12)
    np.testing.assert_allclose(found["best_worth_from"], wanted / width, rtol=1e-6)
    np.testing.assert_allclose(found["best_worth_to"], wanted * width, rtol=1e-6)


@pytest.mark.parametrize(
    ("rising", "first", "last"),
    [
        ([1.0, 2.0, 3.0, 4.0], 0.0, 0.0),
        ([-4.0, -3.0, -2.0, -1.0], 1000.0, 1000.0),
        ([-1.0, 1.0, -1.0, 1.0], 10**0.5, 10**2.5),
        ([1.0, -1.0, 1.0, -1.0], 0.0, 1000.0),
        ([-1.0, 0.0, 1.0, 2.0], 10.0, 10.0),
        ([-1.0, 0.0, 0.0, 0.0], 10.0, 10.0),
        ([-1.0, np.nan, 1.0, 2.0], np.nan, np.nan),
        ([-np.inf, 1.0, 1.0, 2.0], np.nan, np.nan),
        ([-1.0, np.inf, np.inf, np.inf], np.nan, np.nan),
    ],
)
def test_edges_and_noise(rising, first, last):
    positions = np.array([1.0, 10.0, 100.0, 1000.0])
    np.testing.assert_allclose(crossing(positions, np.array(rising)), first, rtol=1e-12)
    np.testing.assert_allclose(crossing(positions, np.array(rising), last=True), last, rtol=1e-12)
