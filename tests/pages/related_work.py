"""The numbers of docs/related_work.md."""

from __future__ import annotations

from tests.pages.logistic import CHOICES, PEAK, gains, peak
from tests.pages.tables import at, table

BIASES = {
    "plain": "ECE, equal width",
    "debiased": "ECE_2, debiased",
    "sweep": "ECE, sweep",
    "smooth": "smooth ECE",
    "kde": "KDE ECE",
}
VARIANTS = {
    **{name: name for name in ("RegMixup", "CutMix", "MIT", "RankMixup")},
    **{"digits": "mixup", "manifold": "manifold Mixup", "smoothing": "label smoothing", "decay": "weight decay"},
}


def numbers() -> dict[str, float]:
    kept = {name: value for name, value in peak().items() if name.endswith(".accuracy")}
    kept |= {name: value for name, value in gains().items() if name != "decay.smoothing"}
    return kept | choices() | low() | epochs() | nets() | biases()


def choices() -> dict[str, float]:
    """Return what Mixup and a weight decay do to the NLL after the best temperature."""
    arms = {
        arm: table(CHOICES, criterion="nll_scaled", arm=arm).nll_scaled_best.values
        for arm in ("none", "weight decay", "Mixup")
    }
    worse = arms["Mixup"] - arms["weight decay"]
    found = {"fixed.gain": (arms["none"] - arms["Mixup"]).max()}
    found |= {"instead.least": worse.min(), "instead.most": worse.max()}
    after = table(CHOICES, criterion="nll_scaled", arm="weight decay").penalty_best.values
    before = table(CHOICES, criterion="nll", arm="weight decay").penalty_best.values
    assert (after > before).all()
    return found | {"largest": (after == table(CHOICES).penalty_best.max()).sum()}


def low() -> dict[str, float]:
    """Return the accuracy at the p/n of the table that is nearest to .3."""
    rows = table(f"{PEAK}/penalty-arm-ratio.csv", "ratio > .29 and ratio < .3", penalty=1e-4)
    return {f"low.{arm}": rows[rows.arm == arm].accuracy.item() for arm in ("plain", "Mixup")}


def epochs() -> dict[str, float]:
    found = {}
    for number in (1, 5, 100):
        row = at(f"{PEAK}/epochs.csv", epochs=number)
        found |= {f"epochs.{number}": row.accuracy_pairs, f"epochs.{number}.half": 1.96 * row.accuracy_pairs_se}
    return found


def nets() -> dict[str, float]:
    found = with_half("wide", change("width_fashion_mnist", "mlp-1000x8"), sign=-1)
    found |= with_half("few", change("width_fashion_mnist_10000", "mlp-1000x8"), sign=-1)
    for name, arm in VARIANTS.items():
        found |= with_half(name, change("variants", "mlp-300x4", arm))
    for units in (30, 300):
        found |= with_half(f"temperature.{units}", change("temperature", f"mlp-{units}x8", evaluation="temperature"))
    return found | with_half("RegMixup.less", change("variants", "mlp-300x4", "RegMixup", base="mixup"), sign=-1)


def change(experiment: str, net: str, arm: str = "mixup", evaluation: str = "test", base: str = "erm"):
    """Return the change of the ECE against another arm, by default plain training, with its interval."""
    return at(f"training/{experiment}/summary.csv", net=net, arm=f"{arm} - {base}", evaluation=evaluation)


def with_half(name: str, row, sign: int = 1) -> dict[str, float]:
    return {name: sign * row.ece_mean, f"{name}.half": (row.ece_high - row.ece_low) / 2}


def biases() -> dict[str, float]:
    found = {}
    for name, estimator in BIASES.items():
        row = at("estimator_bias/law-size-estimator-bins.csv", law="calibrated", estimator=estimator, size=300, bins=15)
        found |= {f"bias.{name}": row.bias, f"bias.{name}.half": 1.96 * row.bias_se}
    return found
