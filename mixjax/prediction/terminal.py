"""A prediction in the terminal: the answer in words, then a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mixjax.prediction.answer import gain, sentences, summary
from mixjax.prediction.cautions import cautions
from mixjax.prediction.measuring import Check, Measured
from mixjax.prediction.table import Cell, Numbers, Prediction
from mixjax.report.numbers import rounded
from mixjax.report.terminal import plain_console, titled_table

ARM_HEADINGS = ("", "penalty", "accuracy", "signed gap", "ECE", "NLL", "NLL, scaled")
PAIR_HEADINGS = ("pair", "best arm", "penalty", "NLL", "decay alone", "Mixup gain", "scaled", "cautions")


def print_predictions(predictions: Sequence[Prediction], checks: Sequence[Check | None]) -> None:
    """Print the answer, the cautions and a table: of arms for one pair, of pairs for several."""
    console = plain_console()
    lines = [title(predictions)]
    if len(predictions) > 1:
        lines += summary(predictions, checks)
        table = pairs_table(predictions)
    else:
        lines += sentences(predictions[0], checks[0])
        lines += [f"Caution: {sentence}" for sentence in cautions(predictions[0])]
        table = arms_table(predictions[0], checks[0])
    for line in lines:
        console.print(line, highlight=False, markup=False)
    console.print(table)


def title(predictions: Sequence[Prediction]) -> str:
    """Describe what is predicted."""
    first = predictions[0]
    of = f"of classes {first.pair[0]} and {first.pair[1]}" if len(predictions) == 1 else "of two classes"
    rows = f" ({sum(first.rows)} rows in the file)" if len(predictions) == 1 else ""
    features = f"{first.num_features} feature{'s' * (first.num_features > 1)}"
    return f"Predicted for a logistic fit to {first.settings.n} rows {of}{rows}, {features}:"


def arms_table(prediction: Prediction, check: Check | None) -> Any:
    """Return a rich table of each arm at its best penalties, and below what was measured."""
    table = _narrow_table("each arm at its best penalties, by NLL and by ECE", ARM_HEADINGS, 1)
    table.caption_justify = "left"
    if check is not None:
        table.caption = (
            f"measured: mean over {len(check.numbers.nll)} subsets; below, half of its {check.level:g} interval"
        )
    for cell in prediction.cells():
        for row in arm_rows(prediction, cell, check, lambda found: f"±{rounded(found.high - found.mean)}"):
            table.add_row(*row)
    return table


def pair_cells(prediction: Prediction) -> tuple[str, ...]:
    """Return the cells of a pair under `PAIR_HEADINGS`."""
    best = prediction.best("nll")
    has = prediction.has("mixup")
    bought = [rounded(gain(prediction, "mixup", number)) if has else "-" for number in ("nll", "scaled_nll")]
    decay = prediction.best("nll", ("decay",))
    pair, arm, penalty = prediction.pair, prediction.arms[best[0]], f"{prediction.penalties[best[1]]:g}"
    nlls = (rounded(prediction.at("nll", cell)) for cell in (best, decay))
    return (f"{pair[0]}, {pair[1]}", arm.short, penalty, *nlls, *bought, str(len(cautions(prediction))))


def pairs_table(predictions: Sequence[Prediction]) -> Any:
    """Return a rich table of pairs."""
    what = "each pair of classes, the best arm by NLL; Mixup gain: NLL below that of the best weight decay alone"
    table = _narrow_table(what, PAIR_HEADINGS, 2)
    for prediction in predictions:
        table.add_row(*pair_cells(prediction))
    return table


def _narrow_table(what: str, headings: Sequence[str], names: int) -> Any:
    """Return an empty rich table for 80 columns; the first columns hold names, the others numbers."""
    table = titled_table(what)
    table.padding = (0, 1, 0, 0)
    for k, heading in enumerate(headings):
        table.add_column(heading.replace(" ", "\n"), justify="left" if k < names else "right", no_wrap=True)
    return table


def arm_rows(
    prediction: Prediction, cell: Cell, check: Check | None, interval: Callable[[Measured], str]
) -> list[tuple[str, ...]]:
    """Return rows under `ARM_HEADINGS`: predicted and, with a check, measured means and their intervals."""
    arm, penalty = prediction.arms[cell[0]].name, f"{prediction.penalties[cell[1]]:g}"
    rows = [(arm, penalty, *(rounded(prediction.at(field, cell)) for field in Numbers._fields))]
    if check is not None:
        found = [check.at(field, cell) for field in Numbers._fields]
        rows.append(("  measured", "", *(rounded(each.mean) for each in found)))
        rows.append(("", "", *map(interval, found)))
    return rows
