"""A run directory: the specification of a run, its origin, and its finished pieces. No crash can harm them.

    DIR/manifest.json       the spec (what is computed), the environment (what computes it) and the configuration
    DIR/shards/NAME.npz     one immutable file a finished unit of work, with a checksum of it, its name and the spec
    DIR/sittings.json       the seconds of each process that worked on the run
    DIR/.lock               held by the process that is at work; it ends with the process (in a store, a lease)
    DIR/dataset.nc, figures/, provenance.json     made from the shards at the end (a run of nets: summary.csv, figures/)

Every file is written under another name, flushed to disk and renamed, so that a file that
exists is whole. DIR may be a URL of an object store, where a file is put whole or not at all. No file that
is read can execute code, and a folder in which links lead elsewhere is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mixjax.runs.errors import RunError, Tell, explained
from mixjax.runs.inventory import Inventory
from mixjax.runs.lease import PERIOD, Lease
from mixjax.runs.lock import LOCK, Hold, hold
from mixjax.runs.manifest import FORMAT, differences, read_manifest, refuse_difference
from mixjax.runs.shards import MOST_BYTES, seal, unseal
from mixjax.runs.sittings import SITTINGS
from mixjax.runs.storage import Location, PathOrUrl, each, located, modified
from mixjax.runs.untrusted import printable, read_content, refuse_links
from mixjax.runs.writing import TEMPORARY, sweep, write_atomically, write_once


class RunDirectory:
    """One run, on a disk or in a store; open or create it with `RunDirectory.open`, as a context that releases it."""

    def __init__(self, path: PathOrUrl, manifest: Mapping[str, Any], product: str = "dataset.nc"):
        self.path = located(path)
        self.manifest = manifest
        self.product = product
        self._hold = Hold()
        self._release: Callable[[], object] | None = None

    @classmethod
    def open(
        cls,
        path: PathOrUrl,
        *,
        spec: Mapping[str, Any],
        environment: Mapping[str, str],
        layout: Mapping[str, int],
        config: Mapping[str, Any] | None = None,
        product: str = "dataset.nc",
        lock: bool = True,
        allow_mixed: bool | None = None,
        warn: Tell = print,
    ) -> RunDirectory:
        """Create the run, or resume it if the folder holds the same spec, made by the same environment.

        Args:
          path: a folder, or the URL of one in a store, that is new, empty, or holds this run. A folder with the
            manifest of another run and nothing computed is taken over.
          spec: JSON values that determine every number of the run.
          environment: versions, source and device, on which the last digits depend.
          layout: the cut of the work into units; a run that is resumed keeps its own.
          config: JSON values from which the work can be made again, for those who find the folder.
          product: the file that is made last, and says that the run is finished.
          lock: whether this process alone may work in the folder until `close`; a finished run is not locked.
          allow_mixed: whether another environment may resume the run, and its manifest then lists both; None if a
            user cannot choose that.
          warn: called with a line where there are no locks, where other code finished the run, and, in a store, while
            another run may be alive.

        Raises:
          RunError: if the folder holds something else, cannot be written, or another process is at work in it.
        """
        run = cls(path, {}, product)
        parts = {"spec": spec, "environment": environment, "layout": layout, "config": config or {}}
        try:
            with explained(run.path):
                run.path.mkdir(parents=True, exist_ok=True)
                if not (run.path / "manifest.json").exists():
                    run._refuse_strangers()
                refuse_links(run.path)
                if not (run.path / "manifest.json").exists():
                    run._lock(lock, warn)
                    write_once(run.path / "manifest.json", _json({"format": FORMAT, **parts}))
                run.manifest = read_manifest(run.path)
                if lock and differences(run.manifest["spec"], spec) and run._unused():
                    run._lock(lock, warn)
                    warn(f"{run.path} held a run with another spec and no finished unit; it now holds this run")
                    write_atomically(run.path / "manifest.json", _json({"format": FORMAT, **parts}))
                    (run.path / SITTINGS).unlink(missing_ok=True)
                    run.manifest = read_manifest(run.path)
                refuse_difference(run.path, "spec", run.manifest["spec"], spec)
                if run.finished:
                    run._report_earlier(environment, warn)
                else:
                    run._refuse_environment(environment, allow_mixed)
                    run._lock(lock, warn)
                    run._list_environment(environment)
                (run.path / "shards").mkdir(exist_ok=True)
        except BaseException:
            run.close()
            raise
        return run

    def close(self) -> None:
        """Let another process work in the folder."""
        if self._release is not None:
            self._release()

    def check(self) -> None:
        """Raise a RunError if another run is known to have taken over the folder, as it can in a store."""
        self._hold.check()

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def finished(self) -> bool:
        """True if the file that is made last exists."""
        return (self.path / self.product).exists()

    @property
    def environments(self) -> list[dict[str, str]]:
        """The environments that have worked on the run, the first first."""
        return [self.manifest["environment"], *self.manifest.get("mixed", [])]

    def has(self, name: str) -> bool:
        """Return whether a unit of work is stored and intact."""
        return self._read(name) is not None

    def write(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store a finished unit.

        Raises:
          RunError: if the folder cannot be written, or another run has taken it over.
        """
        self.check()
        with explained(self.path):
            write_atomically(self._shard(name), seal(arrays, self._spec_digest + name.encode()))

    def read(self, name: str) -> dict[str, np.ndarray]:
        """Read a stored unit.

        Raises:
          RunError: if it is missing or damaged.
        """
        arrays = self._read(name)
        if arrays is None:
            raise RunError(f"{self._shard(name)} is missing or damaged; run the same command again to recompute it")
        return arrays

    def read_all(self, names: Iterable[str]) -> list[dict[str, np.ndarray]]:
        """Read stored units, in this order."""
        return list(each(self.read, names, self.path))

    def times(self, names: Iterable[str]) -> list[float]:
        """Return when units were stored, in seconds since 1970."""
        return list(each(lambda name: modified(self._shard(name)), names, self.path))

    def inventory(self, names: Sequence[str]) -> Inventory:
        """Return which of the units of these names, given in the order of computation, are stored."""
        folder = self.path / "shards"
        found = folder.iterdir() if folder.exists() else ()
        files = {child.name for child in found if not child.name.startswith(TEMPORARY)}
        there = [name for name in names if f"{name}.npz" in files]
        stored = frozenset(name for name, whole in zip(there, each(self.has, there, self.path), strict=True) if whole)
        return Inventory(
            stored=stored,
            damaged=tuple(name for name in there if name not in stored),
            strays=tuple(sorted(files - {f"{name}.npz" for name in names})),
        )

    def _shard(self, name: str) -> Location:
        if os.path.basename(name) != name or "\0" in name:
            raise RunError(f"{printable(name)!r} is not the name of a unit of work")
        return self.path / "shards" / f"{name}.npz"

    @cached_property
    def _spec_digest(self) -> bytes:
        return hashlib.sha256(json.dumps(self.manifest.get("spec"), sort_keys=True).encode()).digest()

    def _read(self, name: str) -> dict[str, np.ndarray] | None:
        try:
            return unseal(read_content(self._shard(name), MOST_BYTES), self._spec_digest + name.encode())
        except (OSError, ValueError):
            return None

    def _lock(self, wanted: bool, warn: Tell) -> None:
        """Hold the folder, and delete the unfinished files of a killed process."""
        if not wanted or self._release is not None:
            return
        if isinstance(self.path, Path):
            held = hold(self.path)
            if held is None:
                warn(f"{self.path} is on a file system without locks: start no second run in it")
            else:
                sweep(self.path)
                sweep(self.path / "shards")
            self._hold = held or Hold()
        else:
            self._hold = Lease(self.path, warn, period=PERIOD)
        self._release = weakref.finalize(self, self._hold.close)

    def _strangers(self) -> Iterator[Location]:
        """List the files that a run which has just begun does not have."""
        for child in self.path.iterdir():
            if child.name not in ("shards", LOCK, "manifest.json", SITTINGS) and not child.name.startswith(TEMPORARY):
                yield child

    def _unused(self) -> bool:
        """Return whether the folder holds a manifest and nothing that was computed."""
        shards = self.path / "shards"
        return not any(self._strangers()) and not (shards.exists() and any(shards.iterdir()))

    def _refuse_strangers(self) -> None:
        for child in self._strangers():
            name = printable(child.name)
            raise RunError(f"{self.path} holds files that are not a run ({name}); choose another folder (--out)")

    def _report_earlier(self, environment: Mapping[str, str], warn: Tell) -> None:
        """Report that other code, or another release of JAX, made the finished run."""
        codes = [(made.get("commit"), made.get("jax")) for made in (*self.environments, environment)]
        if len(set(codes)) > 1:
            *made, now = (f"commit {commit} with jax {jax}" for commit, jax in codes)
            warn(
                f"{self.path} was finished earlier, by {printable(' and '.join(made), 1000)}; nothing was computed "
                f"(now it would be {now}: choose another folder for that)"
            )

    def _refuse_environment(self, environment: Mapping[str, str], allow_mixed: bool | None) -> None:
        if not allow_mixed and dict(environment) not in self.environments:
            way = ", or use --allow-mixed to continue anyway" if allow_mixed is not None else ""
            refuse_difference(self.path, "environment", self.manifest["environment"], environment, way)

    def _list_environment(self, environment: Mapping[str, str]) -> None:
        """Add an environment that works on the run to the manifest."""
        self.manifest = read_manifest(self.path)
        if dict(environment) not in self.environments:
            self.manifest = {**self.manifest, "mixed": [*self.environments[1:], dict(environment)]}
            write_atomically(self.path / "manifest.json", _json(self.manifest))


def _json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=2).encode()
