"""One HTML page that holds all of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from mixjax.report.comparison import Comparison
from mixjax.report.figures import MOST_PANELS
from mixjax.report.html import html_page, html_picture, html_table
from mixjax.report.metrics import Metric, Report
from mixjax.report.numbers import ends, estimate, row_count
from mixjax.report.terminal import ByGroup, class_cells, group_cells, group_headings, sentence_on_test

_ALONE = "Small groups have wide intervals, and their ECE is biased upwards the most: compare signed gaps."
_PAIRED = (
    "B minus A within each group, with paired intervals. In a small group, where few rows tell the models apart, they "
    "are too narrow."
)


def report_page(report: Report, pictures: Mapping[str, bytes], made: Mapping[str, object]) -> str:
    """Return the page of one file.

    Args:
      report: all numbers.
      pictures: "reliability.svg" and, with classes, "classes.svg".
      made: the origin of the page, which is the command and versions.
    """
    parts = [
        f"<h1>Calibration of {escape(report.file.name)}</h1>",
        f"<p>{escape(_rows(report))}.</p>",
        html_picture("Reliability diagram", pictures["reliability.svg"], _caption(report)),
        "<h2>Errors and scores</h2>",
        _metrics(report.metrics, report.settings.level),
        f"<p>{escape(_sentence(report))}</p>",
        *_classes(report, pictures),
        *_groups(report.groups, report.settings.level, _ALONE),
        *_settings((report,), made),
    ]
    return html_page(f"Calibration of {report.file.name}", parts)


def comparison_page(
    comparison: Comparison, labels: Sequence[str], pictures: Mapping[str, bytes], made: Mapping[str, object]
) -> str:
    """Return the page of two files; `labels` are those of the legend."""
    reports = comparison.first, comparison.second
    title = f"Calibration of {labels[0]} and {labels[1]}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_rows(reports[0]))}, the same under both models.</p>",
        html_picture("Reliability diagram of both models", pictures["reliability.svg"], _caption(reports[0])),
        "<h2>Differences</h2>",
        "<p>B minus A, with paired intervals: for losses, row by row; for binned errors, by resampling how many rows "
        "fall into each pair of bins. For errors, below 0 means that B is better.</p>",
        _metrics(comparison.differences, reports[0].settings.level),
        *_groups(comparison.groups, reports[0].settings.level, _PAIRED, 3),
    ]
    for report, label in zip(reports, labels, strict=True):
        parts += [f"<h2>{escape(label)}</h2>", _metrics(report.metrics, report.settings.level)]
        parts.append(f"<p>{escape(_sentence(report))}</p>")
        parts += [*_classes(report, {}, 3), *_groups(report.groups, report.settings.level, _ALONE, 3)]
    return html_page(title, [*parts, *_settings(reports, made)])


def _metrics(metrics: Iterable[Metric], level: float) -> str:
    rows = ((m.name, estimate(m.interval), ends(m.interval), m.meaning) for m in metrics)
    return html_table(("", "estimate", f"interval, level {level:g}", "what it is"), rows, (1, 2))


def _classes(report: Report, pictures: Mapping[str, bytes], heading: int = 2) -> list[str]:
    if not report.classes:
        return []
    level = f"interval, level {report.settings.level:g}"
    headings = ("class", "rows", "frequency", "mean probability", "ECE", level, "signed gap", level)
    rows = [class_cells(report, k) for k in range(len(report.classes))]
    parts = [f"<h{heading}>Class by class</h{heading}>"]
    parts.append("<p>For each class: its probability against whether it is the label.</p>")
    if "classes.svg" in pictures:
        which = "" if len(report.classes) <= MOST_PANELS else f" The {MOST_PANELS} classes with the largest ECE."
        caption = f"Bars and bands as above.{which}"
        parts.append(html_picture("Reliability diagrams of classes", pictures["classes.svg"], caption, "wide"))
    return [*parts, html_table(headings, rows, range(8))]


def _groups(groups: ByGroup, level: float, note: str, heading: int = 2) -> list[str]:
    if not groups:
        return []
    table = html_table(group_headings(level), group_cells(groups, longest=200), range(1, 8))
    return [f"<h{heading}>Group by group</h{heading}>", f"<p>{note}</p>", table]


def _rows(report: Report) -> str:
    file = report.file
    binary = file.kind == "binary"
    scores = "confidences and whether each came true" if binary else f"{file.kind} of {file.num_classes} classes"
    dropped = f" ({file.dropped} with NaN were dropped)" if file.dropped else ""
    return f"{row_count(len(file))}{dropped}, {scores}"


def _caption(report: Report) -> str:
    level = report.settings.level
    return (
        "Each point is a bin with rows, at its mean confidence and accuracy. Points below the diagonal are "
        "overconfident. Bars are Clopper and Pearson's intervals. The gray band, where drawn, shows where the points "
        f"of calibrated scores lie. Both have level {level:g}, for each bin by itself. Below: the histogram of "
        "confidence."
    )


def _sentence(report: Report) -> str:
    sentence = sentence_on_test(report)
    return f"{sentence[0].upper()}{sentence[1:]} (T-Cal, adaptive; small p-values speak against calibration)."


def _settings(reports: Sequence[Report], made: Mapping[str, object]) -> list[str]:
    settings = reports[0].settings
    rows = [_source(report) for report in reports]
    closed = {"left": "[l, r), the last closed", "right": "(l, r], the first closed"}[settings.closed]
    bins = f"{settings.num_bins}, {settings.binning}" + (f", {closed}" if settings.binning == "equal-width" else "")
    rows += [("bins", bins), ("level of intervals", f"{settings.level:g}")]
    rows += [("bootstrap samples", str(settings.replicates)), ("seed", str(settings.seed))]
    rows += [(name, str(value)) for name, value in made.items()]
    return ["<h2>Settings and versions</h2>", html_table((), rows, ())]


def _source(report: Report) -> tuple[str, str]:
    file = report.file
    if not file.sha256:
        return f"arrays {file.name}", _rows(report)
    return f"file {file.name}", f"{_rows(report)}; SHA-256 {file.sha256}"
