"""The paper's figures are named by their numbers in print, in code, captions and pages."""

from __future__ import annotations

import re

import pytest

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.figures.paper import PANELS, PLOTTED, paper_figures
from tests.paths import DOCS, ROOT

NAMED = re.compile(r"\bFig(?:ure)?s?\.? (\d(?:(?:, | and | to |, and )\d)*)")
RESULTS = sorted(path for path in (ROOT / "results" / "training").iterdir())


def numbers(text: str) -> set[int]:
    """Return the figures that a text names, with what "6 to 9" has between."""
    found: set[int] = set()
    for listed in NAMED.findall(text):
        for part in re.split(r", and |, | and ", listed):
            ends = [int(end) for end in part.split(" to ")]
            found |= set(range(ends[0], ends[-1] + 1))
    return found


def test_the_table_is_that_of_the_paper():
    """Its captions in order of print; 5 is a function, not a measurement."""
    metrics = [PLOTTED[number][0] for number in (1, 2, 3, 4, 6, 7, 8, 9)]
    assert metrics == ["ece", "ece", "ece", "mce", "relative_loss", "rms_ece", "rms_ece", "mce"]
    assert 5 not in PLOTTED
    assert [number for number, (_, axes) in PLOTTED.items() if "width" not in axes] == [3, 4]


def test_each_panel_has_one_command():
    """As many panels as the captions list: figure 5 is a function, which needs no nets."""
    panels = [panel for drawn in PANELS.values() for panel in drawn]
    letters = {1: "ab", 2: "abcdef", 3: "abcd", 4: "ab", 6: "abcdefgh", 7: "abcd", 8: "abcd", 9: "abcd"}
    assert sorted(panels) == [f"{number}{letter}" for number, of in letters.items() for letter in of]
    for (name, preset), drawn in PANELS.items():
        axis = {"pseudo_label": "epochs"}.get(name, name)
        assert all(axis in PLOTTED[int(panel[0])][1] for panel in drawn)
        assert preset in EXPERIMENTS[name].presets


def test_the_page_has_the_command_of_each_panel_and_all_departures():
    text = (DOCS / "paper_figures.md").read_text()
    rows = re.findall(r"^\| ([1-9a-h, ]+) \| `python -m train (\w+) --preset ([\w-]+)` \|", text, re.MULTILINE)
    assert {(name, preset): tuple(panels.split(", ")) for panels, name, preset in rows} == PANELS
    plain = " ".join(text.split())
    for name in ("width", "depth", "pseudo_label"):
        for departure in EXPERIMENTS[name].departures:
            assert departure in plain, departure


@pytest.mark.parametrize(
    ("axis", "metric", "text"),
    [
        ("width", None, "Figures 1, 2 and 6 to 9"),
        ("depth", None, "Figures 1, 2, 4 and 6 to 9"),
        ("depth", "mce", "Figures 4 and 9"),
        ("width", "mce", "Figure 9"),
        ("epochs", None, "Figure 3"),
    ],
)
def test_numbers_as_words(axis, metric, text):
    assert paper_figures(axis, metric) == text
    assert numbers(text) == {
        number for number, (plotted, axes) in PLOTTED.items() if axis in axes and metric in (None, plotted)
    }


def test_code_takes_the_numbers_from_the_table():
    named = [path for path in (ROOT / "train").rglob("*.py") if numbers(path.read_text())]
    assert [path.name for path in named] == ["paper.py"]


@pytest.mark.parametrize("result", RESULTS, ids=lambda path: path.name)
def test_published_captions_name_the_right_figures(result):
    readme = (result / "README.md").read_text()
    name = readme.splitlines()[0].removeprefix("# ")
    axis = {"pseudo_label": "epochs"}.get(name, name)
    known = numbers(paper_figures(axis)) if axis in ("width", "depth", "epochs") else set()
    assert numbers(readme) == known
    assert readme.splitlines()[2].lower().startswith(EXPERIMENTS[name].summary.lower())
    for caption in (result / "figures").glob("*.txt"):
        metric = {"epochs": "ece"}.get(caption.stem, caption.stem)
        expected = {number for number, (plotted, axes) in PLOTTED.items() if plotted == metric and axis in axes}
        assert numbers(caption.read_text()) == expected, caption
        assert caption.read_text().strip() in readme


def test_the_page_of_the_figures_has_each_and_no_other_picture():
    """A section a figure; each picture of a metric stands below a figure of that metric and axis."""
    text = (DOCS / "paper_figures.md").read_text()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert set().union(*(numbers(section.splitlines()[0]) for section in sections)) == set(range(1, 10))
    for section in sections:
        for folder, picture in re.findall(r"!\[[^]]*\]\(\.\./results/training/(\w+)/figures/(\w+)\.png\)", section):
            axis = {"width": "width", "depth": "depth", "pseudo": "epochs"}[folder.split("_")[0]]
            metric = {"epochs": "ece"}.get(picture, picture)
            for number in numbers(section.splitlines()[0]):
                assert PLOTTED[number][0] == metric
                assert axis in PLOTTED[number][1]
