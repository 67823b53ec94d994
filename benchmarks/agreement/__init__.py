"""Nets that mixjax trains beside nets of a plain PyTorch loop: the same data, other random numbers, the same results?

Each library trains nets on the same rows, with and without Mixup, with several seeds. Random numbers are each library's
own, so what is compared is means over seeds, in units of the standard error of their difference. Besides, PyTorch takes
the very steps of mixjax: the same first weights, batches and Mixup weights.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata

import numpy as np

from benchmarks.agreement import ours
from benchmarks.agreement.comparing import comparisons_section, summary_section
from benchmarks.agreement.figure import draw
from benchmarks.agreement.scores import differences_section
from benchmarks.agreement.tasks import ALPHAS, FULL, QUICK, Sizes
from benchmarks.report import Benchmark, Row, Section
from mixjax.commands import import_program


def measure(sizes: Sizes) -> Iterator[Section]:
    """Train with both libraries, compare their means, their metrics, and their steps."""
    theirs, following = (
        import_program(f"benchmarks.agreement.{name}", "bench,train", "the benchmark agreement")
        for name in ("plain", "following")
    )
    rows: list[Row] = []
    logits: list[tuple[np.ndarray, np.ndarray]] = []
    for task in sizes.tasks:
        dataset = task.load()
        print(f"       {task.name}: mixjax", file=sys.stderr)
        rows += ours.train(task, dataset, sizes.seeds)
        print(f"       {task.name}: PyTorch", file=sys.stderr)
        for row, scores in theirs.train(task, dataset, sizes.seeds):
            rows.append(row)
            logits.append((scores, dataset.test_labels))
    yield comparisons_section(rows, sizes.seeds)
    yield following.section(sizes.followed)
    yield differences_section(logits)
    text = f"Every net after its last epoch. The arms have alpha = {', '.join(f'{a:g}' for a in ALPHAS.values())}."
    yield Section("nets", "Every net", text, rows)


def about(_: Sizes) -> Row:
    """Name PyTorch."""
    return {"torch": metadata.version("torch")}


BENCHMARK = Benchmark(
    "agreement",
    "Training: mixjax beside a plain PyTorch loop",
    full=FULL,
    quick=QUICK,
    measure=measure,
    summary=summary_section,
    about=about,
    peers=("torch",),
    draw=draw,
)
