"""What docs/training.md says was found is what results/training holds."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = " ".join((ROOT / "docs" / "training.md").read_text().split("## Found on digits")[1].split())


def rows(experiment: str) -> dict[tuple[str, str, float], dict[str, str]]:
    with (ROOT / "results" / "training" / experiment / "summary.csv").open() as file:
        return {(row["arm"], row["evaluation"], float(row["severity"])): row for row in csv.DictReader(file)}


def number(row: dict[str, str], name: str, digits: int) -> str:
    return f"{float(row[name]):.{digits}f}".lstrip("0")


def test_the_nets_as_they_are():
    found = {arm: row for (arm, evaluation, _), row in rows("variants").items() if evaluation == "test"}
    erm, mixup, paired = found["erm"], found["mixup"], found["mixup - erm"]
    assert f"right on {float(erm['accuracy_mean']):.1%}".replace("%", " %") in TEXT
    assert f"(confidence − accuracy {number(erm, 'signed_gap_mean', 3)}, ECE {number(erm, 'ece_mean', 3)})" in TEXT
    assert f"−{number(mixup, 'signed_gap_mean', 3).lstrip('-0')}, ECE {number(mixup, 'ece_mean', 3)}" in TEXT
    ends = f"{number(paired, 'ece_low', 3)} to {number(paired, 'ece_high', 3)}"
    assert f"by {number(paired, 'ece_mean', 3)}, 95 % interval {ends}" in TEXT
    for arm, words in (("Mixup, one lambda a row", "one lambda a row"), ("manifold Mixup",) * 2, ("CutMix",) * 2):
        assert f"{words} ({number(found[arm], 'ece_mean', 3)})" in TEXT
    best = found["RegMixup"]
    assert f"to ECE ({number(best, 'ece_mean', 3)})" in TEXT
    assert f"NLL ({number(best, 'nll_mean', 3)} against {number(erm, 'nll_mean', 3)})" in TEXT
    nets = [row for arm, row in found.items() if " - " not in arm]
    assert (
        best == max(nets, key=lambda row: float(row["accuracy_mean"])) == min(nets, key=lambda r: float(r["nll_mean"]))
    )
    assert best == min((row for row in nets if row is not erm), key=lambda row: float(row["ece_mean"]))


@pytest.mark.parametrize(
    ("shift", "severity", "words"),
    [
        ("rotation", 10.0, "ECE {erm} without, {mixup} with it"),
        ("rotation", 20.0, "it is {erm} without and {mixup} with Mixup"),
        ("rotation", 30.0, "{erm} and {mixup}. With noise"),
        ("noise", 0.5, "it is {erm} and {mixup}. Where"),
        ("contrast", 0.7, "less contrast {erm} and {mixup}"),
    ],
)
def test_shifted_images(shift, severity, words):
    """Only of nets that are not near chance, whose calibration says nothing."""
    found = {arm: rows("shift")[arm, shift, severity] for arm in ("erm", "mixup")}
    assert all(row["at_chance"] == "0" for row in found.values())
    assert words.format(**{arm: number(row, "ece_mean", 2) for arm, row in found.items()}) in TEXT
