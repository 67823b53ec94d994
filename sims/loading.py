"""The table of a finished run, read without trust in who made it.

The checksum in provenance.json shows damage, not intent: whoever writes a table can write its checksum. Before xarray
opens a table, its HDF5 is checked: arrays in the file itself, no larger than the file, and no link, virtual array or
external storage, which would read other files. Texts are read one at a time, since many may be the same bytes of the
file. Faults of the HDF5 library itself are beyond this.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import xarray as xr

from mixjax.runs import Location, PathOrUrl, RunError, located, read_manifest
from mixjax.runs.untrusted import parse_json, printable, read_json

from .studies import STUDIES

Content = Path | io.BytesIO  # a file, or all of an object in a store
_SLACK = 2**24  # bytes beyond the size of the file: axes without values are stored as their length alone
_NO_VARIABLE = "No variable named "  # how xarray's KeyError begins
_TEXT = 2**12  # bytes that a text counts before it is read, which bounds the number of texts


def load(path: PathOrUrl) -> xr.Dataset:
    """Load the table of a finished run.

    Args:
      path: the folder of the run, or its URL.

    Returns:
      The table that `run` returned: the same values, coordinates and attributes.

    Raises:
      RunError: if the folder holds no run, or one that is not finished or whose table is damaged or of another kind.

    Example:
      >>> import tempfile
      >>> from mixjax import sims
      >>> axes = {"n": 50, "ratio": "0.2,1,3", "theta_norm": "0.5,2", "alpha": "0,1", "replicates": 100}
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     sims.run("phase_diagram", folder, **axes).identical(sims.load(folder))
      True
    """
    folder = located(path)
    read_manifest(folder)
    file = folder / "dataset.nc"
    if not file.exists():
        raise RunError(f"the run in {path} is not finished; run the same command again to resume")
    content = file if isinstance(file, Path) else io.BytesIO(file.read_bytes())
    _refuse_damaged(folder, content)
    try:
        _check_arrays(content)
        with xr.open_dataset(content, engine="h5netcdf", decode_times=False) as table:
            found = table.load()
        _check_origin(found)
    except Exception as error:  # h5py, h5netcdf and xarray raise all kinds of them
        raise RunError(f"{file} is not the table of a run: {brief(error)}") from error
    return found


@contextmanager
def explain_missing(folder: PathOrUrl) -> Iterator[None]:
    """Turn the lack of a variable that is drawn, checked or published into a RunError."""
    try:
        yield
    except KeyError as error:
        reason = str(error.args[0]) if error.args else ""
        if not reason.startswith(_NO_VARIABLE):
            raise
        raise RunError(
            f"the table in {folder} is of another release, or was changed: {printable(reason.split('. ')[0])}; "
            "delete dataset.nc and run the same command again, which makes it again"
        ) from error


def stored_digest(folder: Location) -> str:
    """Return the SHA-256 of dataset.nc as the run has noted it.

    Raises:
      RunError: if provenance.json is missing or does not say it.
    """
    path = folder / "provenance.json"
    try:
        return str(read_json(path)["dataset_sha256"])
    except FileNotFoundError:
        reason = "is missing"
    except (OSError, ValueError, LookupError, TypeError):
        reason = "does not say the checksum of dataset.nc"
    raise RunError(
        f"{path} {reason}; restore it, or delete dataset.nc and run the same command again, which makes both again"
    )


def fault_of(folder: Location) -> str:
    """Describe what the checksum says is wrong with the table of a finished run; empty if nothing is."""
    file = folder / "dataset.nc"
    try:
        _refuse_damaged(folder, file if isinstance(file, Path) else io.BytesIO(file.read_bytes()))
    except RunError as error:
        return str(error)
    return ""


def _refuse_damaged(folder: Location, content: Content) -> None:
    """Refuse a table without the checksum of its provenance."""
    digest = stored_digest(folder)
    try:
        with content.open("rb") if isinstance(content, Path) else io.BytesIO(content.getbuffer()) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        found = ""
    if found != digest:
        raise RunError(
            f"{folder / 'dataset.nc'} is damaged; delete it and run the same command again, which makes it again"
        )


def _check_arrays(content: Content) -> None:
    """Refuse what no table of a run has, before its numbers are read."""
    room = _SLACK + (content.stat().st_size if isinstance(content, Path) else content.getbuffer().nbytes)
    with h5py.File(content, "r") as root:
        for part in (root, *_arrays(root)):
            for size in _sizes(part):
                room -= size
                if room < 0:
                    raise ValueError(f"{printable(part.name)} is larger than the file")


def _sizes(part: h5py.Group | h5py.Dataset) -> Iterator[int]:
    """Yield the bytes of each attribute, of the array, and of each of its texts; read nothing of another type."""
    for name in part.attrs:
        attribute = part.attrs.get_id(name)
        if not attribute.dtype.hasobject or _refers(attribute.dtype):
            yield attribute.get_storage_size()
        elif _is_text(attribute.dtype) and attribute.shape == ():
            yield len(part.attrs[name])
        elif name != "DIMENSION_LIST" or attribute.shape != (getattr(part, "ndim", 0),):
            raise ValueError(f"{printable(part.name)} has {printable(name)}, which no table has")
    if isinstance(part, h5py.Group):
        return
    if part.is_virtual or part.external:
        raise ValueError(f"{printable(part.name)} is stored in other files")
    text = _is_text(part.dtype)
    if part.dtype.hasobject and not text:
        raise ValueError(f"{printable(part.name)} holds objects")
    yield max(part.size, math.prod(part.chunks or ())) * (_TEXT if text else part.dtype.itemsize)
    for index in np.ndindex(part.shape) if text else ():
        yield len(part[index])


def _is_text(dtype: np.dtype) -> bool:
    """Return whether values are text of any length."""
    kind = h5py.check_string_dtype(dtype)
    return kind is not None and kind.length is None


def _refers(dtype: np.dtype) -> bool:
    """Return whether values are a reference and numbers, by which netCDF notes the arrays of an axis."""
    parts = [dtype[name] for name in dtype.names or ()]
    return bool(parts) and all(h5py.check_ref_dtype(part) or not part.hasobject for part in parts)


def _check_origin(table: xr.Dataset) -> None:
    """Check the attributes that every table has."""
    if table.attrs.get("study") not in STUDIES:
        raise ValueError("it belongs to no study of this release")
    for name in ("config", "provenance"):
        if not isinstance(parse_json(table.attrs[name]), dict):
            raise ValueError(f"{name} is no object")


def _arrays(root: h5py.File) -> Iterator[h5py.Dataset]:
    for name in root:
        if not isinstance(root.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{printable(name)} is a link")
        if root.get(name, getclass=True) is not h5py.Dataset:
            raise ValueError(f"{printable(name)} is not an array")
        yield root[name]


def brief(error: Exception) -> str:
    """Return the first line of an error, printable."""
    return printable(str(error).split("\n")[0]) or type(error).__name__
