"""A comparison of few cells in words: every number is that of the table, and a map has none."""

from __future__ import annotations

import pytest
import xarray as xr

from mixjax.sims.reports.few_cells import MOST_CELLS, few_cells


def table_of(alphas):
    cell, mixed = ("n", "ratio", "theta_norm"), ("n", "ratio", "theta_norm", "mixup")
    count = len(alphas)
    values = {"ece": (cell, [[[0.02]]]), "ece_mix": (mixed, [[[[0.01] * count]]])}
    values |= {"ece_difference": (mixed, [[[[-0.01] * count]]]), "ece_difference_se": (mixed, [[[[0.002] * count]]])}
    values |= {"ece_mix_better": (mixed, [[[[0.75] * count]]])}
    beside = {"n": [500.0], "ratio": [0.6], "theta_norm": [1.5], "realized_p": (("n", "ratio"), [[300.0]])}
    return xr.Dataset(values, beside | {"alpha": ("mixup", alphas), "beta": ("mixup", alphas)})


def test_a_line_a_cell():
    *_, first, second = few_cells(table_of([1.0, 0.2])).splitlines()
    assert (
        first
        == "| 500 | 300 | 1.5 | Beta(1, 1) | 0.0200 | 0.0100 | -0.0100 (-0.0139 to -0.0061) | 75% of training sets |"
    )
    assert "Beta(0.2, 0.2)" in second


def test_alpha_of_0_is_no_mixup():
    assert "| 1.5 | none | 0.0200 |" in few_cells(table_of([0.0]))


def test_one_training_set_has_no_interval():
    table = table_of([1.0])
    table["ece_difference_se"] = table["ece_difference_se"] * float("nan")
    assert "| -0.0100 | 75%" in few_cells(table)


@pytest.mark.parametrize(
    "table",
    [
        table_of([1.0] * (MOST_CELLS + 1)),
        table_of([1.0]).drop_vars("ece_difference"),
        xr.Dataset(),
        table_of([1.0]).expand_dims(test_norm=[1.0]),
    ],
)
def test_maps_and_other_studies_have_no_table(table):
    assert few_cells(table) == ""
