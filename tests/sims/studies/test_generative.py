"""The study of the generative model end to end, at a small size: what it holds, and what it refuses."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax import sims
from mixjax.gaussian import population_ece, sample_scores

pytestmark = pytest.mark.slow

SMALL = {"n": "8,64", "rows": "64,512", "p": 4, "d": 6, "training_seeds": 2, "training_sets": 3, "steps": 30,
         "draws": 1 << 15}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    with jax.enable_x64(False):  # as in a command: what is learned is float32
        return sims.run("generative", **SMALL)


def test_the_parts_fit_together(table):
    np.testing.assert_allclose(table["excess"], table["ece"] - table["exact"], atol=1e-6)
    np.testing.assert_allclose(table["mean_excess"], table["excess"].mean("n"), atol=1e-6)
    mixed, plain = table["ece"].isel(classifier=1), table["ece"].isel(classifier=0)
    np.testing.assert_allclose(table["difference"], mixed - plain, atol=1e-6)
    assert (table["stretch"] <= table["bound"] * (1 + 1e-5)).where(np.isfinite(table["bound"]), True).all()
    assert all(np.isfinite(table[name]).all() for name in ("ece", "exact", "delta"))


def test_the_exact_inverse_has_the_expected_error(table, key):
    """18 independent training sets (3 for each of 2 seeds and 3 families): within 5 standard errors of their mean."""
    found = table["exact"].mean(("family", "rows")).transpose("n", "classifier")
    n, t = np.array([[8.0], [64.0]]), np.array([[0.0, float(table.attrs["t"])]])
    errors = population_ece(sample_scores(key, n=n, p=4, theta_norm=1.0, t=t, replicates=4000))
    noise = np.asarray(errors).std(axis=-1) / np.sqrt(18)
    assert (np.abs(found - table["expected"]) < 5 * noise).all()


def test_more_rows_bring_the_density_nearer(table):
    """Assumption 3.1 of linear g, from 64 rows to 512."""
    delta = table["delta"].sel(family="linear").mean("direction")
    assert delta.sel(rows=512) < delta.sel(rows=64)
