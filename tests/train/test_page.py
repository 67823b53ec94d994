"""What docs/training.md says was found is what results/training holds."""

from __future__ import annotations

import csv
import json
import re

import pytest

from tests.paths import ROOT

RESULTS = ROOT / "results" / "training"
TEXT = " ".join((ROOT / "docs" / "training.md").read_text().split("## Found on digits")[1].split())
FASHION = TEXT.split("## Found on Fashion-MNIST")[1]


def table(experiment: str) -> list[dict[str, str]]:
    with (RESULTS / experiment / "summary.csv").open() as file:
        return list(csv.DictReader(file))


def rows(experiment: str) -> dict[tuple[str, str, float], dict[str, str]]:
    """Of an experiment with nets of one shape."""
    return {(row["arm"], row["evaluation"], float(row["severity"])): row for row in table(experiment)}


def of_nets(experiment: str, arm: str, evaluation: str = "test") -> dict[str, dict[str, str]]:
    """One arm, by the name of the net."""
    return {row["net"]: row for row in table(experiment) if (row["arm"], row["evaluation"]) == (arm, evaluation)}


def number(row: dict[str, str], name: str, digits: int = 3) -> str:
    """As the page writes it: .083, −.076."""
    text = f"{float(row[name]):.{digits}f}".replace("-", "−")
    return text.replace("0.", ".", 1) if text.lstrip("−").startswith("0.") else text


def with_interval(row: dict[str, str]) -> str:
    """An error that Mixup adds, or takes away."""
    return f"{number(row, 'ece_mean')} ({number(row, 'ece_low')} to {number(row, 'ece_high')})"


def percent(row: dict[str, str], name: str = "accuracy_mean") -> str:
    return f"{float(row[name]):.1%}".replace("%", " %")


def test_the_nets_as_they_are():
    found = {arm: row for (arm, evaluation, _), row in rows("variants").items() if evaluation == "test"}
    erm, mixup, paired = found["erm"], found["mixup"], found["mixup - erm"]
    assert f"right on {percent(erm)}" in TEXT
    assert f"(confidence − accuracy {number(erm, 'signed_gap_mean', 3)}, ECE {number(erm, 'ece_mean', 3)})" in TEXT
    assert f"{number(mixup, 'signed_gap_mean')}, ECE {number(mixup, 'ece_mean')}" in TEXT
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


@pytest.mark.parametrize(("experiment", "least", "most"), [("width", "10 units", "550"), ("depth", "one", "24")])
def test_width_and_depth_on_digits(experiment, least, most):
    """Worse at every size; less so in wider nets (but for what seeds make of it), and more so in deeper ones."""
    found = list(of_nets(experiment, "mixup - erm").values())
    assert all(float(row["ece_low"]) > 0 for row in found)
    errors = [float(row["ece_mean"]) for row in found]
    assert errors[-1] < errors[0] / 2 if experiment == "width" else errors == sorted(errors)
    first, last = with_interval(found[0]), with_interval(found[-1])
    if experiment == "width":
        assert f"by {first} at {least}, by {last} at {most}" in TEXT
    else:
        assert f"by {first} at {least} hidden layer, by {last} at {most}" in TEXT
    assert f"-{10 if experiment == 'width' else 80}x" in found[0]["net"]
    assert found[-1]["net"] == ("mlp-550x8" if experiment == "width" else "mlp-80x24")


def test_pseudo_labels_on_digits():
    found = {row["arm"]: row for row in table("pseudo_label")}
    right = re.search(r"accuracy (0\.\d+), ECE", (RESULTS / "pseudo_label" / "README.md").read_text())
    plain, inserted, mixed = (found[arm] for arm in ("supervised", "pseudo-label", "pseudo-label + Mixup"))
    assert right is not None
    assert f"rightly in {float(right[1]):.1%}".replace("%", " %") in TEXT
    assert f"{number(inserted, 'ece_mean')} and {number(plain, 'ece_mean')}. With Mixup" in TEXT
    assert f"it is {number(mixed, 'ece_mean')}, and the net is underconfident by" in TEXT
    assert f"underconfident by {number(mixed, 'signed_gap_mean').lstrip('−')}" in TEXT


def test_temperatures_on_digits():
    before = {arm: of_nets("temperature", arm)["mlp-30x8"] for arm in ("erm", "mixup")}
    after = {arm: of_nets("temperature", arm, "temperature")["mlp-30x8"] for arm in ("erm", "mixup")}
    errors = [number(row, "ece_mean") for row in (before["mixup"], after["mixup"], before["erm"], after["erm"])]
    assert "ECE of Mixup from {} to {}, and without Mixup from {} to {}".format(*errors) in TEXT
    for row in of_nets("temperature", "mixup - erm", "temperature").values():
        assert float(row["ece_low"]) < 0 < float(row["ece_high"])


def test_width_on_fashion_mnist():
    """The harm at 10 units and the gain beyond, which grows; accuracy is that of plain nets."""
    found = list(of_nets("width_fashion_mnist", "mixup - erm").values())
    plain = list(of_nets("width_fashion_mnist", "erm").values())
    least, most = plain[0], plain[-1]
    assert (least["net"], most["net"]) == ("mlp-10x8", "mlp-1000x8")
    for row, words in (
        (least, "by {} at 10 units, where it is right on {} of"),
        (most, "by {} at 1000, where it is on {}."),
    ):
        assert words.format(number(row, "signed_gap_mean"), percent(row, "train_accuracy_mean")) in FASHION
    assert f"at 10 units, by {with_interval(found[0])}, and lowers it" in FASHION
    for row, width in zip(found[1:], (30, 100, 300, 1000), strict=True):
        flipped = {name: number({name: str(-float(row[name]))}, name) for name in ("ece_mean", "ece_low", "ece_high")}
        assert f"by {flipped['ece_mean']} ({flipped['ece_high']} to {flipped['ece_low']}) at {width}" in FASHION
    assert f"where it leaves {number(of_nets('width_fashion_mnist', 'mixup')['mlp-1000x8'], 'ece_mean')}" in FASHION
    gains = [float(row["ece_mean"]) for row in found]
    assert gains == sorted(gains, reverse=True)
    gaps, fits = ([float(row[name]) for row in plain] for name in ("signed_gap_mean", "train_accuracy_mean"))
    assert gaps == sorted(gaps) and fits == sorted(fits)
    assert all(float(row["accuracy_low"]) < 0 < float(row["accuracy_high"]) for row in found)


def test_depth_on_fashion_mnist():
    found = of_nets("depth_fashion_mnist", "mixup - erm")
    plain = of_nets("depth_fashion_mnist", "erm")
    four = plain["mlp-80x4"]
    gap = number(four, "signed_gap_mean")
    assert f"right on {percent(four)} and {gap} more confident" in FASHION
    words = {1: "one hidden layer", 2: "two", 4: "four"}
    for depth, name in words.items():
        row = found[f"mlp-80x{depth}"]
        ends = f"({number(row, 'ece_high').lstrip('−')} to {number(row, 'ece_low').lstrip('−')})"
        assert f"{number(row, 'ece_mean').lstrip('−')} {ends} at {name}" in FASHION
    eight = found["mlp-80x8"]
    assert f"({number(eight, 'ece_low')} to {number(eight, 'ece_high')})" in FASHION
    assert f"by {with_interval(found['mlp-80x16'])} and {with_interval(found['mlp-80x24'])}" in FASHION
    fitted = [percent(plain[f"mlp-80x{depth}"], "train_accuracy_mean") for depth in (16, 24, 1)]
    assert "on {} and {} of the training images, against {} with one".format(*fitted) in FASHION
    deepest = plain["mlp-80x24"]
    assert number(plain["mlp-80x16"], "signed_gap_mean") in FASHION
    assert float(deepest["signed_gap_low"]) < 0 < float(deepest["signed_gap_high"])


def test_pseudo_labels_on_fashion_mnist():
    found = {row["arm"]: row for row in table("pseudo_label_fashion_mnist")}
    right = re.search(r"accuracy (0\.\d+), ECE", (RESULTS / "pseudo_label_fashion_mnist" / "README.md").read_text())
    assert right is not None and f"rightly in {float(right[1]):.1%}".replace("%", " %") in FASHION
    plain, inserted, mixed = (found[arm] for arm in ("supervised", "pseudo-label", "pseudo-label + Mixup"))
    added = found["pseudo-label - supervised"]
    lost = {name: str(-float(added[name])) for name in ("accuracy_mean", "accuracy_high", "accuracy_low")}
    ends = f"({number(lost, 'accuracy_high')} to {number(lost, 'accuracy_low')})"
    assert f"falls by {number(lost, 'accuracy_mean')} {ends}" in FASHION
    assert f"is {number(inserted, 'ece_mean')} in place of {number(plain, 'ece_mean')}" in FASHION
    assert f"({number(added, 'ece_low')} to {number(added, 'ece_high')})" in FASHION
    assert f"the ECE is {number(mixed, 'ece_mean')}, less" in FASHION
    for words, other in (("without by", "pseudo-label"), ("supervised net by", "supervised")):
        row = found[f"pseudo-label + Mixup - {other}"]
        gain = {name: str(-float(row[name])) for name in ("ece_mean", "ece_high", "ece_low")}
        ends = f"({number(gain, 'ece_high')} to {number(gain, 'ece_low')})"
        assert f"{words} {number(gain, 'ece_mean')} {ends}" in FASHION


@pytest.mark.parametrize("experiment", sorted(path.name for path in RESULTS.iterdir()))
def test_mixup_takes_confidence_away(experiment):
    """In every net and on every test set, as the page says."""
    found = [row for row in table(experiment) if row["evaluation"] != "temperature" and " - " in row["arm"]]
    arms = {"mixup - erm", "pseudo-label + Mixup - pseudo-label"}
    gaps = [float(row["signed_gap_mean"]) for row in found if row["arm"] in arms]
    assert gaps and max(gaps) < 0


def test_speed():
    text = " ".join((ROOT / "docs" / "training.md").read_text().split())
    ratios = json.loads((ROOT / "results" / "benchmarks" / "training" / "training.json").read_text())["results"]
    steps = ratios["steps"]["ratios"]
    names = ["MLP 784-400x8", "MLP 3072-400x8"]
    names += [f"PreAct ResNet-18, x{channels} channels, 28x28" for channels in ("0.125", "1")]
    small, color, eighth, whole = (f"{steps[name]:.2f}" for name in names)
    assert f"{small} times as many steps a second for images of 28×28 in grey, and {color} times" in text
    assert f"an eighth of the channels {eighth} times as many, and the whole ResNet-18 {whole}:" in text
