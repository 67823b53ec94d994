"""Lines for people from a long computation."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]
