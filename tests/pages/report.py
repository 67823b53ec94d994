"""The numbers of docs/report.md, of what `docs/digits.py` prints for five seeds (results/digits)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from scipy import stats

from tests.paths import ROOT

SEEDS = 5
METRICS = {"accuracy": "accuracy", "ECE": "ECE", "gap": "signed gap"}


def numbers() -> dict[str, float]:
    return dict(found())


def found() -> Iterator[tuple[str, float]]:
    """Yield means over seeds, and the 95 % interval of the difference (Student's t)."""
    for data in ("clean", "noisy"):
        for name, metric in METRICS.items():
            plain, mixup, difference = np.transpose([row(data, seed, metric) for seed in range(SEEDS)])
            yield f"{data}.{name}.plain", plain.mean()
            yield f"{data}.{name}.mixup", mixup.mean()
            yield f"{data}.{name}.difference", difference.mean()
            half = stats.t(SEEDS - 1).ppf(0.975) * difference.std(ddof=1) / SEEDS**0.5
            yield f"{data}.{name}.low", difference.mean() - half
            yield f"{data}.{name}.high", difference.mean() + half
    mixed = [row("clean", seed, "ECE")[1] for seed in range(SEEDS)]
    yield from (("clean.least", min(mixed)), ("clean.most", max(mixed)))


def row(data: str, seed: int, metric: str) -> list[float]:
    """Return plain, Mixup and their difference, as printed."""
    text = (ROOT / "results" / "digits" / f"{data}-{seed}.txt").read_text().replace("−", "-")
    match = re.search(rf"^ +{metric} +(-?[\d.]+) +(-?[\d.]+) +(-?[\d.]+) +\[", text, re.MULTILINE)
    assert match is not None
    return [float(number) for number in match.groups()]
