"""What docs/nets.md says in words is what results/training holds; its numbers are in tests/pages/nets.py."""

from __future__ import annotations

import pytest

from tests.pages.tables import table
from tests.paths import ROOT

RESULTS = sorted(path.name for path in (ROOT / "results" / "training").iterdir())
CHANGE = "mixup - erm"
BETTER = {"CutMix", "RegMixup"}  # of variants, in accuracy


def rows(result: str, arm: str = CHANGE, evaluation: str = "test"):
    return table(f"training/{result}/summary.csv", arm=arm, evaluation=evaluation)


def clear(found, metric: str = "ece") -> list[int]:
    """The sign of each difference whose interval excludes 0, and 0 for the others."""
    return [int(low > 0) - int(high < 0) for low, high in found[[f"{metric}_low", f"{metric}_high"]].to_numpy()]


def test_variants_that_learn_mixed_or_smoothed_labels_raise_the_ece_and_regmixup_least_of_them():
    """MIT and RankMixup learn labels of single rows; with them, and with weight decay, no change is clear."""
    nets = table("training/variants/summary.csv", "not arm.str.contains(' - ')").set_index("arm")
    changes = table("training/variants/summary.csv", "arm.str.endswith(' - erm')")
    found = dict(zip(changes.arm.str.removesuffix(" - erm"), clear(changes), strict=True))
    unclear = ["MIT", "RankMixup", "weight decay"]
    assert [name for name, sign in found.items() if not sign] == unclear
    assert all(sign == 1 for name, sign in found.items() if name not in unclear)
    assert nets.drop(["erm", *unclear]).ece_mean.idxmin() == "RegMixup"
    assert nets.nll_mean.idxmin() == "RegMixup"
    assert {name for name, sign in zip(found, clear(changes, "accuracy"), strict=True) if sign > 0} == BETTER


@pytest.mark.parametrize(
    ("shift", "signs"), [("rotation", [1, 1, -1, -1]), ("noise", [1, 1, 1, 1, -1, -1]), ("contrast", [1] * 6)]
)
def test_shifted_images(shift, signs):
    """Of nets that are not near chance; the harm of lost contrast grows up to 70 %."""
    found = rows("shift", evaluation=shift)
    found = found[found.at_chance == 0]
    assert clear(found) == signs
    if shift == "contrast":
        assert not found.ece_mean.is_monotonic_increasing
        assert found.ece_mean[found.severity <= 0.7].is_monotonic_increasing


def test_temperatures_on_digits():
    """After a temperature no difference is clear."""
    assert set(clear(rows("temperature"))) == {1}
    assert set(clear(rows("temperature", evaluation="temperature"))) == {0}


METRICS = ("ece", "rms_ece", "mce", "nll", "accuracy")
SIGNS = {  # of what Mixup changes in each metric, a sign a size; "" where the page says nothing
    "width": ("+" * 8, "+" * 8, "", "0" * 8, ""),
    "depth": ("+" * 9, "+" * 9, "", "+" * 9, ""),
    "width_fashion_mnist": ("+0---", "+0---", "000-0", "++---", "0-+++"),
    "width_fashion_mnist_augmented": ("++++", "++++", "0000", "++++", "----"),
    "depth_fashion_mnist_augmented": ("++++++", "++++++", "000000", "++++++", "------"),
    "width_fashion_mnist_10000": ("+0---", "+0---", "0--00", "00---", "00000"),
    "depth_fashion_mnist": ("-0++++", "--0+++", "000000", "---+++", "0+00--"),
    "depth_fashion_mnist_10000": ("---0++", "----++", "000000", "----0+", ""),
}


@pytest.mark.parametrize("result", SIGNS)
def test_signs_of_each_metric_by_width_and_depth(result):
    for metric, signs in zip(METRICS, SIGNS[result], strict=True):
        assert "".join("0+-"[sign] for sign in clear(rows(result), metric)) == signs or not signs, metric


def test_the_effect_on_the_ece_rises_with_depth_and_falls_with_width():
    """On digits it is the most at the least width."""
    for result in ("depth", "depth_fashion_mnist", "depth_fashion_mnist_10000"):
        assert rows(result).ece_mean.is_monotonic_increasing
    assert rows("depth_fashion_mnist_augmented").ece_mean[:-1].is_monotonic_increasing  # up to 16 layers
    assert rows("width_fashion_mnist").ece_mean.is_monotonic_decreasing
    assert rows("width").ece_mean.to_numpy().argmax() == 0


def test_nets_without_mixup_fit_the_better_the_wider_unless_images_are_augmented():
    """And the deepest fit worse and are underconfident. With crops and flips all are nearly calibrated."""
    for result in ("width_fashion_mnist", "width_fashion_mnist_10000"):
        assert rows(result, "erm").signed_gap_mean.is_monotonic_increasing
        assert rows(result, "erm").train_accuracy_mean.is_monotonic_increasing
    wide, deep = (rows(result, "erm") for result in ("width_fashion_mnist_augmented", "depth_fashion_mnist"))
    cropped = rows("depth_fashion_mnist_augmented", "erm")
    assert (wide.train_accuracy_mean < 0.9).all() and (cropped.train_accuracy_mean < 0.9).all()
    assert wide.signed_gap_mean.between(0, 0.02).all() and cropped.signed_gap_mean[:4].abs().max() < 0.01
    assert clear(cropped, "signed_gap")[-2:] == [-1, -1]
    assert clear(deep, "signed_gap") == [1] * 5 + [-1]
    assert deep.train_accuracy_mean.iloc[-3:].is_monotonic_decreasing


FASHION = tuple(f"{sizes}_fashion_mnist{end}" for sizes in ("width", "depth") for end in ("", "_augmented"))


@pytest.mark.parametrize("result", FASHION)
def test_mixup_helps_where_it_takes_less_than_twice_the_overconfidence(result):
    """...of the net without it, wherever its effect on the ECE is clear."""
    found, plain = rows(result), rows(result, "erm")
    takes_less = (-found.signed_gap_mean.to_numpy() < 2 * plain.signed_gap_mean.to_numpy()).tolist()
    assert all(less == (sign < 0) for less, sign in zip(takes_less, clear(found), strict=True) if sign)


@pytest.mark.parametrize("result", FASHION)
def test_mixup_lowers_the_best_temperature(result):
    """To less than 1 at every size; along the width it then varies less than without Mixup."""
    assert set(clear(rows(result), "test_temperature")) == {-1}
    plain, mixed = (rows(result, arm).test_temperature_mean for arm in ("erm", "mixup"))
    assert (mixed < 1).all()
    if result == "width_fashion_mnist":
        assert plain.is_monotonic_increasing and mixed.max() / mixed.min() < 1.3 < 2 < plain.max() / plain.min()


def test_pseudo_labels():
    """Those alone change no ECE clearly. Mixup lowers it on 5,000 images of Fashion-MNIST, and raises it on digits."""
    fashion, repair = "pseudo_label_fashion_mnist", "pseudo-label + Mixup - pseudo-label"
    assert [clear(rows(fashion, repair), metric) for metric in ("ece", "rms_ece", "nll")] == [[0], [-1], [-1]]
    for result, sign in ((fashion, 0), (f"{fashion}_5000", -1), ("pseudo_label", 1)):
        assert clear(rows(result, "pseudo-label - supervised")) == [0]
        assert clear(rows(result, repair)) == [sign]
        assert clear(rows(result, "pseudo-label + Mixup - supervised")) == [sign]


@pytest.mark.parametrize("result", RESULTS)
def test_mixup_takes_confidence_away(result):
    """In every net and on every test set, as the page says."""
    arms = "arm in ('mixup - erm', 'pseudo-label + Mixup - pseudo-label') and evaluation != 'temperature'"
    gaps = table(f"training/{result}/summary.csv", arms).signed_gap_mean
    assert len(gaps) and gaps.max() < 0
