"""The seconds that a run took, over all sittings: a sitting is a process that works on the run, until it ends or dies.

DIR/sittings.json has the seconds of each, by a random name that tells it from the sittings on other machines.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from mixjax.runs.errors import explained
from mixjax.runs.storage import Location
from mixjax.runs.untrusted import read_json
from mixjax.runs.writing import write_atomically

SITTINGS = "sittings.json"
_MOST_BYTES = 2**20
_PAUSE, _PAUSE_OF_STORES = 2.0, 30.0  # seconds between two records: a process that is killed loses no more


class Sittings:
    """The sitting that begins now, and those before it.

    Args:
      folder: of the run.
      others: folders of parts of the run, whose sittings count too; one that is in several counts once.
    """

    def __init__(self, folder: Location, others: Iterable[Location] = ()):
        self._path = folder / SITTINGS
        self._pause = _PAUSE if isinstance(folder, Path) else _PAUSE_OF_STORES
        self._earlier: dict[str, float] = {}
        for place in (folder, *others):
            for name, seconds in _stored(place / SITTINGS).items():
                self._earlier[name] = max(seconds, self._earlier.get(name, 0.0))
        self._name = secrets.token_hex(8)
        self._started = self._recorded = time.perf_counter()

    def record(self, *, at_once: bool = True) -> None:
        """Store the seconds so far; not at once, only if the last record is older than a few seconds.

        Raises:
          RunError: if they cannot be written.
        """
        now = time.perf_counter()
        if at_once or now - self._recorded >= self._pause:
            with explained(self._path.parent):
                write_atomically(self._path, json.dumps(self._seconds(), indent=2).encode())
            self._recorded = now

    def total(self) -> dict[str, float | int]:
        """Return the seconds of all sittings together, and how many there were, as provenance names them."""
        seconds = self._seconds()
        return {"seconds": round(sum(seconds.values()), 2), "sittings": len(seconds)}

    def _seconds(self) -> dict[str, float]:
        return {**self._earlier, self._name: round(time.perf_counter() - self._started, 2)}


def _stored(path: Location) -> dict[str, float]:
    """Return what is stored; nothing of a file that is damaged, since no result depends on it."""
    try:
        stored = read_json(path, _MOST_BYTES)
    except (OSError, ValueError):
        return {}
    usual = isinstance(stored, dict) and all(map(_is_time, stored.values()))
    return {name: float(seconds) for name, seconds in stored.items()} if usual else {}


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf
