"""A folder on a disk or in an object store: `pathlib` for the one, for the other the part of it that a run needs.

A store is reached through fsspec, whose packages raise errors of their own kinds; here they become one sentence. It has
no folders and renames, and needs none of them: an object is put whole or not at all, under its last name. The names
that a store lists are those of children, and never lead outside the folder.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from mixjax.runs.errors import KEPT, RunError

_SCHEME, _ON_DISK = re.compile("[a-z][a-z0-9+.-]*"), ("file://", "local://")
_AT_ONCE, _BATCH = 16, 1024  # requests to a store at a time, and in a batch

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ObjectPath:
    """An object in a store, or the common beginning of the names of several; methods are those of `pathlib.Path`.

    Attributes:
      url: that was given, and is displayed.
      key: its name in the store.
      system: the fsspec file system.
    """

    url: str
    key: str
    system: Any

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> ObjectPath:
        _refuse_strange(name, name)
        return ObjectPath(f"{self.url}/{name}", f"{self.key}/{name}", self.system)

    @property
    def name(self) -> str:
        """The last part."""
        return self.url.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem

    @property
    def parent(self) -> ObjectPath:
        """The folder that it is in."""
        return ObjectPath(self.url.rpartition("/")[0], self.key.rpartition("/")[0], self.system)

    def with_suffix(self, suffix: str) -> ObjectPath:
        """Return the object with the same name and another suffix."""
        return self.parent / f"{self.stem}{suffix}"

    def exists(self) -> bool:
        """Return whether there is such an object, or one below it, at this moment."""
        self.system.invalidate_cache(self.key)
        try:
            with self._explained("read", FileNotFoundError):
                self.system.info(self.key)
        except FileNotFoundError:
            return False
        return True

    def iterdir(self) -> Iterator[ObjectPath]:
        """Yield the children of this folder at this moment, none if the folder does not exist."""
        self.system.invalidate_cache(self.key)
        try:
            with self._explained("listed", FileNotFoundError):
                listed = self.system.ls(self.key, detail=False)
        except FileNotFoundError:
            return
        for entry in listed:
            parent, _, name = entry.strip("/").rpartition("/")
            if parent == self.key.strip("/") and name not in ("", ".", ".."):
                yield self / name

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a store has no folders."""

    def read_bytes(self) -> bytes:
        """Read the object."""
        with self._explained("read", FileNotFoundError):
            return bytes(self.system.cat_file(self.key))

    def read_text(self) -> str:
        """Read the object as UTF-8."""
        return self.read_bytes().decode()

    def write_bytes(self, content: bytes) -> None:
        """Put the object, whole or not at all."""
        with self._explained("written"):
            self.system.pipe_file(self.key, content)

    def write_once(self, content: bytes) -> None:
        """Put the object unless there is one; of two puts at once one stays, where the store can ensure that."""
        try:
            with self._explained("written"):
                self.system.pipe_file(self.key, content, mode="create")
        except RunError:  # there is one, or the store does not know how to create
            if not self.exists():
                self.write_bytes(content)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object."""
        try:
            with self._explained("deleted", FileNotFoundError):
                self.system.rm_file(self.key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def modified(self) -> float:
        """Return when it was put, in seconds since 1970."""
        with self._explained("read", FileNotFoundError):
            return float(self.system.modified(self.key).timestamp())

    @contextmanager
    def _explained(self, deed: str, *passed: type[Exception]) -> Iterator[None]:
        """Turn an error of the store into one sentence, but for some kinds."""
        try:
            yield
        except passed:
            raise
        except Exception as error:
            kept = f"; {KEPT}" if deed == "written" else ""
            raise RunError(f"{self} cannot be {deed}: {_brief(error)}{kept}") from error


Location = Path | ObjectPath
PathOrUrl = str | os.PathLike[str] | ObjectPath


def located(path: PathOrUrl) -> Location:
    """Return the location of a path or a URL: file:///runs/map is a path, s3://bucket/map a folder in a store."""
    if isinstance(path, ObjectPath):
        return path
    if not isinstance(path, str) or "://" not in path:
        return Path(path)
    scheme, _, rest = path.partition("://")
    if path.startswith(_ON_DISK):
        if not rest.startswith("/"):
            raise RunError(f"the URL of a local folder is file:// and its absolute path, got {path}")
        return Path(rest)
    if not _SCHEME.fullmatch(scheme):
        raise RunError(f"a URL is SCHEME://BUCKET/FOLDER, got {path}")
    _refuse_strange(rest.strip("/"), path)
    return _reached(path.rstrip("/"))


def local(path: PathOrUrl) -> Path:
    """Return the path of a folder on a disk."""
    far = isinstance(path, str) and "://" in path and not path.startswith(_ON_DISK)
    folder = None if far else located(path)
    if not isinstance(folder, Path):
        raise RunError(f"{path} is a URL, but this command needs a folder on a disk")
    return folder


def modified(path: Location) -> float:
    """Return when a file was written, in seconds since 1970."""
    return path.stat().st_mtime if isinstance(path, Path) else path.modified()


def each(function: Callable[[Item], Result], items: Iterable[Item], *folders: Location) -> Iterator[Result]:
    """Map a function over items, with several calls at a time where one of the folders is in a store."""
    if all(isinstance(folder, Path) for folder in folders):
        yield from map(function, items)
        return
    waiting = iter(items)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        while batch := list(islice(waiting, _BATCH)):
            yield from pool.map(function, batch)


def _reached(url: str) -> ObjectPath:
    """Return the folder of a URL, in the store of its scheme."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise RunError(f"{url} needs fsspec, which the extra `remote` installs: pip install fsspec") from None
    try:
        system, key = url_to_fs(url)
    except Exception as error:
        raise RunError(f"{url} cannot be used: {_brief(error)}") from error
    log = logging.getLogger(type(system).__module__.partition(".")[0])
    if not log.handlers:  # or tracebacks of attempts that are repeated go to the terminal
        log.addHandler(logging.NullHandler())
    return ObjectPath(url, key, system)


def _refuse_strange(path: str, given: str) -> None:
    if {"", ".", ".."} & set(path.split("/")):
        raise RunError(f"the name of an object has no empty part in its name, no . and no .., got {given!r}")


def _brief(error: Exception) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
