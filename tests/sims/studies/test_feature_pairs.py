"""Pairs of classes of a file: what is read, in which units, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.sims.studies.feature_pairs import file_pairs_of, fingerprint_of, image_pairs_of, spread_of


@pytest.fixture
def path(tmp_path, rng):
    """Features of three classes, of 20, 30 and 40 rows; float64."""
    labels = np.repeat([0, 2, 5], [20, 30, 40])
    features = rng.standard_normal((90, 3)) * [1, 2, 0.1] + labels[:, None]
    np.savez(tmp_path / "net.npz", features=features, labels=labels)
    return str(tmp_path / "net.npz")


def test_all_pairs_or_those_that_are_named(path):
    assert [pair.name for pair in file_pairs_of(path, "")] == ["0, 2", "0, 5", "2, 5"]
    assert [pair.file for pair in file_pairs_of(path, "5-0")] == ["5-0"]
    assert file_pairs_of(path, "")[0].data == "net"
    assert len(fingerprint_of("net", path)) == 16


@pytest.mark.parametrize("wanted", ["0-1", "0-0", "0", "a-b", "0-2-5"])
def test_other_pairs_are_refused(path, wanted):
    with pytest.raises(RunError, match="classes must be pairs of labels of the file, as in 0-1,3-8"):
        file_pairs_of(path, wanted)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.zeros((2, 1))}, "has no array .labels."),
        ({"features": np.full((2, 1), np.nan), "labels": np.arange(2)}, "hold NaN"),
        ({"features": np.zeros(2), "labels": np.arange(2)}, "features must have shape"),
        ({"features": np.zeros((2, 1)), "labels": np.full(2, 0.5)}, "labels must be whole numbers"),
        ({"features": np.zeros((2, 1)), "labels": np.arange(3)}, "features has 2 rows and labels has 3"),
    ],
)
def test_other_files_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(RunError, match=message):
        file_pairs_of(str(tmp_path / "odd.npz"), "")


@pytest.mark.medium
def test_a_data_set_that_is_unknown_is_refused():
    with pytest.raises(RunError, match="got control" + "|fashion_mnist is not there"):
        image_pairs_of(["control"])


def test_rows_are_in_units_of_their_spread(path):
    """Classes of equal size; the mean variance within them is 1, and the midpoint of their means 0."""
    spread = spread_of(file_pairs_of(path, "0-5")[0])
    assert spread.rows.shape == (2, 20, 3) and spread.rows.dtype == np.float32
    np.testing.assert_allclose(spread.rows.mean(axis=1).sum(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(spread.rows.var(axis=1, ddof=1).mean(), 1, rtol=1e-5)
    np.testing.assert_allclose(spread.eigenvalues.mean(), 1, rtol=1e-5)
    theta = 0.5 * (spread.rows[0].mean(axis=0) - spread.rows[1].mean(axis=0))
    within = 0.5 * sum(np.cov(rows.T) for rows in spread.rows)
    noise = 0.5 * np.trace(within) / 20
    np.testing.assert_allclose(spread.theta_squared.sum(), theta @ theta - noise, rtol=0.05)
