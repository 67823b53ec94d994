"""Memory: how much this process may use, and running out of it, however Python, NumPy and XLA report that."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def memory() -> int:
    """Return the bytes that this process may use, as far as the system tells; 2^63 where it does not."""
    bounds = [2**63]
    if hasattr(os, "sysconf"):
        bounds.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # there is none, or it is "max"
        bounds.append(int(_CGROUP.read_text()))
    return min(bounds)


def wants_memory(error: Exception) -> bool:
    """Return whether an error reports a lack of memory: Python's, or one of XLA's (a RuntimeError) in any wording."""
    text = str(error).lower().replace("_", " ")  # as in RESOURCE_EXHAUSTED and CUDA_ERROR_OUT_OF_MEMORY
    of_xla = isinstance(error, RuntimeError) and ("resource exhausted" in text or "out of memory" in text)
    return isinstance(error, MemoryError) or of_xla
