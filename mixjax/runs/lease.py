"""One writer per folder of a store: a lease, which its holder renews, so that others see that it is alive.

A lease is the object DIR/.lock/NUMBER, with who holds it and how often it was renewed; the greatest number is what
counts. It is taken over from a dead holder by creating the next number: of several that create one object at once a
store lets one, and what the former holder puts, should it come back, is under another name. No clock is compared with
another: a holder is taken for dead if its lease does not change while somebody watches it, for PATIENCE periods.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from mixjax.runs.errors import KEPT, RunError, Tell
from mixjax.runs.lock import LOCK, Hold, busy
from mixjax.runs.storage import ObjectPath
from mixjax.runs.untrusted import printable, read_json

PERIOD = 10.0  # seconds from one renewal to the next
PATIENCE = 3  # periods for which a lease is watched; a holder that is late by as much loses it
_LOOKS = 10  # at a lease in a period
_TRIES = 3  # to read the latest of leases that come and go
_NUMBER = re.compile("[1-9][0-9]{0,17}")  # others are no leases
_MOST_BYTES = 2**12


@dataclass(frozen=True)
class _Found:
    """A lease that was read.

    Attributes:
      path: of the object; its name is the number.
      host, process: those of the holder.
      token: a random word of the holder.
      renewals: number of times it was renewed.
    """

    path: ObjectPath
    host: str = "unknown"
    process: str = "unknown"
    token: str = ""
    renewals: str = ""

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


class Lease(Hold):
    """A folder of a store that is held until `close`; renewed by a thread meanwhile, and by `renew`."""

    def __init__(
        self, folder: ObjectPath, tell: Tell, *, period: float = PERIOD, pause: Callable[[float], object] = time.sleep
    ):
        """Take the lease of a folder, if it is free or its holder dead.

        Args:
          folder: of the run.
          tell: called with a line when a lease is watched, for `PATIENCE` periods, and when one is taken over.
          period: seconds from one renewal to the next; of all who work in the folder the same.
          pause: waits between two looks.
        """
        self._folder, self._period = folder, period
        self._token, self._renewals, self._lost = secrets.token_hex(8), 0, ""
        self._ended, self._thread = threading.Event(), threading.Thread(target=self._keep, daemon=True)
        found = _latest(folder)
        self._number = 1 + (_watch(folder, found, tell, period, pause) if found else 0)
        try:
            self._path.write_once(self._content(0))
            if not self._is_mine():  # or somebody else was faster
                raise busy(folder, _latest(folder) or "which has just begun")
            _clear(folder, self._number)
            self._thread.start()
        except BaseException:
            self.close()
            raise

    def renew(self) -> None:
        """Show that the holder lives; or learn that another took it for dead, which `check` then reports.

        A store that does not answer is a RunError, and the lease is held all the same, as long as nobody takes it.
        """
        if self._is_mine():
            self._path.write_bytes(self._content(self._renewals + 1))
            self._renewals += 1
        else:
            other = _latest(self._folder)
            taken = f"another run ({other}) has taken over {self._folder}, because this one was silent for too long"
            self._lost = taken if other else f"the lease of this run in {self._folder} is gone"

    def check(self) -> None:
        """Raise if the last renewal found the lease taken."""
        if self._lost:
            raise RunError(f"{self._lost}; {KEPT}")

    def close(self) -> None:
        """Delete the lease if this process still holds it; one that cannot be deleted is later taken for dead."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(self._period)
        with suppress(RunError, FileNotFoundError):
            if _read(self._path).token == self._token:
                self._path.unlink()

    @property
    def _path(self) -> ObjectPath:
        return self._folder / LOCK / str(self._number)

    def _content(self, renewals: int) -> bytes:
        holder = {"host": socket.gethostname(), "process": os.getpid(), "token": self._token}
        return json.dumps({**holder, "renewals": renewals}).encode()

    def _is_mine(self) -> bool:
        if max(_numbers(self._folder), default=0) > self._number:
            return False
        try:
            return _read(self._path).token == self._token
        except FileNotFoundError:
            return False

    def _keep(self) -> None:
        """Renew until the end, and try again a period later where that fails."""
        while not self._lost and not self._ended.wait(self._period):
            with suppress(RunError):
                self.renew()


def holder_of(folder: ObjectPath) -> str | None:
    """Return who holds the lease of a folder, alive or dead, and when it was renewed; None if nobody does."""
    found = _latest(folder)
    if found is None:
        return None
    try:
        put = datetime.fromtimestamp(found.path.modified(), UTC)
    except FileNotFoundError:  # just deleted
        return None
    return f"{found}, which renewed its lease at {put:%Y-%m-%d %H:%M:%S} UTC by the clock of the store"


def _watch(folder: ObjectPath, found: _Found, tell: Tell, period: float, pause: Callable[[float], object]) -> int:
    """Watch a lease: return its number if it does not change, 0 if it goes away, and raise if it changes."""
    span = f"{PATIENCE * period:g} s"
    tell(f"{folder} is held by {found}: watching for {span} to see whether it is alive")
    for _ in range(PATIENCE * _LOOKS):
        pause(period / _LOOKS)
        now = _latest(folder)
        if now is None:
            return 0
        if now != found:
            raise busy(folder, now)
    tell(f"{found} has not renewed its lease in {span}: it counts as dead, and this run takes over {folder}")
    return int(found.path.name)


def _latest(folder: ObjectPath) -> _Found | None:
    """Return the lease that counts; None if there is none."""
    for _ in range(_TRIES):
        number = max(_numbers(folder), default=0)
        if not number:
            break
        with suppress(FileNotFoundError):  # replaced since it was listed
            return _read(folder / LOCK / str(number))
    return None


def _numbers(folder: ObjectPath) -> list[int]:
    names = [child.name for child in (folder / LOCK).iterdir()]
    return [int(name) for name in names if _NUMBER.fullmatch(name)]


def _read(path: ObjectPath) -> _Found:
    """Read a lease; other content is a lease of an unknown holder."""
    try:
        content = read_json(path, _MOST_BYTES)
        parts = {name: printable(content[name]) for name in ("host", "process", "token", "renewals")}
    except (ValueError, LookupError, TypeError):
        return _Found(path)
    return _Found(path, **parts)


def _clear(folder: ObjectPath, number: int) -> None:
    """Delete the leases before one, as far as that is allowed."""
    for former in _numbers(folder):
        if former < number:
            with suppress(RunError):
                (folder / LOCK / str(former)).unlink(missing_ok=True)
