"""One writer per folder of a disk: a lock that ends with the process that holds it, however that ends.

Stores have no locks: `mixjax.runs.lease` serves there.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

from mixjax.runs.errors import RunError
from mixjax.runs.storage import Location

try:
    import fcntl
except ImportError:  # as on Windows
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"  # stays in the folder: what locks is the system's, not that the file is there
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # what is locked is written: no link is followed
_TRIES, _PAUSE = 5, 0.1  # `in_use` holds a lock for an instant


class Hold:
    """A hold of one run on a folder until `close`, as a context; this one holds nothing, for want of locks."""

    def check(self) -> None:
        """Raise a RunError if the folder is no longer held."""

    def close(self) -> None:
        """Let others in."""

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileLock(Hold):
    """A file that is locked, by its descriptor."""

    def __init__(self, descriptor: int):
        self._opened = [descriptor]

    def close(self) -> None:
        """Unlock it."""
        while self._opened:
            os.close(self._opened.pop())


def busy(folder: Location, who: object) -> RunError:
    """Return the error of a second run."""
    return RunError(f"another run is working in {folder} ({who}); wait for it, stop it, or choose another folder")


def hold(folder: Path) -> FileLock | None:
    """Lock the folder for this process, until the lock is closed or the process ends.

    Returns:
      The lock, or None where the system or the file system has none.
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | _SAFE, 0o644)
    try:
        if not _locked(descriptor):
            os.close(descriptor)
            return None
    except BlockingIOError:
        owner = os.read(descriptor, 32).decode(errors="replace").strip()
        os.close(descriptor)
        raise busy(folder, f"process {owner or 'unknown'}") from None
    with suppress(OSError):  # a full disk: the lock is held all the same
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
    return FileLock(descriptor)


def in_use(folder: Path) -> bool:
    """Return whether a run is at work in the folder, as far as locks can tell."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | _SAFE)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(descriptor)
    return False


def _locked(descriptor: int) -> bool:
    """Take the lock and return True; False where there are no locks, BlockingIOError where another run holds it."""
    for tried in range(1, _TRIES + 1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if tried == _TRIES:
                raise
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return False
            raise
    return True
