"""One HTML page that holds all of a prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from mixjax.prediction.answer import sentences, summary
from mixjax.prediction.cautions import cautions
from mixjax.prediction.features import FileFeatures
from mixjax.prediction.measuring import Check, Measured
from mixjax.prediction.table import NAMES, Numbers, Prediction
from mixjax.prediction.terminal import ARM_HEADINGS, PAIR_HEADINGS, arm_rows, pair_cells, title
from mixjax.report.html import html_page, html_picture, html_table
from mixjax.report.numbers import rounded

_CAPTION = (
    "Above 0 a classifier is overconfident, below 0 underconfident. A filled marker shows the least NLL of an arm. "
    "Hollow markers, if any, were measured, with the interval of their mean over subsets; arms are drawn side by side."
)
_MEANING = (
    "Mixup is lambda ~ Beta(alpha, alpha) over all pairs of rows. The penalty multiplies |w|^2 / 2 on the scale of the "
    'mean loss (scikit-learn\'s C is 1 / (penalty n)). NLL is in nats. "Scaled" means after the best '
    "temperature: for the prediction that of infinitely many held-out rows, for a fit that of the rows it is "
    "scored on. Mixup gain is how far Mixup lowers the NLL of the best weight decay alone. Measured ECEs have 15 bins "
    "of equal width, and noise biases them upwards."
)


def prediction_page(
    file: FileFeatures,
    predictions: Sequence[Prediction],
    checks: Sequence[Check | None],
    pictures: Mapping[str, bytes],
    made: Mapping[str, object],
) -> str:
    """Return the page.

    Args:
      file: the features.
      predictions: one for each pair of classes.
      checks: what was measured of each, if anything was.
      pictures: files by name, of which `picture_name(prediction) + ".svg"` is drawn.
      made: the origin of the page, which is the command and versions.
    """
    heading = f"Will Mixup help? {file.name}"
    parts = [f"<h1>{escape(heading)}</h1>", f"<p>{escape(title(predictions))}</p>"]
    if len(predictions) > 1:
        parts += [_list(summary(predictions, checks)), "<h2>Pairs of classes</h2>"]
        parts.append(html_table(PAIR_HEADINGS, map(pair_cells, predictions), range(2, len(PAIR_HEADINGS))))
    for prediction, check in zip(predictions, checks, strict=True):
        parts += _pair(prediction, check, pictures, len(predictions) > 1)
    return html_page(
        heading, [*parts, f"<p class=quiet>{escape(_MEANING)}</p>", *_settings(file, predictions[0], made)]
    )


def picture_name(prediction: Prediction) -> str:
    """Return the name of the figure of a pair, without its suffix."""
    return f"prediction_{prediction.pair[0]}_{prediction.pair[1]}"


def _pair(prediction: Prediction, check: Check | None, pictures: Mapping[str, bytes], several: bool) -> list[str]:
    parts = []
    if several:
        parts.append(f"<h2>Classes {prediction.pair[0]} and {prediction.pair[1]}, {sum(prediction.rows)} rows</h2>")
    parts.append(_list(sentences(prediction, check)))
    warned = cautions(prediction)
    if warned:
        heading = "h3" if several else "h2"
        parts += [f"<{heading}>Cautions</{heading}>", _list(warned)]
    svg = pictures.get(f"{picture_name(prediction)}.svg")
    if svg is not None:
        parts.append(html_picture("Signed gap and NLL against the penalty", svg, _CAPTION))
    measured = f"; below, the mean that was measured and its interval, level {check.level:g}" if check else ""
    parts.append(f"<p>Each arm at its best penalties, by NLL and by ECE, as predicted{measured}:</p>")
    rows = (row for cell in prediction.cells() for row in arm_rows(prediction, cell, check, _interval))
    parts.append(html_table(ARM_HEADINGS, rows, range(1, len(ARM_HEADINGS))))
    if not several:
        parts += _every_number(prediction)
    return parts


def _interval(found: Measured) -> str:
    return f"[{rounded(found.low, 3)}, {rounded(found.high, 3)}]"


def _every_number(prediction: Prediction) -> list[str]:
    """Return a table of each number: arms by penalties."""
    parts = ["<h2>Every penalty</h2>"]
    headings = ("penalty", *(arm.name for arm in prediction.arms))
    for field, name in zip(Numbers._fields, NAMES, strict=True):
        rows = (
            (f"{penalty:g}", *(rounded(prediction.at(field, (arm, k))) for arm in range(len(prediction.arms))))
            for k, penalty in enumerate(prediction.penalties)
        )
        parts += [f"<h3>{escape(name)}</h3>", html_table(headings, rows, range(len(headings)))]
    return parts


def _list(lines: Sequence[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(line)}</li>" for line in lines) + "\n</ul>"


def _settings(file: FileFeatures, first: Prediction, made: Mapping[str, object]) -> list[str]:
    dropped = f" ({file.dropped} with NaN were dropped)" if file.dropped else ""
    size = f"{len(file.labels)} rows{dropped}, {file.x.shape[1]} features, {len(file.classes)} classes"
    rows = [(f"file {file.name}", f"{size}; SHA-256 {file.sha256}"), ("rows of a fit", str(first.settings.n))]
    rows.append(("penalties", ", ".join(f"{penalty:g}" for penalty in first.penalties)))
    if first.settings.subsets:
        rows += [("subsets", str(first.settings.subsets)), ("seed", str(first.settings.seed))]
    rows += [(name, str(value)) for name, value in made.items()]
    return ["<h2>Settings and versions</h2>", html_table((), rows, ())]
