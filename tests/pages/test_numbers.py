"""The numbers that pages state are those of the tables in results/.

A page marks a number by a name in a comment right after it, which readers do not see:

    hard labels have accuracy .711<!--= plain.accuracy -->

`numbers` of the module of this folder with the page's name computes the value from the tables. Rounded to the digits
that the page shows, it is the number; before a per cent sign it is the share.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.paths import DOCS, ROOT

PAGES = {
    page.stem.lower(): page
    for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
    if (Path(__file__).parent / f"{page.stem.lower()}.py").exists()
}
WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
NUMBER = rf"[-−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-−]?\d+)?|{'|'.join(WORDS)}"
MARK = re.compile(rf"({NUMBER})(\s?%)?<!--= (\S+) -->")


@cache
def numbers(name: str) -> dict[str, float]:
    return import_module(f"tests.pages.{name}").numbers()


def agrees(shown: str, percent: bool, value: float) -> bool:
    """Whether a number as written is a value rounded to the digits that it shows."""
    text = str(WORDS.get(shown, shown)).replace(",", "").replace("−", "-")
    digits, _, power = text.partition("e")
    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return bool(abs(float(text) - value * (100 if percent else 1)) <= last / 2 * (1 + 1e-9))


@pytest.mark.medium
@pytest.mark.parametrize("name", PAGES)
def test_numbers_are_those_of_the_tables(name):
    found = {(mark, shown, bool(percent)) for shown, percent, mark in MARK.findall(PAGES[name].read_text())}
    values = {mark: numbers(name)[mark] for mark, _, _ in found}
    wrong = [(shown, mark, values[mark]) for mark, shown, percent in found if not agrees(shown, percent, values[mark])]
    assert not wrong, f"the page has other numbers than the tables: {sorted(wrong)}"


@pytest.mark.medium
@pytest.mark.parametrize("name", PAGES)
def test_every_mark_follows_a_number_and_every_value_is_stated(name):
    text = PAGES[name].read_text()
    marks = [mark for _, _, mark in MARK.findall(text)]
    assert len(marks) == text.count("<!--=")
    assert set(marks) == set(numbers(name))


def test_no_page_has_marks_that_nothing_computes():
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        assert page.stem.lower() in PAGES or "<!--=" not in page.read_text(), page


@pytest.mark.parametrize(
    ("shown", "percent", "right", "wrong"),
    [
        (".211", False, 0.21149, 0.2116),
        ("−.0074", False, -0.00744, 0.0074),
        ("85.3", True, 0.85349, 0.8536),
        ("1,512", False, 1512, 1513),
        ("6e-6", False, 6.4e-6, 6.6e-6),
        ("six", False, 6, 7),
    ],
)
def test_rounding(shown, percent, right, wrong):
    assert agrees(shown, percent, right)
    assert not agrees(shown, percent, wrong)
