"""What people hold is an array: columns and tables of pandas, polars and xarray, tensors, lists."""

from __future__ import annotations

from decimal import Decimal

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

from mixjax import ece, top_label_ece
from mixjax.calibration import calibration_summary, group_intervals, nll, nll_from_logits
from mixjax.recalibration import fit_temperature
from mixjax.scores import binary_from_logits, top_label, top_label_from_logits

CONFIDENCE, CORRECT = [0.25, 0.5, 0.875, 1.0], [0, 1, 1, 1]
PROBS, LABELS = [[0.25, 0.75], [0.5, 0.5], [0.875, 0.125]], [1, 0, 1]


class Tensor:
    """A tensor that NumPy takes, and one of a dtype that it lacks, as PyTorch's of bfloat16."""

    def __init__(self, values, known_to_numpy=True):
        self.values, self.known_to_numpy = jnp.asarray(values), known_to_numpy
        self.dtype = self.values.dtype

    def __array__(self, dtype=None, copy=None):
        if not self.known_to_numpy:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.asarray(self.values, dtype=dtype)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class OnGpu:
    """A tensor that has to be moved first."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")


MAKERS = {"pandas": pd.Series, "polars": pl.Series, "xarray": xr.DataArray, "list": list, "tensor": Tensor}


@pytest.mark.medium
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_columns(make):
    expected = ece(np.array(CONFIDENCE), np.array(CORRECT), where=np.array([True, True, True, False]))
    found = ece(make(CONFIDENCE), make(CORRECT), where=make([True, True, True, False]), weights=make([1.0] * 4))
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.medium
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, xr.DataArray, Tensor])
def test_tables(make):
    table = make(np.array(PROBS)) if make is not pl.DataFrame else pl.DataFrame(np.array(PROBS), schema=["a", "b"])
    assert top_label_ece(table, LABELS) == top_label_ece(np.array(PROBS), LABELS)
    assert nll(table, pd.Series(LABELS)) == nll(np.array(PROBS), LABELS)


@pytest.mark.medium
def test_a_column_of_two_dtypes_of_numbers():
    """Nullable columns, without and with a missing value."""
    assert ece(pd.Series(CONFIDENCE, dtype="Float64"), pd.Series(CORRECT, dtype="Int64")) == ece(CONFIDENCE, CORRECT)
    missing = pd.Series([0.25, None, 0.875, 1.0], dtype="Float64")
    assert ece(missing, CORRECT, where=~missing.isna()) == ece([0.25, 0.875, 1.0], [0, 1, 1])
    with pytest.raises(TypeError, match="correct must be real numbers, got dtype object; fill missing values"):
        ece(CONFIDENCE, pd.Series([0, None, 1, 1], dtype="object"))


MISSING = {"NA": lambda values: pd.Series(values, dtype="object").convert_dtypes(), "None": list, "polars": pl.Series}


@pytest.mark.medium
@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING)
def test_a_missing_value_needs_a_mask(make):
    """...of truth values and of whole numbers, which NumPy takes for objects and for floats."""
    expected, where = (0.25 + 0.125 + 0) / 3, [True, False, True, True]
    missing = make([False, None, True, True])
    np.testing.assert_allclose(ece(CONFIDENCE, missing, where=where), expected, atol=1e-7)
    np.testing.assert_allclose(ece(make([0.25, None, 0.875, 1.0]), missing, where=where), expected, atol=1e-7)
    with pytest.raises(TypeError, match="correct must be real numbers, got dtype object; fill missing values, or mask"):
        ece(CONFIDENCE, missing)
    labels = make([1, None, 1])
    assert top_label_ece(PROBS, labels, where=[1, 0, 1]) == top_label_ece(PROBS, [1, -1, 1], where=[1, 0, 1])
    with pytest.raises(TypeError, match="labels must be whole numbers, got object; fill missing values, or mask"):
        top_label_ece(PROBS, labels)


@pytest.mark.parametrize("values", [["1", "0", "1", "1"], [Decimal(1)] * 4])
def test_nothing_is_missing_where_all_is_there(values):
    with pytest.raises(TypeError, match=r"correct must be real numbers, got dtype (<U1|object)$"):
        ece(CONFIDENCE, pd.Series(values, dtype="object"))


@pytest.mark.medium
def test_a_tensor_of_a_dtype_that_numpy_lacks():
    half = jnp.asarray(CONFIDENCE, jnp.bfloat16)
    assert ece(Tensor(half, known_to_numpy=False), CORRECT) == ece(half, CORRECT)


@pytest.mark.parametrize("value, message", [
    (OnGpu(), r"confidence must be an array: can't convert cuda:0 .* Use Tensor.cpu\(\)"),
    ("0.5", "confidence must be real numbers, got str"),
    ({"confidence": 0.5}, "confidence must be real numbers, got dict"),
    (pd.Series(["a", "b", "c", "d"]), "confidence must be real numbers, got dtype"),
])  # fmt: skip
def test_what_is_no_array_is_refused(value, message):
    with pytest.raises(TypeError, match=message):
        ece(value, CORRECT)


def test_fits_take_columns(rng):
    logits = rng.normal(size=(20, 2))
    labels = (logits[:, 1] - logits[:, 0] + rng.logistic(size=20) > 0).astype(int)
    found = fit_temperature(pd.DataFrame(logits), pd.Series(labels)).temperature
    assert found == fit_temperature(logits, labels).temperature


@pytest.mark.medium
def test_logits_may_be_missing_in_masked_rows():
    """...as None in a table of objects, and their labels as NaN in floats."""
    logits, labels, where = np.array(PROBS), np.array([1.0, np.nan, 1.0]), [True, False, True]
    table = pd.DataFrame(logits, dtype=object)
    table.iloc[1, 0] = None
    options = {"labels": labels, "where": where}
    assert nll_from_logits(table, **options) == nll_from_logits(logits, LABELS, where=where)
    summary = calibration_summary(logits=table, **options)
    np.testing.assert_equal(summary, calibration_summary(logits=logits, labels=LABELS, where=where))
    for function in (top_label, top_label_from_logits):
        found = function(table, **options)
        np.testing.assert_array_equal(found, function(logits, LABELS, where=where))
        assert np.isnan(found[0][1])
    column = pd.Series([0.5, None, -0.5], dtype=object)
    found = binary_from_logits(column, labels, where=where)
    np.testing.assert_array_equal(found, binary_from_logits(column.astype(float), [1, 0, 1], where=where))


def test_groups_of_rows_with_missing_confidences(key):
    confidence, correct = pd.Series([0.25, None, 0.875, 1.0], dtype=object), [0, None, 1, 1]
    groups, options = ["a", None, "b", "a"], {"where": [True, False, True, True], "replicates": 9}
    found = group_intervals(key, confidence, correct, groups, **options)
    right = group_intervals(key, confidence.astype(float), [0, 0, 1, 1], ["a", "a", "b", "a"], **options)
    np.testing.assert_equal(found, right)
