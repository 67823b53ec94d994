"""The layout of arrays over several devices, or several processes with devices of their own.

Nets side by side are spread over the devices, each on one, if their number allows it: nothing is then exchanged. Of
other jobs each batch is spread, and every device holds the parameters. Data are on every device. Processes (of
`jax.distributed`) run the same program; the first of them writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from mixjax.runs import RunError

from .job import Job

__all__ = ["Placement", "all_processes", "barrier", "is_first", "join", "to_host"]

_AXIS = "devices"
_LONGEST = 4096  # bytes of a sentence


@dataclass(frozen=True)
class Placement:
    """Layouts over all devices."""

    everywhere: NamedSharding  # a copy on each device
    members: NamedSharding  # of arrays whose first axis is the members
    batch: NamedSharding | None  # of the rows of a batch; None where batches are not spread

    @classmethod
    def of(cls, job: Job) -> Placement:
        """Return the layouts of a job."""
        mesh = Mesh(np.array(jax.devices()), (_AXIS,))
        everywhere, spread = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec(_AXIS))
        if mesh.size == 1:
            return cls(everywhere, everywhere, None)
        if job.recipe.net.vectorized and len(job.members) % mesh.size == 0:
            return cls(everywhere, spread, None)
        return cls(everywhere, everywhere, spread if job.recipe.batch_size % mesh.size == 0 else None)

    def put(self, tree: Any, sharding: NamedSharding) -> Any:
        """Lay arrays out over the devices; each process gives its own copy."""
        return jax.tree.map(
            lambda leaf: jax.device_put(leaf if jax.process_count() == 1 else np.asarray(leaf), sharding), tree
        )


def to_host(tree: Any) -> Any:
    """Return the arrays as whole NumPy arrays, in every process."""
    return jax.tree.map(np.asarray if jax.process_count() == 1 else _gathered, tree)


def _gathered(leaf: jax.Array) -> np.ndarray:
    whole = leaf.is_fully_replicated or leaf.is_fully_addressable
    return np.asarray(leaf) if whole else np.asarray(multihost_utils.process_allgather(leaf, tiled=True))


def join(coordinator: str, processes: int, process: int) -> None:
    """Join several processes that train together, before anything else is done with JAX.

    A process that fails in mid-training leaves the others waiting for it, until JAX ends them: stop them, and run the
    same command again.

    Raises:
      RunError: for a wrong address or number, and if the others cannot be reached.
    """
    if not 0 <= process < processes:
        raise RunError(f"process must be in [0, processes), got {process} of {processes}")
    if not coordinator.rpartition(":")[2].isdecimal() or coordinator.startswith(":"):
        raise RunError(f"coordinator must be HOST:PORT, got {coordinator!r}")
    try:
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        raise RunError(f"the processes at {coordinator} cannot be joined: {str(error).splitlines()[0]}") from error


def is_first() -> bool:
    """Return whether this process is the one that writes."""
    return jax.process_index() == 0


def barrier(name: str) -> None:
    """Wait until every process has come here."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(name)


@contextmanager
def all_processes() -> Iterator[None]:
    """Raise in every process what the body raises in one, so that none waits for it.

    Raises:
      RunError: in every process, if the body raised it in one.
    """
    refused = None
    try:
        yield
    except RunError as error:
        refused = error
    sentence = _first_message(str(refused or ""))
    if refused is not None:
        raise refused
    if sentence:
        raise RunError(sentence)


def _first_message(text: str) -> str:
    """Return the first text that is not empty among those of all processes."""
    if jax.process_count() == 1:
        return text
    mine = text.encode()[:_LONGEST].ljust(_LONGEST, b"\0")
    texts = np.asarray(multihost_utils.process_allgather(np.frombuffer(mine, np.uint8))).reshape(-1, _LONGEST)
    found = [row.tobytes().rstrip(b"\0").decode(errors="ignore") for row in texts]
    return next(filter(None, found), "")
