"""Intervals of calibration errors group by group: of each site, device or class of people, with its rows and accuracy.

The ECE of a small group is biased upwards more than that of a large one: compare signed gaps, or debiased errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from mixjax.calibration.intervals import Interval, bootstrap_intervals
from mixjax.calibration.reliability_table import clopper_pearson
from mixjax.calibration.rows.bins import DEFAULT_BINS, Binning, Closed, NumBins
from mixjax.calibration.rows.clean import Rows, as_mask
from mixjax.numerics.arguments import as_array, is_missing, refuse_own_mask
from mixjax.numerics.threefry import single
from mixjax.typing import ArrayLike, Real


class GroupIntervals(NamedTuple):
    """The rows of a group, its accuracy with Clopper and Pearson's interval, and those of `CalibrationIntervals`.

    Example:
      >>> import jax
      >>> from mixjax.calibration import group_intervals
      >>> found = group_intervals(jax.random.key(0), [0.9, 0.6], [1, 0], ["a", "b"], replicates=9)
      >>> found["a"].num_rows, found["a"].accuracy.estimate
      (1, 1.0)
    """

    num_rows: int
    accuracy: Interval
    ece: Interval
    rms_ece: Interval
    mce: Interval
    debiased_squared_ece: Interval
    signed_gap: Interval


def group_intervals(
    key: PRNGKeyArray,
    confidence: ArrayLike,
    correct: ArrayLike,
    groups: ArrayLike | Sequence[str],
    *,
    num_bins: NumBins = DEFAULT_BINS,
    binning: Binning = "equal-width",
    edges: ArrayLike | None = None,
    closed: Closed = "left",
    where: ArrayLike | None = None,
    replicates: int = 2000,
    level: Real = 0.95,
) -> dict[Any, GroupIntervals]:
    """Return accuracy and calibration errors of each group of rows, with intervals; not under `jit`.

    Args:
      key: of the bootstraps.
      confidence, correct: as for `ece`.
      groups: the name or the number of each row's group, in the shape of `confidence`.
      num_bins, binning, edges, closed, where, replicates, level: as for `bootstrap_intervals`; equal-mass bins are each
        group's own.

    Returns:
      For each group of rows that count, in ascending order of its name, what `bootstrap_intervals` returns of its rows.

    Raises:
      ValueError: for groups of another shape, and for a missing one (NaN, None, pandas' NA).
      TypeError: for groups that cannot be sorted, such as names mixed with numbers.
      Also what `bootstrap_intervals` raises.

    Cost: a pass over all rows for each group.

    Example:
      >>> import jax
      >>> from mixjax.calibration import group_intervals
      >>> found = group_intervals(jax.random.key(0), [0.9, 0.6, 0.8], [1, 0, 1], ["a", "b", "a"], replicates=9)
      >>> {name: round(intervals.ece.estimate, 3) for name, intervals in found.items()}
      {'a': 0.15, 'b': 0.6}
    """
    rows = Rows.of(confidence, correct, None, where)
    right = np.asarray(rows.correct, np.float64).reshape(np.shape(as_array("confidence", confidence)))
    kept = np.ones(right.shape, bool) if where is None else np.asarray(as_mask(where))
    names = group_names(groups, kept)
    options: dict[str, Any] = {"num_bins": num_bins, "binning": binning, "edges": edges, "closed": closed}
    options |= {"replicates": replicates, "level": level}
    found = {}
    for number, name in enumerate(np.unique(names[kept]).tolist()):
        here = kept & (names == name)
        own_key = jax.random.fold_in(single(key), number)
        intervals = bootstrap_intervals(own_key, confidence, correct, where=here, **options)
        found[name] = GroupIntervals(int(here.sum()), _share(right[here], level), *intervals)
    return found


def group_names(groups: ArrayLike | Sequence[str], kept: np.ndarray) -> np.ndarray:
    """Return the group of each row, checked where it counts, which `kept` says.

    Raises:
      ValueError, TypeError: as `group_intervals`.
    """
    refuse_own_mask("groups", groups)
    names = np.asarray(groups, None if hasattr(groups, "dtype") else object)  # NumPy turns 1 beside "a" into "1"
    if names.shape != kept.shape:
        raise ValueError(f"groups must have one entry a row, of shape {kept.shape}, got {names.shape}")
    here = names[kept]
    missing = is_missing(here) if here.dtype == object else here != here
    if missing.any():
        first = here[missing][0]
        raise ValueError(f"groups must not be missing, got {first}; where= leaves out rows without a group")
    if names.dtype.kind == "m":
        raise TypeError(f"groups must be names or numbers, got dtype {names.dtype}")
    if names.dtype.kind == "M":
        return np.datetime_as_string(names, "auto")  # `tolist` would turn nanoseconds into numbers
    try:
        np.sort(here)
    except TypeError:
        raise TypeError("groups must be names or numbers, and not both") from None
    return np.where(kept, names, np.array(None)) if names.dtype == object else names  # pandas' NA cannot be compared


def _share(right: np.ndarray, level: Real) -> Interval:
    """Return the share of right rows, with Clopper and Pearson's interval."""
    share, low, high = right.mean(), *clopper_pearson(right.sum(), len(right), level=level)
    return Interval(float(share), float(low), float(high), float(np.sqrt(share * (1 - share) / len(right))))
