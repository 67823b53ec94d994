"""Files of features: the same rows from every kind, and one sentence for what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.prediction.features import FileFeatures, read_features
from mixjax.runs import RunError
from tests.prediction.conftest import P, gaussian_rows

X, LABELS = gaussian_rows(2, rows=100)


def test_every_kind_of_file_holds_the_same(folder):
    for kind in ("npz", "csv", "parquet"):
        found = read_features(folder / f"rows.{kind}", None, None, False)
        np.testing.assert_array_equal(found.x, X)
        np.testing.assert_array_equal(found.labels, LABELS)
        assert (found.classes, found.dropped, len(found.sha256)) == ([2, 5, 7], 0, 64)


def test_names_can_be_said(folder, tmp_path):
    np.savez(tmp_path / "f.npz", last=X.astype(np.float32), y=LABELS.astype(np.uint8))
    found = read_features(tmp_path / "f.npz", "last", "y", False)
    assert found.x.dtype == np.float64
    lines = (folder / "rows.csv").read_text().splitlines()
    named = [f"id,{lines[0].replace('label', 'y')}", *(f"a{k},{line}" for k, line in enumerate(lines[1:]))]
    (tmp_path / "f.csv").write_text("\n".join(named))
    np.testing.assert_array_equal(read_features(tmp_path / "f.csv", "f", "y", False).x, X)
    with pytest.raises(RunError, match="id is 'a0' in line 2, which is not a number"):
        read_features(tmp_path / "f.csv", None, "y", False)


def test_rows_with_nan_are_refused_or_left_out(tmp_path):
    x = X.copy()
    x[7, 1] = np.nan
    np.savez(tmp_path / "f.npz", features=x, labels=LABELS)
    with pytest.raises(RunError, match="1 of 300 rows holds NaN or an empty cell, the first is row 7; --drop-nan"):
        read_features(tmp_path / "f.npz", None, None, False)
    found = read_features(tmp_path / "f.npz", None, None, True)
    np.testing.assert_array_equal(found.x, np.delete(X, 7, axis=0))
    assert found.dropped == 1


INFINITE = np.where(np.arange(300)[:, None] == 4, np.inf, X)
BAD = {
    "one axis": ({"features": X[:, 0], "labels": LABELS}, r"features must have shape \[N, p\]"),
    "no features": ({"features": X[:, :0], "labels": LABELS}, r"a column for each feature, got shape \(300, 0\)"),
    "swapped": ({"features": LABELS, "labels": X}, "are they swapped"),
    "one-hot": ({"features": X, "labels": np.eye(8)[LABELS]}, "one-hot rows are not labels"),
    "lengths": ({"features": X, "labels": LABELS[1:]}, "features has 300 rows and labels has 299"),
    "no rows": ({"features": X[:0], "labels": LABELS[:0]}, "has no rows"),
    "float labels": ({"features": X, "labels": LABELS + 0.5}, "labels must be whole numbers, got float64"),
    "infinite": ({"features": INFINITE, "labels": LABELS}, "features must be finite, got inf in row 4"),
    "no array": ({"x": X, "labels": LABELS}, "has no array 'features'; it has x, labels"),
    "complex": ({"features": X + 1j, "labels": LABELS}, "features must be real numbers, got complex128"),
    "booleans": ({"features": X > 0, "labels": LABELS}, "features must be real numbers, got bool"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_one_sentence(case, tmp_path):
    arrays, says = BAD[case]
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(RunError, match=says):
        read_features(tmp_path / "f.npz", None, None, False)


def test_a_table_without_features_or_labels(tmp_path):
    (tmp_path / "f.csv").write_text("label\n1\n2\n")
    with pytest.raises(RunError, match="has no column but 'label'"):
        read_features(tmp_path / "f.csv", None, None, False)
    (tmp_path / "f.csv").write_text("a,label\n1,1\n2,2\n")
    with pytest.raises(RunError, match="has no column that begins with 'f'"):
        read_features(tmp_path / "f.csv", "f", None, False)
    with pytest.raises(RunError, match="has no column 'y'; it has a, label"):
        read_features(tmp_path / "f.csv", None, "y", False)


def test_pairs_of_classes(file):
    assert file.pairs(None) == [(2, 5), (2, 7), (5, 7)]
    assert file.pairs((7, 2)) == [(7, 2)]
    x, y = file.of_pair((7, 2))
    assert x.shape == (3000, P)
    np.testing.assert_array_equal(y, np.where(file.labels[file.labels != 5] == 7, -1, 1))


def test_pairs_that_are_not_there(file):
    with pytest.raises(RunError, match="has no class 3; it has 2, 5, 7"):
        file.pairs((2, 3))
    with pytest.raises(RunError, match="all labels are 4; a prediction needs two classes"):
        FileFeatures("f", "", X, np.full(300, 4)).pairs(None)
    with pytest.raises(RunError, match="class 9 has 1 row"):
        FileFeatures("f", "", X, np.append(LABELS[1:], 9)).pairs(None)
    FileFeatures("f", "", X, np.append(LABELS[1:], 9)).pairs((2, 5))
    with pytest.raises(RunError, match="every feature is constant within the classes 2 and 5"):
        FileFeatures("f", "", np.tile(LABELS[:, None], 3), LABELS).of_pair((2, 5))
    for scale in (1e-60, 1e60, 1e200):
        with pytest.raises(RunError, match="scale it to about 1"):
            FileFeatures("f", "", scale * X, LABELS).of_pair((2, 5))
