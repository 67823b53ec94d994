"""The style of a paper: sizes, colors, panels and ticks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from mixjax.plots.packages import needs
from mixjax.typing import Real

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMN_WIDTH = 3.35  # inches, one column of a two-column paper
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito: for all kinds of sight
BAND = 0.15  # opacity
MARKERS = ("o", "s", "^", "D", "v", "P")


@needs("matplotlib")
def paper_style() -> AbstractContextManager[Any]:
    """Return a context in which text is legible at one column, and embedded in PDF files as text.

    Example:
      >>> import matplotlib
      >>> from mixjax.plots import paper_style
      >>> with paper_style():
      ...     matplotlib.rcParams["font.size"]
      8.0
    """
    import matplotlib

    return matplotlib.rc_context(
        {
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "axes.linewidth": 0.6,
            "lines.linewidth": 1.1,
            "savefig.dpi": 300,
            "pdf.fonttype": 42,  # TrueType: publishers refuse the default, Type 3
            "svg.hashsalt": "mixjax",  # the same file again
        }
    )


@needs("matplotlib")
def panels(
    count: int, columns: int, *, height: Real, share_y: bool | Literal["row"] = True, width: Real = COLUMN_WIDTH
) -> tuple[Any, Sequence[Axes]]:
    """Make a figure of panels with a common x axis, labeled below the lowest of each column.

    Args:
      count: of panels, > 0.
      columns: of panels; fewer where there are fewer panels.
      height: of a row, in inches.
      share_y: whether the y axis is common too; "row": to the panels of a row.
      width: of the figure, in inches.

    Returns:
      The figure, and the Axes of its panels.

    Example:
      >>> from mixjax.plots import panels
      >>> figure, axes = panels(3, 2, height=1.5)
      >>> len(axes), [float(size) for size in figure.get_size_inches()]
      (3, [3.35, 3.0])
    """
    from matplotlib.figure import Figure

    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False).ravel()
    for spare, above in zip(axes[count:], axes[count - columns :], strict=False):
        spare.remove()
        above.tick_params(labelbottom=True)
    return figure, list(axes[:count])


def decades(ax: Axes, *, x: bool = False, y: bool = False) -> None:
    """Label 1 and 3 of each decade of a logarithmic axis with plain numbers; only 1 on axes of three decades or more.

    An axis of less than a decade gets more labels.

    A linear axis is left unchanged.

    Example:
      >>> from mixjax.plots import decades, panels
      >>> _, (ax,) = panels(1, 1, height=2)
      >>> properties = ax.set(xscale="log", xlim=(0.3, 3))
      >>> decades(ax, x=True)
      >>> [label.get_text() for label in ax.get_xticklabels()][1:]
      ['0.3', '1', '3']
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for wanted, axis in ((x, ax.xaxis), (y, ax.yaxis)):
        if wanted and axis.get_scale() == "log":
            low, high = axis.get_view_interval()
            labeled = (1,) if high >= 1000 * low else (1, 3) if high >= 10 * low else (1, 2, 3, 5, 7)
            axis.set_major_locator(LogLocator(subs=labeled))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())


def signed(value: Real, _: int | None = None) -> str:
    """Format a number briefly, with a minus sign instead of a hyphen; works as a tick formatter.

    Example:
      >>> from mixjax.plots import signed
      >>> signed(-0.050)
      '−0.05'
    """
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")
