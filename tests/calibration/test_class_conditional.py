"""The error given the predicted class: by hand, and as a mean over the classes that are predicted."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.calibration import class_conditional_ece, top_label_ece
from tests.calibration.exact import binned_error

pytestmark = pytest.mark.medium

PROBS, LABELS = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]] * 5), np.zeros(20, int)


def test_errors_of_two_classes_do_not_cancel():
    """Class 0 is predicted at .9 and .8 and always right, class 1 always wrong: (.1 + .2 + .9 + .8) / 4."""
    np.testing.assert_allclose(class_conditional_ece(PROBS, LABELS, num_bins=10), 0.5, rtol=1e-12)
    np.testing.assert_allclose(top_label_ece(PROBS, LABELS, num_bins=10), 0.35, rtol=1e-12)  # (.4 + .3) / 2
    np.testing.assert_allclose(class_conditional_ece(PROBS, LABELS, num_bins=10, norm=np.inf), 0.9, rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"norm": 2}, {"binning": "equal-mass"}])
def test_it_is_a_mean_over_the_predicted_classes(options, rng):
    """...of the p-th powers, by the rows of each: with exact fractions, on 60 rows of 3 classes."""
    probs, labels = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60)
    predicted, powers = probs.argmax(axis=1), 0.0
    norm = options.get("norm", 1)
    for k in range(3):
        rows = predicted == k
        error = binned_error(probs[rows].max(axis=1), labels[rows] == k, **{"num_bins": 4, "norm": norm} | options)
        powers += rows.mean() * error**norm
    found = class_conditional_ece(probs, labels, num_bins=4, **options)
    np.testing.assert_allclose(found, powers ** (1 / norm), rtol=1e-10)
    assert found >= top_label_ece(probs, labels, num_bins=4, norm=norm) - 1e-12 or options
