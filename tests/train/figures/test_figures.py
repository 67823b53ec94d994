"""Every figure of every experiment, drawn from what is stored; captions say the seeds, and bands are 95 % intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mixjax.plots import COLUMN_WIDTH, paper_style, write_figures
from mixjax.train.data.shifts import SHIFTS
from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.figures.lines import seeds_range
from mixjax.train.loop.metrics import METRICS
from mixjax.train.runs.options import configured
from mixjax.train.runs.stored import Stored, rows_of, stored_of
from mixjax.train.runs.summary import summary_csv

BINS = 15


def arms_of(name: str) -> list[str]:
    jobs = EXPERIMENTS[name].jobs(configured(name, "quick"))
    return list(dict.fromkeys(arm.name for job in jobs for arm in job.arms))


def drawn(name: str, stored: Stored, figure: str | None = None) -> Any:
    """Draw a figure of an experiment: the first, or that of a name."""
    figures = EXPERIMENTS[name].figures
    with paper_style():
        return next(each for each in figures if figure in (None, each.name)).draw(stored)


def records_of(name: str, seeds: int, rng: np.random.Generator, accuracy: float = 0.9) -> list[dict[str, object]]:
    """What a run of the experiment leaves: two nets, two epochs, numbers made up."""
    records: list[dict[str, object]] = []
    for width, depth in ((10, 2), (100, 2)) if name != "depth" else ((10, 1), (10, 8)):
        net = f"mlp-{width}x{depth}"
        for arm in arms_of(name):
            for seed in range(seeds):
                common = {"job": f"{net}-{arm}", "net": net, "width": width, "depth": depth}
                common |= {"arm": arm, "seed": seed, "classes": 10, "alpha": 1.0}
                records += [*scored(common, accuracy, rng, name), *further(common, accuracy, rng, name)]
    return records


def figures(accuracy: float, rng: np.random.Generator) -> dict[str, float]:
    return {metric: float(rng.uniform(0.01, 0.2)) for metric in METRICS} | {"accuracy": accuracy}


def scored(common, accuracy, rng, name):
    for epoch in (1, 2):
        more = {f"pseudo_label_{metric}": 0.5 for metric in ("accuracy", "ece", "signed_gap")}
        inserted = more if name == "pseudo_label" and epoch == 1 and common["arm"] != "supervised" else {}
        yield {**common, "epoch": epoch, "evaluation": "test", **figures(accuracy, rng), **inserted}
    table = {"count": [100] * BINS, "confidence": list(np.linspace(0.05, 1, BINS)), "accuracy_in_bin": [0.5] * BINS}
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


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("name", [SLOW.get(name, name) for name in EXPERIMENTS])
def test_each_is_drawn_and_says_how_many_seeds(name, tmp_path, rng):
    pictures = write_figures(EXPERIMENTS[name].figures, stored_of(records_of(name, 3, rng)), tmp_path)
    assert [picture.stem for picture in pictures] == [figure.name for figure in EXPERIMENTS[name].figures]
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 5_000
        assert "3 seeds" in picture.with_suffix(".txt").read_text(), picture.stem
    assert not list(tmp_path.glob(".tmp-*"))


@pytest.mark.parametrize("name", ["width", "depth"])
def test_one_seed_is_said_to_be_one(name, rng):
    stored = stored_of(records_of(name, 1, rng))
    for figure in EXPERIMENTS[name].figures:
        caption = figure.caption(stored).lower()
        assert "one seed" in caption or "1 seed " in caption, figure.name


def test_nets_at_chance_are_hollow_and_the_caption_says_so(rng):
    for accuracy, hollow in ((0.9, False), (0.2, True)):
        stored = stored_of(records_of("width", 2, rng, accuracy))
        (ax, *_) = drawn("width", stored).axes
        faces = {line.get_markerfacecolor() for line in ax.lines if line.get_marker() in "os" and len(line.get_xdata())}
        assert ("white" in faces) is hollow
        assert ("Hollow points" in EXPERIMENTS["width"].figures[0].caption(stored)) is hollow


ALL, ONE = (("erm", "supervised"), (0, 1, 2)), (("mixup", "pseudo-label"), (1,))


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("name", [SLOW.get(name, name) for name in EXPERIMENTS])
@pytest.mark.parametrize(("arms", "seeds"), [ALL, ONE], ids=["all", "one"])
def test_nets_that_diverged_are_left_out_and_the_caption_says_so(name, arms, seeds, tmp_path, rng):
    """Of one arm of the last net: all of them, or one, whose last epoch is not drawn either."""
    whole, records = records_of(name, 3, rng), []
    for row in whole:
        if row["net"] == whole[-1]["net"] and row["arm"] in arms and row["seed"] in seeds:
            kept = {key: row[key] for key in ("job", "net", "width", "depth", "arm", "seed", "classes", "alpha")}
            records += [{**kept, "epoch": 2, "evaluation": "diverged", "step": 3}] if row["epoch"] == 1 else []
        else:
            records.append(row)
    stored = stored_of(records)
    for figure in EXPERIMENTS[name].figures:
        caption = figure.caption(stored)
        assert f"{len(seeds)} of 3 of {whole[-1]['net']}" in caption, figure.name
        assert ("2 to 3 seeds" if len(seeds) == 1 else "3 seeds") in caption, figure.name
    assert write_figures(EXPERIMENTS[name].figures, stored, tmp_path)
    if name == "shift" and len(seeds) == 3:
        titles = [ax.get_title() for ax in drawn(name, stored).axes]
        assert titles[:3] == ["no pair of nets is left"] * 3


@pytest.mark.parametrize(
    ("counts", "text"), [([1, 1], "1 seed"), ([0, 5], "5 seeds"), ([3, 5, 4], "3 to 5 seeds"), ([0, 0], "0 seeds")]
)
def test_seeds_are_counted_net_by_net(counts, text):
    assert seeds_range(counts) == text


def test_without_nets_that_got_pseudo_labels_there_are_no_epochs_to_show(rng):
    records = records_of("pseudo_label", 2, rng)
    lost = [row | {"evaluation": "diverged", "step": 3} for row in records if row["arm"] != "supervised"]
    stored = stored_of([row for row in records if row["arm"] == "supervised"] + lost)
    (epochs,) = (figure for figure in EXPERIMENTS["pseudo_label"].figures if figure.name == "epochs")
    assert epochs.draw(stored) is None


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_where_every_net_diverged_nothing_is_drawn(name, tmp_path, rng):
    whole = [row for row in records_of(name, 2, rng) if row["evaluation"] == "test"]
    records = [row if row["epoch"] == 1 else row | {"evaluation": "diverged", "step": 3} for row in whole]
    assert write_figures(EXPERIMENTS[name].figures, stored_of(records), tmp_path) == []


def test_a_point_that_some_net_is_missing_from_is_hollow(rng):
    records = records_of("width", 3, rng)
    gone = {**records[0], "epoch": 2, "evaluation": "diverged", "step": 3}
    figure = drawn("width", stored_of([*records, gone]))
    (ax, *_) = figure.axes
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in hollow] == [[10]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["no Mixup", "Mixup", "diverged"]


def test_bins_of_a_reliability_diagram_have_exact_intervals_and_its_title_counts_nets(rng):
    """150 of 300 rows of three seeds, by SciPy; made-up gaps of both arms are put above and below 0."""
    records = records_of("width", 3, rng)
    for row in records:
        if row["evaluation"] == "test":
            row["signed_gap"] = (0.1 if row["arm"] == "erm" else -0.1) + 0.001 * row["seed"]
    figure = drawn("width", stored_of(records), "reliability")
    (bars, *_) = figure.axes[0].collections
    exact = stats.binomtest(150, 300).proportion_ci(0.95, "exact")
    for segment in bars.get_segments():
        np.testing.assert_allclose(segment[:, 1], [exact.low, exact.high], rtol=1e-9)
    title = figure.legends[0].get_title().get_text()
    assert title == "no Mixup: overconfident in 2 of 2 nets\nMixup: underconfident in 2 of 2 nets"


def test_the_title_of_epochs_is_of_the_last_one(rng):
    arms = arms_of("pseudo_label")
    records = [row for row in records_of("pseudo_label", 3, rng) if row["width"] == 10]
    for row in records:
        if row["evaluation"] == "test":
            row["ece"] = 0.1 * row["epoch"] + 0.01 * arms.index(row["arm"])
    legend = drawn("pseudo_label", stored_of(records)).legends[0]
    assert legend.get_title().get_text() == "ECE in the end: 0.200, 0.210, 0.220"
    assert [text.get_text() for text in legend.get_texts()] == [*arms, "95 % interval over seeds"]


@pytest.mark.medium
def test_the_titles_of_shifts_name_severities(rng):
    """Lower at the second severity of rotation, at chance at the last one, and nowhere with noise."""
    records = records_of("shift", 3, rng)
    second, last = (SHIFTS["rotation"].severities[k] for k in (1, -1))
    for row in records:
        row["ece"] = 0.2 + 0.001 * row["seed"]
        lower = row["evaluation"] == "rotation" and row["severity"] == second and row["arm"] == "mixup"
        row["ece"] -= 0.1 * lower
        if row["evaluation"] == "rotation" and row["severity"] == last:
            row["accuracy"] = 0.1
    titles = [ax.get_title() for ax in drawn("shift", stored_of(records)).axes[: len(SHIFTS)]]
    assert titles[list(SHIFTS).index("rotation")] == f"ECE lower at\n{second:g}\n{last:g}: chance"
    assert titles[list(SHIFTS).index("noise")] == "ECE lower\nnowhere"


def test_the_caption_counts_the_nets_that_keep_a_temperature_of_1(rng):
    """The tables of older runs do not say it."""
    records = records_of("temperature", 3, rng)
    scaled = [record for record in records if record["evaluation"] == "temperature" and record["arm"] == "mixup"]
    for record in scaled[1:]:  # of two nets and three seeds
        record |= {"temperature": 1.0, "fitted": False}
    (figure,) = EXPERIMENTS["temperature"].figures
    assert figure.caption(stored_of(records)).endswith("keeps 1: 0 of 6 nets (no Mixup), 5 of 6 nets (Mixup).")
    for record in records:
        record.pop("fitted", None)
    assert figure.caption(stored_of(records)).endswith("keeps 1.")


@pytest.mark.medium
def test_nets_of_another_depth_are_not_put_on_one_line(rng):
    """`temperature --depth 2,4`: the figure is of one depth, and says which."""
    (figure,) = EXPERIMENTS["temperature"].figures
    shallow = records_of("temperature", 2, rng)
    deep = [{**row, "depth": 4, "net": f"mlp-{row['width']}x4", "job": f"{row['job']}-4"} for row in shallow]
    (ax, *_) = drawn("temperature", stored_of(shallow + deep)).axes
    assert {len(line.get_xdata()) for line in ax.lines if line.get_linestyle() != "None"} == {2}
    assert "of depth 4" in figure.caption(stored_of(shallow + deep))


@pytest.mark.medium
@pytest.mark.parametrize("name", ["width", "temperature", "variants", "shift"])
def test_with_one_seed_no_title_counts_anything(name, rng):
    figure = drawn(name, stored_of(records_of(name, 1, rng)))
    titles = [figure.get_suptitle(), *(ax.get_title() for ax in figure.axes)]
    assert any("one seed" in title for title in titles)
    assert not any(" of " in title for title in titles)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["width", "temperature", "variants", "shift"])
def test_a_table_is_enough_for_all_but_epochs_and_bins(name, rng):
    """The same rows, captions and one column, with the records and without."""
    records = records_of(name, 3, rng)
    whole = stored_of(records)
    table = Stored(rows_of(summary_csv(records)), whole.test_rows, [])
    assert table.rows == whole.rows
    for figure in EXPERIMENTS[name].figures:
        picture = drawn(name, table, figure.name)
        assert (picture is None) == (figure.name == "reliability")
        if picture is not None:
            assert figure.caption(table) == figure.caption(whole)
            assert picture.get_size_inches()[0] == COLUMN_WIDTH


@pytest.mark.parametrize("text", ["net,arm\na,b\n", "a page of something else\nline\n"])
def test_another_table_is_refused(text):
    with pytest.raises(ValueError, match="not a summary of nets"):
        rows_of(text)
