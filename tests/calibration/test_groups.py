"""Intervals of groups: those of each group's rows alone, and what is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mixjax.calibration import bootstrap_intervals, group_intervals
from tests.calibration.exact import binned_error

N, OPTIONS = 60, {"num_bins": 5, "replicates": 200, "level": 0.9}


def sample(rng):
    confidence = rng.random(N).astype(np.float32)
    return confidence, (rng.random(N) < confidence**2).astype(int), rng.choice(["north", "south", "west"], N)


@pytest.mark.medium
def test_each_group_by_itself(key, rng):
    """Estimates in fractions, Clopper and Pearson's ends from SciPy, and the bootstrap of the group's rows alone."""
    confidence, correct, groups = sample(rng)
    found = group_intervals(key, confidence, correct, groups, **OPTIONS)
    assert list(found) == ["north", "south", "west"]
    for number, (name, group) in enumerate(found.items()):
        rows = groups == name
        f, y = confidence[rows], correct[rows]
        right, wrong = y.sum(), len(y) - y.sum()
        assert group.num_rows == len(y)
        np.testing.assert_allclose(group.ece.estimate, binned_error(f, y, num_bins=5), atol=1e-6)
        np.testing.assert_allclose(group.signed_gap.estimate, f.mean() - y.mean(), atol=1e-6)
        ends = stats.beta.ppf([0.05, 0.95], [right, right + 1], [wrong + 1, wrong])
        np.testing.assert_allclose(group.accuracy[:3], [y.mean(), *ends], atol=1e-12)
        padded = np.append(f, np.full(N - len(f), np.nan, np.float32)), np.append(y, np.zeros(N - len(y), int))
        alone = bootstrap_intervals(jax.random.fold_in(key, number), *padded, where=np.arange(N) < len(f), **OPTIONS)
        np.testing.assert_allclose(np.array(group[2:]), np.array(alone), atol=1e-6)


@pytest.mark.medium
def test_masked_rows_and_groups_that_are_numbers(key, rng):
    confidence, correct, names = sample(rng)
    where = names != "south"
    numbers = np.where(names == "north", 7, 3).reshape(6, 10)
    hidden = np.where(where, confidence, np.nan).reshape(6, 10), correct.reshape(6, 10)
    found = group_intervals(key, *hidden, numbers, where=where.reshape(6, 10), **OPTIONS)
    sizes = {name: group.num_rows for name, group in found.items()}
    assert sizes == {3: (names == "west").sum(), 7: (names == "north").sum()}
    assert group_intervals(key, confidence, correct, numbers.ravel(), where=np.zeros(N, bool), **OPTIONS) == {}


@pytest.mark.medium
def test_right_rows_of_half_precision_are_counted_exactly(key):
    """bfloat16 has no 290, and float16 nothing above 65504."""
    for rows, dtype in ((300, jnp.bfloat16), (70_000, np.float16)):
        correct = np.arange(rows) >= 10
        groups = np.zeros(rows, int)
        found = group_intervals(key, np.full(rows, 0.9, np.float32), correct.astype(dtype), groups, **OPTIONS)
        expected = stats.binomtest(rows - 10, rows).proportion_ci(0.9, method="exact")
        np.testing.assert_allclose(found[0].accuracy[:3], [1 - 10 / rows, *expected], rtol=1e-9)


def test_nan_is_nan(key, rng):
    """...in one group, and not in the others; the accuracy does not depend on confidences."""
    confidence, correct, groups = sample(rng)
    first = int(np.argmax(groups == "west"))
    for where_nan in ("confidence", "correct"):
        columns = {"confidence": confidence, "correct": correct.astype(np.float32)}
        columns[where_nan] = np.where(np.arange(N) == first, np.float32(np.nan), columns[where_nan])
        found = group_intervals(key, **columns, groups=groups, **OPTIONS)
        assert np.isnan(found["west"][2:]).all() and np.isfinite(found["north"][1:]).all()
        assert np.isnan(found["west"].accuracy).all() == (where_nan == "correct")


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (["a"], ValueError, r"groups must have one entry a row, of shape \(60,\), got \(1,\)"),
        (np.where(np.arange(N) == 3, np.nan, 1.0), ValueError, "groups must not be missing, got nan; where= leaves"),
        ([None] * N, ValueError, "groups must not be missing, got None"),
        (["a", None] * (N // 2), ValueError, "groups must not be missing, got None"),
        (pd.Series(["a", None] * (N // 2), dtype="string"), ValueError, "groups must not be missing, got <NA>"),
        (np.ones(N, "m8[s]"), TypeError, r"groups must be names or numbers, got dtype timedelta64\[s\]"),
        (["a", 1] * (N // 2), TypeError, "groups must be names or numbers, and not both"),
        (np.array(["a", 1] * (N // 2), object), TypeError, "groups must be names or numbers, and not both"),
    ],
)
def test_wrong_groups_are_refused(key, rng, groups, error, message):
    with pytest.raises(error, match=message):
        group_intervals(key, *sample(rng)[:2], groups, **OPTIONS)


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_dates_are_text_whatever_their_unit(key, rng, unit):
    days = np.array(["2020-02-29", "2021-01-01"], f"M8[{unit}]")[np.arange(N) % 2]
    found = group_intervals(key, *sample(rng)[:2], pd.Series(days), **OPTIONS)
    assert [*found] == ["2020-02-29", "2021-01-01"]


def test_a_wrong_mask_is_named(key, rng):
    with pytest.raises(ValueError, match=r"where must have the shape of confidence, \(60,\), got \(2,\)"):
        group_intervals(key, *sample(rng), where=[True, False], **OPTIONS)


def test_rows_that_do_not_count_need_no_group(key, rng):
    confidence, correct, names = sample(rng)
    where = names != "south"
    found = group_intervals(key, confidence, correct, np.where(where, names, None), where=where, **OPTIONS)
    assert list(found) == ["north", "west"]
    column = pd.Series(np.where(where, names, None), dtype="string")
    assert list(group_intervals(key, confidence, correct, column, where=where, **OPTIONS)) == ["north", "west"]


def test_a_wrong_row_is_named_as_in_all_rows(key, rng):
    confidence, correct, groups = sample(rng)
    confidence[41] = 1.5
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 1.5 in row 41"):
        group_intervals(key, confidence, correct, groups, **OPTIONS)
