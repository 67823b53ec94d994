"""Numbers in words, for the announcement of a run."""

from __future__ import annotations


def amount(number: float) -> str:
    """Write a number as in 950, 70 million, 1.5 billion."""
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}"


def several(number: int, thing: str) -> str:
    """Write a number of things as in 1 unit, 2,000 units."""
    return f"{number:,} {thing}{'s' * (number != 1)}"
