"""Means and spreads that are merged from parts: what a study keeps of its replicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sims.engine import Unit


@dataclass(frozen=True)
class Moments:
    """Replicates, mean and sum of squared deviations of a value, in float64, with a leading axis of cells."""

    count: np.ndarray
    mean: np.ndarray
    m2: np.ndarray

    def merge(self, other: Moments) -> Moments:
        """Those of both samples together (Chan, Golub and LeVeque 1979)."""
        count = self.count + other.count
        part = np.divide(other.count, count, out=np.zeros_like(self.mean), where=count > 0)
        delta = other.mean - self.mean
        return Moments(count, self.mean + delta * part, self.m2 + other.m2 + delta**2 * self.count * part)

    @property
    def standard_deviation(self) -> np.ndarray:
        return np.sqrt(np.divide(self.m2, self.count - 1, out=np.full_like(self.m2, np.nan), where=self.count > 1))

    @property
    def standard_error(self) -> np.ndarray:
        return self.standard_deviation / np.sqrt(np.maximum(self.count, 1))


def collect(read: Callable[[Unit], Mapping[str, np.ndarray]], units: Iterable[Unit]) -> dict[str, Moments]:
    """The moments of every value over all blocks, cells in order; blocks are merged in order, in float64."""
    blocks: dict[int, list[Mapping[str, np.ndarray]]] = {}
    for unit in units:
        blocks.setdefault(unit.block, []).append(read(unit))
    merged: dict[str, Moments] = {}
    for block in sorted(blocks):
        shards = blocks[block]
        for name in (key.removesuffix(".mean") for key in shards[0] if key.endswith(".mean")):
            parts = (np.concatenate([shard[f"{name}.{kind}"] for shard in shards]) for kind in ("count", "mean", "m2"))
            moments = Moments(*(part.astype(np.float64) for part in parts))
            merged[name] = merged[name].merge(moments) if name in merged else moments
    return merged
