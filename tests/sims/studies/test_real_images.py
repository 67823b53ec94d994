"""The study of real images: its rows, its table, what it says of data that are missing, and what it refuses."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
import xarray as xr
from sklearn.datasets import load_digits

from mixjax import sims
from mixjax.datasets import MissingDataError
from mixjax.datasets.known import KNOWN
from mixjax.gaussian import critical_ratio
from mixjax.runs import RunError
from mixjax.sims.publishing import publish
from mixjax.sims.reports.real_images import boundary_interval, signs
from mixjax.sims.studies import image_pairs, real_images
from mixjax.sims.studies.divisions import TEST_SHARE, half_width

OPTIONS = {"ratio": "0.2,1,3,9,1e-3", "alpha": "1,5", "rows": 1, "most_divisions": 4}


@pytest.fixture
def no_files(tmp_path, monkeypatch):
    """A machine without Fashion-MNIST, and two pairs that are quick."""
    image_pairs._dataset.cache_clear()
    monkeypatch.setenv("MIXJAX_DATA", str(tmp_path))
    monkeypatch.delenv("TFDS_DATA_DIR", raising=False)
    monkeypatch.setattr("mixjax.datasets.loading._SYSTEM", (str(tmp_path),))
    for module in (image_pairs, real_images):
        monkeypatch.setattr(module, "PAIRS", [pair for pair in image_pairs.PAIRS if pair.name in ("digits: 3, 8",)])
    yield tmp_path
    image_pairs._dataset.cache_clear()


@pytest.fixture
def with_fashion(no_files, monkeypatch, rng):
    """The same with a Fashion-MNIST of noise, 30 images a class and brighter from class to class, p = 4."""
    labels = np.repeat(np.arange(10), 30).astype(np.uint8)
    images = (12 * labels[:, None, None] + rng.integers(0, 100, (300, 28, 28))).astype(np.uint8)
    folder = no_files / "fashion-mnist"
    folder.mkdir()
    for part in ("train", "t10k"):
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, 300, 28, 28) + images.tobytes())
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, 300) + labels.tobytes())
    pairs = [*image_pairs.PAIRS, image_pairs.Pair("fashion", "fashion_mnist", (1,), (2,))]
    for module in (image_pairs, real_images):
        monkeypatch.setattr(module, "PAIRS", pairs)
    monkeypatch.setitem(KNOWN, "fashion_mnist", KNOWN["fashion_mnist"]._replace(sizes=(300, 300)))
    monkeypatch.setitem(image_pairs.DIMENSIONS, "fashion_mnist", 4)
    return pairs


def test_the_rows_of_the_digits_are_scikit_learns(no_files):
    """As many images of every class as the smallest has, each of them once, from 0 to 1."""
    (pair,) = image_pairs.PAIRS
    digits = load_digits()
    count = np.bincount(digits.target).min()
    for rows, label in zip(image_pairs.rows_of(pair), (3, 8), strict=True):
        assert rows.shape == (count, 64) and rows.dtype == np.float32
        of_class = {row.tobytes() for row in (digits.data[digits.target == label] / 16).astype(np.float32)}
        kept = [row.tobytes() for row in rows]
        assert len(set(kept)) == count and set(kept) <= of_class


def test_the_control_is_definition_3_1():
    """Means +-theta in the paper's direction and noise N(0, I), within 5 standard errors of 7000 rows."""
    pair = next(pair for pair in image_pairs.PAIRS if pair.theta_norm == 2.0)
    for rows, side in zip(image_pairs.rows_of(pair), (1, -1), strict=True):
        np.testing.assert_allclose(rows.mean(axis=0), side * 2 / np.sqrt(50), atol=5 / np.sqrt(7000))
        np.testing.assert_allclose(rows.var(axis=0), 1.0, atol=5 * np.sqrt(2 / 7000))


@pytest.mark.slow
def test_without_files_the_digits_alone(no_files, tmp_path):
    """A warning at the beginning and a sentence in the report say where to get what is missing."""
    with pytest.warns(UserWarning, match="fashion_mnist was not found: .*dataset-fashion-mnist"):
        table = sims.run("real_images", tmp_path / "run", **OPTIONS)
    assert list(table["pair"].values) == ["digits: 3, 8"]
    report = real_images.STUDY.report(table)
    assert "fashion_mnist is left out: install the Debian package dataset-fashion-mnist" in report
    assert str(no_files) not in report
    readme = publish(tmp_path / "run", tmp_path / "kept").read_text()
    assert str(no_files) not in readme and "| digits: 3, 8 | 8 |" in readme
    assert json.loads(table.attrs["fingerprints"]).keys() == {"digits"}


def test_without_any_images_there_is_no_study(no_files, monkeypatch):
    missing = MissingDataError("digits come with scikit-learn")
    monkeypatch.setattr(real_images, "present", lambda: ([], [missing]))
    with pytest.raises(RunError, match="digits come with scikit-learn"):
        sims.run("real_images", **OPTIONS)


@pytest.mark.slow
def test_the_table(with_fashion, tmp_path):
    """Sizes, what is measured of them, standard errors, the exact law and the limit, from the stored pieces."""
    table = sims.run("real_images", tmp_path / "run", **OPTIONS)
    assert list(table["pair"].values) == [pair.name for pair in with_fashion]
    np.testing.assert_array_equal(table["ratio"], [1e-3, 0.2, 1, 3, 9])
    np.testing.assert_array_equal(table["n"], [[8000, 40, 8, 3, 2], [4000, 20, 4, 2, 2]])
    measured = table["square"].notnull().all("rows").values
    np.testing.assert_array_equal(measured, [[False, True, True, True, True], [False, False, True, True, False]])
    assert table.attrs["missing"] == ""
    with np.load(tmp_path / "run/shards/fashion.npz") as piece:
        square, theta = piece["square"], piece["theta_square"]
    assert square.shape == (1, 4, 2, 5, 3)
    difference = square[0, ..., 1:] - square[0, ..., :1]
    one = table.sel(pair="fashion")
    np.testing.assert_allclose(one["square_difference"], difference.mean(axis=0))
    variance = difference.var(axis=0, ddof=1) * (1 / 4 + TEST_SHARE)
    np.testing.assert_allclose(one["square_difference_se"] ** 2, variance)
    np.testing.assert_allclose(one["theta_norm"], np.sqrt(theta.mean()))
    limit = critical_ratio(float(one["theta_norm"]), one["t"].values, norm=2)
    np.testing.assert_allclose(one["square_critical_limit"], limit, rtol=1e-4)
    np.testing.assert_allclose(one["half_width"], half_width(1, 4))
    assert np.isnan(one["square_claimed"])
    counts = signs(table)
    assert (counts["helps_cells"] + counts["hurts_cells"]).values.sum() == 2 * 2 * (4 + 2)
    assert (counts["helps_agree"] <= counts["helps_clear"]).all()
    assert (counts["helps_clear"] <= counts["helps_cells"]).all()


@pytest.mark.slow
def test_a_control_has_row_sets_of_its_own(no_files, monkeypatch):
    """The table of three sets: other rows in each, the error of three means, and averages over each side by hand."""
    pair = image_pairs.Pair("control", image_pairs.CONTROL, theta_norm=1.0)
    monkeypatch.setattr(image_pairs, "_CONTROL_ROWS", 60)
    monkeypatch.setitem(image_pairs.DIMENSIONS, image_pairs.CONTROL, 4)
    first, second = (image_pairs.rows_of(pair, row_set)[0] for row_set in (0, 1))
    assert not np.isin(first, second).any()
    config = real_images.RealImages(ratio="0.3,1,3", alpha="5", rows=1, most_divisions=4, row_sets=3)
    found = real_images.measure(pair, config)
    assert found["square"].shape == (3, 4, 2, 3, 2)
    monkeypatch.setattr(real_images, "PAIRS", [pair])
    table = real_images._table(config, {pair.file: found}).sel(pair="control").isel(mixup=0)
    means = (found["square"][..., 1] - found["square"][..., 0]).mean(axis=1)
    np.testing.assert_allclose(table["square_difference"], means.mean(axis=0))
    np.testing.assert_allclose(table["square_difference_se"], means.std(axis=0, ddof=1) / np.sqrt(3))
    assert (int(table["row_sets"]), int(table["divisions"])) == (3, 4)
    exact = found["exact_square"][:, 1] - found["exact_square"][:, 0]
    for side, kept in (("helps", exact < 0), ("hurts", exact > 0)):
        assert kept.any()
        of_side = table.sel(side=side)
        np.testing.assert_allclose(of_side["square_side"], means[..., kept].mean(axis=(0, 2)))
        np.testing.assert_allclose(of_side["square_side_se"] * np.sqrt(3), means[..., kept].mean(-1).std(0, ddof=1))
        np.testing.assert_allclose(of_side["square_side_exact"], exact[kept].mean(), rtol=1e-5)


def test_the_interval_of_a_boundary_is_one_of_its_logarithm():
    """By the delta method the logarithm of 2 +- 0.5 has the error 0.25."""
    table = xr.Dataset({"square_critical": 2.0, "square_critical_se": 0.5, "half_width": 3.0})
    np.testing.assert_allclose(boundary_interval(table), [2.0, 2.0 * np.exp(-0.75), 2.0 * np.exp(0.75)])
