"""Arrays of an .npz file that need not be trusted.

Arrays of Python objects are pickles and are not read. Memory is taken as bytes arrive: neither the sizes that the
archive states nor the shape in a header is believed before the bytes are there. Only what NumPy writes is unpacked:
other methods of compression take memory by a number in the file.
"""

from __future__ import annotations

import io
import math
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mixjax.runs.errors import RunError
from mixjax.runs.files import read_at_most, readable
from mixjax.runs.untrusted import printable

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_LIMIT = 2**32  # bytes of all arrays together, or as many as the file itself has
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, EOFError, ValueError, TypeError, SyntaxError),
    *(RuntimeError, NotImplementedError, OverflowError, MemoryError, RecursionError, struct.error),
)  # what zipfile and NumPy raise for bytes that are not theirs


def read_arrays(path: Path, wanted: Callable[[str], bool]) -> tuple[list[str], dict[str, np.ndarray]]:
    """Read the names of all arrays of an npz file, and the arrays that are wanted."""
    try:
        with readable(path), zipfile.ZipFile(path) as archive:
            limit = max(_LIMIT, path.stat().st_size)  # what is not compressed is no larger than the file
            return _unpacked(archive, wanted, limit, str(path))
    except _DAMAGE:
        raise RunError(f"{path} is damaged, or is not an npz file") from None


def unpack(content: bytes) -> dict[str, np.ndarray]:
    """Read the arrays of an npz file that are not compressed, and so no larger than it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _unpacked(archive, lambda name: True, len(content), "it")[1]
    except (*_DAMAGE, OSError, RunError) as error:
        raise ValueError(str(error)) from None


def _unpacked(
    archive: zipfile.ZipFile, wanted: Callable[[str], bool], limit: int, name: str
) -> tuple[list[str], dict[str, np.ndarray]]:
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    arrays = {}
    for key, info in members.items():
        if wanted(key):
            arrays[key] = _array(archive, info, limit, f"{name}: {printable(info.filename)}")
            limit -= arrays[key].nbytes
    return list(members), arrays


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int, name: str) -> np.ndarray:
    if info.compress_type not in _METHODS:
        raise ValueError(f"method {info.compress_type}")
    with archive.open(info) as member:
        content = read_at_most(member, limit, name)
    start = io.BytesIO(content)
    version = np.lib.format.read_magic(start)
    if version not in _HEADERS:
        raise ValueError(f"version {version}")
    shape, fortran, dtype = _HEADERS[version](start)
    if dtype.hasobject:
        raise RunError(
            f"{name} is an array of Python objects, and pickles are not read; text is read if its dtype is str"
        )
    if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != len(content) - start.tell():
        raise RunError(f"{name} is damaged: it does not hold the {shape} that its header says")
    array = np.ndarray(shape, dtype, content, start.tell(), order="F" if fortran else "C")
    if dtype.kind == "U" and array.nbytes:
        characters = np.frombuffer(content, f"{dtype.byteorder}u4", offset=start.tell())
        if characters.max() > sys.maxunicode:
            raise ValueError("four bytes that are no character")
    return array
