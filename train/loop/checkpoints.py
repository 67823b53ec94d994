"""The state of a job after an epoch, on disk.

A checkpoint is written after an epoch if the last one is older than SECONDS, and older than _SHARE times what writing
it took: writing costs at most a twentieth of the time. The last two are kept, in case one is damaged.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp

from mixjax.runs import RunError, explained, write_atomically
from mixjax.runs.untrusted import read_content, refuse_links
from mixjax.typing import Real

from .placement import barrier, is_first

__all__ = ["Checkpoints", "read_last"]

SECONDS = 2.0
_SHARE = 20  # of what writing one took
_KEPT = 2
_SMALL_FILES = 2**20  # bytes on a disk beside the arrays, generously
_DAMAGED = "checkpoint of epoch {} in {} is damaged or incomplete; continuing without it"


class Checkpoints:
    """The checkpoints of one job, in a folder of its own.

    Args:
      folder: made if it is not there.
      warn: called with a sentence on a checkpoint that cannot be read.
      seconds: the least time between two checkpoints, longer where writing takes long; 0 writes one after every epoch,
        as several processes do at any number.
      keep_last: whether the last epoch is kept in any case, for those who want the parameters.

    Raises:
      RunError: if the folder cannot be used, holds links, or checkpoints that are whole but none of Orbax's.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None], *, seconds: Real = SECONDS, keep_last: bool = False):
        _quiet()
        self.folder, self.warn, self.seconds, self.keep_last = folder, warn, seconds, keep_last
        self._last, self._took = time.monotonic(), 0.0
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
            refuse_links(folder)
            self._drop_damaged()
            self._manager = _manager_of(folder)

    def save(self, epoch: int, state: Any, *, last: bool = False) -> None:
        """Keep a state, a pytree of arrays, if it is time for one; only the last two stay.

        Raises:
          RunError: if it cannot be written; what was kept before stays.
        """
        pause = max(self.seconds, _SHARE * self._took) if self.seconds else 0.0
        started = time.monotonic()
        soon = started - self._last < pause and not (last and self.keep_last)
        if jax.process_count() == 1 and soon:
            return  # processes have clocks of their own, and must agree
        with explained(self.folder), _errors_of_files():
            self._refuse_full_disk(state)
            self._manager.save(epoch, args=ocp.args.StandardSave(state), force=True)
            self._manager.wait_until_finished()
            if jax.process_index() == 0:
                written = self.folder / str(epoch)
                _checksum(written).parent.mkdir(exist_ok=True)
                write_atomically(_checksum(written), _digest(written))
        self._last = time.monotonic()
        self._took = self._last - started

    def restore(self, like: Any, epochs: int = sys.maxsize) -> tuple[int, Any] | None:
        """Return (epoch, state) of the last checkpoint that can be read, or None; delete others.

        Args:
          like: a state of the same structure, shapes, dtypes and layout over devices.
          epochs: how many the job has; a checkpoint of a later one is not its own.
        """
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, like)
        for epoch in sorted(self._manager.all_steps(), reverse=True):
            restore = partial(self._manager.restore, epoch, args=ocp.args.StandardRestore(abstract))
            state = _read(restore, self.folder / str(epoch)) if epoch <= epochs else None
            if state is not None:
                return epoch, state
            self.warn(_DAMAGED.format(epoch, self.folder))
            self._manager.delete(epoch)
        return None

    def _refuse_full_disk(self, state: Any) -> None:
        """Refuse a full disk before Orbax finds it: its threads would print pages of tracebacks."""
        needed = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) + _SMALL_FILES
        if jax.process_count() == 1 and shutil.disk_usage(self.folder).free < needed:
            raise OSError(errno.ENOSPC, "not enough room for a checkpoint")

    def _drop_damaged(self) -> None:
        """Delete damaged checkpoints before Orbax parses any."""
        if is_first():
            for path in self.folder.iterdir():
                if path.name.isdecimal() and not _intact(path):
                    self.warn(_DAMAGED.format(path.name, self.folder))
                    shutil.rmtree(path)
        barrier("checkpoints are checked")

    def close(self) -> None:
        """Release the folder."""
        self._manager.close()


def read_last(folder: Path, like: Any) -> tuple[int, Any] | None:
    """Return (epoch, state) of the last intact checkpoint in a folder, or None; every file stays as it is.

    Args:
      folder: of one job.
      like: as for `Checkpoints.restore`.
    """
    _quiet()
    with explained(folder):
        refuse_links(folder)
        epochs = [int(path.name) for path in folder.iterdir() if path.name.isdecimal() and _intact(path)]
    if not epochs:
        return None
    path = folder / str(max(epochs))

    def restore() -> Any:
        with ocp.StandardCheckpointer() as checkpointer:
            stored = checkpointer.metadata(path.resolve() / "default").item_metadata.tree
            if _shapes(stored) != _shapes(like):  # found later, Orbax's threads would print tracebacks
                raise ValueError(f"{path} is of other shapes")
            return checkpointer.restore(path.resolve() / "default", like)

    state = _read(restore, path)
    return None if state is None else (max(epochs), state)


def _quiet() -> None:
    logging.getLogger("absl").setLevel(logging.CRITICAL)  # Orbax logs each file; its errors are raised as well


def _shapes(tree: Any) -> list[tuple[tuple[int, ...], str]]:
    return sorted((tuple(leaf.shape), str(leaf.dtype)) for leaf in jax.tree.leaves(tree))


def _read(restore: Callable[[], Any], path: Path) -> Any:
    """Return the state, or None if the files are as they were written and yet no state of this kind."""
    try:
        with _errors_of_files():
            return restore()
    except (MemoryError, jax.errors.JaxRuntimeError):
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RunError(f"checkpoint {path.name} in {path.parent} cannot be read now, but is kept: {reason}") from error
    except Exception:  # noqa: BLE001 - Orbax and TensorStore raise all kinds of them
        return None


def _checksum(path: Path) -> Path:
    return path.parent / "checksums" / f"{path.name}.sha256"


def _intact(path: Path) -> bool:
    """Return whether the files of a checkpoint are those that were written; others are never parsed."""
    try:
        return read_content(_checksum(path), 32) == _digest(path)
    except (OSError, ValueError):
        return False


def _manager_of(folder: Path) -> ocp.CheckpointManager:
    """Return Orbax's manager, which reads the metadata of each checkpoint."""
    options = ocp.CheckpointManagerOptions(max_to_keep=_KEPT, enable_async_checkpointing=False)
    try:
        return ocp.CheckpointManager(folder.resolve(), options=options)
    except OSError:
        raise
    except Exception as error:
        raise RunError(f"the checkpoints in {folder} cannot be read; delete them") from error


@contextmanager
def _errors_of_files() -> Iterator[None]:
    """Raise an error of the file system as OSError; TensorStore gives its number in the text alone."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if number := re.search(r"os_error_code='(\d+)'", str(error)):
            raise OSError(int(number[1]), "TensorStore") from None
        raise


def _digest(folder: Path) -> bytes:
    """Return the SHA-256 of the names and the contents of all files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.digest()
