"""The report of arrays is that of a file that holds them."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.report import of_arrays
from mixjax.report.comparison import compare
from mixjax.report.metrics import report_on
from mixjax.report.reading import read_predictions
from tests.report.conftest import SETTINGS, draw, softmax
from tests.report.test_cli import checked_page

pytestmark = pytest.mark.medium

LOGITS, LABELS = draw(1, 2.0)
HIDDEN = np.concatenate([LOGITS, np.full((9, 3), np.nan, np.float32)]), np.concatenate([LABELS, np.full(9, 7)])
OPTIONS = {"num_bins": SETTINGS.num_bins, "level": SETTINGS.level, "seed": SETTINGS.seed}


@pytest.fixture(scope="module")
def pair():
    return of_arrays(logits={"plain": LOGITS, "other": 0.5 * LOGITS}, labels=LABELS, **OPTIONS)


def test_every_number_is_that_of_the_file(files, plain, pair):
    other = report_on(read_predictions(files / "other.npz", "logits"), SETTINGS)
    for name, report in (("plain", plain), ("other", other)):
        assert pair.metrics[name].keys() == {metric.name for metric in report.metrics}
        for metric in report.metrics:
            np.testing.assert_array_equal(pair.metrics[name][metric.name], metric.interval)
    for metric in compare(plain, other).differences:
        np.testing.assert_array_equal(pair.differences[metric.name], metric.interval)
    assert pair.reports[0].test == plain.test


def test_it_is_printed_and_written(pair, tmp_path, capsys):
    pair.print()
    assert "A: plain and B: other, 240 rows" in capsys.readouterr().out
    pair.write_html(tmp_path / "page.html")
    text = checked_page(tmp_path / "page.html")
    assert "Calibration of A: plain and B: other" in text
    assert "arrays plain 240 rows, logits of 3 classes" in text
    assert {name.partition(".")[0] for name in pair.pictures()} == {"reliability"}


@pytest.mark.parametrize("columns", ["80", "160"])
def test_groups_are_printed_and_written(tmp_path, capsys, monkeypatch, columns):
    """...with the numbers of `group_intervals`, whose rows are counted here."""
    monkeypatch.setenv("COLUMNS", columns)
    sites = np.array(["<b>here</b>", "there"])[(np.arange(240) % 3 == 0) * 1]
    report = of_arrays(logits=LOGITS, labels=LABELS, groups=sites, **OPTIONS)
    right = LOGITS.argmax(axis=1) == LABELS
    for name, rows in ((site, sites == site) for site in np.unique(sites)):
        group = report.groups["model"][name]
        assert group.num_rows == rows.sum()
        assert group.accuracy.estimate == pytest.approx(right[rows].mean())
        np.testing.assert_allclose(
            group.signed_gap.estimate, softmax(LOGITS)[rows].max(axis=1).mean() - right[rows].mean(), atol=1e-6
        )
    report.print()
    line = next(line for line in capsys.readouterr().out.splitlines() if "<b>here</b>" in line)
    assert line.split()[:2] == ["<b>here</b>", "160"]
    report.write_html(tmp_path / "page.html")
    text = checked_page(tmp_path / "page.html")
    assert " ".join(line.split()[:3]) in text
    assert "Group by group" in text
    with pytest.raises(ValueError, match=r"groups must have one entry a row, of shape \(240,\), got \(2,\)"):
        of_arrays(logits=LOGITS, labels=LABELS, groups=["a", "b"], **OPTIONS)


@pytest.mark.slow
def test_groups_of_two_models_and_masked_rows(pair, tmp_path, capsys):
    """Without a group where they do not count; the numbers of the models alone are as before."""
    sites = np.array([*np.arange(240) % 2, *[None] * 9], object)
    models = {"plain": HIDDEN[0], "other": 0.5 * HIDDEN[0]}
    both = of_arrays(logits=models, labels=HIDDEN[1], groups=sites, where=np.arange(249) < 240, **OPTIONS)
    for name in models:
        assert {group: found.num_rows for group, found in both.groups[name].items()} == {0: 120, 1: 120}
        np.testing.assert_array_equal(both.metrics[name]["ECE"], pair.metrics[name]["ECE"])
    both.print()
    assert "B: other, groups" in capsys.readouterr().out
    both.write_html(tmp_path / "page.html")
    assert checked_page(tmp_path / "page.html").count("Group by group") == 2
    assert pair.groups == {"plain": {}, "other": {}}


@pytest.mark.slow
def test_rows_that_are_left_out_may_hold_anything(pair):
    """...and float32 stays float32, whatever JAX is set to."""
    with jax.enable_x64(False):
        alone = of_arrays(logits=HIDDEN[0], labels=HIDDEN[1], where=np.arange(249) < 240, **OPTIONS)
    for name, interval in alone.metrics["model"].items():
        np.testing.assert_array_equal(interval, pair.metrics["plain"][name])
    assert alone.reports[0].table.accuracy.dtype == np.float32
    assert alone.differences == {}


@pytest.mark.slow
def test_rows_that_are_left_out_may_be_missing():
    """...as None among objects, which are computed in float64, and as NaN among labels."""
    where, sites = np.arange(240) % 9 > 0, np.arange(240) % 2
    logits = np.where(where[:, None], LOGITS, None)
    labels = np.where(where, LABELS, np.nan)
    found = of_arrays(logits=logits, labels=labels, where=where, groups=sites, **OPTIONS)
    right = of_arrays(logits=LOGITS.astype(np.float64), labels=LABELS, where=where, groups=sites, **OPTIONS)
    np.testing.assert_equal(found.metrics, right.metrics)
    np.testing.assert_equal(found.groups, right.groups)


NAN = np.where(np.arange(240)[:, None] == 7, np.nan, LOGITS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"logits": NAN, "labels": LABELS}, "logits must not be NaN, as in row 7; where= leaves rows out"),
        ({"logits": {"a": LOGITS}, "labels": {"b": LABELS}}, "models must have the same names, got a and b"),
        ({"logits": dict.fromkeys("abc", LOGITS), "labels": LABELS}, "one model or two, got 3"),
        ({"logits": {"a": LOGITS, "b": LOGITS[:, :2]}, "labels": LABELS % 2}, "a has 3 classes and b has 2"),
        ({"confidence": [], "correct": []}, "confidence must have rows that count, got none of 0"),
        ({"confidence": [0.5], "correct": [0.2]}, "correct must be 0 or 1"),
        ({"probs": np.ones((4, 1)), "labels": [0] * 4}, r"column for each of 2 or more classes, got shape \(4, 1\)"),
        ({"confidence": [0.5], "correct": [1], "level": 95}, "level must be between 0 and 1, got 95"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        of_arrays(**given)
