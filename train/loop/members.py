"""What distinguishes the nets of a job, as arrays: seeds, alphas, which rows each may see and with which labels."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int32, UInt32

from ..data.splits import hold_out, split_half
from .job import Division, Job

__all__ = ["HIDDEN", "Lanes", "alphas_of", "divided", "first_part_size", "lanes_of"]

HIDDEN = -1  # the label of a row whose label the net must not see: its one-hot vector is 0
_HELD_OUT = 10  # one row in


class Lanes(NamedTuple):
    """One entry a net.

    Attributes:
      seed: of everything random.
      alpha: of the phase.
      rows: the training rows in the order of the division: the labelled ones, or those that are fitted, come first.
      labels: of the training set, in its own order; `HIDDEN` where a net does not know them.
    """

    seed: UInt32[Array, " lanes"]
    alpha: Float32[Array, " lanes"]
    rows: Int32[Array, "lanes N"]
    labels: Int32[Array, "lanes N"]


def divided(division: Division, labels: np.ndarray, seed: int) -> tuple[np.ndarray, int]:
    """(rows, how many of them are in the first part), for one seed."""
    if division == "none":
        return np.arange(len(labels), dtype=np.int32), len(labels)
    if division == "halves":
        first, second = split_half(labels, seed)
    else:
        second, first = hold_out(labels, max(1, len(labels) // _HELD_OUT), seed)
    return np.concatenate([first, second]), len(first)


def lanes_of(job: Job, labels: np.ndarray) -> tuple[Lanes, int]:
    """The lanes at the start, and how many rows are in the first part; the other rows' labels are hidden."""
    parts = {seed: divided(job.division, labels, seed) for seed in job.seeds}
    rows = np.stack([parts[lane.seed][0] for lane in job.lanes])
    size = parts[job.seeds[0]][1]
    visible = np.tile(labels, (len(job.lanes), 1))
    np.put_along_axis(visible, rows[:, size:], HIDDEN, axis=1)
    seeds = jnp.array([lane.seed for lane in job.lanes], jnp.uint32)
    return Lanes(seeds, alphas_of(job, 0), jnp.asarray(rows), jnp.asarray(visible)), size


def alphas_of(job: Job, phase: int) -> jax.Array:
    """alpha of each lane in a phase."""
    return jnp.array([lane.arm.alphas[phase] for lane in job.lanes], jnp.float32)


def first_part_size(job: Job, labels: np.ndarray) -> int:
    """How many rows are in the first part of the division.

    Raises:
      ValueError: if a part would be empty.
    """
    return divided(job.division, labels, job.seeds[0])[1]
