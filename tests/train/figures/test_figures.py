"""Every figure of every experiment, drawn from records alone; captions say the seeds."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.plots import paper_style, write_figures
from mixjax.train.data.shifts import SHIFTS
from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.loop.metrics import METRICS

BINS = 15
ARMS = {
    "pseudo_label": ("supervised", "pseudo-label", "pseudo-label + Mixup"),
    "variants": ("erm", "mixup", "mixup, one lambda a row", "cutmix", "manifold mixup", "regmixup"),
}


def records_of(name: str, seeds: int, rng: np.random.Generator, accuracy: float = 0.9) -> list[dict[str, object]]:
    """What a run of the experiment leaves: two nets, two epochs, numbers made up."""
    records: list[dict[str, object]] = []
    for width, depth in ((10, 2), (100, 2)) if name != "depth" else ((10, 1), (10, 8)):
        for arm in ARMS.get(name, ("erm", "mixup")):
            for seed in range(seeds):
                net = {
                    "job": f"mlp-{width}x{depth}-{arm}",
                    "net": f"mlp-{width}x{depth}",
                    "width": width,
                    "depth": depth,
                }
                common = {**net, "arm": arm, "seed": seed, "classes": 10, "alpha": 1.0}
                records += [*scored(common, accuracy, rng, name), *further(common, accuracy, rng, name)]
    return records


def figures(accuracy: float, rng: np.random.Generator) -> dict[str, float]:
    return {metric: float(rng.uniform(0.01, 0.2)) for metric in METRICS} | {"accuracy": accuracy}


def scored(common, accuracy, rng, name):
    for epoch in (1, 2):
        more = {f"pseudo_label_{metric}": 0.5 for metric in ("accuracy", "ece", "signed_gap")}
        inserted = more if name == "pseudo_label" and epoch == 1 and common["arm"] != "supervised" else {}
        yield {**common, "epoch": epoch, "evaluation": "test", **figures(accuracy, rng), **inserted}
    table = {"count": [20] * BINS, "confidence": list(np.linspace(0.05, 1, BINS)), "accuracy_in_bin": [0.5] * BINS}
    yield {**common, "epoch": 2, "evaluation": "reliability", **table}


def further(common, accuracy, rng, name):
    if name == "temperature":
        fitted = {"temperature": 1.5, "fitted": True, "held_out": 20}
        yield {**common, "epoch": 2, "evaluation": "temperature", **figures(accuracy, rng), **fitted}
    if name == "shift":
        for shift, what in SHIFTS.items():
            for severity in what.severities:
                yield {**common, "epoch": 2, "evaluation": shift, "severity": severity, **figures(accuracy, rng)}


SLOW = {"depth": pytest.param("depth", marks=pytest.mark.slow)}  # its figures are those of `width`


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [SLOW.get(name, name) for name in EXPERIMENTS])
def test_each_is_drawn_and_says_how_many_seeds(name, tmp_path, rng):
    pictures = write_figures(EXPERIMENTS[name].figures, records_of(name, 3, rng), tmp_path)
    assert pictures
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5_000
        assert "3 seeds" in picture.with_suffix(".txt").read_text(), picture.stem
    assert not list(tmp_path.glob(".tmp-*"))


@pytest.mark.parametrize("name", ["width", "depth"])
def test_one_seed_is_said_to_be_one(name, rng):
    for figure in EXPERIMENTS[name].figures:
        caption = figure.caption(records_of(name, 1, rng)).lower()
        assert "one seed" in caption or "1 seed " in caption, figure.name


def test_nets_at_chance_are_hollow_and_the_caption_says_so(rng):
    """Report 29."""
    figure = EXPERIMENTS["width"].figures[0]
    for accuracy, hollow in ((0.9, False), (0.2, True)):
        records = records_of("width", 2, rng, accuracy)
        with paper_style():
            (ax, *_) = figure.draw(records).axes
        faces = {line.get_markerfacecolor() for line in ax.lines if line.get_marker() in "os" and len(line.get_xdata())}
        assert ("white" in faces) is hollow
        assert ("Hollow points" in figure.caption(records)) is hollow


def test_nets_of_another_depth_are_not_put_on_one_line(rng):
    """`temperature --depth 2,4`: the figure is of one depth, and says which."""
    (figure,) = EXPERIMENTS["temperature"].figures
    shallow = records_of("temperature", 2, rng)
    deep = [{**row, "depth": 4, "net": f"mlp-{row['width']}x4", "job": f"{row['job']}-4"} for row in shallow]
    with paper_style():
        (ax, *_) = figure.draw(shallow + deep).axes
    assert {len(line.get_xdata()) for line in ax.lines if line.get_linestyle() != "None"} == {2}
    assert "of depth 4" in figure.caption(shallow + deep)


def test_the_relative_loss_is_of_the_same_seed(rng):
    """Its line for no Mixup is 1 everywhere."""
    figure = next(each for each in EXPERIMENTS["width"].figures if each.name == "relative_loss")
    records = records_of("width", 2, rng)
    with paper_style():
        (ax, *_) = figure.draw(records).axes
    heights = {line.get_label(): line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 2}
    np.testing.assert_allclose(heights["no Mixup"], 1)
    last = [r for r in records if r["evaluation"] == "test" and r["epoch"] == 2]
    nll = {(r["width"], r["arm"], r["seed"]): r["nll"] for r in last}
    expected = [np.mean([nll[w, "mixup", s] / nll[w, "erm", s] for s in (0, 1)]) for w in (10, 100)]
    np.testing.assert_allclose(heights["Mixup"], expected)
