"""Write the marked numbers of pages anew, after their tables have changed: `python -m tests.pages training ...`.

Each keeps the digits that it shows. Words around it are left: read them again.
"""

from __future__ import annotations

import re
import sys

from tests.pages.test_numbers import MARK, PAGES, WORDS, agrees, numbers


def written(shown: str, percent: bool, value: float) -> str:
    """Return a value in the manner of the number that stands there."""
    if agrees(shown, percent, value):
        return shown
    value *= 100 if percent else 1
    if shown in WORDS:
        return next((word for word, number in WORDS.items() if number == value), f"{value:g}")
    digits, power, _ = shown.partition("e")
    decimals = len(digits.partition(".")[2])
    text = f"{value:.{decimals}e}".replace("e-0", "e-") if power else f"{value:,.{decimals}f}"
    text = text if "," in shown or abs(value) >= 1000 else text.replace(",", "")
    return re.sub(r"^(-?)0\.", r"\1.", text).replace("-", "−") if not digits.lstrip("-−").startswith("0") else text


def renew(name: str) -> None:
    """Write the numbers of a page."""

    def number(found: re.Match[str]) -> str:
        shown, percent, mark = found.groups()
        return found[0].replace(shown, written(shown, bool(percent), numbers(name)[mark]), 1)

    PAGES[name].write_text(MARK.sub(number, PAGES[name].read_text()))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew(name)
