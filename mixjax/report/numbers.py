"""Numbers as a reader wants them: as many digits as the interval lets through, and a minus that is one."""

from __future__ import annotations

import math

from mixjax.calibration.intervals import Interval

MINUS = "\N{MINUS SIGN}"


def rounded(value: float, digits: int = 4) -> str:
    """A number with so many decimals; "-" where there is none."""
    if math.isnan(value):
        return "-"
    text = f"{value:.{digits}f}" if math.isfinite(value) else f"{value:g}"
    return text.replace("-", MINUS) if float(text) != 0 else text.lstrip("-")


def decimals(interval: Interval) -> int:
    """Two digits of the standard error, 3 to 6 decimals; 4 without one."""
    error = interval.standard_error
    return int(min(max(1 - math.floor(math.log10(error)), 3), 6)) if 0 < error < math.inf else 4


def ends(interval: Interval, digits: int | None = None) -> str:
    """[low, high], or nothing where there is no interval."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return ""
    digits = decimals(interval) if digits is None else digits
    return f"[{rounded(interval.low, digits)}, {rounded(interval.high, digits)}]"


def estimate(interval: Interval, digits: int | None = None) -> str:
    """The estimate, with the digits of its interval or those that are wanted."""
    return rounded(interval.estimate, decimals(interval) if digits is None else digits)


def with_interval(interval: Interval) -> str:
    """The estimate and its interval."""
    return f"{estimate(interval)} {ends(interval)}".strip()


def p_value(value: float, draws: int = 999) -> str:
    """A Monte Carlo p-value; the smallest possible one is said to be so."""
    if math.isnan(value):
        return "-"
    return f"at most {1 / (draws + 1):g}" if value <= 1.0001 / (draws + 1) else f"{value:.3f}"
