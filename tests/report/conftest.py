"""One small set of predictions, in every kind of file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mixjax.report.metrics import Report, Settings, report_on
from mixjax.report.reading import read_predictions

SETTINGS = Settings(num_bins=6, level=0.9, seed=5, replicates=2000)  # one dtype, shape and number of bins: one program
ROWS, CLASSES = 240, 3


def draw(seed: int, sharpness: float) -> tuple[np.ndarray, np.ndarray]:
    """Logits whose labels are drawn from the softmax of logits / sharpness: above 1 they are overconfident."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.standard_normal((ROWS, CLASSES))
    probs = softmax(logits)
    labels = (probs.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    return (sharpness * logits).astype(np.float32), np.minimum(labels, CLASSES - 1)


def softmax(logits: np.ndarray) -> np.ndarray:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def write_csv(path: Path, columns: dict[str, np.ndarray]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def write_parquet(path: Path, table: Any, **options: Any) -> None:
    """Write a table of Arrow, or columns that make one; without pyarrow the test is skipped."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(table), path, **options)


def table_of(prefix: str, scores: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    return {**{f"{prefix}{k}": scores[:, k] for k in range(scores.shape[1])}, "label": labels}


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """plain.npz and other.npz (logits), probs.csv, probs.parquet, and pairs.csv."""
    folder = tmp_path_factory.mktemp("files")
    logits, labels = draw(1, 2.0)
    probs = softmax(logits.astype(np.float64))
    np.savez(folder / "plain.npz", logits=logits, labels=labels)
    np.savez(folder / "other.npz", logits=0.5 * logits, labels=labels)
    write_csv(folder / "probs.csv", table_of("prob_", probs, labels))
    write_parquet(folder / "probs.parquet", table_of("prob_", probs, labels))
    write_csv(folder / "pairs.csv", {"confidence": probs.max(axis=1), "correct": (probs.argmax(axis=1) == labels) * 1})
    return folder


@pytest.fixture(scope="session")
def plain(files: Path) -> Report:
    return report_on(read_predictions(files / "plain.npz", "logits"), SETTINGS)
