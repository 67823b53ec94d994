"""A whole report, on one model or on two with the same rows: its numbers, and where they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixjax.calibration.groups import GroupIntervals
from mixjax.calibration.intervals import Interval
from mixjax.plots.packages import needs
from mixjax.report.comparison import Comparison, GroupDifferences, compare
from mixjax.report.figures import pictures
from mixjax.report.metrics import Metric, Report, Settings, report_on
from mixjax.report.page import comparison_page, report_page
from mixjax.report.reading import FilePredictions
from mixjax.report.terminal import print_comparison, print_report
from mixjax.runs import write_atomically

__all__ = ["CalibrationReport"]


@dataclass(frozen=True)
class CalibrationReport:
    """All numbers of one model, or of two on the same rows, to print, to draw and to write on a page.

    Attributes:
      reports: of each model, its metrics, calibration test, table of the reliability diagram, and classes.
      comparison: of two models, with paired differences; otherwise None.

    Example:
      >>> from mixjax.report import of_arrays
      >>> report = of_arrays(confidence=[0.9, 0.6, 0.8], correct=[1, 0, 1])
      >>> round(report.metrics["model"]["ECE"].estimate, 3)
      0.3
    """

    reports: tuple[Report, ...]
    comparison: Comparison | None
    labels: tuple[str, ...] = field(repr=False)  # in legends and titles
    made: Mapping[str, object] = field(repr=False)  # the origin that the page states

    @classmethod
    def of(
        cls, files: Sequence[FilePredictions], labels: Sequence[str], settings: Settings, made: Mapping[str, object]
    ) -> CalibrationReport:
        """Compute every number of one or two sets of predictions without missing rows."""
        reports = tuple(report_on(file, settings) for file in files)
        comparison = compare(*reports) if len(reports) == 2 else None
        return cls(reports, comparison, tuple(labels), made)

    def __repr__(self) -> str:
        """Return a line with the ECE of each model; `print` writes the tables."""
        found = {report.file.name: (len(report.file), _by_name(report.metrics)["ECE"]) for report in self.reports}
        shown = (
            f"{name}: {rows} rows, ECE {e.estimate:.4f} [{e.low:.4f}, {e.high:.4f}]"
            for name, (rows, e) in found.items()
        )
        return f"CalibrationReport({'; '.join(shown)})"

    @property
    def metrics(self) -> dict[str, dict[str, Interval]]:
        """The estimates with their intervals, by the name of the model and of the metric."""
        return {report.file.name: _by_name(report.metrics) for report in self.reports}

    @property
    def groups(self) -> dict[str, Mapping[Any, GroupIntervals]]:
        """What `group_intervals` returns, by the name of the model; of each nothing unless groups were given."""
        return {report.file.name: report.groups for report in self.reports}

    @property
    def differences(self) -> dict[str, Interval]:
        """The second model minus the first, with paired intervals; empty for one model."""
        return {} if self.comparison is None else _by_name(self.comparison.differences)

    @property
    def group_differences(self) -> Mapping[Any, GroupDifferences]:
        """The second model minus the first within each group, with paired intervals; empty unless groups were given."""
        return {} if self.comparison is None else self.comparison.groups

    @needs("rich")
    def print(self) -> None:
        """Print the tables that the command prints; needs rich."""
        if self.comparison is None:
            print_report(self.reports[0])
        else:
            print_comparison(self.comparison, self.labels)

    def pictures(self) -> dict[str, bytes]:
        """Return reliability.png and .svg and, of one model with classes, classes.png and .svg; needs matplotlib."""
        return pictures(self.reports, self.labels)

    def write_html(self, path: Path | str) -> None:
        """Write one page with the diagrams, every number and the settings, that needs no network; needs matplotlib."""
        write_atomically(Path(path), self._page(self.pictures()))

    def write(self, folder: Path) -> None:
        """Write the pictures and report.html into a folder, which is there."""
        drawn = self.pictures()
        for name, content in {**drawn, "report.html": self._page(drawn)}.items():
            write_atomically(folder / name, content)

    def _page(self, drawn: Mapping[str, bytes]) -> bytes:
        if self.comparison is None:
            return report_page(self.reports[0], drawn, self.made).encode()
        return comparison_page(self.comparison, self.labels, drawn, self.made).encode()


def _by_name(metrics: Sequence[Metric]) -> dict[str, Interval]:
    return {metric.name: metric.interval for metric in metrics}
