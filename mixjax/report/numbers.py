"""Numbers as text: as many digits as the interval supports, and a true minus sign."""

from __future__ import annotations

import math

from mixjax.calibration.intervals import Interval

MINUS = "\N{MINUS SIGN}"


def rounded(value: float, digits: int = 4) -> str:
    """Format a number with `digits` decimals; "-" for NaN."""
    if math.isnan(value):
        return "-"
    text = f"{value:.{digits}f}" if math.isfinite(value) else f"{value:g}"
    return text.replace("-", MINUS) if float(text) != 0 else text.lstrip("-")


def row_count(number: int) -> str:
    """Format a number of rows: "1 row", "2 rows"."""
    return f"{number} row" if number == 1 else f"{number} rows"


def numbered_row(row: int) -> str:
    """Name a row by its number: "row 0"."""
    return f"row {row}"


def decimals(interval: Interval) -> int:
    """Return the decimals that show two digits of the standard error, 3 to 6; 4 without a standard error."""
    error = interval.standard_error
    return int(min(max(1 - math.floor(math.log10(error)), 3), 6)) if 0 < error < math.inf else 4


def ends(interval: Interval, digits: int | None = None) -> str:
    """Format [low, high]; the empty string without an interval."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return ""
    digits = decimals(interval) if digits is None else digits
    return f"[{rounded(interval.low, digits)}, {rounded(interval.high, digits)}]"


def estimate(interval: Interval, digits: int | None = None) -> str:
    """Format the estimate, with `digits` decimals or those of its interval."""
    return rounded(interval.estimate, decimals(interval) if digits is None else digits)


def with_interval(interval: Interval) -> str:
    """Format the estimate and its interval."""
    return f"{estimate(interval)} {ends(interval)}".strip()


def p_value(value: float, draws: int = 999) -> str:
    """Format a Monte Carlo p-value; the smallest possible one is "at most" that."""
    if math.isnan(value):
        return "-"
    return f"at most {1 / (draws + 1):g}" if value <= 1.0001 / (draws + 1) else f"{value:.3f}"
