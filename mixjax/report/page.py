"""One HTML page that holds all of a report: pictures inline, no script, nothing to fetch.

The policy in its head forbids a browser to load anything else.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from mixjax.report.comparison import Comparison
from mixjax.report.figures import MOST_PANELS
from mixjax.report.metrics import Metric, Report
from mixjax.report.numbers import ends, estimate
from mixjax.report.terminal import class_cells, sentence_on_test

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 60rem; margin: 2rem auto;
  padding: 0 1.25rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
p, figcaption { max-width: 46rem; }
figure { margin: 1rem 0; }
figcaption, .quiet { color: #555; font-size: .875rem; }
img { display: block; width: 58rem; max-width: 100%; height: auto; }
img.column { width: 32rem; }
th:first-child, td:first-child { white-space: nowrap; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd; }
th { font-weight: 600; border-bottom-color: #888; }
.number { text-align: right; white-space: nowrap; }
td.quiet { white-space: normal; }
@media print { body { margin: 0; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def report_page(report: Report, pictures: Mapping[str, bytes], made: Mapping[str, object]) -> str:
    """Return the page of one file.

    Args:
      report: all numbers.
      pictures: "reliability.svg" and, with classes, "classes.svg".
      made: the origin of the page, which is the command and versions.
    """
    parts = [
        f"<h1>Calibration of {escape(report.file.name)}</h1>",
        f"<p>{escape(_rows(report))}.</p>",
        _picture("Reliability diagram", pictures["reliability.svg"], _caption(report)),
        "<h2>Errors and scores</h2>",
        _metrics(report.metrics, report.settings.level),
        f"<p>{escape(_sentence(report))}</p>",
        *_classes(report, pictures),
        *_settings((report,), made),
    ]
    return _page(f"Calibration of {report.file.name}", parts)


def comparison_page(
    comparison: Comparison, labels: Sequence[str], pictures: Mapping[str, bytes], made: Mapping[str, object]
) -> str:
    """Return the page of two files; `labels` are those of the legend."""
    reports = comparison.first, comparison.second
    title = f"Calibration of {labels[0]} and {labels[1]}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_rows(reports[0]))}, the same under both models.</p>",
        _picture("Reliability diagram of both models", pictures["reliability.svg"], _caption(reports[0])),
        "<h2>Differences</h2>",
        "<p>B minus A, with paired intervals: losses row by row; binned errors by resampling how many rows fall into "
        "each pair of bins. For errors, below 0 means that B is better.</p>",
        _metrics(comparison.differences, reports[0].settings.level),
    ]
    for report, label in zip(reports, labels, strict=True):
        parts += [f"<h2>{escape(label)}</h2>", _metrics(report.metrics, report.settings.level)]
        parts.append(f"<p>{escape(_sentence(report))}</p>")
        parts += _classes(report, {}, 3)
    return _page(title, [*parts, *_settings(reports, made)])


def _page(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int]) -> str:
    """Return a table of escaped text; the columns `numbers` are aligned to the right."""
    numeric = set(numbers)

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=number' if column in numeric else ''}>{escape(cell)}</{tag}>"
            for column, cell in enumerate(row)
        )

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', headings)}</tr></thead>\n" if headings else ""
    return f'<div class="scroll"><table>\n{head}<tbody>\n{body}\n</tbody></table></div>'


def _metrics(metrics: Iterable[Metric], level: float) -> str:
    rows = ((m.name, estimate(m.interval), ends(m.interval), m.meaning) for m in metrics)
    return _table(("", "estimate", f"interval, level {level:g}", "what it is"), rows, (1, 2))


def _classes(report: Report, pictures: Mapping[str, bytes], heading: int = 2) -> list[str]:
    if not report.classes:
        return []
    level = f"interval, level {report.settings.level:g}"
    headings = ("class", "rows", "frequency", "mean probability", "ECE", level, "signed gap", level)
    rows = [class_cells(report, k) for k in range(len(report.classes))]
    parts = [f"<h{heading}>Class by class</h{heading}>"]
    parts.append("<p>Of each class, its probability against whether it is the label.</p>")
    if "classes.svg" in pictures:
        which = "" if len(report.classes) <= MOST_PANELS else f" The {MOST_PANELS} classes with the largest ECE."
        parts.append(
            _picture(
                "Reliability diagrams of classes", pictures["classes.svg"], f"Bars and bands as above.{which}", "wide"
            )
        )
    return [*parts, _table(headings, rows, range(8))]


def _picture(what: str, svg: bytes, caption: str, kind: str = "column") -> str:
    data = base64.b64encode(svg).decode()
    image = f'<img class="{kind}" alt="{escape(what)}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>\n{image}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def _rows(report: Report) -> str:
    file = report.file
    binary = file.kind == "binary"
    scores = "confidences and whether each came true" if binary else f"{file.kind} of {file.num_classes} classes"
    dropped = f" ({file.dropped} with NaN were dropped)" if file.dropped else ""
    return f"{len(file)} rows{dropped}, {scores}"


def _caption(report: Report) -> str:
    level = report.settings.level
    return (
        "Points are the bins that hold rows, at their mean confidence and accuracy; below the diagonal is "
        "overconfident. Bars are Clopper and Pearson's intervals; the grey band, where drawn, is where the points of "
        f"calibrated scores lie. The level of both is {level:g}, for each bin by itself. Below, the histogram of "
        "confidence."
    )


def _sentence(report: Report) -> str:
    sentence = sentence_on_test(report)
    return f"{sentence[0].upper()}{sentence[1:]} (T-Cal, adaptive; small p-values speak against calibration)."


def _settings(reports: Sequence[Report], made: Mapping[str, object]) -> list[str]:
    settings = reports[0].settings
    rows = [(f"file {r.file.name}", f"{_rows(r)}; SHA-256 {r.file.sha256}") for r in reports]
    closed = {"left": "[l, r), the last closed", "right": "(l, r], the first closed"}[settings.closed]
    bins = f"{settings.num_bins}, {settings.binning}" + (f", {closed}" if settings.binning == "equal-width" else "")
    rows += [("bins", bins), ("level of intervals", f"{settings.level:g}")]
    rows += [("bootstrap samples", str(settings.replicates)), ("seed", str(settings.seed))]
    rows += [(name, str(value)) for name, value in made.items()]
    return ["<h2>Settings and versions</h2>", _table((), rows, ())]
