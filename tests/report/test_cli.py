"""The command: from a file to a table, pictures and one page that needs nothing else."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from mixjax.cli import main
from tests.paths import ROOT
from tests.report.conftest import draw

BAD = {
    "no file": (["--probs"], "give either one FILE or --compare A B"),
    "file and pair": (["f.npz", "--compare", "a.npz", "b.npz", "--probs"], "give either one FILE or --compare A B"),
    "kind not said": (["plain.npz"], "one of the arguments --logits --probs --binary is required"),
    "two kinds": (["plain.npz", "--logits", "--probs"], "--probs: not allowed with argument --logits"),
    "unknown option": (["plain.npz", "--logits", "--bins", "3"], "unrecognized arguments: --bins 3"),
    "one of a pair": (["--compare", "plain.npz", "--logits"], "--compare: expected 2 arguments"),
    "not a number": (["plain.npz", "--logits", "--num-bins", "ten"], "--num-bins: invalid int value: 'ten'"),
    "no bins": (["plain.npz", "--logits", "--num-bins", "0"], "num_bins must be at least 1, got 0"),
    "level in percent": (["plain.npz", "--logits", "--level", "95"], "level must be between 0 and 1, got 95"),
    "binning": (["plain.npz", "--logits", "--binning", "x"], "--binning: invalid choice: 'x'"),
    "missing file": (["nothing.npz", "--logits"], "there is no file nothing.npz"),
    "missing array": (["plain.npz", "--probs"], "has no array 'probs'; it has logits, labels"),
    "NaN": (["nan.npz", "--logits"], "nan.npz: 1 of 240 rows holds NaN or an empty cell, the first is row 7"),
    "other labels": (["--compare", "plain.npz", "shifted.npz", "--logits"], "have different labels in"),
    "nothing to fit on": (["plain.npz", "--logits", "--recalibrate", "temperature"], "needs --fit HELDOUT"),
    "fit without a method": (["plain.npz", "--logits", "--fit", "other.npz"], "--recalibrate METHOD needs"),
    "unknown method": (["plain.npz", "--logits", "--recalibrate", "x", "--fit", "other.npz"], "invalid choice: 'x'"),
    "another kind": (
        ["plain.npz", "--logits", "--recalibrate", "isotonic", "--fit", "other.npz"],
        "isotonic regression needs --binary, got --logits (for which there is: temperature, vector, dirichlet, platt)",
    ),
    "three classes": (
        ["plain.npz", "--logits", "--recalibrate", "platt", "--fit", "other.npz"],
        "Platt scaling is for two classes, got 3",
    ),
    "no best fit": (
        ["plain.npz", "--logits", "--recalibrate", "temperature", "--fit", "certain.npz"],
        "temperature scaling cannot be fitted on certain.npz: there is no best temperature",
    ),
    "sums of logits": (["plain.npz", "--logits", "--normalize"], "--normalize needs --probs"),
    "labels of pairs": (["pairs.csv", "--binary", "--ignore-label", "-1"], "does not apply to --binary"),
    "classes of pairs": (["pairs.csv", "--binary", "--classes", "a,b"], "--classes does not apply to --binary"),
    **{
        f"ignored class {k}": (
            ["plain.npz", "--logits", "--classes", "a,b,c", "--ignore-label", k],
            "--ignore-label takes a number below 0 beside --classes",
        )
        for k in ("0", "1")
    },
    "no text": (["\udcff.npz", "--logits"], "'\\udcff.npz' is not a name in UTF-8, and cannot be shown on a page"),
    "no such place": (["plain.npz", "--logits", "--out", "/proc/nowhere/report"], "cannot write to"),
}  # fmt: skip


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    """The folder that the command runs in."""
    logits, labels = draw(1, 2.0)
    for name in ("plain.npz", "other.npz"):
        shutil.copy(files / name, tmp_path / name)
    np.savez(tmp_path / "shifted.npz", logits=logits, labels=np.roll(labels, 1))
    np.savez(tmp_path / "certain.npz", logits=logits, labels=logits.argmax(axis=1))
    logits[7, 0] = np.nan
    np.savez(tmp_path / "nan.npz", logits=logits, labels=labels)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_refused(arguments: list[str], message: str, folder: Path, capsys) -> None:
    """One sentence on standard error and status 2, and nothing written into the folder."""
    before = sorted(folder.iterdir())
    assert main(arguments) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_status_2(case, folder, capsys):
    arguments, message = BAD[case]
    assert_refused(["report", *arguments], message, folder, capsys)


def test_no_command_shows_the_usage(capsys):
    assert main([]) == 2
    assert "usage: mixjax report FILE" in capsys.readouterr().out
    assert main(["--help"]) == 0
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("mixjax 0.")
    assert main(["report-card"]) == 2
    assert "there is no command 'report-card'" in capsys.readouterr().err


class Page(HTMLParser):
    """Text, tags that are open at the end, and everything that a browser would fetch."""

    VOID = ("meta", "img", "br", "hr", "link", "input")

    def __init__(self, text: str):
        super().__init__()
        self.text, self.open, self.sources = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        assert tag not in ("script", "link", "iframe", "object", "embed")
        self.sources += [value for name, value in attributes if name in ("src", "href", "srcset", "data")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def checked_page(path: Path) -> str:
    """The text of a page, which must be well formed and need nothing but itself."""
    content = path.read_text()
    page = Page(content)
    assert page.open == []
    assert page.sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.sources)
    for source in page.sources:
        assert b"</svg>" in base64.b64decode(source.split(",", 1)[1])
    assert not re.search(r"https?://|@import|url\(", content)
    assert "default-src 'none'" in content
    return " ".join(" ".join(page.text).split())


@pytest.mark.medium
def test_a_report_of_one_file(folder, capsys):
    (folder / "plain.npz").rename(folder / "a <b> & c.npz")
    assert main(["report", "a <b> & c.npz", "--logits", "--num-bins", "6", "--level", "0.9", "--seed", "5"]) == 0
    out = capsys.readouterr().out
    report = folder / "a <b> & c_report"
    assert out.splitlines()[-1] == "page: a <b> & c_report/report.html"
    files = {"report.html", "reliability.png", "reliability.svg", "classes.png", "classes.svg"}
    assert {path.name for path in report.iterdir()} == files
    text = checked_page(report / "report.html")
    assert "Calibration of a <b> & c.npz" in text
    assert "mixjax report 'a <b> & c.npz' --logits --num-bins 6 --level 0.9 --seed 5" in text
    assert "240 rows, logits of 3 classes" in text
    for name in ("ECE", "debiased squared error", "Brier score", "smooth ECE"):
        row = next(line for line in out.splitlines() if line.strip().startswith(name)).split()
        number = row[len(name.split())]
        assert f"{name} {number}" in text
    assert str(folder) not in (report / "report.html").read_text()
    first = (report / "report.html").read_bytes()
    assert main(["report", "a <b> & c.npz", "--logits", "--num-bins", "6", "--level", "0.9", "--seed", "5"]) == 0
    assert (report / "report.html").read_bytes() == first


@pytest.mark.slow
def test_a_comparison_and_dropped_rows(folder, capsys):
    arguments = ["--compare", "nan.npz", "other.npz", "--logits", "--drop-nan", "--out", "both/report"]
    assert main(["report", *arguments]) == 0
    out = capsys.readouterr().out
    assert "A: nan and B: other, 239 rows" in out
    text = checked_page(folder / "both" / "report" / "report.html")
    assert "239 rows (1 with NaN were dropped), logits of 3 classes, the same under both models" in text
    assert "--compare nan.npz other.npz --logits --drop-nan --out both/report" in text
    assert {path.name for path in (folder / "both" / "report").glob("*.png")} == {"reliability.png"}


@pytest.mark.medium
@pytest.mark.parametrize("names", [("[bold]a[red] $x_$", "\u6a21\u578b a'b\"c<script>"), ("#1?%20&amp;", "a\tb\nc")])
def test_names_are_plain_text_everywhere(names, folder, capsys):
    """In the terminal, in the figure and on the page, without a warning for letters that the font has not."""
    for old, new in zip(("plain", "other"), names, strict=True):
        (folder / f"{old}.npz").rename(folder / f"{new}.npz")
    pair = [f"{name}.npz" for name in names]
    assert main(["report", "--compare", *pair, "--logits", "--out", "report", "--num-bins", "6"]) == 0
    out, error = capsys.readouterr()
    assert error == ""
    assert all(f"{letter}: {name}"[:6].split()[-1] in out for letter, name in zip("AB", names, strict=True))
    title = f"Calibration of A: {names[0]} and B: {' '.join(names[1].split())}"
    assert title in checked_page(folder / "report" / "report.html")


@pytest.fixture
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    return path


@pytest.mark.slow
def test_as_a_command_and_in_a_browser(files, tmp_path, request):
    """A page of real text and of pictures that have a size, in Chromium if there is one."""
    command = [sys.executable, "-m", "mixjax", "report", str(files / "pairs.csv"), "--binary", "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "mean correctness" in done.stdout
    assert (tmp_path / "reliability.png").stat().st_size > 10_000
    assert "240 rows, confidences and whether each came true" in checked_page(tmp_path / "report.html")
    browser = request.getfixturevalue("chromium")
    page = (tmp_path / "report.html").as_uri()
    shot = tmp_path / "page.png"
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += ["--window-size=900,1400", f"--screenshot={shot}", page]
    subprocess.run([browser, *options], capture_output=True, check=True, timeout=120)
    from matplotlib.image import imread

    pixels = imread(shot)[..., :3]
    assert (pixels == 1).all(axis=-1).mean() > 0.5  # a light page
    blue = np.abs(pixels - np.array([0, 0x72, 0xB2]) / 255).max(axis=-1) < 0.02
    assert blue.sum() > 2000  # the histogram of confidence is drawn
