"""What every fit does with missing values, and every map of confidences with wrong ones and with no rows."""

from __future__ import annotations

from functools import partial

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
from tests.recalibration.samples import N, binary, drawn, in_float32, scored

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
    """Labels as floats with NaN, and scores and labels as objects."""
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


MAPS = {
    "isotonic": fit_isotonic,
    "histogram": fit_histogram_binning,
    "equal mass": partial(fit_histogram_binning, binning="equal-mass"),
    "venn-abers": fit_venn_abers,
}


@pytest.mark.parametrize("name", MAPS)
def test_wrong_values_nan_and_nothing(name, rng):
    """...of the rows of a fit, and of what it is applied to."""
    fit, (confidence, correct), third = MAPS[name], scored(rng), np.arange(N) == 3
    options = {"weights": np.ones(N, np.float32), "where": np.ones(N, bool)}
    wrong, missing = (np.where(third, np.float32(value), confidence) for value in (1.5, np.nan))
    fitted = fit(confidence, correct, **options)
    for call in (fitted, lambda confidence: fit(confidence, correct, **options)):
        with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 1.5 in row 3"):
            call(wrong)
    np.testing.assert_array_equal(np.isnan(jax.jit(fitted)(wrong)), third)
    nothing = fit(confidence, correct, **options | {"where": np.zeros(N, bool)})
    for lost in (fit(missing, correct, **options), nothing, fit([], [])):
        assert np.isnan(lost(confidence)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPS)
def test_jit_and_vmap(name, rng):
    fit, (confidence, correct) = MAPS[name], scored(rng)
    wrong = np.where(np.arange(N) == 3, 1.5, confidence), correct
    (good, found), (bad, nothing) = in_float32(fit, [(confidence, correct), wrong])
    np.testing.assert_allclose(found, fit(confidence, correct)(confidence), atol=1e-7)
    assert {leaf.dtype for leaf in (*jax.tree.leaves(good), found)} == {np.dtype(np.float32)}
    assert all(np.isnan(leaf).all() for leaf in (*jax.tree.leaves(bad)[1:], nothing))  # the first are thresholds
