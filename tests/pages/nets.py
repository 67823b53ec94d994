"""The numbers of docs/nets.md."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd
from scipy.special import stdtrit

from tests.pages.tables import at
from tests.paths import ROOT

RESULTS = "training"
CHANGE = "mixup - erm"
LAYERS = (1, 2, 4, 8, 16, 24)
DIGITS_LAYERS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
DIGITS_UNITS = (10, 18, 30, 55, 100, 180, 300, 550)
UNITS = (10, 30, 100, 300)
FASHION_UNITS = (*UNITS, 1000)
INSERTED = {"alone": "supervised", "added": "pseudo-label", "mixed": "pseudo-label + Mixup"}
VARIANTS = {
    **{"plain": "erm", "mixup": "mixup", "row": "Mixup, one lambda a row", "manifold": "manifold Mixup"},
    **{"cutmix": "CutMix", "reg": "RegMixup", "mit": "MIT", "rank": "RankMixup"},
    **{"smoothing": "label smoothing", "decay": "weight decay"},
}


def numbers() -> dict[str, float]:
    return (
        variants() | shifts() | width() | depth() | pseudo_labels() | temperatures()
        | fashion_width() | augmented() | fashion_depth() | fashion_pseudo_labels()
    )  # fmt: skip


def of(result: str, arm: str, evaluation: str = "test", **values: object) -> pd.Series:
    """Return the row of an arm of a result."""
    return at(f"{RESULTS}/{result}/summary.csv", arm=arm, evaluation=evaluation, **values)


def interval(name: str, row: pd.Series, metric: str = "ece", sign: int = 1) -> dict[str, float]:
    """Return a mean and the ends of its interval; with the sign -1 those of what is lost."""
    ends = sorted(sign * row[f"{metric}_{end}"] for end in ("low", "high"))
    return {name: sign * row[f"{metric}_mean"], f"{name}.low": ends[0], f"{name}.high": ends[1]}


def unpaired(name: str, one: pd.Series, other: pd.Series, metric: str = "ece") -> dict[str, float]:
    """Return one mean minus another of other nets, with the interval of Welch."""
    parts = [(row[f"{metric}_sd"] ** 2 / row.seeds, row.seeds - 1) for row in (one, other)]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / count for part, count in parts)
    reach = stdtrit(freedom, 0.975) * variance**0.5
    found = one[f"{metric}_mean"] - other[f"{metric}_mean"]
    return {name: found, f"{name}.low": found - reach, f"{name}.high": found + reach}


def accuracies(name: str, result: str, evaluation: str = "test", **values: object) -> dict[str, float]:
    """Return the accuracy without and with Mixup."""
    return {f"{name}.{arm}": of(result, arm, evaluation, **values).accuracy_mean for arm in ("erm", "mixup")}


def widest(rows: Iterable[pd.Series], metric: str = "accuracy") -> float:
    """Return the end of an interval that is farthest from 0."""
    return max(abs(row[f"{metric}_{end}"]) for row in rows for end in ("low", "high"))


def variants() -> dict[str, float]:
    values = {}
    for short, arm in VARIANTS.items():
        row = of("variants", arm)
        values |= {f"{short}.accuracy": row.accuracy_mean, f"{short}.ece": row.ece_mean}
        values |= {f"{short}.gap": row.signed_gap_mean}
        values |= interval(f"{short}.harm", of("variants", f"{arm} - erm")) if short != "plain" else {}
    values |= {f"{short}.nll": of("variants", arm).nll_mean for short, arm in (("plain", "erm"), ("reg", "RegMixup"))}
    values |= interval("mit.nll.rise", of("variants", "MIT - erm"), "nll")
    values |= interval("rank.nll.gain", of("variants", "RankMixup - erm"), "nll", -1)
    values |= interval("decay.nll.gain", of("variants", "weight decay - erm"), "nll", -1)
    values |= interval("decay.shift", of("variants", "weight decay - erm"), "signed_gap", -1)
    values |= interval("cutmix.better", of("variants", "CutMix - erm"), "accuracy")
    change = of("variants", "RegMixup - erm")
    return values | interval("reg.better", change, "accuracy") | interval("reg.nll.gain", change, "nll", -1)


def shifts() -> dict[str, float]:
    def row(arm: str, shift: str, severity: float) -> pd.Series:
        return of("shift", arm, shift, severity=severity)

    values = {}
    for shift, severities in {"rotation": (10, 20, 30), "noise": (0.1, 0.2, 0.3, 0.4, 0.5)}.items():
        for severity in severities:
            change = row(CHANGE, shift, severity)
            sign = 1 if change.ece_mean > 0 else -1
            values |= interval(f"{shift}.{severity:g}", change, sign=sign)
            values |= accuracies(f"{shift}.{severity:g}", "shift", shift, severity=severity)
    values |= {"rotation.gap": row("erm", "rotation", 30).signed_gap_mean}
    for arm in ("erm", "mixup"):
        pale = row(arm, "contrast", 0.7)
        values |= {f"contrast.{arm}": pale.ece_mean, f"contrast.{arm}.accuracy": pale.accuracy_mean}
    return values | interval("contrast", row(CHANGE, "contrast", 0.7))


def width() -> dict[str, float]:
    def row(arm: str, units: int) -> pd.Series:
        return of("width", arm, net=f"mlp-{units}x8")

    values = {}
    for units in (10, 18, 550):
        values |= interval(f"width.{units}", row(CHANGE, units))
        values |= accuracies(f"width.{units}", "width", net=f"mlp-{units}x8")
    values |= {"width.accuracies": widest(row(CHANGE, units) for units in DIGITS_UNITS[1:])}
    values |= interval("width.lost", row(CHANGE, 10), "accuracy", -1)
    narrow = row("mixup", 10)
    values |= {"width.failed": narrow.train_accuracy_mean, "width.plain": row("erm", 10).train_accuracy_mean}
    values |= temperatures_of("width", [f"mlp-{units}x8" for units in DIGITS_UNITS])
    ratios = [
        row("mixup", units).test_temperature_mean / row("erm", units).test_temperature_mean for units in DIGITS_UNITS
    ]
    values |= {"digits.ratio.least": min(ratios)}
    return values | unpaired("width.shrinks", row(CHANGE, 18), row(CHANGE, 550))


def temperatures_of(result: str, nets: list[str]) -> dict[str, float]:
    """Return the least and the greatest mean of the best temperatures, with Mixup and without."""
    values = {}
    for arm in ("erm", "mixup"):
        best = [of(result, arm, net=net).test_temperature_mean for net in nets]
        values |= {f"{result}.temperature.{arm}.least": min(best), f"{result}.temperature.{arm}.most": max(best)}
    return values


def depth() -> dict[str, float]:
    def rows(arm: str) -> dict[int, pd.Series]:
        return {layers: of("depth", arm, net=f"mlp-80x{layers}") for layers in DIGITS_LAYERS}

    changes, nets = rows(CHANGE), [*rows("erm").values(), *rows("mixup").values()]
    values = {"depth.accuracies": widest(changes.values()), "depth.least": min(net.accuracy_mean for net in nets)}
    values |= temperatures_of("depth", [f"mlp-80x{layers}" for layers in DIGITS_LAYERS])
    return values | interval("depth.1", changes[1]) | interval("depth.24", changes[24])


def inserted(name: str, result: str) -> dict[str, float]:
    """Return the ECE of each arm, and how many pseudo-labels are right: the caption has it, the table last epochs."""
    caption = (ROOT / "results" / RESULTS / result / "figures" / "epochs.txt").read_text()
    found = re.search(r"accuracy (0\.\d+), ECE", caption)
    assert found is not None
    errors = {f"{name}.{short}": of(result, arm).ece_mean for short, arm in INSERTED.items()}
    change = interval(f"{name}.change", of(result, "pseudo-label - supervised"))
    return errors | change | {f"{name}.inserted": float(found[1])}


def pseudo_labels() -> dict[str, float]:
    values = inserted("digits", "pseudo_label")
    values |= {f"digits.{short}.accuracy": of("pseudo_label", arm).accuracy_mean for short, arm in INSERTED.items()}
    values |= {"digits.gap": -of("pseudo_label", "pseudo-label + Mixup").signed_gap_mean}
    return values | interval("digits.harm", of("pseudo_label", "pseudo-label + Mixup - supervised"))


def temperatures() -> dict[str, float]:
    values = {}
    for units in UNITS:
        for arm in ("erm", "mixup"):
            for evaluation in ("test", "temperature"):
                row = of("temperature", arm, evaluation, net=f"mlp-{units}x8")
                values[f"temperature.{units}.{arm}.{evaluation}"] = row.ece_mean
            values[f"temperature.{units}.{arm}.accuracy"] = row.accuracy_mean
        change = of("temperature", CHANGE, "temperature", net=f"mlp-{units}x8")
        values |= interval(f"temperature.{units}.change", change)
    for arm in ("erm", "mixup"):
        nets = [of("temperature", arm, "temperature", net=f"mlp-{units}x8") for units in UNITS]
        values[f"temperature.{arm}.kept"] = sum(net.seeds * (1 - net.fitted_mean) for net in nets)
    return values


def fashion_width() -> dict[str, float]:
    values = fashion("width", "units", [f"mlp-{units}x8" for units in FASHION_UNITS], FASHION_UNITS)
    hundred, most, widest = (of("width_fashion_mnist", CHANGE, net=f"mlp-{units}x8") for units in (100, 300, 1000))
    mixed = of("width_fashion_mnist", "mixup", net="mlp-1000x8")
    values |= interval("units.mixed.gap", mixed, "signed_gap")
    return values | unpaired("units.grows", hundred, most) | unpaired("units.beyond", most, widest)


def augmented() -> dict[str, float]:
    nets = {str(units): ("width", f"mlp-{units}x8") for units in UNITS}
    nets |= {f"layers.{layers}": ("depth", f"mlp-80x{layers}") for layers in LAYERS}
    values = {}
    for size, (result, net) in nets.items():
        arms = {arm: of(f"{result}_fashion_mnist_augmented", arm, net=net) for arm in ("erm", "mixup", CHANGE)}
        values |= interval(f"crops.{size}", arms[CHANGE])
        for arm in ("erm", "mixup"):
            for name, metric in (("ece", "ece"), ("acc", "accuracy"), ("temperature", "test_temperature")):
                values[f"crops.{arm}.{name}.{size}"] = arms[arm][f"{metric}_mean"]
        values[f"crops.gap.{size}"] = arms["erm"].signed_gap_mean
        values[f"crops.fit.{size}"] = arms["erm"].train_accuracy_mean
    return values


def fashion_depth() -> dict[str, float]:
    values = fashion("depth", "layers", [f"mlp-80x{layers}" for layers in LAYERS], LAYERS)
    few = of("depth_fashion_mnist_10000", "erm", net="mlp-80x4")
    for layers in (1, 16):
        change = of("depth_fashion_mnist", CHANGE, net=f"mlp-80x{layers}")
        values |= interval(f"layers.shift.{layers}", change, "signed_gap", -1)
    values |= {"few.layers.gap": few.signed_gap_mean, "few.layers.accuracy": few.accuracy_mean}
    pairs = [f"{name}.{{}}.{size}" for name, sizes in (("layers", LAYERS), ("units", FASHION_UNITS)) for size in sizes]
    every = values | fashion_width()
    ratios = [every[pair.format("mixup")] / every[pair.format("erm")] for pair in pairs]
    nets = [("depth", f"mlp-80x{layers}") for layers in LAYERS] + [
        ("width", f"mlp-{units}x8") for units in FASHION_UNITS
    ]
    shifts = [-of(f"{result}_fashion_mnist", CHANGE, net=net).signed_gap_mean for result, net in nets]
    values |= {"shift.least": min(shifts), "shift.most": max(shifts)}
    return values | {"ratio.least": min(ratios), "ratio.most": max(ratios)}


def fashion(result: str, name: str, nets: list[str], sizes: tuple[int, ...]) -> dict[str, float]:
    """Return what Mixup changes with 10,000 images and with all, and how nets fit that were trained on all."""
    values = {}
    for net, size in zip(nets, sizes, strict=True):
        values |= interval(f"few.{name}.{size}", of(f"{result}_fashion_mnist_10000", CHANGE, net=net))
        every = {arm: of(f"{result}_fashion_mnist", arm, net=net) for arm in ("erm", "mixup", CHANGE)}
        values |= interval(f"{name}.{size}", every[CHANGE]) | interval(f"{name}.acc.{size}", every[CHANGE], "accuracy")
        plain = every["erm"]
        values |= {f"{name}.gap.{size}": plain.signed_gap_mean, f"{name}.fit.{size}": plain.train_accuracy_mean}
        values |= {f"{name}.accuracy.{size}": plain.accuracy_mean}
        for arm in ("erm", "mixup"):
            values |= interval(f"{name}.{arm}.{size}", every[arm], "test_temperature")
    return values


def fashion_pseudo_labels() -> dict[str, float]:
    values = {}
    for name, ending in (("fashion", ""), ("fashion.few", "_5000")):
        result = f"pseudo_label_fashion_mnist{ending}"
        values |= inserted(name, result)
        values |= {f"{name}.{short}.accuracy": of(result, arm).accuracy_mean for short, arm in INSERTED.items()}
        values |= {f"{name}.{short}.gap": of(result, arm).signed_gap_mean for short, arm in INSERTED.items()}
        values |= interval(f"{name}.gained", of(result, "pseudo-label - supervised"), "accuracy")
        values |= interval(f"{name}.repair", of(result, "pseudo-label + Mixup - pseudo-label"))
        values |= interval(f"{name}.beyond", of(result, "pseudo-label + Mixup - supervised"))
    repair = of("pseudo_label_fashion_mnist", "pseudo-label + Mixup - pseudo-label")
    values |= interval("fashion.repair.rms", repair, "rms_ece") | interval("fashion.repair.nll", repair, "nll")
    return values | {"fashion.shift": -repair.signed_gap_mean}
