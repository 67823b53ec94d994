"""Two models within groups of rows: paired differences, beside reports on the rows of each group alone."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.report import of_arrays
from tests.report.conftest import softmax
from tests.report.test_groups import LABELS, LOGITS, PROBS, SITES


@pytest.mark.medium
@pytest.mark.parametrize("binning", ["equal-width", "equal-mass"])
def test_differences_within_a_group_are_those_of_its_rows_alone(binning):
    """Differences row by row to the last digit; ends of the ECE within the noise of 2000 replicates.

    A quantile at 5 % of 2000 normal draws has a standard error of .047 standard deviations, two of them .067.
    """
    softer = softmax(LOGITS / 2.0)
    options = {"num_bins": 6, "level": 0.9, "seed": 5, "binning": binning}
    pair = {"a": PROBS, "b": softer}
    report = of_arrays(probs=pair, labels=LABELS, groups=SITES, **options)
    assert list(report.group_differences) == ["north", "south", "west"]
    for name, found in report.group_differences.items():
        rows = name == SITES
        alone = of_arrays(probs={model: probs[rows] for model, probs in pair.items()}, labels=LABELS[rows], **options)
        assert found.num_rows == rows.sum()
        for mean, label in ((found.accuracy, "accuracy"), (found.signed_gap, "signed gap")):
            np.testing.assert_allclose(mean, alone.differences[label], atol=1e-12)
        ece = alone.differences["ECE"]
        np.testing.assert_allclose(found.ece.estimate, ece.estimate, atol=1e-12)
        a, b = (report.groups[model][name].ece.estimate for model in pair)
        np.testing.assert_allclose(found.ece.estimate, b - a, atol=1e-7)  # of tables that sum in float32
        np.testing.assert_allclose(found.ece[1:3], ece[1:3], atol=0.35 * ece.standard_error)
    assert of_arrays(probs=pair, labels=LABELS, **options).group_differences == {}


def test_a_group_of_one_row_has_a_difference():
    """One row says nothing about others, so that no difference has an interval."""
    report = of_arrays(confidence={"a": [0.5, 0.9], "b": [0.75, 0.9]}, correct=[1, 0], groups=["x", "y"])
    found = report.group_differences["x"]
    assert (found.num_rows, found.ece.estimate, found.signed_gap.estimate) == (1, -0.25, 0.25)
    assert np.isnan([interval[1:] for interval in found[1:]]).all()
