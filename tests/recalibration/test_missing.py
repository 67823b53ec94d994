"""Fits to columns with missing values in masked rows: labels as floats with NaN, scores and labels as objects."""

from __future__ import annotations

import jax
import numpy as np
import pandas as pd
import pytest

from mixjax.recalibration import (
    calibration_slope,
    fit_beta_calibration,
    fit_dirichlet_calibration,
    fit_histogram_binning,
    fit_isotonic,
    fit_platt,
    fit_temperature,
    fit_vector_scaling,
    fit_venn_abers,
)
from tests.recalibration.samples import N, binary, drawn

pytestmark = pytest.mark.medium

OF_CLASSES = {"temperature": fit_temperature, "vector": fit_vector_scaling, "dirichlet": fit_dirichlet_calibration}
OF_LOGITS = {"platt": fit_platt, "binary temperature": fit_temperature, "slope": calibration_slope}
OF_CONFIDENCES = {
    "isotonic": fit_isotonic, "histogram": fit_histogram_binning, "beta": fit_beta_calibration,
    "venn-abers": fit_venn_abers,
}  # fmt: skip
FITS = OF_CLASSES | OF_LOGITS | OF_CONFIDENCES


@pytest.mark.few(4)
@pytest.mark.parametrize("name", FITS)
def test_masked_rows_may_be_missing(name, rng):
    scores, labels = drawn(rng) if name in OF_CLASSES else binary(rng)
    if name in OF_CONFIDENCES:
        scores = 1 / (1 + np.exp(-scores))
    where = np.arange(N) % 7 != 3
    options = {"where": where} | ({} if name == "slope" else {"weights": np.ones(N)})
    expected = jax.tree.leaves(FITS[name](scores, labels, **options))
    for empty in (None, pd.NA):
        objects = scores.astype(object)
        objects[~where] = empty
        table = pd.DataFrame(objects) if name in OF_CLASSES else pd.Series(objects)
        for second in (np.where(where, labels, np.nan), pd.Series(np.where(where, labels, empty), dtype=object)):
            for found, right in zip(jax.tree.leaves(FITS[name](table, second, **options)), expected, strict=True):
                np.testing.assert_array_equal(found, right)
    with pytest.raises(TypeError, match="must be real numbers, got dtype object; fill missing values, or mask"):
        FITS[name](table, labels)
