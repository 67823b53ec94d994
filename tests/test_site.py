"""The site that `make docs` builds: its contents hold every page, name and figure, and its check finds faults."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from PIL import Image

from docs.site.check import problems
from docs.site.docstrings import prepare
from docs.site.public_names import entries as public_entries
from docs.site.stored_figures import Result, entries
from mixjax.sims.studies import STUDIES
from tests.paths import DOCS, ROOT
from tests.test_names import PUBLIC

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.md"))


def toctree() -> list[Path]:
    """The files that the contents list, on the start page and on that of results."""
    files = []
    for page in ("index.md", "results.md"):
        for body in re.findall(r"```{toctree}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
            entries = [line for line in body.splitlines() if line and not line.startswith(":")]
            names = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
            files += [path for name in names for path in DOCS.glob(f"{name}.*") if path.suffix in (".md", ".rst")]
    return [path.resolve() for path in files]


def test_the_contents_list_every_page_once():
    pages = [*DOCS.glob("*.md"), *DOCS.glob("api/*.rst"), *NOTEBOOKS, *ROOT.glob("results/**/README.md")]
    wanted = {path.resolve() for path in pages} - {DOCS / "index.md"}
    listed = toctree()
    assert wanted - set(listed) == set()
    assert len(listed) == len(set(listed))


def test_the_reference_documents_every_public_name():
    documented = [entry.value for entry in public_entries()]
    for package in PUBLIC:
        module = importlib.import_module(package)
        for name in module.__all__:
            assert any(getattr(module, name) is value for value in documented), f"{package}.{name}"


def test_a_page_of_the_reference_holds_each_section():
    sections = {entry.section for entry in public_entries()}
    pages = [path.read_text() for path in (DOCS / "api").glob("*.rst")]
    assert sorted(sections) == sorted(title for page in pages for title in re.findall(r"reference:: (.*)", page))


GALLERY = [
    entry
    for body in re.findall(r"```{gallery}\n(.*?)```", (DOCS / "gallery.md").read_text(), re.DOTALL)
    for entry in entries(body.splitlines())
]


def test_the_gallery_shows_every_figure_once():
    shown = [figure for entry in GALLERY for figure in entry.findings]
    assert sorted(shown) == sorted([*ROOT.glob("results/**/*.png"), *DOCS.glob("figures/*.png")])


def test_the_gallery_names_the_command_of_every_folder():
    results = [Result.of(ROOT / "results" / entry.name) for entry in GALLERY if not entry.name.endswith(".png")]
    assert results and all(result.summary and result.command for result in results)


@pytest.mark.medium
def test_no_label_of_a_stored_figure_is_cut_off():
    """Ink at the edge of a picture belongs to a text that goes on."""
    for figure in (figure for entry in GALLERY for figure in entry.findings):
        with Image.open(figure) as image:
            gray = np.asarray(image.convert("L"))
        edges = np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])
        assert (edges == 255).all(), figure


def test_a_finding_is_short_and_is_said_once_in_a_folder():
    for entry in GALLERY:
        assert len(set(entry.findings.values())) == len(entry.findings)
        for figure, finding in entry.findings.items():
            assert 20 <= len(finding) <= 110 and not finding.endswith("."), figure


def test_a_finding_of_a_theorem_begins_with_its_verdict():
    (theorems,) = (entry for entry in GALLERY if entry.name == "theorems")
    verdicts = 0
    for figure, finding in theorems.findings.items():
        caption = figure.with_suffix(".txt").read_text()
        if verdict := re.match(r"(Theorem [\d.]+): .*Verdict: ([^.]*)\.", caption):
            assert re.match(rf"{verdict[1]} (is )?{verdict[2]}[:,]", finding), figure
            verdicts += 1
    assert verdicts == 11


def test_entries_of_a_gallery():
    lines = ["capacity", "  slope_5.3: It falls: always", "", "docs/figures/a.png: A picture", "low"]
    assert entries(lines) == [
        ("capacity", {ROOT / "results/capacity/figures/slope_5.3.png": "It falls: always"}),
        ("docs/figures/a.png", {ROOT / "docs/figures/a.png": "A picture"}),
        ("low", {}),
    ]


def test_signs_of_a_docstring_mean_nothing_to_sphinx():
    text = r"""Return |theta| of [*batch], `|x|`.

    .. math:: |v|

    As docs/data.md says, a * b.

    Returns:
      A number: never negative.

    >>> |*x|"""
    lines = [line.removeprefix("    ") for line in text.splitlines()]
    prepare(None, "function", "f", test_signs_of_a_docstring_mean_nothing_to_sphinx, None, lines)
    assert lines == [r"Return \|theta\| of [\*batch], `|x|`.", "", ".. math:: |v|", "",
                     "As :doc:`/docs/data` says, a * b.", "", ":returns:", "  A number: never negative.", "",
                     ">>> |*x|"]  # fmt: skip


SOUND = '<p id="a"><a href="#a">here</a> <a href="https://x.org/">there</a> <img src="a.png"></p>'


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("", []),
        ('<a href="none.html">', ["index.html links to none.html"]),
        ('<a href="#b">', ["index.html links to #b"]),
        ('<script src="//cdn.org/x.js">', ["index.html loads //cdn.org/x.js"]),
        ("<style>p { background: url(https://cdn.org/x.png) }</style>", ["index.html loads url(https://cdn.org/x.png"]),
    ],
)
def test_the_check_of_a_site(tmp_path, fault, told):
    (tmp_path / "index.html").write_text(SOUND + fault)
    (tmp_path / "a.png").touch()
    assert list(problems(tmp_path)) == told


def test_the_check_reads_style_sheets(tmp_path):
    (tmp_path / "site.css").write_text('p { color: red }\n@import "https://fonts.org/x.css";')
    assert list(problems(tmp_path)) == ['site.css loads @import "https://fonts.org/x.css']


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda page: page.stem)
def test_a_notebook_runs(notebook, monkeypatch):
    monkeypatch.setitem(STUDIES, "more_rows", None)  # the study that a notebook adds is forgotten after the test
    cells = re.findall(r"```{code-cell}\n(.*?)```", notebook.read_text(), re.DOTALL)
    code = "".join(cells).replace("%matplotlib inline\n", "")
    with jax.enable_x64(False), jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        exec(compile(code, notebook.name, "exec", dont_inherit=True), {"__name__": "__main__"})
