"""Estimators against the exact truth: the truth, the moments, and that a run goes on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from mixjax import sims
from mixjax.gaussian import ScoreLaw
from mixjax.sims.publishing import publish
from mixjax.sims.studies import judged_estimators

OPTIONS = {"sizes": "50,400", "bins": 5, "rows": 40_000, "most_samples": 200, "interval_samples": 10}
FEW = {**OPTIONS, "sizes": "50,51", "rows": 1000, "most_samples": 15}
NEEDED = {*judged_estimators.INTERVALS, "MCE"}


def made(folder, options, unneeded=()):
    """A run of one law, and without some estimators."""
    with pytest.MonkeyPatch.context() as patch:
        for law in set(judged_estimators.LAWS) - {"over-confident"}:
            patch.delitem(judged_estimators.LAWS, law)
        for name in unneeded:
            patch.delitem(judged_estimators.ESTIMATORS, name)
        sims.run("estimator_bias", folder, **options)
        yield folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    yield from made(tmp_path_factory.mktemp("runs") / "bias", OPTIONS)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Of the estimators that have intervals, which take a tenth of the time to compile."""
    yield from made(tmp_path_factory.mktemp("runs") / "few", FEW, set(judged_estimators.ESTIMATORS) - NEEDED)


@pytest.fixture
def table(folder):
    return sims.load(folder)


def test_a_sample_is_the_models(key):
    """Mean confidence and accuracy of 200,000 rows, within 5 standard errors of a literal draw's."""
    confidence, correct = map(np.asarray, judged_estimators.sample(key, ScoreLaw(1.2, 0.8), 200_000))
    rng = np.random.default_rng(0)
    u = 1.2 + np.sqrt(2.0) * rng.standard_normal(1_000_000)
    expected = expit(2 * np.abs(u))
    assert abs(np.mean(confidence) - expected.mean()) < 5 * expected.std() * np.sqrt(1 / 2e5 + 1e-6)
    assert abs(np.mean(correct) - (u > 0).mean()) < 5 * 0.4 * np.sqrt(1 / 2e5 + 1e-6)


@pytest.mark.slow
def test_the_unbiased_estimators_have_no_bias_and_the_others_have(table):
    """Within 4.5 standard errors, a false alarm in 2e4; the plain ECE is above the truth by many, MCE by more."""
    row = table.sel(law="over-confident", bins=5)
    for name in ("signed gap", "NLL", "Brier score"):
        assert (np.abs(row["bias"] / row["bias_se"]).sel(estimator=name) < 4.5).all()
    for name in ("ECE, equal width", "MCE"):
        assert (row["bias"] > 5 * row["bias_se"]).sel(estimator=name, size=50)
    assert (row["bias"].sel(size=400) < row["bias"].sel(size=50)).sel(estimator="ECE, equal width")


@pytest.mark.slow
def test_moments_fit_together(few):
    table = sims.load(few)
    np.testing.assert_allclose(table["mean"] - table["truth"], table["bias"].transpose(*table["mean"].dims), atol=1e-12)
    count = table["samples"]
    variance = table["sd"] ** 2 * (count - 1) / count
    np.testing.assert_allclose(table["rmse"] ** 2, table["bias"] ** 2 + variance, rtol=1e-9)
    np.testing.assert_array_equal(count, [[15, 15]])
    shares = table["coverage"].values
    np.testing.assert_allclose(shares * 10, np.rint(shares * 10), atol=1e-12)
    assert (table["coverage"].sel(interval="signed gap") > 0).all()


@pytest.mark.medium
def test_a_run_goes_on_with_what_is_stored(few):
    """...to the same numbers, computing only what is missing."""
    folder, table = few, sims.load(few)
    (folder / "dataset.nc").unlink()
    shards = sorted((folder / "shards").iterdir())
    shards[0].unlink()
    kept = shards[1].stat().st_mtime_ns
    again = sims.run("estimator_bias", folder, **FEW)
    assert shards[1].stat().st_mtime_ns == kept
    assert again.identical(table)


@pytest.mark.slow
def test_it_is_published_with_its_findings(folder, table, tmp_path):
    readme = publish(folder, tmp_path / "results").read_text()
    made = {path.name for path in (tmp_path / "results").iterdir()}
    assert {"law-size-estimator-bins.csv", "law-size-interval-bins.csv", "law-estimator.csv", "figures"} <= made
    assert f"{float(table['bias'].sel(estimator='MCE', size=400).item()):+.4f}" in readme
    assert "![coverage](figures/coverage.png)" in readme
