"""The figures of a report: legends are plain text, and within the figure."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from mixjax.calibration.intervals import Interval
from mixjax.calibration.reliability_table import reliability
from mixjax.plots import paper_style
from mixjax.report import figures
from mixjax.report.metrics import Metric, Report
from mixjax.report.numbers import with_interval
from tests.report.conftest import SETTINGS

CONFIDENCE = np.repeat([0.1, 0.15, 0.62, 0.9], [3, 2, 5, 10])
CORRECT = np.arange(20) % 3 == 0


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["_hidden", "price $x$ of $", "a" * 80])
def test_names_of_files_are_plain_text_in_a_legend(plain, name):
    """...and stay within the figure."""
    with paper_style():
        figure = figures.reliability_figure([plain], [name])
        figure.canvas.draw()
    shown = figure.legends[0].get_texts()[0].get_text().replace(r"\$", "$").strip()
    assert shown.startswith(f"{name}: ECE" if len(name) < 18 else "aaaa")
    assert f"ECE {with_interval(plain.metric('ECE').interval)}, 240 rows" in shown
    assert figure.legends[0].get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.few(1)
@pytest.mark.parametrize("low, high, kind, says", [
    (0.01, 0.2, "logits", "overconfident"), (-0.2, -0.01, "logits", "underconfident"),
    (-0.1, 0.1, "logits", "no clear signed gap"), (np.nan, np.nan, "logits", "no clear signed gap"),
    (0.01, 0.2, "binary", "too high"),
])  # fmt: skip
def test_the_title_is_what_the_interval_of_the_signed_gap_tells(plain, low, high, kind, says, monkeypatch):
    gap = Interval(0.5 * (low + high), low, high, 0.01)
    monkeypatch.setattr(Report, "metric", lambda self, name: Metric(name, gap, ""))
    report = dataclasses.replace(plain, file=dataclasses.replace(plain.file, kind=kind))
    with paper_style():
        (legend,) = figures.reliability_figure([report, report], ["one", "two"]).legends
    assert legend.get_title().get_text() == f"one: {says}\ntwo: {says}"


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_every_key_of_few_classes_is_within_the_figure(classes, plain):
    """...and every bin has ten rows, which leaves no point hollow."""
    many = reliability(CONFIDENCE, CORRECT, num_bins=5, where=CONFIDENCE > 0.8)
    parts = tuple(plain.classes[k % 3]._replace(table=many) for k in range(classes))
    report = dataclasses.replace(plain, classes=parts, settings=dataclasses.replace(SETTINGS, num_bins=5))
    with paper_style():
        figure, shown = figures.classes_figure(report)
        FigureCanvasAgg(figure).draw()
    assert shown == list(range(classes))
    (legend,) = figure.legends
    assert len(legend.get_texts()) == 4
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for text in legend.get_texts())
    assert legend.get_window_extent().y0 >= max(ax.title.get_window_extent().y1 for ax in figure.axes)
