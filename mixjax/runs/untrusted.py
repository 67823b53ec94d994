"""Folders that need not be trusted: only their own files are read, of bounded size, as plain JSON.

Links could lead anywhere, and a pipe never ends: a folder that holds either is refused as a whole, before a file in it
is read, written or deleted. A run has neither.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from mixjax.runs.errors import RunError
from mixjax.runs.storage import Location

MOST_BYTES = 2**26  # of JSON; the axes of a run have 2^19 values each at most, of 30 bytes here
_MOST_CONTAINERS = 2**20  # of which one takes 20 times more memory than its two brackets
_MOST_DEPTH = 32
_MOST_DIGITS = 20  # of a whole number: 2^64 has 20, and a longer one may be no float


def refuse_links(folder: Location) -> None:
    """Refuse a folder that holds anything but files and folders, at any depth; the folder itself may be a link.

    A store has neither links nor pipes.

    Raises:
      RunError: for a link, a pipe, a socket or a device, by its name.
    """
    waiting = [os.fspath(folder)] if isinstance(folder, Path) else []
    while waiting:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not entry.is_file(follow_symlinks=False) and os.path.lexists(entry.path):  # still there
                    kind = "a link" if entry.is_symlink() else "no file"
                    raise RunError(
                        f"{printable(entry.path, 4096)} is {kind}; a run has files and folders only: move it out of "
                        "the run's folder, or choose another folder"
                    )


def read_text(path: Location, limit: int = MOST_BYTES) -> str:
    """Read a file as UTF-8.

    Raises:
      FileNotFoundError, OSError: as `open` does.
      ValueError: if it is not UTF-8, or has more than `limit` bytes.
    """
    return read_content(path, limit).decode()


def read_content(path: Location, limit: int) -> bytes:
    """Read the bytes of a file.

    Raises:
      FileNotFoundError, OSError: as `open` does.
      ValueError: if there are more than `limit`; a disk is then not read at all.
    """
    if not isinstance(path, Path):
        return _within(path.read_bytes(), limit)
    with open(path, "rb", opener=_without_waiting) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise ValueError(f"it has more than {limit} bytes")
        return file.read(size)  # as much as is asked for is allocated


def read_json(path: Location, limit: int = MOST_BYTES) -> Any:
    """Read a JSON file, by `parse_json`.

    Raises:
      FileNotFoundError, OSError: as `open` does.
      ValueError: for a file that is too large, too deep, or not JSON.
    """
    return parse_json(read_text(path, limit))


def parse_json(text: str) -> Any:
    """Parse a JSON value: at most 32 levels deep, whole numbers of at most 20 digits, no NaN or Infinity.

    Raises:
      ValueError: for any other text.
    """
    if text.count("[") + text.count("{") > _MOST_CONTAINERS:
        raise ValueError(f"it has more than {_MOST_CONTAINERS} lists and objects")
    try:
        value = json.loads(text, parse_int=_whole, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [value]
    for _ in range(_MOST_DEPTH):
        level = [part for each in level if isinstance(each, dict | list) for part in _parts(each)]
    if level:
        raise ValueError("it is nested too deeply")
    return value


def printable(text: object, most: int = 200) -> str:
    """Return the beginning of a name, on one line and without codes that a terminal obeys."""
    name = str(text)
    name = name if len(name) <= most else f"{name[: most - 3]}..."
    return name if name.isprintable() else ascii(name)[1:-1]


def _within(content: bytes, limit: int) -> bytes:
    if len(content) > limit:
        raise ValueError(f"it has more than {limit} bytes")
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Open a pipe without waiting; it ends at once."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _parts(value: dict[str, Any] | list[Any]) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"it has a number of {len(digits)} digits")
    return int(digits)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"it has {name}, which is not a number")
