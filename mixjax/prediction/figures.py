"""The figure of a prediction: signed gap and NLL of every arm against the penalty, with what was measured."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from mixjax.plots import COLUMN_WIDTH, decades, panels, paper_style
from mixjax.plots.diagram import DIAGONAL, LOOKS, Look
from mixjax.prediction.measuring import Check
from mixjax.prediction.table import Prediction
from mixjax.report.figures import key_of, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_FIGURES = 6  # pairs to draw
_BESIDE = 1.15  # factor between arms that are measured at the same penalty, to be told apart


def pictures(prediction: Prediction, check: Check | None, name: str) -> dict[str, bytes]:
    """Return the figure as files by name, png and svg."""
    with paper_style():
        figure = prediction_figure(prediction, check)
        return {f"{name}.{kind}": picture(figure, kind) for kind in ("png", "svg")}


def prediction_figure(prediction: Prediction, check: Check | None) -> Figure:
    """Draw signed gap above NLL; the best penalty of an arm by NLL is a large marker, measured means have bars."""
    figure, (above, below) = panels(2, 1, height=1.55, share_y=False)
    rows = 1 + -(-(len(prediction.arms) + 1 + 2 * (check is not None)) // 2)
    figure.set_size_inches(COLUMN_WIDTH, 3.1 + 0.16 * rows)
    above.axhline(0.0, **DIAGONAL)
    for arm, look in zip(range(len(prediction.arms)), cycle(LOOKS), strict=False):
        for ax, field in ((above, "signed_gap"), (below, "nll")):
            _draw(ax, prediction, arm, field, look)
            if check is not None:
                _draw_measured(ax, prediction, check, arm, field, look)
    below.set_xscale("log")
    if prediction.penalties[-1] >= 1e3 * prediction.penalties[0]:
        _tens(below, prediction.penalties)
    else:
        decades(below, x=True)
    below.set_yscale("log")
    decades(below, y=True)
    above.set_ylabel("confidence \N{MINUS SIGN} accuracy")
    below.set_ylabel("NLL (nats)")
    below.set_xlabel("penalty")
    figure.align_ylabels([above, below])
    figure.legend(
        handles=_keys(prediction, check), loc="outside upper left", ncols=2, frameon=False, handlelength=2.2,
        labelspacing=0.25, columnspacing=1.0, borderaxespad=0.2, title=_finding(prediction), title_fontsize="medium",
    )  # fmt: skip
    return figure


def _finding(prediction: Prediction) -> str:
    arm, penalty = prediction.best("nll")
    return f"Least NLL predicted: {prediction.arms[arm].name}, penalty {prediction.penalties[penalty]:.2g}"


def _draw(ax: Axes, prediction: Prediction, arm: int, field: str, look: Look) -> None:
    values, penalties = getattr(prediction.numbers, field)[arm], np.array(prediction.penalties)
    ax.plot(penalties, values, color=look.color, linestyle=look.line, linewidth=1.1)
    best = prediction.best_of_arm("nll", arm)[1]
    ax.plot(penalties[best], values[best], color=look.color, marker=look.marker, markersize=4.5, linestyle="")


def _draw_measured(ax: Axes, prediction: Prediction, check: Check, arm: int, field: str, look: Look) -> None:
    for cell in check.cells:
        if cell[0] == arm:
            found = check.at(field, cell)
            bars: Any = [[found.mean - found.low], [found.high - found.mean]]
            style: dict[str, Any] = {"color": look.color, "marker": look.marker, "mfc": "white", "markersize": 4}
            beside = _BESIDE ** (arm - 0.5 * (len(prediction.arms) - 1))
            ax.errorbar(
                [prediction.penalties[cell[1]] * beside], [found.mean], bars, elinewidth=0.9, capsize=1.5, **style
            )


def _tens(ax: Axes, penalties: tuple[float, ...]) -> None:
    """Label whole powers of ten, at most six of them."""
    low, high = np.ceil(np.log10(penalties[0]) - 1e-9), np.floor(np.log10(penalties[-1]) + 1e-9)
    step = max(1, int(-(-(high - low) // 5)))
    powers = np.arange(low, high + 1, step)
    ax.set_xticks(
        10.0**powers, [f"$10^{{{int(power)}}}$" if abs(power) > 2 else f"{10.0**power:g}" for power in powers]
    )
    ax.minorticks_off()


def _keys(prediction: Prediction, check: Check | None) -> list[Any]:
    from matplotlib.lines import Line2D

    keys = [key_of(look, arm.name, 3.5, 1.1) for arm, look in zip(prediction.arms, cycle(LOOKS), strict=False)]
    keys.append(Line2D([], [], color="0.3", linestyle="", marker="o", markersize=4.5, label="least NLL of an arm"))
    if check is not None:
        label = f"measured, level {check.level:g}\n(arms side by side)"
        keys.append(Line2D([], [], color="0.3", linestyle="", marker="o", mfc="white", markersize=4, label=label))
    return keys
