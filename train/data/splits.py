"""Stratified divisions of a training set: two halves for pseudo-labels, and rows held out to fit a temperature.

Rows are laid out class by class, in random order within a class, and taken at equal intervals. Hence the sizes are
exact, and of each class each part has its share to within one row.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int, Int32

from mixjax.numerics.threefry import Source

from .streams import Stream, stream_key

Rows = Int32[np.ndarray, " _"]


def split_half(labels: Int[np.ndarray, " N"], seed: int) -> tuple[Rows, Rows]:
    """Divide a training set into (labeled, unlabeled) rows; of an odd number the unlabeled half has one more.

    Args:
      labels: whole numbers, at least two.
      seed: in [0, 2^32); the same seed gives the same halves on every machine.

    Returns:
      Rows in ascending order, each in one of the halves.

    Raises:
      ValueError: for fewer than two rows.
    """
    return _split(labels, len(labels) // 2, seed, Stream.HALVES)


def hold_out(labels: Int[np.ndarray, " N"], size: int, seed: int) -> tuple[Rows, Rows]:
    """Divide a training set into (held out, fitted) rows, `size` of them held out; arguments as of `split_half`.

    Raises:
      ValueError: for a size that leaves one of the parts empty.
    """
    return _split(labels, size, seed, Stream.HELD_OUT)


def _split(labels: np.ndarray, size: int, seed: int, stream: Stream) -> tuple[Rows, Rows]:
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels must be whole numbers of shape [N], got {labels.dtype} {labels.shape}")
    if not 0 < size < len(labels):
        raise ValueError(f"a part of {size} rows out of {len(labels)} leaves a part empty")
    first, second = map(np.asarray, Source.of(stream_key(seed, stream), labels.shape).words(0))
    by_class = np.lexsort((second, first, labels)).astype(np.int32)
    index = np.arange(len(labels))
    taken = (index + 1) * size // len(labels) > index * size // len(labels)
    return np.sort(by_class[taken]), np.sort(by_class[~taken])
