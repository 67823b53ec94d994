"""The studies end to end at a small size, against their limits and exact expectations."""

import numpy as np
import pytest

import sims
from sims.figures import write_figures
from sims.studies import STUDIES
from sims.verification import report

SMALL = {
    "phase_diagram": {"n": "200", "ratio": "0.1,0.5,2", "theta_norm": "0.5,1,2", "alpha": "0.5,5"},
    "high_dimension": {"n": "200", "ratio": "0.1,0.5,2", "theta_norm": "1", "alpha": "0.5,5"},
    "low_dimension": {"n": "50,1000,100000", "p": "5", "theta_norm": "1", "alpha": "0.5,5"},
    "capacity": {"n": "1000", "ratio": "0.3,1,4", "theta_norm": "1,2"},
}


@pytest.fixture(scope="module", params=SMALL)
def table(request):
    return sims.run(request.param, **SMALL[request.param])


def test_variables_are_described_and_finite(table):
    for name, variable in table.items():
        assert variable.attrs["long_name"]
        assert variable.attrs["units"] == "1"
        assert np.isfinite(variable.values).all(), name
        if str(name).endswith("_se"):
            assert (variable.values >= 0).all(), name


def test_fractions_lie_in_their_intervals(table):
    for name in [name for name in table if str(name).endswith("_mix_better")]:
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()


def test_figures_are_drawn_from_the_table_alone(table, tmp_path):
    study = STUDIES[table.attrs["study"]]
    pictures = write_figures(study, table, tmp_path)
    assert len(pictures) == len(study.figures)
    for picture in pictures:
        assert picture.stat().st_size > 10_000
        assert "training sets" in picture.with_suffix(".txt").read_text()
    assert not list(tmp_path.glob(".tmp-*"))


def test_monte_carlo_agrees_with_the_exact_expectations(table):
    """Largest |z| of at most 162 values below 5: false-alarm rate 1e-4 a study."""
    if "ece_difference" in table:
        text, agrees = report(table)
        assert agrees, text


def test_fixed_mixup_hurts_as_p_over_n_vanishes():
    """Theorem 3.2 at p = 5: by n = 100,000 Mixup is worse in every one of 1000 training sets."""
    table = sims.run("low_dimension", **SMALL["low_dimension"])
    last = table.sel(n=100_000)
    assert (last["ece_mix_better"] == 0).all()
    assert (last["ece_difference"] > 100 * last["ece_difference_se"]).all()


def test_the_derivative_tends_to_its_closed_form():
    """At n = 1000 the finite-sample derivative is within 2 % of the limit where p/n >= 1 (bias O(1/n), s.e. 0.1 %)."""
    table = sims.run("capacity", **SMALL["capacity"]).sel(ratio=[1.0, 4.0])
    for metric in ("ece", "mce"):
        np.testing.assert_allclose(table[f"{metric}_derivative"], table[f"{metric}_derivative_limit"], rtol=0.02)
        assert (table[f"{metric}_derivative"] < 0).all()
