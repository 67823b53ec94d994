"""The members of a job as arrays: seeds, alphas, which rows each may see and with which labels."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int32, UInt32

from ..data.splits import hold_out, split_half
from .job import Division, Job

__all__ = ["HIDDEN", "Members", "alphas_of", "divide_rows", "first_part_size", "members_of"]

HIDDEN = -1  # the label of a row whose label the net must not see: its one-hot vector is 0
_HELD_OUT = 10  # one row in


class Members(NamedTuple):
    """Arrays with one entry a net."""

    seed: UInt32[Array, " members"]  # determines everything random
    alpha: Float32[Array, " members"]  # in the current phase
    rows: Int32[Array, "members N"]  # the training rows, those of the first part of the division first
    labels: Int32[Array, "members N"]  # of the training set, in its own order; `HIDDEN` where a net must not see them


def divide_rows(division: Division, labels: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    """Return the rows in the order of the division, and how many are in the first part, for one seed."""
    if division == "none":
        return np.arange(len(labels), dtype=np.int32), len(labels)
    if division == "halves":
        first, second = split_half(labels, seed)
    else:
        second, first = hold_out(labels, max(1, len(labels) // _HELD_OUT), seed)
    return np.concatenate([first, second]), len(first)


def members_of(job: Job, labels: np.ndarray) -> tuple[Members, int]:
    """Return the members at the start, and the size of the first part; labels of the other rows are hidden."""
    parts = {seed: divide_rows(job.division, labels, seed) for seed in job.seeds}
    rows = np.stack([parts[member.seed][0] for member in job.members])
    size = parts[job.seeds[0]][1]
    visible = np.tile(labels, (len(job.members), 1))
    np.put_along_axis(visible, rows[:, size:], HIDDEN, axis=1)
    seeds = jnp.array([member.seed for member in job.members], jnp.uint32)
    return Members(seeds, alphas_of(job)[0], jnp.asarray(rows), jnp.asarray(visible)), size


def alphas_of(job: Job) -> tuple[jax.Array, ...]:
    """Return alpha of each member, in each phase."""
    return tuple(
        jnp.array([member.arm.alphas[phase] for member in job.members], jnp.float32) for phase in range(len(job.phases))
    )


def first_part_size(job: Job, labels: np.ndarray) -> int:
    """Return how many rows are in the first part of the division.

    Raises:
      ValueError: if a part would be empty.
    """
    return divide_rows(job.division, labels, job.seeds[0])[1]
