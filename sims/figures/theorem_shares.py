"""What is measured of the theorems: shares of training sets against n, and against what decides them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from mixjax import plots

from .marks import legend

BAR = 1.96  # standard errors in the half of a 95 % interval
_TEX = {"n^-0.25": "n^{-1/4}", "n^-0.5": r"1/\sqrt{n}", "n^0.25": "n^{1/4}", "n^0.5": r"\sqrt{n}", "n^0.75": "n^{3/4}"}


def cells_of(row: xr.Dataset) -> dict[int, dict[str, str]]:
    """Return the values of each configuration, as text, by its position."""
    found = {}
    for position, text in enumerate(map(str, row["cell"].values)):
        if text:
            found[position] = dict(part.split(" = ") for part in text.split(", "))
    return found


def positions_with(row: xr.Dataset, **values: str) -> list[int]:
    """Return the configurations that have these values."""
    return [k for k, cell in cells_of(row).items() if all(cell.get(name) == value for name, value in values.items())]


def tex(value: str) -> str:
    """Write a value or a rate for a formula."""
    return _TEX.get(value, f"n^{{{value[2:]}}}" if value.startswith("n^") else value.replace(" ", ""))


def look(order: int, met: bool = True) -> dict[str, Any]:
    """Return the color and marker of a line: dashed and hollow where the condition does not hold."""
    style: dict[str, Any] = {"color": plots.COLORS[order], "marker": plots.MARKERS[order], "markersize": 3}
    return style | {"linewidth": 0.9} | ({} if met else {"linestyle": "--", "markerfacecolor": "white"})


def one_panel(table: xr.Dataset, theorem: str, height: float = 2.5) -> tuple[Any, Any, xr.Dataset]:
    """Make a figure of one panel; return it, the panel, and what is measured of the theorem."""
    figure, (ax,) = plots.panels(1, 1, height=height)
    return figure, ax, table.sel(theorem=theorem)


def titled(figure: Any, ax: Any, title: str, columns: int, **style: Any) -> Any:
    """Write the finding above the panel, and name its marks below; return the figure."""
    ax.set_title(title, pad=3)
    legend(figure, ax, columns, where="lower", **style)
    return figure


def share_axis(ax: Any, label: str = "share of training sets") -> None:
    ax.axhline(0.99, color="0.4", linewidth=0.6, linestyle=":", zorder=0)
    ax.set_ylim(-0.03, 1.03)
    ax.set_ylabel(label)


def share_lines(ax: Any, row: xr.Dataset, labels: Mapping[int, str]) -> None:
    """Draw the share of training sets with its interval against n, for some configurations."""
    for order, (k, label) in enumerate(labels.items()):
        one = row.isel(configuration=k)
        style = look(order, bool(one["met"] == 1))
        ax.plot(row["n"], one["share"], label=label, **style)
        ax.fill_between(row["n"], one["share_low"], one["share_high"], color=style["color"], alpha=0.25, linewidth=0)
    ax.set_xscale("log")
    share_axis(ax)


def share_bars(row: xr.Dataset) -> np.ndarray:
    """Return what the 95 % intervals of shares reach below and above them."""
    return np.maximum([row["share"] - row["share_low"], row["share_high"] - row["share"]], 0)


def _labels(row: xr.Dataset, positions: list[int], text: Callable[[dict[str, str]], str]) -> dict[int, str]:
    cells = cells_of(row)
    return {k: text(cells[k]) for k in positions}


def _cell_label(cell: Mapping[str, str]) -> str:
    return rf"$p/n = {tex(cell['p'])[:-1] or 1}$, $|\theta| = {tex(cell['|theta|'])}$"


def draw_proportional(table: xr.Dataset) -> Any:
    """3.1: the mean change of the ECE, and its limit."""
    figure, ax, row = one_panel(table, "3.1")
    fixed = {k: cell for k, cell in cells_of(row).items() if not cell["|theta|"].startswith("n")}
    for order, (k, cell) in enumerate(fixed.items()):
        one, style = row.isel(configuration=k), look(order)
        label = _cell_label(cell)
        ax.errorbar(row["n"], one["value"], BAR * one["value_se"], label=label, elinewidth=0.8, **style)
        ax.axhline(float(one["limit"]), color=style["color"], linewidth=0.6, linestyle=":", zorder=0)
    ax.axhline(0, color="0.4", linewidth=0.6, zorder=0)
    ax.set(xscale="log", xlabel="training sample size $n$", ylabel=r"mean of ECE(mix) $-$ ECE")
    return titled(figure, ax, "3.1 holds: in high dimension some Mixup helps", 2)


def draw_low_dimension(table: xr.Dataset) -> Any:
    """3.2: shares for rates of p, and for |theta| down to 0."""
    row = table.sel(theorem="3.2")
    figure, (left, right) = plots.panels(2, 2, height=2.7)
    rates = positions_with(row, **{"|theta|": "1", "alpha": "1"})
    share_lines(left, row, _labels(row, rates, lambda cell: f"$p = {tex(cell['p'])}$"))
    small = [k for theta in ("1", "0.1", "0.01", "n^-0.25", "n^-0.5", "0")
             for k in positions_with(row, p="5", alpha="1", **{"|theta|": theta})]  # fmt: skip
    share_lines(right, row, _labels(row, small, lambda cell: rf"$|\theta| = {tex(cell['|theta|'])}$"))
    left.set_ylabel("share that Mixup hurts")
    right.set_ylabel("")
    left.set_title(r"$|\theta| = 1$", pad=3)
    right.set_title(r"$p = 5$", pad=3)
    for ax in (left, right):
        ax.set_xlabel("$n$")
        ax.set_xticks([1e2, 1e4, 1e6])
        ax.legend(frameon=False, fontsize=6.5, handlelength=1.4, ncols=2, loc="upper center", columnspacing=0.8,
                  handletextpad=0.3, bbox_to_anchor=(0.5, -0.26))  # fmt: skip
    figure.suptitle(r"3.2 needs $|\theta|$ bounded below", fontsize=8)
    return figure


def draw_out_of_domain(table: xr.Dataset) -> Any:
    """3.4: shares for rates of p at theta' = theta."""
    figure, ax, row = one_panel(table, "3.4")
    same = positions_with(row, **{"|theta|": "1", "|theta'|": "1", "cosine": "1"})
    share_lines(ax, row, _labels(row, same, lambda cell: f"$p = {tex(cell['p'])}$"))
    ax.set(xlabel="training sample size $n$", ylabel="share that Mixup helps")
    return titled(figure, ax, r"3.4 needs $\sqrt{n}\,p/n \to \infty$", 4, columnspacing=1.2)


def draw_unknown_sigma(table: xr.Dataset) -> Any:
    """3.5: shares with sigma estimated, beside those of a known sigma (3.1)."""
    figure, ax, row = one_panel(table, "3.5")
    shown = [k for k, cell in cells_of(row).items() if cell["|theta|"] != "0" and not cell["|theta|"].startswith("n")]
    share_lines(ax, row, _labels(row, shown, _cell_label))
    known = table["share"].sel(theorem="3.1")
    for order, k in enumerate(shown):
        color = plots.COLORS[order]
        ax.plot(row["n"], known.isel(configuration=k), color=color, linewidth=0.9, linestyle=":", zorder=1.9)
    ax.set(xlim=(9, 2e5), xlabel="training sample size $n$", ylabel="share that Mixup helps")
    return titled(figure, ax, r"3.5 holds with $\hat\sigma$, from a larger $n$ on", 2)


def draw_many_labels(table: xr.Dataset) -> Any:
    """4.2: shares for rates of the unlabeled points."""
    figure, ax, row = one_panel(table, "4.2")
    rates = [k for k, cell in cells_of(row).items() if cell["n_u"] != "10 n"]
    share_lines(ax, row, _labels(row, rates, lambda cell: f"$n_u = {tex(cell['n_u']).replace('n', 'n_l')}$"))
    ax.set(xlabel="labeled sample size $n_l$", ylabel="share that pseudo-labels hurt")
    return titled(figure, ax, r"4.2 needs $n_u \gg \sqrt{n_l}$", 4, columnspacing=1.0, handlelength=1.6)


def draw_mixup_repairs(table: xr.Dataset) -> Any:
    """4.3: shares against the number of unlabeled points, around the edge of under-confidence."""
    figure, ax, row = one_panel(table, "4.3")
    cells = cells_of(row)
    lines = [("2", wanted) for wanted in (30, 1000, 100_000)] + [("1.2", 1000)]
    for order, (theta, wanted) in enumerate(lines):
        size = int(np.argmin(np.abs(np.log(row["n"].values / wanted))))
        shown = positions_with(row, p="12 n", **{"|theta|": theta})
        x = np.array([float(cells[k]["n_u"].split()[0]) for k in shown])
        one = row.isel(configuration=shown, n=size)
        label = rf"$|\theta| = {theta}$, $n_l = {int(row['n'][size]):,}$"
        ax.errorbar(x, one["share"], share_bars(one), label=label, elinewidth=0.8, **look(order))
    edge = float(table["overshoot"])
    ax.axvline(edge, color="0.4", linewidth=0.8, linestyle="--", zorder=0)
    ax.text(edge * 1.12, 0.5, "under-confident\n" r"if $|\theta| = 2$", fontsize=7, va="center")
    ax.set(xscale="log", xlabel="unlabeled points a label, $n_u/n_l$")
    share_axis(ax, "share that some Mixup helps")
    plots.decades(ax, x=True)
    return titled(figure, ax, "4.3 fails where pseudo-labels overshoot", 2)


def draw_without_signal(table: xr.Dataset) -> Any:
    """5.1: shares against |theta|, with 0 at the left end of the axis."""
    figure, ax, row = one_panel(table, "5.1")
    cells = cells_of(row)
    shown = [k for k in positions_with(row, p="0.5 n") if not cells[k]["|theta|"].startswith("n")]
    theta = np.array([float(cells[k]["|theta|"]) for k in shown])
    shown, theta = [shown[k] for k in np.argsort(theta)], np.sort(theta)
    left = theta[theta > 0].min() / 4
    x = np.where(theta > 0, theta, left)
    for order, wanted in enumerate((100, 10_000, 1_000_000)):
        size = int(np.argmin(np.abs(np.log(row["n"].values / wanted))))
        one = row.isel(configuration=shown, n=size)
        ax.errorbar(
            x[1:], one["share"][1:], share_bars(one)[:, 1:], label=f"$n = {int(row['n'][size]):,}$", **look(order)
        )
        ax.plot(x[:1], one["share"][:1], **look(order))
    ax.set(xscale="log", xlabel=r"$|\theta|$")
    ax.set_xticks([left, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
    share_axis(ax, "share that Mixup helps")
    return titled(figure, ax, r"5.1 holds for each $\theta \neq 0$, not for all at once", 3, columnspacing=1.2)


def draw_margin(table: xr.Dataset) -> Any:
    """5.2: shares of every configuration and size against p/n over the critical ratio."""
    figure, ax, row = one_panel(table, "5.2")
    cells = cells_of(row)
    groups = {
        r"fixed $p$ and $|\theta|$": lambda cell: cell["p"] == "5" and not cell["|theta|"].startswith("n"),
        r"$p = n^a$": lambda cell: cell["p"] != "5",
        r"$|\theta| = n^{-1/4}$, $1/\sqrt{n}$": lambda cell: cell["|theta|"].startswith("n"),
    }
    for order, (label, belongs) in enumerate(groups.items()):
        shown = row.isel(configuration=[k for k, cell in cells.items() if belongs(cell) and cell["|theta|"] != "0"])
        style = look(order) | {"linewidth": 0}
        share, bars = shown["share"].values.ravel(), share_bars(shown).reshape(2, -1)
        ax.errorbar(shown["margin"].values.ravel(), share, bars, label=label, alpha=0.8, elinewidth=0.8, **style)
    ax.axvline(1, color="0.4", linewidth=0.8, linestyle="--", zorder=0)
    ax.set(xscale="log", xlabel=r"$(p/n)\,/\,c(|\theta|, t)$, the critical ratio", xlim=(1e-3, 1e3))
    share_axis(ax, "share that Mixup hurts")
    title = r"5.2 holds below the critical ratio of $|\theta|$"
    return titled(figure, ax, title, 3, columnspacing=0.6, handletextpad=0.1)
