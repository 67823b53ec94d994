"""The maps of pseudo-labels at a small size: exact against normal sums, without unlabeled points, and the limit."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax import sims
from mixjax.gaussian import best_weight, overshoot_ratio, population_ece, sample_scores
from mixjax.sims.configuration import work_of

SMALL = {"n": "20", "ratio": "0.5,5", "theta_norm": "1,2", "alpha": "0.5,5", "replicates": 2000}


@pytest.mark.slow
def test_normal_sums_give_the_map_of_exact_ones(table_of):
    """Within 5 standard errors of the difference of two independent means, and a bias of 1e-3 at 10 points and more."""
    exact = table_of("pseudo_label")
    normal = sims.run("pseudo_label", unlabeled_per_label="1,10", sums="gaussian", **SMALL)
    for name in ("ece", "ece_final", "final_difference", "best_difference"):
        noise = np.hypot(exact[f"{name}_se"], normal[f"{name}_se"])
        assert (np.abs(exact[name] - normal[name]) < 5 * noise + 1e-3).all(), name


@pytest.mark.slow
def test_without_unlabeled_points_nothing_changes():
    """float32, in which the laws of both are rounded otherwise."""
    table = sims.run("pseudo_label", unlabeled_per_label="0", **SMALL)
    assert float(np.abs(table["final_difference"]).max()) < 1e-5
    assert float(np.abs(table["final_difference_limit"]).max()) < 1e-9


@pytest.mark.slow
def test_overshooting_begins_where_the_limit_says():
    """p/n = 12 and |theta| = 2, at half and at twice the limit's p / n_unlabeled: nearly all data sets, and few."""
    boundary = 12 / float(overshoot_ratio(12.0, 2.0))
    table = sims.run("pseudo_label", n="200", ratio="12", theta_norm="2", replicates=500, sums="gaussian", alpha="1",
                     unlabeled_per_label=[boundary / 2, 2 * boundary])  # fmt: skip
    few, many = (table.squeeze().isel(unlabeled_per_label=place) for place in (0, 1))
    assert few["overshoot"] < 0.01
    assert many["overshoot"] > 0.99
    assert abs(many["best_difference"]) < 1e-8  # no weight above 0 is best there
    assert many["mix_difference"] > 0


@pytest.mark.slow
def test_unlabeled_data_of_the_same_domain_are_no_shift(table_of):
    same = sims.run("pseudo_label_shift", unlabeled_norm="2", angle="0", unlabeled_per_label="10",
                    **SMALL | {"theta_norm": "2"})  # fmt: skip
    plain = table_of("pseudo_label").sel(theta_norm=2, unlabeled_per_label=10)
    for name in ("ece_final", "ece_mix", "final_difference"):
        shifted = same.squeeze()
        noise = np.hypot(shifted[f"{name}_se"], plain.squeeze()[f"{name}_se"])
        assert (np.abs(shifted[name] - plain.squeeze()[name]) < 5 * noise).all(), name


@pytest.mark.slow
@pytest.mark.parametrize("study", ["pseudo_label", "pseudo_label_shift"])
def test_mixup_of_the_labeled_data_alone_is_the_expectation_over_training_sets(table_of, study, key):
    """2,000 training sets beside it, within 5 standard errors; the difference has the error of the mixed classifier."""
    table = table_of(study)
    cell = table.isel(n=0, ratio=0, theta_norm=0)
    n, p = float(cell["n"]), float(cell["realized_p"])
    weight = min(float(best_weight(p / n, float(cell["theta_norm"]))), 0.5)
    drawn = population_ece(
        sample_scores(key, n=n, p=p, theta_norm=float(cell["theta_norm"]), t=weight, replicates=2000)
    )
    exact = cell["ece_labeled_best"].values
    assert np.ptp(exact) == 0
    assert abs(float(drawn.mean()) - exact.flat[0]) < 5 * float(drawn.std()) / 2000**0.5
    np.testing.assert_allclose(table["labeled_best_difference"], table["ece_best"] - table["ece_labeled_best"])
    np.testing.assert_allclose(table["labeled_best_difference_se"], table["ece_best_se"])


def test_a_run_of_other_sums_is_another_run():
    """Of up to 10,000 unlabeled points "auto" is exact, and of more it is normal."""
    few, many = {"n": "20", "unlabeled_per_label": "1,500"}, {"n": "20", "unlabeled_per_label": "1,501"}
    exact, normal = (work_of("pseudo_label", sums=sums, **few) for sums in ("exact", "gaussian"))
    assert exact.spec != normal.spec and exact.experiment != normal.experiment
    assert work_of("pseudo_label", **few).spec == exact.spec
    assert work_of("pseudo_label", **many).experiment == normal.experiment
