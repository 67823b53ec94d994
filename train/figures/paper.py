"""What each figure of the paper plots, by the number that it has in print.

The labels of the paper's LaTeX source (fig:4, fig:7, ...) are other numbers: this table is the only place where the
figures of nets are numbered, and captions and pages are held to it.
"""

from __future__ import annotations

__all__ = ["PANELS", "PLOTTED", "paper_figures"]

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

PANELS: dict[tuple[str, str], tuple[str, ...]] = {  # what one run draws, by experiment and preset
    ("width", "paper"): ("1a", "6c", "7a", "9a"),  # CIFAR-10; of Figure 1 the caption says no more: the others are 2's
    ("depth", "paper"): ("1b", "4a", "6d", "7b", "9b"),  # with augmentation, which 4 does not say
    ("width", "paper-2a"): ("2a", "6a", "8a"),  # CIFAR-10, without augmentation
    ("depth", "paper-2b"): ("2b", "6b", "8b"),
    ("width", "paper-2c"): ("2c", "6g", "7c", "9c"),  # CIFAR-100, with augmentation
    ("depth", "paper-2d"): ("2d", "4b", "6h", "7d", "9d"),
    ("width", "paper-2e"): ("2e", "6e", "8c"),  # CIFAR-100, without augmentation
    ("depth", "paper-2f"): ("2f", "6f", "8d"),
    ("pseudo_label", "paper"): ("3c",),
    ("pseudo_label", "paper-3a"): ("3a",),
    ("pseudo_label", "paper-3b"): ("3b",),
    ("pseudo_label", "paper-3d"): ("3d",),
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
