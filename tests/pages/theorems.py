"""The numbers of docs/theorems.md."""

from __future__ import annotations

from tests.pages.shift_numbers import shift_numbers


def numbers() -> dict[str, float]:
    return shift_numbers()
