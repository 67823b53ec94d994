"""Estimators against the exact truth: the truth, the moments, and that a run goes on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from mixjax.gaussian import ScoreLaw
from sims import estimator_bias, estimator_figures
from sims.cli import main

CONFIG = estimator_bias.Config(sizes=(50, 400), bins=(5,), rows=40_000, most_samples=200, interval_samples=3)
OVER = {"over-confident": (1.2, 0.8)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimator_bias, "LAWS", OVER)
        path = tmp_path_factory.mktemp("runs") / "bias"
        estimator_bias.run(path, CONFIG)
        yield path


@pytest.fixture
def table(folder):
    return estimator_bias.run(folder, CONFIG)


def test_a_sample_is_the_models(key):
    """Mean confidence and accuracy of 200,000 rows, within 5 standard errors of a literal draw's."""
    confidence, correct = map(np.asarray, estimator_bias.sample(key, ScoreLaw(1.2, 0.8), 200_000))
    rng = np.random.default_rng(0)
    u = 1.2 + np.sqrt(2.0) * rng.standard_normal(1_000_000)
    expected = expit(2 * np.abs(u))
    assert abs(np.mean(confidence) - expected.mean()) < 5 * expected.std() * np.sqrt(1 / 2e5 + 1e-6)
    assert abs(np.mean(correct) - (u > 0).mean()) < 5 * 0.4 * np.sqrt(1 / 2e5 + 1e-6)


def test_the_unbiased_estimator_has_no_bias_and_the_others_have(table):
    """Within 4.5 standard errors, a false alarm in 1e5; the plain ECE is above the truth by many, MCE by more."""
    row = table.sel(law="over-confident", bins=5)
    assert (np.abs(row["bias"] / row["bias_se"]).sel(estimator="signed gap") < 4.5).all()
    for name in ("ECE, equal width", "MCE"):
        assert (row["bias"] > 5 * row["bias_se"]).sel(estimator=name, size=50)
    assert (row["bias"].sel(size=400) < row["bias"].sel(size=50)).sel(estimator="ECE, equal width")


def test_moments_fit_together(table):
    np.testing.assert_allclose(table["mean"] - table["truth"], table["bias"].transpose(*table["mean"].dims), atol=1e-12)
    count = table["samples"]
    variance = table["sd"] ** 2 * (count - 1) / count
    np.testing.assert_allclose(table["rmse"] ** 2, table["bias"] ** 2 + variance, rtol=1e-9)
    assert set(np.ravel(table["coverage"] * 3)) <= {0, 1, 2, 3}
    np.testing.assert_array_equal(count, [[200, 100]])


def test_a_run_goes_on_with_what_is_stored(folder, table):
    """...to the same numbers, computing only what is missing."""
    (folder / "dataset.nc").unlink()
    shards = sorted((folder / "shards").iterdir())
    shards[0].unlink()
    kept = shards[1].stat().st_mtime_ns
    again = estimator_bias.run(folder, CONFIG)
    assert shards[1].stat().st_mtime_ns == kept
    assert again.identical(table)


def test_pictures_and_table(table, tmp_path):
    paths = estimator_figures.write(table, tmp_path)
    assert [path.name for path in paths] == ["bias.png", "rmse.png", "coverage.png", "table.md"]
    text = paths[-1].read_text()
    assert f"{float(table['bias'].sel(estimator='MCE', size=400).item()):+.4f}" in text


def test_a_wrong_preset_is_one_sentence(capsys):
    assert main(["estimator_bias", "--preset", "huge"]) == 2
    assert "estimator_bias has no preset 'huge'; it has quick, default, full" in capsys.readouterr().err
