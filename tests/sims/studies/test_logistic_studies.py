"""The studies of the logistic fit: tables from given pieces, figures and reports; small runs from direct calls."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax import sims
from mixjax.gaussian import (
    ScoreLaw,
    limit_logistic_scores,
    population_accuracy,
    population_ece,
    population_nll,
    predict_logistic_scores,
)
from mixjax.sims.configuration import work_of
from mixjax.sims.engine.keys import key_of
from mixjax.sims.studies.logistic_laws import METRICS, fitted_laws, metrics_of
from mixjax.sims.studies.tuned_fits import CHOICES

SMALL = {
    "logistic_diagram": {
        "ratio": "0.1,0.5,2", "theta_norm": "0.5,1,2", "alpha": "1,5", "penalty": "0.01,0.1", "n": 12,
        "point_ratio": "0.5,2", "point_theta_norm": "1", "replicates": 10,
    },
    "interpolation_peak": {
        "ratio": "0.25:4:5:log", "penalty": "0.001,0.1", "n": 12, "point_ratio": "0.5,1", "epochs": "1,3", "decay": "1",
        "dimension": 8, "pair": "none", "replicates": 4,
    },
    "regularizers": {
        "ratio": "0.5,2", "theta_norm": "1", "penalty": "0.001,0.1", "alpha": "0,1", "smoothing": "0,0.1",
        "map_ratio": "0.5,2", "map_penalty": "0.001,0.1", "map_alpha": "1", "dimension": 8,
    },
}  # fmt: skip


@pytest.fixture(params=SMALL)
def made(request, monkeypatch):
    """Each study, and its table and the pieces it is made of, which are numbers drawn at random."""
    rng = np.random.default_rng(5)

    def any_metrics(*shape):
        return {name: rng.uniform(0.1, 0.9, shape) for name in METRICS}

    work = work_of(request.param, **SMALL[request.param])
    shapes = {
        "logistic_diagram": lambda name: (3, 3) if name.startswith("limit") else (2, 1, 10, 3),
        "interpolation_peak": lambda name: {
            "limit": (2, 3, 5), "spectra": (1, 3, 5), "points": (2, 4, 3), "epochs": (4,),
        }[name.partition("-")[0]],
        "regularizers": lambda name: (2, 7) if name.startswith("tuned") else (2, 2, 2),
    }[request.param]  # fmt: skip
    pieces = {name: any_metrics(*shapes(name)) for name in work.study.pieces(work.config)}
    if request.param == "regularizers":
        for name in (name for name in pieces if name.startswith("tuned")):
            pieces[name] |= {choice: rng.uniform(0.1, 1, (2, 7)) for choice in CHOICES}
    if request.param == "logistic_diagram":
        for name in (name for name in pieces if name.startswith("points")):
            pieces[name] |= {f"{metric}_limit": values for metric, values in any_metrics(2, 1, 3).items()}
    return work.study, work.study.table(work.config, pieces), pieces


def test_tables_are_described_and_finite(made):
    _, table, _ = made
    for name, variable in table.items():
        assert variable.attrs["long_name"]
        assert np.isfinite(variable.values).all(), name


@pytest.mark.medium
def test_figures_are_drawn_and_reports_written(made):
    study, table, _ = made
    for figure in study.figures:
        if (drawn := figure.draw(table)) is None:  # of real rows there are none
            continue
        assert drawn.get_size_inches()[0] in (3.35, 6.7)
        assert figure.caption(table)
    assert study.report(table).startswith("# ")
    assert "nan" not in study.report(table)


@pytest.mark.parametrize("made", ["logistic_diagram"], indirect=True)
def test_the_diagram_pairs_its_training_sets(made):
    _, table, pieces = made
    ece = pieces["points-2"]["ece"][1, 0]  # [replicates, alpha]
    change = ece[:, 2] - ece[:, 0]
    cell = table.sel(penalty=0.1, alpha=5, point_ratio=2, point_theta_norm=1)
    np.testing.assert_allclose(cell["ece_change_fitted"], change.mean(), rtol=1e-12)
    np.testing.assert_allclose(cell["ece_change_fitted_se"], change.std(ddof=1) / np.sqrt(10), rtol=1e-12)
    limit = pieces["points-2"]["ece_limit"][1, 0]
    np.testing.assert_allclose(cell["ece_change_limit"], limit[2] - limit[0], rtol=1e-12)
    np.testing.assert_array_equal(table["ece_mix"].sel(penalty=0.01, alpha=1), pieces["limit-0.01-1"]["ece"])


@pytest.mark.parametrize("made", ["interpolation_peak"], indirect=True)
def test_the_peak_keeps_its_axes(made):
    _, table, pieces = made
    found = pieces["points-1"]["accuracy"][1, :, 2]
    cell = table.sel(penalty=0.1, arm="Mixup", point_ratio=1)
    np.testing.assert_allclose(cell["accuracy_fitted"], found.mean(), rtol=1e-12)
    np.testing.assert_allclose(cell["accuracy_fitted_se"], found.std(ddof=1) / 2, rtol=1e-12)
    np.testing.assert_allclose(table["nll_pairs"].sel(epochs=3), pieces["epochs-3"]["nll"].mean(), rtol=1e-12)


@pytest.mark.parametrize("made", ["regularizers"], indirect=True)
def test_tuned_arms_keep_their_axes(made):
    _, table, pieces = made
    cell = {"ratio": 2, "criterion": "nll_scaled", "arm": "Mixup"}
    found, decay = pieces["tuned-1-2"], pieces["tuned-decay-2"]
    for name in ("ece", "alpha"):
        assert table[f"{name}_best"].sel(theta_norm=1, **cell) == found[name][1, 2]
        assert table[f"{name}_best_decay"].sel(cell) == decay[name][1, 2]
    np.testing.assert_allclose(
        table["accuracy_decay_change"].sel(map_alpha=1),
        pieces["map-decay"]["accuracy"][1] - pieces["map-decay"]["accuracy"][0],
        rtol=1e-12,
    )


@pytest.mark.slow
def test_small_runs_are_what_their_functions_compute():
    diagram = sims.run("logistic_diagram", **SMALL["logistic_diagram"])
    law = limit_logistic_scores(2.0, 0.5, penalty=0.1, alpha=5.0)
    np.testing.assert_allclose(
        diagram["ece_mix"].sel(ratio=2, theta_norm=0.5, penalty=0.1, alpha=5), population_ece(law), rtol=1e-8
    )
    arms = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
    laws = fitted_laws(key_of(0, "points-0.5"), np.float64(1), np.float64(0.01), arms, n=12, p=6, replicates=10)
    plain = diagram["accuracy_fitted"].sel(penalty=0.01, point_ratio=0.5, point_theta_norm=1)
    np.testing.assert_allclose(plain, population_accuracy(laws)[:, 0].mean(), rtol=1e-6)

    peak = sims.run("interpolation_peak", **SMALL["interpolation_peak"])
    s = np.arange(1, 9) ** -1.0
    s /= s.mean()
    law = predict_logistic_scores(s, s / 8, 2, penalty=0.001, smoothing=0.1)
    np.testing.assert_allclose(
        peak["accuracy_decay"].sel(decay=1, arm="smoothing", ratio=4), population_accuracy(law), rtol=1e-6
    )

    best = sims.run("regularizers", **SMALL["regularizers"])
    law = limit_logistic_scores(2.0, 1.0, penalty=1e-4, alpha=0.0)
    none = best.sel(theta_norm=1, ratio=2, criterion="nll", arm="none")
    np.testing.assert_allclose(none["nll_best"], population_nll(law), rtol=1e-8)


@pytest.mark.slow
def test_real_rows_are_predicted_and_measured():
    options = SMALL["interpolation_peak"] | {"pair": "digits: 3, 8", "rows": "40", "epochs": "1", "point_ratio": "1"}
    table = sims.run("interpolation_peak", **options)
    assert np.abs(table["accuracy_rows"] - table["accuracy_rows_predicted"]).max() < 0.1
    assert (table["accuracy_rows_se"] >= 0).all()


@pytest.mark.medium
def test_metrics_are_of_the_law():
    law = ScoreLaw(np.array([1.0, 0.5]), np.array([0.2, -0.1]))
    found = metrics_of(law)
    assert found.keys() == METRICS.keys()
    np.testing.assert_allclose(found["nll"], population_nll(law), rtol=1e-12)
    assert jax.config.read("jax_enable_x64")
