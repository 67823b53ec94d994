"""Axes as they are written on a command line: what they mean, and one sentence for what they cannot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.runs import RunError
from mixjax.sims.grid import axis, gaussian_grid, mixup_settings

BAD = {
    "zero n": ({"n": "0"}, "n must be 1 or more, and at most 1e+10, got 0"),
    "fractional n": ({"n": "2.5"}, "n must be whole numbers, got 2.5"),
    "zero ratio": ({"ratio": "0"}, "ratio must be above 0"),
    "negative theta": ({"theta_norm": "-1"}, "theta_norm must be 0 or more"),
    "negative alpha": ({"alpha": "-0.1"}, "alpha must be 0 or more"),
    "zero beta": ({"beta": "0"}, "beta must be above 0"),
    "beta of another length": ({"beta": "1,2,3"}, "one for each of the 2 alphas, got 3"),
    "NaN": ({"theta_norm": "nan"}, "theta_norm must be 0 or more, and at most 1e+10, got nan"),
    "infinite": ({"n": "inf"}, "at most 1e+10, got inf"),
    "empty": ({"alpha": ""}, "alpha must be numbers"),
    "empty list": ({"alpha": []}, "non-empty list"),
    "words": ({"n": "many"}, "n must be numbers"),
    "reversed range": ({"ratio": "8:0.05:4:log"}, "from a smaller to a larger number"),
    "range of one": ({"ratio": "1:2:1"}, "2 or more points"),
    "range of half a point": ({"ratio": "1:2:2.5"}, "2 or more points"),
    "logarithm of zero": ({"theta_norm": "0:2:5:log"}, "must start above 0"),
    "range of two parts": ({"ratio": "1:2"}, "start:stop:count"),
    "unknown spacing": ({"ratio": "1:2:3:sqrt"}, "start:stop:count"),
    "huge range": ({"ratio": "1:2:100000000"}, "at most 524,288 points, got 1e+08"),
    "repeated": ({"alpha": "1,1"}, "must not repeat"),
    "n that single precision lacks": ({"n": "16777216,16777217"}, "got 16777217; near it is 16777216"),
    "p that single precision lacks": (
        {"ratio": None, "p": "100000001"},
        "p must be numbers that single precision can represent",
    ),
    "equal in single precision": (
        {"theta_norm": "1,1.00000001"},
        "are equal in single precision, got 1.0 and 1.00000001",
    ),
    "p of a product above all": ({"n": "1e9", "ratio": "1,100"}, "p = ratio n must be at most 1e+10, got 1e+11"),
    "too many cells": (
        {"ratio": "1:2:10000", "theta_norm": "1:2:10000"},
        "values (cells times Mixup settings), got 1 n x 10,000 ratio x 10,000 theta_norm x 2 settings",
    ),
    "pair repeated in single precision": ({"alpha": "1,1.00000001"}, "must not repeat a pair"),
    "complex": ({"theta_norm": np.array([1 + 1j])}, "theta_norm must be numbers"),
    "a date": ({"theta_norm": np.array(["2020-01-01"], "M8[D]")}, "theta_norm must be numbers"),
    "both ratio and p": ({"p": "5"}, "either ratio"),
    "neither ratio nor p": ({"ratio": None}, "either ratio"),
}
GOOD = {"n": "100", "ratio": "0.5,1", "p": None, "theta_norm": "1", "alpha": "0.5,1", "beta": "same"}


@pytest.mark.parametrize("case", BAD)
def test_bad_axes_get_one_sentence(case):
    wrong, message = BAD[case]
    with pytest.raises(RunError) as raised:
        gaussian_grid(**{**GOOD, **wrong})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_ranges_include_both_ends():
    np.testing.assert_allclose(axis("x", "0.05:8:5:log"), 0.05 * (8 / 0.05) ** (np.arange(5) / 4), rtol=1e-12)
    np.testing.assert_allclose(axis("x", "1:3:5"), [1, 1.5, 2, 2.5, 3])


def test_ranges_of_whole_numbers_are_rounded_without_repeats():
    assert axis("n", "1:10:30:log", whole=True, least=1).tolist() == list(range(1, 11))


@pytest.mark.medium
@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.0625, 1e6, width=32), min_size=1, max_size=8, unique=True))
def test_text_numbers_and_sequences_mean_the_same(values):
    text = ",".join(map(repr, values))
    np.testing.assert_array_equal(axis("x", text), axis("x", values))


def test_what_the_table_says_is_what_is_simulated():
    """Every n and p of a grid is a number of single precision, also in a range and where p follows from p/n."""
    grid = gaussian_grid(**{**GOOD, "n": "1000:10000000000:40:log", "ratio": "0.3,0.7"})
    assert grid.axes["n"][-1] == 1e10
    for name in ("n", "p"):
        np.testing.assert_array_equal(grid.cells[name], grid.cells[name].astype(np.float32))
        assert (grid.cells[name] == np.floor(grid.cells[name])).all()


def test_p_is_the_rounded_product_and_at_least_one():
    grid = gaussian_grid(**{**GOOD, "n": "7,1000", "ratio": "0.01,0.5,2.5"})
    assert grid.cells["p"].tolist() == [1, 4, 18, 10, 500, 2500]  # 3.5 and 17.5 round to even
    assert grid.shape == (2, 3, 1)


def test_mixup_settings():
    """t = 2 alpha beta / ((alpha + beta)(alpha + beta + 1)), and no Mixup at alpha = 0."""
    made = mixup_settings("0,1,2", "same")
    np.testing.assert_allclose(made["t"], [0, 1 / 3, 2 / 5], rtol=1e-15)
    np.testing.assert_allclose(mixup_settings("1,2", "3")["t"], [2 * 3 / (4 * 5), 2 * 6 / (5 * 6)], rtol=1e-15)
    assert mixup_settings("0", "2")["t"].tolist() == [0]
