"""Figures of metrics against width and depth: their numbers are those of the table, and titles count what is clear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.figures.capacity import ratio_of_means
from mixjax.train.figures.lines import interval
from mixjax.train.runs.stored import Stored, stored_of
from mixjax.train.runs.summary import SeedSummary, summarize
from tests.train.figures.test_figures import BINS, drawn, records_of


def heights(ax: Any) -> dict[str, np.ndarray]:
    """Return what the lines of the arms are at, by their labels."""
    return {line.get_label(): line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 2}


def test_the_axis_is_labeled_at_the_sizes_that_were_trained(rng):
    (ax, *_) = drawn("depth", stored_of(records_of("depth", 2, rng))).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "8"]
    assert [float(place) for place in ax.get_xticks()] == [1, 8] and not len(ax.get_xticks(minor=True))


def test_the_relative_loss_is_a_ratio_of_means(rng):
    """Its line for no Mixup is 1 everywhere, and its interval that of the residuals of the ratio."""
    records = records_of("width", 3, rng)
    found = heights(drawn("width", stored_of(records), "relative_loss").axes[0])
    np.testing.assert_allclose(found["no Mixup"], 1)
    last = [r for r in records if r["evaluation"] == "test" and r["epoch"] == 2]
    nll = {(r["width"], r["arm"]): [] for r in last}
    for row in last:
        nll[row["width"], row["arm"]].append(row["nll"])
    expected = [np.mean(nll[width, "mixup"]) / np.mean(nll[width, "erm"]) for width in (10, 100)]
    np.testing.assert_allclose(found["Mixup"], expected, rtol=1e-4)  # the table has five digits


def test_the_temperature_of_the_test_set_is_drawn_below_the_signed_gap(rng):
    records = records_of("width", 3, rng)
    temperatures = {"erm": 1.5, "mixup": 0.75}
    for row in records:
        if row["evaluation"] == "test" and row["epoch"] == 2:
            row["test_temperature"] = temperatures[row["arm"]] + 0.001 * row["seed"]
    above, below = drawn("width", stored_of(records), "signed_gap").axes
    np.testing.assert_allclose(heights(below)["Mixup"], 0.751)
    np.testing.assert_allclose(heights(below)["no Mixup"], 1.501)
    assert below.get_title() == "Mixup: temperature lower at 2 of 2 widths" and above.get_ylabel()


def test_a_net_without_a_best_temperature_is_left_out_alone(rng):
    """One seed of a net is right on every image: the other nets keep their temperatures, and the caption says so."""
    figure = next(each for each in EXPERIMENTS["width"].figures if each.name == "signed_gap")
    records = records_of("width", 3, rng)
    for row in records:
        if row["evaluation"] == "test" and row["epoch"] == 2 and (row["width"], row["seed"]) != (100, 0):
            row["test_temperature"] = 1.5 + 0.1 * row["seed"]
    stored = stored_of(records)
    _, below = drawn("width", stored, "signed_gap").axes
    np.testing.assert_allclose(heights(below)["Mixup"], [1.6, np.nan])
    assert "Some seed has none in mlp-100x2." in figure.caption(stored)


def test_the_interval_of_a_ratio(rng):
    """Against the t interval of the residuals a - r b, which have mean 0."""
    above, below = rng.uniform(0.5, 1, (2, 6))
    found = ratio_of_means(summarize(above), summarize(below), summarize(above - below), 6)
    ratio = above.mean() / below.mean()
    residuals = (above - ratio * below) / below.mean()
    assert found.mean == pytest.approx(ratio)
    ends = stats.t.interval(0.95, 5, loc=ratio, scale=stats.sem(residuals))
    np.testing.assert_allclose((found.low, found.high), ends)
    alone = ratio_of_means(*(summarize(values[:1]) for values in (above, below, above - below)), 1)
    assert np.isnan([alone.low, alone.high]).all()


@pytest.mark.parametrize(
    ("metric", "ends"),
    [("ece", (0, 1)), ("accuracy", (0, 1)), ("signed_gap", (-1, 1)), ("nll", (0, 5)), ("relative_loss", (0, 5))],
)
def test_intervals_stay_in_the_range_of_the_metric(metric, ends):
    assert interval(SeedSummary(0.5, -3.0, 5.0, 1.0), metric) == ends
    assert interval(SeedSummary(0.5, 0.25, 0.75, 1.0), metric) == (0.25, 0.75)
    assert np.isnan(interval(SeedSummary(0.5, np.nan, np.nan, np.nan), metric)).all()


def test_bands_are_the_intervals_of_the_table(rng):
    stored = stored_of(records_of("width", 3, rng))
    (ax, *_) = drawn("width", stored).axes
    for band, arm in zip(ax.collections, ("erm", "mixup"), strict=True):
        own = [row.metrics["ece"] for row in stored.arms("test") if row.arm == arm]
        edges = {(round(float(x)), round(float(y), 6)) for x, y in band.get_paths()[0].vertices}
        expected = {(width, round(end, 6)) for width, each in zip((10, 100), own, strict=True)
                    for end in interval(each, "ece")}  # fmt: skip
        assert expected <= edges


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ((-0.05, -0.05), "Mixup: ECE lower at 2 of 2 widths"),
        ((0.05, -0.05), "Mixup: ECE lower at 1, higher at 1 of 2 widths"),
        ((0.0, 0.0), "Mixup: no clear change of ECE, 2 widths"),
    ],
)
def test_the_title_says_what_mixup_does(changes, title, rng):
    records = [row for row in records_of("width", 3, rng) if row["evaluation"] == "test"]
    for row in records:
        shift = changes[row["width"] == 100] * (row["arm"] == "mixup")
        row["ece"] = 0.1 + shift + 1e-3 * (row["seed"] - 1) * (1 if row["arm"] == "erm" else -1)
    assert drawn("width", stored_of(records)).axes[0].get_title() == title


def test_small_test_sets_have_no_figure_of_the_worst_bin(rng):
    stored = stored_of(records_of("width", 3, rng))
    assert stored.test_rows == 100 * BINS
    assert drawn("width", Stored(stored.rows, 355, []), "mce") is None
    assert drawn("width", stored, "mce") is not None
