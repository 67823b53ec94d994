"""The figures of a report: reliability over a histogram of confidence, one or several models; and class by class."""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixjax.plots import COLUMN_WIDTH, paper_style, reliability_diagram
from mixjax.plots.diagram import BOX, DIAGONAL, FEW, LOOKS, Look, draw_diagonal, draw_histogram, draw_reliability
from mixjax.report.metrics import Report, Settings
from mixjax.report.numbers import row_count, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MOST_PANELS = 12  # classes to draw, those with the largest ECE
_LONGEST = 18  # letters of a name in a legend
_LEGEND: dict[str, Any] = {"frameon": False, "handlelength": 1.8, "labelspacing": 0.25}
_WIDE = 2 * COLUMN_WIDTH + 0.2  # inches, a page of two columns


def reliability_figure(reports: Sequence[Report], labels: Sequence[str]) -> Figure:
    """Draw reliability of up to six models on one Axes, over histograms of their confidence; one column wide."""
    from matplotlib.figure import Figure

    figure = Figure()
    keys = _keys(reports, labels)
    title = _finding(reports, labels)
    main, below = _add_axes(figure, 0.13 * (len(keys) + len(title.splitlines())) + 0.1)
    alone, settings = len(reports) == 1, reports[0].settings
    tables = {label: report.table for label, report in zip(labels, reports, strict=True)}
    reliability_diagram(main, tables, level=settings.level, edges=_edges(settings))
    for report, look in zip(reports, LOOKS, strict=False):
        draw_histogram(below, report.histogram, look=look, fill=alone)
    binary = reports[0].file.kind == "binary"
    main.set(xlabel="", ylabel="share that came true" if binary else "accuracy")
    main.tick_params(labelbottom=False)
    below.set_xlabel("confidence" if binary else "confidence (probability of the predicted class)")
    below.set_ylabel("share of rows")
    figure.align_ylabels([main, below])
    figure.legend(handles=keys, loc="upper left", borderaxespad=0.2, title=title, title_fontsize="medium",
                  alignment="left", **_LEGEND)  # fmt: skip
    return figure


def _finding(reports: Sequence[Report], labels: Sequence[str]) -> str:
    """Say whether one or two models are over- or underconfident, as far as the interval of the signed gap tells."""
    if len(reports) > 2:
        return ""
    return "\n".join(
        f"{_plain(label)}: {_direction(report)}".lstrip() for report, label in zip(reports, labels, strict=True)
    )


def _direction(report: Report) -> str:
    gap = report.metric("signed gap").interval
    high, low = ("too high", "too low") if report.file.kind == "binary" else ("overconfident", "underconfident")
    if not (gap.low > 0 or gap.high < 0):
        return "no clear signed gap"
    return high if gap.low > 0 else low


def _add_axes(figure: Figure, legend: float) -> tuple[Axes, Axes]:
    """Add square Axes above low ones of the same width, under a legend of a height in inches."""
    left, right, bottom, low, space = 0.5, 0.1, 0.42, 0.65, 0.1
    side = COLUMN_WIDTH - left - right
    height = bottom + low + space + side + 0.08 + legend
    figure.set_size_inches(COLUMN_WIDTH, height)
    below = figure.add_axes((left / COLUMN_WIDTH, bottom / height, side / COLUMN_WIDTH, low / height))
    above = (left / COLUMN_WIDTH, (bottom + low + space) / height, side / COLUMN_WIDTH, side / height)
    return figure.add_axes(above, sharex=below), below


def classes_figure(report: Report) -> tuple[Figure, list[int]]:
    """Draw a panel for each class, at most `MOST_PANELS`, two columns wide; also return the drawn classes."""
    from matplotlib.figure import Figure

    shown = report.worst_classes(MOST_PANELS)
    rows = -(-len(shown) // 4)
    columns = -(-len(shown) // rows)
    width = _WIDE * columns / 4
    keys = _explained(report.settings, True)
    beside = columns if columns == 4 else max(columns - 1, 1)  # that many keys are no wider than the figure
    height = (width - 0.3) / columns * rows + 0.58 + 0.17 * -(-len(keys) // beside)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes: list[Axes] = list(figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel())
    for ax, k in zip(axes, shown, strict=False):
        of_class = report.classes[k]
        draw_diagonal(ax)
        draw_reliability(ax, of_class.table, level=report.settings.level, joined=False, edges=_edges(report.settings))
        ax.set_aspect("equal", adjustable="box")
        name = report.file.class_name(k, 16) if report.file.class_names else f"class {k}"
        ax.set_title(f"{name}: ECE {of_class.ece.estimate:.3f}", pad=4, parse_math=False)
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    for ax in axes[len(shown) - columns : len(shown)]:
        ax.tick_params(labelbottom=True)
    for spare in axes[len(shown) :]:
        spare.remove()
    figure.legend(handles=keys, loc="outside upper left", ncols=beside, **_LEGEND)
    figure.supxlabel("probability of the class", fontsize="medium")
    figure.supylabel("share of rows with the label", fontsize="medium")
    return figure, shown


def picture(figure: Figure, kind: str) -> bytes:
    """Return the bytes of a "png" or "svg" file, the same for the same figure; call it within `paper_style`."""
    import matplotlib

    buffer = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "mixjax"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # of names in scripts that the font has not
        figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def key_of(look: Look, label: str, markersize: float = 3, linewidth: float = 0.8) -> Line2D:
    """Return the legend key of a line with markers."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"color": look.color, "linestyle": look.line, "marker": look.marker}
    return Line2D([], [], label=label, markersize=markersize, linewidth=linewidth, **style)


def pictures(reports: Sequence[Report], labels: Sequence[str]) -> dict[str, bytes]:
    """Return files by name: reliability and, for one model with classes, reliability class by class."""
    with paper_style():
        figures = {"reliability": reliability_figure(reports, labels)}
        if len(reports) == 1 and reports[0].classes:
            figures["classes"] = classes_figure(reports[0])[0]
        return {f"{name}.{kind}": picture(figure, kind) for name, figure in figures.items() for kind in ("png", "svg")}


def _edges(settings: Settings) -> np.ndarray | None:
    return np.linspace(0, 1, settings.num_bins + 1) if settings.binning == "equal-width" else None


def _keys(reports: Sequence[Report], labels: Sequence[str]) -> list[Any]:
    models = []
    for report, label, look in zip(reports, labels, LOOKS, strict=False):
        error = with_interval(report.metric("ECE").interval)
        models.append(key_of(look, f"{_plain(label)}: ECE {error}, {row_count(len(report.file))}"))
    return [*models, *_explained(reports[0].settings, len(reports) == 1)]


def _plain(label: str) -> str:
    """Shorten a label, and escape $ and a leading _, which have a meaning to matplotlib."""
    label = "".join(" " if unicodedata.category(letter) == "Cc" else letter for letter in label)
    short = label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
    return f"{' ' * short.startswith('_')}{short}".replace("$", r"\$")


def _explained(settings: Settings, band: bool) -> list[Any]:
    """Return the legend keys of bars, hollow points, band and diagonal."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    bar: dict[str, Any] = {"color": "0.3", "linestyle": "", "marker": "|", "markersize": 7}
    bars = Line2D([], [], label=f"Clopper-Pearson interval, level {settings.level:g}", **bar)
    few = Line2D(
        [], [], color="0.3", linestyle="", marker="o", markersize=3, mfc="white", label=f"fewer than {FEW} rows"
    )
    bands = [Patch(color=BOX, linewidth=0, label=f"consistency band, level {settings.level:g}")] if band else []
    return [bars, few, *bands, Line2D([], [], label="calibrated", **DIAGONAL)]
