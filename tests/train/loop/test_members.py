"""What each net of a job is given: seeds, alphas, rows and labels, beside the same in sets and loops."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.train.loop.job import Arm, Job, Phase, Recipe
from mixjax.train.loop.members import HIDDEN, alphas_of, divide_rows, first_part_size, members_of
from mixjax.train.nets.shapes import MLPShape

ARMS, SEEDS = (Arm("erm", (0.0, 0.0)), Arm("mixup", (0.3, 1.5))), (4, 0, 7)
SIZES = {"none": 101, "halves": 50, "held-out": 91}  # of 101 rows: all, half rounded down, all but a tenth


def job_of(division, arms=ARMS, seeds=SEEDS):
    return Job("job", Recipe(MLPShape(4, 1)), arms, seeds, (Phase(1), Phase(1)), division)


@pytest.fixture
def labels(rng):
    return rng.integers(0, 4, 101).astype(np.int32)


@pytest.mark.medium
@pytest.mark.parametrize("division", SIZES)
def test_each_member_has_the_seed_and_alpha_of_its_arm(labels, division):
    members, size = members_of(job_of(division), labels)
    assert size == first_part_size(job_of(division), labels) == SIZES[division]
    np.testing.assert_array_equal(members.seed, [4, 0, 7, 4, 0, 7])
    np.testing.assert_array_equal(members.alpha, np.float32([0, 0, 0, 0.3, 0.3, 0.3]))
    np.testing.assert_array_equal(alphas_of(job_of(division))[1], np.float32([0, 0, 0, 1.5, 1.5, 1.5]))
    for arm in (0, 3):
        for seed in range(3):
            np.testing.assert_array_equal(members.rows[seed], members.rows[arm + seed])


@pytest.mark.medium
@pytest.mark.parametrize("division", SIZES)
def test_labels_of_the_first_part_are_seen_and_no_others(labels, division):
    members, size = members_of(job_of(division), labels)
    for rows, seen in zip(np.asarray(members.rows), np.asarray(members.labels), strict=True):
        first, other = set(rows[:size].tolist()), set(rows[size:].tolist())
        assert first.isdisjoint(other) and first | other == set(range(101)) and len(rows) == 101
        expected = [labels[row] if row in first else HIDDEN for row in range(101)]
        np.testing.assert_array_equal(seen, expected)


def test_seeds_divide_otherwise(labels):
    for division in ("halves", "held-out"):
        one, other = (divide_rows(division, labels, seed)[0] for seed in (0, 1))
        assert (one != other).any()


def test_without_a_division_rows_are_as_they_are(labels):
    rows, size = divide_rows("none", labels, 5)
    np.testing.assert_array_equal(rows, np.arange(101))
    assert size == 101


def test_a_training_set_that_cannot_be_divided():
    assert first_part_size(job_of("held-out"), np.zeros(2, np.int32)) == 1  # one row is held out at least
    with pytest.raises(ValueError, match="a part of 1 rows out of 1 leaves a part empty"):
        first_part_size(job_of("held-out"), np.zeros(1, np.int32))
