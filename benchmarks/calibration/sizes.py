"""How much is timed, and the rows that all libraries are given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

NUM_BINS = 15
Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Sizes:
    """Rows of each table, and repetitions of a call (fewer where a call takes seconds)."""

    width: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
    estimators: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    batches: int = 1000
    batch: int = 100_000
    repetitions: int = 15

    def repetitions_of(self, rows: int) -> int:
        """About the same time for each size, and three at least."""
        return max(3, min(self.repetitions, self.repetitions * 1_000_000 // rows))


QUICK = Sizes(width=(10_000, 1_000_000), estimators=(10_000,), batches=20, batch=10_000, repetitions=5)


def rows(size: int) -> Rows:
    """(confidence, correct) in float32, of an over-confident classifier under the Gaussian model.

    y v ~ N(1.2, 2): confidence s(2 |v|), correct where y v > 0. Drawn in blocks, to spare memory.
    """
    rng = np.random.default_rng(size)
    confidence, correct = np.empty(size, np.float32), np.empty(size, np.float32)
    block = 1 << 20
    for start in range(0, size, block):
        part = slice(start, min(start + block, size))
        u = 1.2 + np.sqrt(2.0) * rng.standard_normal(part.stop - start)
        confidence[part] = 1.0 / (1.0 + np.exp(-2.0 * np.abs(u)))
        correct[part] = u > 0
    return confidence, correct
