"""Arrays of an .npz file that need not be trusted.

Arrays of Python objects are pickles and are not read. Memory is taken as bytes arrive: neither the sizes that the
archive states nor the shape in a header is believed before the bytes are there.
"""

from __future__ import annotations

import io
import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from mixjax._files import read_at_most, readable
from mixjax.runs import RunError

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_LIMIT = 2**32  # bytes of an array, or as many as the file itself has
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, EOFError, ValueError, TypeError, SyntaxError),
    *(lzma.LZMAError, RuntimeError, NotImplementedError, OverflowError, MemoryError, RecursionError),
)  # what zipfile and NumPy raise for bytes that are not theirs


def read_arrays(path: Path, wanted: Callable[[str], bool]) -> tuple[list[str], dict[str, np.ndarray]]:
    """The names of all arrays of an npz file, and those that are wanted.

    Raises:
      RunError: for a file that is missing or damaged, for arrays of Python objects, and for those of more than 4 GiB
        that are compressed.
    """
    try:
        with readable(path), zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            arrays = {name: _array(path, archive, info) for name, info in members.items() if wanted(name)}
            return list(members), arrays
    except _DAMAGE:
        raise RunError(f"{path} is damaged, or is not an npz file") from None


def _array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    limit = max(_LIMIT, path.stat().st_size)  # arrays that are not compressed are no larger than the file
    with archive.open(info) as member:
        content = read_at_most(cast(BinaryIO, member), limit, f"{path}: {info.filename}")
    start = io.BytesIO(content)
    version = np.lib.format.read_magic(start)
    if version not in _HEADERS:
        raise ValueError(f"version {version}")
    shape, fortran, dtype = _HEADERS[version](start)
    if dtype.hasobject:
        raise RunError(f"{path}: {info.filename} is not an array of numbers, and pickles are not read")
    if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != len(content) - start.tell():
        raise RunError(f"{path}: {info.filename} is damaged: it does not hold the {shape} that its header says")
    return np.ndarray(shape, dtype, content, start.tell(), order="F" if fortran else "C")
