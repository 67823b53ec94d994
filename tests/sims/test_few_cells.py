"""A comparison of few cells in words: every number is that of the table, and a map has none."""

from __future__ import annotations

import pytest
import xarray as xr
from scipy.stats import t

from mixjax.sims.reports.few_cells import MOST_LINES, few_cells


def table_of(alphas, error=0.002, replicates=10):
    cell, mixed = ("n", "ratio", "theta_norm"), ("n", "ratio", "theta_norm", "mixup")
    of_settings = {
        "ece_mix": 0.01, "ece_difference": -0.01, "ece_difference_se": error,
        "ece_mix_better": 0.995, "ece_mix_better_low": 0.9, "ece_mix_better_high": 1.0,
    }  # fmt: skip
    values = {name: (mixed, [[[[value] * len(alphas)]]]) for name, value in of_settings.items()}
    beside = {"n": [1050.0], "ratio": [0.5], "theta_norm": [1.0], "realized_p": (("n", "ratio"), [[525.0]])}
    beside |= {"alpha": ("mixup", alphas), "beta": ("mixup", alphas), "t": ("mixup", [a / (2 * a + 1) for a in alphas])}
    return xr.Dataset(values | {"ece": (cell, [[[0.02]]])}, beside, {"replicates": replicates})


def test_a_line_a_cell():
    """The interval is Student's. A literal simulation of 1,000 training sets gives -.05453 (s.e. .00012)."""
    *_, first, second = few_cells(table_of([1.0, 0.2])).splitlines()
    exact = first.split(" | ")[-2]
    assert float(exact) == pytest.approx(-0.05453, abs=4 * 0.00012)
    reach = t.ppf(0.975, 9) * 0.002
    assert first == (
        "| 1,050 | 525 | 1 | Beta(1, 1) | 0.0200 | 0.0100 | "
        f"-0.0100 ({-0.01 - reach:.4f} to {-0.01 + reach:.4f}) | {exact} | 99.5 % (90.0 to 100.0 %) |"
    )
    assert "Beta(0.2, 0.2)" in second


def test_the_axis_may_be_p():
    table = table_of([1.0])
    assert few_cells(table.rename(ratio="p").assign_coords(p=[300.0])) == few_cells(table)


def test_digits_are_those_of_the_standard_error():
    assert "| 0.020000 | 0.010000 | -0.010000 (-0.010023 to -0.009977) | " in few_cells(table_of([1], 1e-5))


def test_alpha_of_0_is_no_mixup():
    assert "| 1 | none | 0.0200 |" in few_cells(table_of([0.0]))


@pytest.mark.parametrize(("error", "replicates"), [(float("nan"), 1), (0.0, 1)])
def test_one_training_set_has_no_interval(error, replicates):
    assert "| 0.0100 | -0.0100 | -" in few_cells(table_of([1.0], error, replicates))


@pytest.mark.parametrize("table", [
    table_of([1.0] * (MOST_LINES + 1)), table_of([1.0]).drop_vars("ece_difference"), xr.Dataset(),
    table_of([1.0]).expand_dims(test_norm=[1.0]),
])  # fmt: skip
def test_maps_and_other_studies_have_no_table(table):
    assert few_cells(table) == ""
