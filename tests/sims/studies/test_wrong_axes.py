"""Axes that a study refuses, each with a sentence, before anything is computed."""

import pytest

from mixjax.runs import RunError
from mixjax.sims.configuration import work_of

WRONG = [
    ("beyond", {"positive_rate": "1"}, "positive_rate must be below 1, got 1"),
    ("beyond", {"classes": "2,61"}, "classes must be at most 60, got 61"),
    ("beyond", {"class_sets": 2}, "class_sets must be a whole number from 10"),
    ("beyond", {"replicates": 1}, "replicates must be a whole number from 10"),
    ("estimator_bias", {"sizes": "1"}, "sizes must be 2 or more"),
    ("estimator_bias", {"rows": 0}, "rows must be a whole number from 10"),
    ("fits", {"ridge_penalty": "0"}, "ridge_penalty must be above 0"),
    ("fits", {"epochs": 0}, "epochs must be a whole number from 1"),
    ("fits", {"replicates": 1}, "replicates must be a whole number from 10"),
    ("generative", {"d": 3}, "d must be a whole number from 16"),
    ("generative", {"rows": "10"}, "rows must be 4 p = 64 or more"),
    ("generative", {"theta_norm": "1,2"}, "theta_norm must be one number, got 2"),
    ("generative", {"training_seeds": 1}, "training_seeds must be a whole number from 2"),
    ("interpolation_peak", {"pair": "cat, dog"}, "pair must be one of none; control 1"),
    ("logistic_diagram", {"penalty": "0"}, "penalty must be above 0"),
    ("logistic_diagram", {"replicates": 1}, "replicates must be a whole number from 10"),
    ("out_of_domain", {"angle": "190"}, "angle must be from 0 to 180 degrees, got 190"),
    ("out_of_domain", {"n": "10", "ratio": "0.1"}, "p = ratio n must be at least 2"),
    ("pseudo_label", {"sums": "normal"}, "sums must be auto, exact or gaussian, got 'normal'"),
    ("pseudo_label", {"sums": "exact", "unlabeled_per_label": "1e7"}, r"exact sums are for up to 2\^24 unlabeled"),
    ("pseudo_label", {"unlabeled_per_label": "1e9", "n": "100"}, "unlabeled points must be at most 1e"),
    ("pseudo_label_shift", {"n": "10", "ratio": "0.1"}, "p = ratio n must be at least 2"),
    ("real_fits", {"n": "50,51"}, "n must be even, with half of the rows of either class, got 51"),
    ("real_fits", {"smoothing": "1"}, "smoothing must be below 1, got 1"),
    ("real_fits", {"penalty": "0"}, "penalty must be above 0"),
    ("real_fits", {"sets": 4}, "sets must be a whole number from 5"),
    ("real_images", {"ratio": "1e-5,1"}, "ratio must be 0.0001 or more"),
    ("real_images", {"rows": 0}, "rows must be a whole number from 1"),
    ("real_images", {"most_divisions": 3}, "most_divisions must be a whole number from 4"),
    ("real_images", {"row_sets": 0}, "row_sets must be a whole number from 1"),
    ("regularizers", {"alpha": "1,2"}, "alpha must begin with 0"),
    ("regularizers", {"smoothing": "0"}, "smoothing must begin with 0, which is none of it, and go on"),
    ("regularizers", {"penalty": "0,1"}, "penalty must be above 0"),
    ("temperature", {"held_out_ratio": "0"}, "held_out_ratio must be above 0"),
    ("temperature", {"held_out_ratio": "1e6"}, r"held_out_ratio n must be at most 1e\+07, got 2e\+08"),
]


@pytest.mark.parametrize(("study", "axes", "words"), WRONG, ids=[f"{study} {axes}" for study, axes, _ in WRONG])
def test_wrong_axes_are_refused(study, axes, words):
    with pytest.raises(RunError, match=words):
        work_of(study, **axes)
