"""`python -m benchmarks agreement`: its statistics and metrics, its table and picture, and one net of each library."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy import stats

from benchmarks.__main__ import main
from benchmarks.agreement import ours
from benchmarks.agreement.comparing import (
    EFFECT,
    LIBRARIES,
    METRICS,
    chance_beyond,
    comparisons_section,
    largest_when_relabeled,
    summary_section,
    welch,
)
from benchmarks.agreement.figure import draw
from benchmarks.agreement.scores import best_temperature, differences_section, ece, scores
from benchmarks.agreement.tasks import Task
from benchmarks.report import Row, Section
from mixjax.train.nets.shapes import MLPShape, ResNetShape
from tests.paths import ROOT

TINY = Task(MLPShape(8, 2), "digits", epochs=1, train_rows=256, test_rows=100)
STORED = ROOT / "results" / "benchmarks" / "agreement" / "agreement.json"


def made_up(rng: np.random.Generator, shifts: Mapping[str, float]) -> list[Row]:
    """Nets of two tasks whose metrics are normal, of mean 1 and sd 0.1; mixjax is off by the shifts."""
    return [
        {"task": task, "library": library, "arm": arm, "seed": seed}
        | {name: rng.normal(1 + shifts.get(name, 0.0) * (library == "mixjax"), 0.1) for name in METRICS}
        for task in "ab"
        for library in LIBRARIES
        for arm in ("erm", "mixup")
        for seed in range(5)
    ]


def test_z_is_that_of_scipy(rng):
    one, other = rng.normal(0, 1, 5), rng.normal(1, 3, 5)
    expected = stats.ttest_ind(one, other, equal_var=False)
    found = welch(one, other)
    np.testing.assert_allclose([found.z, found.p, found.freedom], [expected.statistic, expected.pvalue, expected.df])
    np.testing.assert_allclose(found.difference, one.mean() - other.mean())
    np.testing.assert_allclose(found.z * found.standard_error, found.difference)


def test_samples_without_spread():
    same, other = np.full(3, 0.5), np.full(3, 0.25)
    assert (welch(same, same).z, welch(same, same).p) == (0, 1)
    assert (welch(same, other).z, welch(same, other).p) == (np.inf, 0)
    assert welch(other, same).z == -np.inf


def test_every_way_to_give_the_nets_to_the_libraries(rng):
    """One at a time by SciPy, for three seeds and two quantities; all 20 ways are there, and the one that was."""
    cube = rng.normal(size=(2, 3, 2))
    pooled, expected = cube.reshape(6, 2), []
    for chosen in combinations(range(6), 3):
        rest = [index for index in range(6) if index not in chosen]
        expected.append(np.abs(stats.ttest_ind(pooled[list(chosen)], pooled[rest], equal_var=False).statistic).max())
    found = largest_when_relabeled(cube)
    np.testing.assert_allclose(found, expected)
    assert len(found) == 20
    np.testing.assert_allclose(found[0], max(abs(welch(*cube[..., column]).z) for column in range(2)))


def test_a_chance_is_that_of_any_task():
    """A half and three quarters stay below 2, hence both in three of eight cases."""
    assert chance_beyond([np.array([1.0, 2.0]), np.array([1.0, 1.5, 0.0, 7.0])], 2.0) == 1 - 3 / 8


def test_only_what_differs_is_beyond_three(rng):
    """A shift of ten standard deviations, in one metric of mixjax; the effect of Mixup is a difference of its arms."""
    rows = made_up(rng, {"signed_gap": 1.0})
    section = comparisons_section(rows, 5)
    assert len(section.rows) == 2 * (2 * len(METRICS) + 1)
    z = {(row["task"], row["arm"], row["metric"]): row["z"] for row in section.rows}
    assert all(z[task, arm, "signed_gap"] > 3 for task in "ab" for arm in ("erm", "mixup"))
    counts = section.ratios
    assert (counts["asked"]["count"], counts["all"]["count"]) == (16, 26)
    assert counts["all"]["beyond"] - counts["asked"]["beyond"] == 4
    assert counts["all"]["chance_of_largest"] < 0.05
    mine = {(row["arm"], row["seed"]): row["ece"] for row in rows if (row["task"], row["library"]) == ("a", "mixjax")}
    (effect,) = (row for row in section.rows if (row["task"], row["arm"]) == ("a", EFFECT))
    expected = np.mean([mine["mixup", seed] - mine["erm", seed] for seed in range(5)])
    np.testing.assert_allclose(effect["mixjax_mean"], expected)


def test_a_metric_that_a_net_does_not_have_is_left_out(rng):
    rows = [dict(row) for row in made_up(rng, {})]
    rows[0]["temperature"] = None  # task a, mixjax, without Mixup
    found = {(row["task"], row["arm"]) for row in comparisons_section(rows, 5).rows if row["metric"] == "temperature"}
    assert found == {("a", "mixup"), ("b", "erm"), ("b", "mixup")}


def test_table_and_picture(rng, tmp_path: Path):
    rows = made_up(rng, {})
    steps = Section("steps", "", "", [], {"median": 2e-6, "PyTorch_median": 1e-6})
    sections = [comparisons_section(rows, 5), steps, Section("nets", "", "", rows)]
    summary = summary_section(sections)
    assert summary.rows[0] == {"what": "comparisons", "loss, NLL, accuracy, ECE": 16, "all": 26}
    assert "agree to 2e-06 of them" in summary.text
    draw({section.name: {"rows": section.rows} for section in sections}, tmp_path / "agreement.png")
    assert (tmp_path / "agreement.png").read_bytes().startswith(b"\x89PNG")


def test_metrics_of_logits():
    """By hand: confidences .5 (at an edge of no bin), 14/15 (in the last bin) and .9 (in the last but one)."""
    confidence = np.array([0.5, 14 / 15, 0.95, 0.9])
    logits = np.stack([np.log(confidence), np.log1p(-confidence)], axis=1)
    logits[0, 0] += 1e-9  # no tie
    labels = np.array([0, 0, 1, 0])
    found = scores(logits, labels)
    gaps = np.array([-0.5, 14 / 15 + 0.95 - 1, -0.1])
    np.testing.assert_allclose(found["ece"], np.abs(gaps).sum() / 4, atol=1e-8)
    np.testing.assert_allclose(found["signed_gap"], gaps.sum() / 4, atol=1e-8)
    np.testing.assert_allclose(found["nll"], -np.log([0.5, 14 / 15, 0.05, 0.9]).mean(), atol=1e-8)
    assert found["accuracy"] == 0.75
    assert ece(np.array([14 / 15]), np.array([True])) == pytest.approx(1 / 15)


def test_the_best_temperature(rng):
    """Labels drawn from the softmax of half the logits, by its exact odds of two classes; none where all are right."""
    logits = np.log([[3.0, 1.0]] * 4) * 2
    np.testing.assert_allclose(best_temperature(logits, np.array([0, 0, 0, 1])), 2.0, rtol=1e-6)
    assert best_temperature(logits, np.zeros(4, np.int64)) is None


@pytest.mark.medium
def test_metrics_are_those_of_mixjax(rng):
    logits = rng.normal(0, 2, (400, 5)).astype(np.float32)
    labels = np.where(rng.random(400) < 0.7, logits.argmax(1), rng.integers(0, 5, 400)).astype(np.int32)
    section = differences_section([(logits, labels)])
    found = {row["metric"]: row["largest_difference"] for row in section.rows}
    assert set(found) == {*METRICS} - {"train_loss"}
    assert max(found.values()) < 1e-5


def test_it_needs_pytorch(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in ("plain", "following"):
        monkeypatch.delitem(sys.modules, f"benchmarks.agreement.{name}", raising=False)
    assert main(["agreement", "--quick", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: the benchmark agreement needs torch: pip install 'mixjax[bench,")


def test_the_row_of_a_net():
    record = {"arm": "erm", "seed": 3, "train_mix_loss": 0.5, "ece": 0.1, "epoch": 7}
    expected = {"task": "digits, 8x2", "library": "mixjax", "arm": "erm", "seed": 3, "train_loss": 0.5, "ece": 0.1}
    assert ours.row_of(TINY, record) == expected | dict.fromkeys(("nll", "accuracy", "signed_gap", "temperature"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "task", [TINY, replace(TINY, test_rows=0), replace(TINY, net=ResNetShape(1 / 64))], ids=["job", "run", "resnet"]
)
def test_nets_of_mixjax_have_every_number(task):
    """Accuracies are whole numbers of the test rows."""
    dataset = task.load()
    with jax.enable_x64(False):
        rows = ours.train(task, dataset, 2)
    assert [(row["arm"], row["seed"]) for row in rows] == [("erm", 0), ("erm", 1), ("mixup", 0), ("mixup", 1)]
    for row in rows:
        assert np.isfinite([row[name] for name in METRICS if name != "temperature"]).all()
        right = row["accuracy"] * len(dataset.test_labels)
        assert right == pytest.approx(round(right), abs=1e-3)


@pytest.mark.parametrize(
    "net", [MLPShape(8, 2), pytest.param(ResNetShape(1 / 64), marks=pytest.mark.slow)], ids=["mlp", "resnet"]
)
def test_the_same_steps(net):
    """Losses of PyTorch are within the rounding of a few steps, and are not with another Mixup weight in one step."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from benchmarks.agreement import following

    task = Task(net, "digits", epochs=1, train_rows=256, test_rows=100)
    dataset = task.load()
    with jax.enable_x64(False):
        mine = following.epoch_of(task, dataset, "mixup")
    theirs = following.follow(task, dataset, mine, torch.float32)
    assert following.compared(mine.losses, theirs.losses)["largest_of_all"] < 1e-5
    np.testing.assert_allclose(mine.logits, theirs.logits, rtol=0, atol=1e-4)
    assert (theirs.nearest > 0).all()
    otherwise = mine._replace(lam=mine.lam + np.float32(0.01) * (mine.lam < 0.9))
    found = following.compared(mine.losses, following.follow(task, dataset, otherwise, torch.float32).losses)
    assert found["largest_of_all"] > 1e-4


def test_steps_together():
    """Relative differences of 1e-6, 3e-6, 2e-6 and then 1e-3 and 0: three steps together."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from benchmarks.agreement.following import compared

    losses = np.array([1.0, 2.0, 4.0, 8.0, 1.0])
    found = compared(losses * (1 + np.array([1e-6, -3e-6, 2e-6, 1e-3, 0])), losses)
    expected = {"steps_together": 3, "median": 2e-6, "largest": 3e-6, "largest_of_all": 1e-3}
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_plain_loop_trains():
    """Its loss falls, in both arms; with Mixup it stays above that without."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from benchmarks.agreement import plain

    long = Task(MLPShape(32, 2), "digits", epochs=8)
    rows = [row for row, _ in plain.train(long, long.load(), 1)]
    plain_loss, mixed_loss = (row["train_loss"] for row in rows)
    assert plain_loss < 0.3 < mixed_loss < 1.5
    assert min(row["accuracy"] for row in rows) > 0.8


def stored() -> dict[str, Any]:
    return json.loads(STORED.read_text())["results"]


def test_published_means_are_within_three_standard_errors():
    """As asked of loss, accuracy and ECE, from the stored nets by SciPy; five seeds and three tasks."""
    nets, compared = stored()["nets"]["rows"], stored()["comparisons"]["rows"]
    assert len(nets) == 3 * 2 * 2 * 5
    for row in compared:
        if row["arm"] != EFFECT:
            samples = [[net[row["metric"]] for net in nets
                        if (net["task"], net["arm"], net["library"]) == (row["task"], row["arm"], library)]
                       for library in LIBRARIES]  # fmt: skip
            expected = stats.ttest_ind(*samples, equal_var=False)
            np.testing.assert_allclose([row["z"], row["p"]], [expected.statistic, expected.pvalue], rtol=1e-6)
    asked = [
        row for row in compared if row["metric"] in ("train_loss", "nll", "accuracy", "ece") and row["arm"] != EFFECT
    ]
    assert len(asked) == 24
    assert max(abs(row["z"]) for row in asked) <= 3


def test_published_steps_differ_by_rounding():
    """Until they part by no more than twice what float32 and float64 of PyTorch do, in the median of the worst net.

    Runs part only after an input of a ReLU that rounding may have given the other sign.
    """
    steps = stored()["steps"]
    assert steps["ratios"]["median"] < 2 * steps["ratios"]["PyTorch_median"] < 1e-6
    for row in steps["rows"]:
        parted = min(row["steps_together"], row["PyTorch_steps_together"]) < row["steps"]
        assert not parted or row["nearest_ReLU_input"] < 1e-6, row
