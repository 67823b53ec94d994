"""The table of a finished run, read without trust in who made it.

The checksum in provenance.json tells of damage, not of intent: whoever writes a table can write its checksum. So before
xarray opens it, it is looked at as HDF5: arrays in the file itself, no larger than the file, and no link, virtual
array or external storage, which would read other files. Text of any length is looked at one piece at a time, since
many may be the same bytes of the file. What the HDF5 library does with bytes that are made to harm it is its own
affair; nothing here can bound that.
"""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
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
_TEXT = 2**12  # bytes that any text in an array is taken for, so that all can be looked at in a moment


def load(path: PathOrUrl) -> xr.Dataset:
    """The table of a finished run.

    Raises:
      RunError: if the folder holds no run, or one that is not finished or whose table is damaged or not a run's.
    """
    folder = located(path)
    read_manifest(folder)
    file = folder / "dataset.nc"
    if not file.exists():
        raise RunError(f"the run in {path} is not finished; run the same command again to go on")
    content = file if isinstance(file, Path) else io.BytesIO(file.read_bytes())
    if not _intact(folder, content):
        raise RunError(f"{file} is damaged; delete it and run the same command again, which makes it anew")
    try:
        _check_arrays(content)
        with xr.open_dataset(content, engine="h5netcdf", decode_times=False) as table:
            found = table.load()
        _check_origin(found)
    except Exception as error:  # h5py, h5netcdf and xarray raise all kinds of them
        raise RunError(f"{file} is not a table that a run makes: {_brief(error)}") from error
    return found


@contextmanager
def explain_missing(folder: PathOrUrl) -> Iterator[None]:
    """Turn the lack of a variable that is drawn, checked or published into a RunError; any other error is our own."""
    try:
        yield
    except KeyError as error:
        reason = str(error.args[0]) if error.args else ""
        if not reason.startswith(_NO_VARIABLE):
            raise
        raise RunError(
            f"the table in {folder} is of another release, or was changed: {printable(reason.split('. ')[0])}; "
            "delete dataset.nc and run the same command again, which makes it anew"
        ) from error


def _intact(folder: Location, content: Content) -> bool:
    """Whether the table is the one that its provenance was written for."""
    try:
        made_with = read_json(folder / "provenance.json")
        with content.open("rb") if isinstance(content, Path) else io.BytesIO(content.getbuffer()) as file:
            return bool(made_with["dataset_sha256"] == hashlib.file_digest(file, "sha256").hexdigest())
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _check_arrays(content: Content) -> None:
    """Refuse what a table made here does not have, before its numbers are read."""
    room = _SLACK + (content.stat().st_size if isinstance(content, Path) else content.getbuffer().nbytes)
    with h5py.File(content, "r") as root:
        for part in (root, *_arrays(root)):
            for taken in chain(_attributes(part), _values(part) if isinstance(part, h5py.Dataset) else ()):
                room -= taken
                if room < 0:
                    raise ValueError(f"{printable(part.name)} is larger than the file")


def _values(array: h5py.Dataset) -> Iterator[int]:
    """Bytes that an array takes, and then those of each of its texts."""
    if array.is_virtual or array.external:
        raise ValueError(f"{printable(array.name)} is stored in other files")
    text, dtype = _is_text(array.dtype), array.dtype
    if dtype.hasobject and not text:
        raise ValueError(f"{printable(array.name)} holds objects")
    yield max(array.size, math.prod(array.chunks or ())) * (_TEXT if text else dtype.itemsize)
    for index in np.ndindex(array.shape) if text else ():
        yield len(array[index])


def _attributes(part: h5py.Group | h5py.Dataset) -> Iterator[int]:
    """Bytes of each attribute, of which none is read before it is known what it is."""
    for name in part.attrs:
        attribute = part.attrs.get_id(name)
        if not attribute.dtype.hasobject or _refers(attribute.dtype):
            yield attribute.get_storage_size()
        elif _is_text(attribute.dtype) and attribute.shape == ():
            yield len(part.attrs[name])
        elif name == "DIMENSION_LIST" and attribute.shape == (getattr(part, "ndim", 0),):
            yield sum(map(len, part.attrs[name])) * attribute.dtype.itemsize
        else:
            raise ValueError(f"{printable(part.name)} has {printable(name)}, which no table has")


def _is_text(dtype: np.dtype) -> bool:
    """Whether values are text of any length."""
    kind = h5py.check_string_dtype(dtype)
    return kind is not None and kind.length is None


def _refers(dtype: np.dtype) -> bool:
    """Whether values are a reference and numbers, as netCDF notes which arrays an axis belongs to."""
    parts = [dtype[name] for name in dtype.names or ()]
    return bool(parts) and all(h5py.check_ref_dtype(part) or not part.hasobject for part in parts)


def _check_origin(table: xr.Dataset) -> None:
    """What every table says, for whoever draws or publishes it."""
    if table.attrs.get("study") not in STUDIES:
        raise ValueError("it is of no study of this release")
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


def _brief(error: Exception) -> str:
    return printable(str(error).split("\n")[0]) or type(error).__name__
