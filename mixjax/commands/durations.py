"""Times in words: written for a person, and read from one."""

from __future__ import annotations

import argparse
import math

_UNITS = {"s": 1, "min": 60, "h": 3600, "days": 86400}


def duration(seconds: float) -> str:
    """Write a time as in 45 s, 3 min, 2.5 h or 6 days."""
    for name in ("days", "h", "min"):
        if seconds >= 3 * _UNITS[name]:
            return f"{seconds / _UNITS[name]:.2g} {name}"
    return f"{seconds:.2g} s"


def seconds_of(text: str) -> float:
    """Parse a time as in 45s, 90min, 8h or 2.5 h."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    try:
        seconds = float(number) * _UNITS[text[len(number) :].strip()]
    except (ValueError, KeyError):
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"must be a time as in 45s, 90min or 8h, got {text!r}")
    return seconds
