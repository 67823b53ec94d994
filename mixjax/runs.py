"""A run directory: what a run is, what made it, and its finished pieces, none of which a crash can harm.

    DIR/manifest.json       the spec (what is computed) and the environment (what computes it), written once
    DIR/shards/NAME.npz     one immutable file a finished unit of work, with a checksum inside
    DIR/dataset.nc, figures/, provenance.json     made from the shards at the end (a run of nets: summary.csv, figures/)

Every file is written beside its place, flushed to disk and renamed into it, so that a file that
exists is whole. Nothing that is read can execute code.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import platform
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = 1
_DIGEST_SIZE = 32


class RunError(Exception):
    """Something about a run that its user can put right; the message says what, in one sentence."""


class RunDirectory:
    """One run on disk; open or create it with `RunDirectory.open`."""

    def __init__(self, path: Path, manifest: Mapping[str, Any], product: str = "dataset.nc"):
        self.path = path
        self.manifest = manifest
        self.product = product

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        spec: Mapping[str, Any],
        environment: Mapping[str, str],
        layout: Mapping[str, int],
        product: str = "dataset.nc",
    ) -> RunDirectory:
        """Create the run, or resume it if the folder holds the same spec, made by the same environment.

        Args:
          path: a folder that is new, empty, or holds this run.
          spec: JSON values that determine every number of the run.
          environment: versions, source and device, on which the last digits depend.
          layout: how the work is cut into units; a run that is resumed keeps the one it was begun with.
          product: the file that is made last, and says that the run is finished.

        Raises:
          RunError: if the folder holds something else or cannot be written.
        """
        path = Path(path)
        with explained(path):
            path.mkdir(parents=True, exist_ok=True)
            manifest_path = path / "manifest.json"
            if not manifest_path.exists():
                if any(child.name != "shards" and not child.name.startswith(".tmp-") for child in path.iterdir()):
                    raise RunError(f"{path} holds files that are not a run; choose another output folder")
                parts = {"spec": dict(spec), "environment": dict(environment), "layout": dict(layout)}
                (path / "shards").mkdir(exist_ok=True)
                write_atomically(manifest_path, json.dumps({"format": FORMAT, **parts}, indent=2).encode())
            manifest = read_manifest(path)
            (path / "shards").mkdir(exist_ok=True)
        _refuse_difference(path, "spec", manifest["spec"], spec)
        run = cls(path, manifest, product)
        if not run.finished:
            _refuse_difference(path, "environment", manifest["environment"], environment)
        return run

    @property
    def finished(self) -> bool:
        """Whether what is made last is there."""
        return (self.path / self.product).exists()

    def _shard(self, name: str) -> Path:
        return self.path / "shards" / f"{name}.npz"

    def has(self, name: str) -> bool:
        """Whether a unit of work is stored and intact."""
        return self._shard(name).exists() and self._read(name) is not None

    def write(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store a finished unit."""
        with explained(self.path):
            write_atomically(self._shard(name), _sealed(arrays))

    def read(self, name: str) -> dict[str, np.ndarray]:
        """A stored unit.

        Raises:
          RunError: if it is missing or damaged.
        """
        arrays = self._read(name)
        if arrays is None:
            raise RunError(f"{self._shard(name)} is missing or damaged; run the same command again to compute it anew")
        return arrays

    def _read(self, name: str) -> dict[str, np.ndarray] | None:
        try:
            return _unsealed(self._shard(name).read_bytes())
        except OSError:
            return None


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of the run in a folder.

    Raises:
      RunError: if there is none, or it is not one that this version can read.
    """
    manifest_path = Path(path) / "manifest.json"
    try:
        manifest = json.loads(manifest_path.read_text())
    except FileNotFoundError:
        raise RunError(f"{path} holds no run (no manifest.json)") from None
    except (ValueError, OSError) as error:
        reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        raise RunError(f"{manifest_path} cannot be read: {reason}") from None
    parts = ("spec", "environment", "layout")
    if (
        not isinstance(manifest, dict)
        or manifest.get("format") != FORMAT
        or not all(isinstance(manifest.get(part), dict) for part in parts)
    ):
        raise RunError(f"{manifest_path} is not a manifest of format {FORMAT}, the one that this version reads")
    return manifest


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is either whole or not there, whatever happens on the way."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def provenance() -> dict[str, str | int]:
    """What a result was made with: versions, source commit, machine; no path, user or host name."""
    import jax
    import jaxlib

    import mixjax

    devices = jax.devices()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "mixjax": mixjax.__version__,
        "commit": _commit(),
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "python": platform.python_version(),
        "platform": devices[0].platform,
        "device": devices[0].device_kind if devices[0].platform != "cpu" else _cpu_name(),
        "devices": len(devices),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(memory / 2**30),
    }


def _commit() -> str:
    """The commit of the source tree, marked if it has changes; where git cannot tell, what MIXJAX_COMMIT says."""
    root = Path(__file__).resolve().parent.parent
    elsewhere = os.environ.get("MIXJAX_COMMIT", "unknown")
    if not (root / ".git").exists():
        return elsewhere

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("-modified" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return elsewhere


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _sealed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """An .npz file that ends in the SHA-256 of all before it, as the comment that a zip file may have."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = bytes(_DIGEST_SIZE)
    body = buffer.getvalue()[:-_DIGEST_SIZE]
    return body + hashlib.sha256(body).digest()


def _unsealed(content: bytes) -> dict[str, np.ndarray] | None:
    """The arrays, or None if anything is wrong; damaged bytes are never parsed."""
    if hashlib.sha256(content[:-_DIGEST_SIZE]).digest() != content[-_DIGEST_SIZE:]:
        return None
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        return None


def _refuse_difference(path: Path, what: str, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    there, here = _flat(stored), _flat(json.loads(json.dumps(dict(wanted))))
    differences = [
        _difference(key, there.get(key), here.get(key))
        for key in sorted({*there, *here})
        if there.get(key) != here.get(key)
    ]
    if differences:
        raise RunError(f"{path} holds a run of another {what} ({'; '.join(differences)}); choose another output folder")


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """What is nested by its path, as `options.epochs`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _difference(key: str, there: object, here: object) -> str:
    one, other = _brief(there), _brief(here)
    return f"{key} is {one} there and {other} here" if one != other else f"{key} is not the same"


def _brief(value: object) -> str:
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        return f"{len(value)} entries"
    if isinstance(value, list) and len(value) > 4:
        return f"{len(value)} values from {value[0]:g} to {value[-1]:g}" if _numeric(value) else f"{len(value)} values"
    return json.dumps(value)[:80]


def _numeric(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


@contextmanager
def explained(path: Path, kept: str = "finished work is kept, and the same command goes on from it") -> Iterator[None]:
    """Turn what the file system refuses into one sentence; `kept` is what to say of a disk that is full."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        full = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}.get(error.errno or 0)
        advice = "choose another folder"
        if full:
            reason, advice = full, kept
        elif error.errno in (errno.EEXIST, errno.ENOTDIR):
            reason = "it is a file, or in one"
        raise RunError(f"cannot write to {path}: {reason}; {advice}") from None
