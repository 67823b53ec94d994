"""What each figure of the paper plots, by the number that it has in print.

The labels of the paper's LaTeX source (fig:4, fig:7, ...) are other numbers: this table is the only place where the
figures of nets are numbered, and captions and pages are held to it.
"""

from __future__ import annotations

__all__ = ["PLOTTED", "paper_figures"]

_BOTH = ("width", "depth")
PLOTTED: dict[int, tuple[str, tuple[str, ...]]] = {  # a metric, and what it is plotted against
    1: ("ece", _BOTH),
    2: ("ece", _BOTH),
    3: ("ece", ("epochs",)),
    4: ("mce", ("depth",)),
    6: ("relative_loss", _BOTH),
    7: ("rms_ece", _BOTH),
    8: ("rms_ece", _BOTH),
    9: ("mce", _BOTH),
}


def paper_figures(axis: str, metric: str | None = None) -> str:
    """Return the numbers of the paper's figures along an axis, of one metric or of all: "Figures 4 and 9".

    Example:
      >>> from mixjax.train.figures.paper import paper_figures
      >>> paper_figures("width", "ece"), paper_figures("epochs"), paper_figures("depth")
      ('Figures 1 and 2', 'Figure 3', 'Figures 1, 2, 4 and 6 to 9')
    """
    numbers = [number for number, (plotted, axes) in PLOTTED.items() if axis in axes and metric in (None, plotted)]
    parts = [str(start) if start == end else f"{start} to {end}" for start, end in _runs(numbers)]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"Figure{'s' * (len(numbers) > 1)} {listed}"


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Return (first, last) of each run of three or more numbers, and (n, n) of each other number."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return [pair for run in runs for pair in ([(run[0], run[-1])] if len(run) > 2 else [(each, each) for each in run])]
