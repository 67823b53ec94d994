"""Summaries over seeds: Student's t, arms in pairs, the last epoch, nets at chance."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy import stats

from mixjax.train.loop.history import last_epochs
from mixjax.train.runs.stored import rows_of, whole_rows
from mixjax.train.runs.summary import accuracy_floor, cells_of, summarize, summary_csv

ERM, MIXUP = [0.10, 0.14, 0.12], [0.05, 0.11, 0.02]


def record(arm, seed, epoch=2, accuracy=0.9, **figures):
    common = {"job": "mlp", "net": "mlp-3x1", "classes": 10, "evaluation": "test"}
    return {**common, "arm": arm, "seed": seed, "epoch": epoch, "accuracy": accuracy, **figures}


@pytest.fixture
def records():
    """The first epoch is better than the last, by accuracy and ECE."""
    return [
        record(arm, seed, epoch, ece=error if epoch == 2 else 0.001, accuracy=0.9 if epoch == 2 else 0.99)
        for arm, errors in (("erm", ERM), ("mixup", MIXUP))
        for seed, error in enumerate(errors)
        for epoch in (1, 2)
    ]


def test_intervals_are_students(records):
    for values in (ERM, MIXUP, np.subtract(MIXUP, ERM)):
        found = summarize(np.array(values))
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        np.testing.assert_allclose(found, (np.mean(values), low, high, np.std(values, ddof=1)), rtol=1e-12)


def test_one_seed_has_no_interval():
    found = summarize(np.array([0.25]))
    assert found.mean == 0.25 and np.isnan([found.low, found.high, found.sd]).all()


def test_the_last_epoch_is_reported(records):
    """Never the best one, in whatever order the records come."""
    for order in (records, records[::-1]):
        last = last_epochs(order)
        assert {row["epoch"] for row in last} == {2}
        assert sorted(row["ece"] for row in last) == sorted(ERM + MIXUP)


def test_the_table_by_hand(records):
    rows = {row["arm"]: row for row in csv.DictReader(io.StringIO(summary_csv(records)))}
    assert list(rows) == ["erm", "mixup", "mixup - erm"]
    for arm, values in (("erm", ERM), ("mixup", MIXUP), ("mixup - erm", np.subtract(MIXUP, ERM))):
        row, reach = rows[arm], stats.t.ppf(0.975, 2) * stats.sem(values)
        assert row["seeds"] == "3" and row["at_chance"] == "0"
        expected = [np.mean(values), np.mean(values) - reach, np.mean(values) + reach, np.std(values, ddof=1)]
        found = [float(row[f"ece_{part}"]) for part in ("mean", "low", "high", "sd")]
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_every_two_arms_are_compared(records):
    third = [{**row, "arm": "third", "ece": 2 * row["ece"]} for row in records if row["arm"] == "mixup"]
    rows = {row["arm"]: row for row in csv.DictReader(io.StringIO(summary_csv([*records, *third])))}
    assert list(rows) == ["erm", "mixup", "mixup - erm", "third", "third - erm", "third - mixup"]
    assert float(rows["third - mixup"]["ece_mean"]) == pytest.approx(np.mean(MIXUP), rel=1e-4)


@pytest.mark.parametrize(("accuracy", "chance"), [(0.29, True), (0.31, False)])
def test_a_net_below_three_times_chance_is_marked(accuracy, chance):
    """One of its seeds is enough."""
    (cell,) = cells_of([record("erm", 0), record("erm", 1, accuracy=accuracy)])
    assert cell.at_chance is chance
    assert summary_csv([record("erm", 0, accuracy=accuracy)]).splitlines()[1].split(",")[5] == str(int(chance))


@pytest.mark.parametrize(("classes", "floor"), [(1, 1.0), (2, 0.75), (4, 0.625), (5, 0.6), (10, 0.3), (100, 0.03)])
def test_of_few_classes_a_net_can_be_above_the_floor(classes, floor):
    """Three times the chance of two classes is 1.5, which no net reaches."""
    np.testing.assert_allclose(accuracy_floor(classes), floor, rtol=1e-15)


def diverged(arm, seed):
    common = {key: value for key, value in record(arm, seed).items() if key != "accuracy"}
    return {**common, "evaluation": "diverged", "step": 3}


def test_means_leave_out_a_net_that_diverged(records):
    """It is counted, whatever it scored before; pairs need both seeds."""
    lost = [*(row for row in records if (row["arm"], row["seed"], row["epoch"]) != ("erm", 1, 2)), diverged("erm", 1)]
    base, cell = cells_of(lost)
    assert (base.seeds, base.diverged, cell.diverged) == ((0, 2), (1,), ())
    np.testing.assert_array_equal(base.metrics["ece"], np.array(ERM)[[0, 2]])
    rows = {row.arm: row for row in rows_of(summary_csv(lost))}
    counts = {arm: (row.seeds, row.diverged) for arm, row in rows.items()}
    assert counts == {"erm": (2, 1), "mixup": (3, 0), "mixup - erm": (2, 1)}
    assert rows["mixup - erm"].metrics["ece"].mean == pytest.approx(np.mean(np.subtract(MIXUP, ERM)[[0, 2]]), rel=1e-4)


@pytest.mark.parametrize("arm", ["erm", "mixup"])
def test_an_arm_that_diverged_wholly_keeps_its_rows_and_its_place(records, arm):
    """Without a mean; on shifted images it has a row for each severity."""
    shifted = [{**row, "evaluation": "noise", "severity": step} for row in records[1::2] for step in (0.0, 0.5)]
    kept, lost = [row for row in records + shifted if row["arm"] != arm], [diverged(arm, seed) for seed in range(3)]
    rows = whole_rows(summary_csv([*lost, *kept] if arm == "erm" else [*kept[:1], *lost, *kept[1:]]))
    expected = ["erm", "mixup", "mixup - erm"]
    assert [row.arm for row in rows if row.evaluation == "test"] == expected
    assert [row.arm for row in rows if row.severity == 0.5] == expected
    for row in rows:
        if arm in row.arm.split(" - "):
            assert row.seeds == 0 and row.diverged == 3 and np.isnan(row.metrics["ece"].mean)


def test_a_run_in_which_none_diverged_has_no_such_column(records):
    assert "diverged" not in summary_csv(records)
