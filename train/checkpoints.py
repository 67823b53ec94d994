"""The state of a job after an epoch, on disk: the last two that were kept, should one be damaged.

An epoch is kept unless another one was less than `SECONDS` ago, since a small net has many epochs in that time, or so
little ago that writing would take more than a twentieth of the time, since many wide nets side by side are a gigabyte.
Orbax writes beside the place of a checkpoint and renames, so that what exists is whole; a checksum tells of bytes that
changed later; reading executes nothing.
"""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp

from mixjax.runs import explained, write_atomically

__all__ = ["Checkpoints"]

SECONDS = 2.0
_SHARE = 20  # of what writing one took
_KEPT = 2


class Checkpoints:
    """Of one job, in a folder of its own.

    Args:
      folder: made if it is not there.
      warn: told, in a sentence, of a checkpoint that cannot be read.
      seconds: within which one checkpoint is enough, and more where writing it takes long; 0 keeps every epoch.
      stay: whether the last epoch is kept in any case, for those who want the parameters.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None], *, seconds: float = SECONDS, stay: bool = False):
        logging.getLogger("absl").setLevel(logging.CRITICAL)  # orbax tells of each file; its errors are raised as well
        options = ocp.CheckpointManagerOptions(max_to_keep=_KEPT, enable_async_checkpointing=False)
        self.folder, self.warn, self.seconds, self.stay = folder, warn, seconds, stay
        self._last, self._took = time.monotonic(), 0.0
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._manager = ocp.CheckpointManager(folder.resolve(), options=options)

    @property
    def last(self) -> int:
        """The number of epochs before the last checkpoint; 0 if there is none."""
        return self._manager.latest_step() or 0

    def save(self, epoch: int, state: Any, *, last: bool = False) -> None:
        """Keep a state, a pytree of arrays, if it is time, or the last and to stay; those before two are deleted.

        Raises:
          RunError: if it cannot be written; what was kept before stays.
        """
        pause = max(self.seconds, _SHARE * self._took) if self.seconds else 0.0
        started = time.monotonic()
        soon = started - self._last < pause and not (last and self.stay)
        if jax.process_count() == 1 and soon:
            return  # processes have clocks of their own, and must agree
        with explained(self.folder), _errors_of_files():
            self._manager.save(epoch, args=ocp.args.StandardSave(state), force=True)
            self._manager.wait_until_finished()
            if jax.process_index() == 0:
                self._checksum(epoch).parent.mkdir(exist_ok=True)
                write_atomically(self._checksum(epoch), _digest(self.folder / str(epoch)))
        self._last = time.monotonic()
        self._took = self._last - started

    def restore(self, like: Any) -> tuple[int, Any] | None:
        """(epoch, state) of the last checkpoint that can be read, or None; damaged ones are deleted.

        Args:
          like: a state of the same structure, shapes, dtypes and layout over devices.
        """
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, like)
        for epoch in sorted(self._manager.all_steps(), reverse=True):
            if self._intact(epoch):
                return epoch, self._manager.restore(epoch, args=ocp.args.StandardRestore(abstract))
            self.warn(f"checkpoint of epoch {epoch} in {self.folder} is damaged; taking the one before")
            self._manager.delete(epoch)
        return None

    def _checksum(self, epoch: int) -> Path:
        return self.folder / "checksums" / f"{epoch}.sha256"

    def _intact(self, epoch: int) -> bool:
        """Whether its files are those that were written; others are never parsed."""
        try:
            return self._checksum(epoch).read_bytes() == _digest(self.folder / str(epoch))
        except OSError:
            return False

    def close(self, *, delete: bool) -> None:
        """Let go of the folder, and delete it if the job is done and stored."""
        self._manager.close()
        if delete and jax.process_index() == 0:
            shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def _errors_of_files() -> Iterator[None]:
    """What the file system refuses to TensorStore, which says the number in its text alone, as OSError."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if number := re.search(r"os_error_code='(\d+)'", str(error)):
            raise OSError(int(number[1]), "TensorStore") from None
        raise


def _digest(folder: Path) -> bytes:
    """SHA-256 of the names and the contents of all files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.digest()
