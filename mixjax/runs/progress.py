"""What a long computation tells: lines for people."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[str], None]
