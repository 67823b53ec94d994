"""The features of a net: what its last layer is given."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.train.running import run
from tests.train.conftest import SMALL

pytestmark = pytest.mark.medium


def test_the_logits_are_an_affine_function_of_the_features(tmp_path):
    """A file a net, of the test rows; float32 logits to 1e-4."""
    run("width", tmp_path, **SMALL, keep_features=True)
    files = sorted(path.name for path in (tmp_path / "features").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "predictions").iterdir()) and len(files) == 2
    for name in files:
        with np.load(tmp_path / "features" / name) as kept, np.load(tmp_path / "predictions" / name) as predicted:
            assert kept["features"].shape == (355, 8) and (kept["features"] >= 0).all()  # after a ReLU
            np.testing.assert_array_equal(kept["labels"], predicted["labels"])
            affine = np.column_stack([kept["features"], np.ones(355)])
            left = predicted["logits"] - affine @ np.linalg.lstsq(affine, predicted["logits"], rcond=None)[0]
            assert np.abs(left).max() < 1e-4
