"""The state of a job after an epoch, on disk: the last two that were kept, should one be damaged.

An epoch is kept unless another one was less than `SECONDS` ago: a small net has many epochs in that time, and Orbax
writes a dozen files each. It writes them beside their place and renames them, so that what exists is whole; a checksum
tells of bytes that changed later; reading executes nothing.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from mixjax.runs import explained

__all__ = ["Checkpoints"]

SECONDS = 2.0
_KEPT = 2


class Checkpoints:
    """Of one job, in a folder of its own.

    Args:
      folder: made if it is not there.
      warn: told, in a sentence, of a checkpoint that cannot be read.
      seconds: within which one checkpoint is enough; 0 keeps every epoch.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None], *, seconds: float = SECONDS):
        logging.getLogger("absl").setLevel(logging.ERROR)  # orbax tells of each file that it opens
        options = ocp.CheckpointManagerOptions(max_to_keep=_KEPT, enable_async_checkpointing=False)
        self.folder, self.warn, self.seconds = folder, warn, seconds
        self._last = time.monotonic()
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._manager = ocp.CheckpointManager(folder.resolve(), options=options)

    @property
    def last(self) -> int:
        """The number of epochs before the last checkpoint; 0 if there is none."""
        return self._manager.latest_step() or 0

    def save(self, epoch: int, state: Any) -> None:
        """Keep a state, a pytree of arrays, if it is time; those before the last two are deleted.

        Raises:
          RunError: if it cannot be written; what was kept before stays.
        """
        if jax.process_count() == 1 and time.monotonic() - self._last < self.seconds:
            return  # processes have clocks of their own, and must agree
        with explained(self.folder):
            content = {"state": state, "sha256": _digest(state)}
            self._manager.save(epoch, args=ocp.args.StandardSave(content), force=True)
            self._manager.wait_until_finished()
        self._last = time.monotonic()

    def restore(self, like: Any) -> tuple[int, Any] | None:
        """(epoch, state) of the last checkpoint that can be read, or None; damaged ones are deleted.

        Args:
          like: a state of the same structure, shapes, dtypes and layout over devices.
        """
        content = {"state": like, "sha256": np.zeros(32, np.uint8)}
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, content)
        for epoch in sorted(self._manager.all_steps(), reverse=True):
            try:
                return epoch, _intact(self._manager.restore(epoch, args=ocp.args.StandardRestore(abstract)))
            except (ValueError, KeyError, TypeError, OSError, RuntimeError) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                self.warn(
                    f"checkpoint of epoch {epoch} in {self.folder} cannot be read ({reason}); taking the one before"
                )
                self._manager.delete(epoch)
        return None

    def close(self, *, delete: bool) -> None:
        """Let go of the folder, and delete it if the job is done and stored."""
        self._manager.close()
        if delete and jax.process_index() == 0:
            shutil.rmtree(self.folder, ignore_errors=True)


def _digest(state: Any) -> np.ndarray:
    """SHA-256 of all numbers of a state."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(state):
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return np.frombuffer(digest.digest(), np.uint8)


def _intact(content: dict[str, Any]) -> Any:
    if (_digest(content["state"]) != np.asarray(content["sha256"])).any():
        raise ValueError("its checksum is another")
    return content["state"]
