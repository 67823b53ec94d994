"""A report as tables in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shutil import get_terminal_size
from typing import Any, TypeAlias

from mixjax.calibration.groups import GroupIntervals
from mixjax.report.comparison import Comparison, GroupDifferences
from mixjax.report.metrics import Metric, Report
from mixjax.report.numbers import decimals, ends, estimate, p_value, rounded, row_count, with_interval
from mixjax.runs.untrusted import printable

ByGroup: TypeAlias = Mapping[Any, GroupIntervals] | Mapping[Any, GroupDifferences]
_SHORTEST_CLASS, _LONGEST_CLASS = 10, 40  # letters to which a name is cut
MOST_CLASSES = 10  # classes to list, those with the largest ECE
PIPED = 160  # columns of a report that no terminal shows
_WIDTH_OF_NUMBERS = 100  # columns beside the name of a group; in fewer, two intervals are left out
_WIDTH_OF_FEW_NUMBERS = 62
_WIDTH_OF_A_CLASS = 70  # columns beside its name
_WIDTH_OF_COMPARISON = 120  # columns of two models with the intervals of each


def print_report(report: Report) -> None:
    """Print metrics with intervals, the calibration test, the classes, and the groups."""
    console = plain_console(PIPED)
    console.print(metrics_table(report.metrics, _title(report), report.settings.level))
    console.print(sentence_on_test(report), highlight=False, markup=False)
    if report.classes:
        console.print(_classes_table(report))
    if report.groups:
        console.print(_groups_table(report.groups, report.settings.level, "groups"))


def print_comparison(comparison: Comparison, labels: Sequence[str]) -> None:
    """Print both models side by side, and the paired differences; each model's own intervals where they have room."""
    from rich.text import Text

    console = plain_console(PIPED)
    own = with_interval if console.width >= _WIDTH_OF_COMPARISON else estimate
    table = titled_table(f"{labels[0]} and {labels[1]}, {row_count(len(comparison.first.file))}")
    interval = f"paired, level {comparison.first.settings.level:g}"
    for heading in ("", labels[0], labels[1], "B \N{MINUS SIGN} A", interval):
        table.add_column(Text(heading), justify="left" if not heading else "right")
    difference = {metric.name: metric.interval for metric in comparison.differences}
    for a, b in zip(comparison.first.metrics, comparison.second.metrics, strict=True):
        paired = difference.get(a.name)
        change = (estimate(paired), ends(paired)) if paired else ("", "")
        table.add_row(a.name, own(a.interval), own(b.interval), *change)
    console.print(table)
    for report, label in zip((comparison.first, comparison.second), labels, strict=True):
        console.print(f"{label}, {sentence_on_test(report)}", highlight=False, markup=False)
        if report.groups:
            console.print(_groups_table(report.groups, report.settings.level, f"{label}, groups"))
    if comparison.groups:
        title = "B \N{MINUS SIGN} A, groups, paired"
        console.print(_groups_table(comparison.groups, comparison.first.settings.level, title))


def sentence_on_test(report: Report) -> str:
    """Describe the result of the calibration test."""
    statistic, p, num_bins = map(float, report.test)
    return f"test of calibration: statistic {rounded(statistic, 2)} at {num_bins:.0f} bins, p-value {p_value(p)}"


def metrics_table(metrics: Sequence[Metric], title: str, level: float) -> Any:
    """Return a rich table of metrics."""
    table = titled_table(title)
    for heading, side in (("", "left"), ("estimate", "right"), (f"interval, level {level:g}", "right")):
        table.add_column(heading, justify=side)
    for metric in metrics:
        table.add_row(metric.name, estimate(metric.interval), ends(metric.interval))
    return table


def class_cells(report: Report, k: int, longest: int = 40) -> tuple[str, ...]:
    """Format class, rows, frequency, mean probability, ECE and signed gap; the same digits in all rows."""
    c = report.classes[k]
    digits = [max(decimals(getattr(each, name)) for each in report.classes) for name in ("ece", "signed_gap")]
    ece, gap = (
        (estimate(interval, n), ends(interval, n)) for interval, n in zip((c.ece, c.signed_gap), digits, strict=True)
    )
    name = report.file.class_name(k, longest)
    return (name, str(c.rows), rounded(c.frequency), rounded(c.mean_probability), *ece, *gap)


def _classes_table(report: Report) -> Any:
    from rich.text import Text

    shown = report.worst_classes(MOST_CLASSES)
    every = len(shown) == len(report.classes)
    table = titled_table(
        "classes" if every else f"{len(shown)} of {len(report.classes)} classes, those with the largest ECE"
    )
    interval = f"interval, {report.settings.level:g}"
    for heading in ("class", "rows", "frequency", "prob.", "ECE", interval, "signed gap"):
        table.add_column(heading, justify="right")
    room = get_terminal_size((PIPED, 24)).columns - _WIDTH_OF_A_CLASS
    for k in shown:
        name, *cells = class_cells(report, k, min(max(room, _SHORTEST_CLASS), _LONGEST_CLASS))[:-1]
        table.add_row(Text(name), *cells)
    return table


def group_headings(level: float) -> tuple[str, ...]:
    """Return the headings over `group_cells`."""
    interval = f"interval, {level:g}"
    return ("group", "rows", "accuracy", interval, "ECE", interval, "signed gap", interval)


def group_cells(groups: ByGroup, longest: int = 40) -> list[tuple[str, ...]]:
    """Format name (cut to `longest`), rows, accuracy, ECE and signed gap of each group; the same digits in all rows."""
    names = ("accuracy", "ece", "signed_gap")
    digits = {name: max(decimals(getattr(group, name)) for group in groups.values()) for name in names}

    def cells(group: GroupIntervals | GroupDifferences) -> Iterator[str]:
        for name in names:
            yield from (form(getattr(group, name), digits[name]) for form in (estimate, ends))

    return [(printable(name, longest), str(group.num_rows), *cells(group)) for name, group in groups.items()]


def _groups_table(groups: ByGroup, level: float, title: str) -> Any:
    from rich.text import Text

    table = titled_table(title)
    columns = get_terminal_size((PIPED, 24)).columns
    few = columns < _WIDTH_OF_NUMBERS
    shown = (1, 2, 4, 6, 7) if few else range(1, 8)  # all of them are on the page
    room = columns - (_WIDTH_OF_FEW_NUMBERS if few else _WIDTH_OF_NUMBERS)
    name, *headings = group_headings(level)
    table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=max(12, room))
    for column in shown:
        table.add_column(headings[column - 1], justify="right")
    for cells in group_cells(groups):
        table.add_row(Text(cells[0]), *(cells[column] for column in shown))
    return table


def _title(report: Report) -> str:
    file = report.file
    dropped = f", {file.dropped} dropped" if file.dropped else ""
    classes = "" if file.kind == "binary" else f", {file.num_classes} classes"
    return f"{file.name}: {row_count(len(file))}{dropped}{classes}"


def titled_table(title: str) -> Any:
    """Return an empty rich table under a title."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    return Table(title=Text(title, style="bold"), title_justify="left", box=SIMPLE_HEAD)


def plain_console(piped: int = 80) -> Any:
    """Return the terminal, which colors no numbers; what is piped has lines of so many columns."""
    from rich.console import Console

    return Console(highlight=False, width=get_terminal_size((piped, 24)).columns)
