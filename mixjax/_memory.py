"""Want of memory, however Python, NumPy and XLA say it."""

from __future__ import annotations


def wants_memory(error: Exception) -> bool:
    """Whether an error says that there was no room."""
    text = str(error).lower()
    of_xla = isinstance(error, RuntimeError) and ("resource_exhausted" in text or "out of memory" in text)
    return isinstance(error, MemoryError) or of_xla
