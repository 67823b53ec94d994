"""Rows of three Gaussian classes, in every kind of file; one shape, so that one program serves all tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mixjax.prediction.features import FileFeatures
from mixjax.prediction.settings import Settings
from mixjax.prediction.table import Prediction, predict_pair
from tests.report.conftest import write_csv, write_parquet

P, ROWS, N = 8, 1500, 60
SPREAD = np.sqrt(np.geomspace(4.0, 0.25, P))
THETA = 0.6 * np.cos(np.arange(P)) * SPREAD
PENALTIES = (1e-4, 0.01, 1.0)
SETTINGS = Settings(N, PENALTIES, alphas=(1.0,), smoothings=(0.1,))


def gaussian_rows(seed: int, labels: tuple[int, ...] = (2, 5, 7), rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Rows of classes whose means are -THETA, +THETA and 3 THETA, all with the variances SPREAD^2, away from 0."""
    rng = np.random.default_rng(seed)
    which = np.arange(rows * len(labels)) % len(labels)
    x = 5.0 + (2.0 * which[:, None] - 1.0) * THETA + SPREAD * rng.standard_normal((len(which), P))
    return x, np.array(labels)[which]


@pytest.fixture(scope="session")
def file() -> FileFeatures:
    """The rows as they are read."""
    return FileFeatures("rows.npz", "0" * 64, *gaussian_rows(1))


@pytest.fixture(scope="session")
def prediction(file: FileFeatures) -> Prediction:
    """The prediction for the classes 2 and 5."""
    return predict_pair(file, (2, 5), SETTINGS, PENALTIES)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rows.npz, rows.csv, rows.parquet with the same 300 rows of three classes, and two.npz with the first two."""
    place = tmp_path_factory.mktemp("features")
    x, labels = gaussian_rows(2, rows=100)
    np.savez(place / "rows.npz", features=x, labels=labels)
    np.savez(place / "two.npz", features=x[labels < 7], labels=labels[labels < 7])
    columns = {**{f"f{k}": x[:, k] for k in range(P)}, "label": labels}
    write_csv(place / "rows.csv", columns)
    write_parquet(place / "rows.parquet", columns)
    return place
