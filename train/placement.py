"""Where arrays lie when there are several devices, or several processes with devices of their own.

Nets side by side are spread over the devices, each on one, if their number allows it: nothing is then exchanged. Of
other jobs each batch is spread, and every device holds the parameters. Data are on every device. Processes (of
`jax.distributed`) run the same program; the first of them writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from train.job import Job

__all__ = ["Placement", "barrier", "fetched", "is_first", "join"]

_AXIS = "devices"


@dataclass(frozen=True)
class Placement:
    """Layouts over all devices.

    Attributes:
      everywhere: a copy on each device.
      lanes: of arrays whose first axis is the lanes.
      batch: of the rows of a batch; None where batches are not spread.
    """

    everywhere: NamedSharding
    lanes: NamedSharding
    batch: NamedSharding | None

    @classmethod
    def of(cls, job: Job) -> Placement:
        """The layouts of a job."""
        mesh = Mesh(np.array(jax.devices()), (_AXIS,))
        everywhere, spread = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec(_AXIS))
        if mesh.size == 1:
            return cls(everywhere, everywhere, None)
        if job.recipe.net.vectorised and len(job.lanes) % mesh.size == 0:
            return cls(everywhere, spread, None)
        return cls(everywhere, everywhere, spread if job.recipe.batch_size % mesh.size == 0 else None)

    def put(self, tree: Any, sharding: NamedSharding) -> Any:
        """Arrays laid out; a process gives its own copy of each."""
        return jax.tree.map(
            lambda leaf: jax.device_put(leaf if jax.process_count() == 1 else np.asarray(leaf), sharding), tree
        )


def fetched(tree: Any) -> Any:
    """Arrays of NumPy, whole, in every process."""
    if jax.process_count() == 1:
        return jax.tree.map(np.asarray, tree)
    from jax.experimental import multihost_utils

    return jax.tree.map(lambda leaf: _gathered(multihost_utils, leaf), tree)


def _gathered(multihost_utils: Any, leaf: jax.Array) -> np.ndarray:
    whole = leaf.is_fully_replicated or leaf.is_fully_addressable
    return np.asarray(leaf) if whole else np.asarray(multihost_utils.process_allgather(leaf, tiled=True))


def join(coordinator: str, processes: int, process: int) -> None:
    """Become one of several processes that train together; before anything else is done with JAX."""
    jax.distributed.initialize(coordinator, processes, process)


def is_first() -> bool:
    """Whether this process is the one that writes."""
    return jax.process_index() == 0


def barrier(name: str) -> None:
    """Wait until every process is here."""
    if jax.process_count() > 1:
        from jax.experimental import multihost_utils

        multihost_utils.sync_global_devices(name)
