"""Stratified divisions: disjoint, complete, of exact sizes, and the same again."""

from __future__ import annotations

import numpy as np
import pytest

from mixjax.train.data.splits import hold_out, split_half

SIZES = [2, 3, 101]


def check(labels: np.ndarray, parts: tuple[np.ndarray, np.ndarray], size: int) -> None:
    assert len(parts[0]) == size
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(labels)))
    for rows in parts:
        assert (np.diff(rows) > 0).all()
        share = np.bincount(labels) * len(rows) / len(labels)
        assert (abs(np.bincount(labels[rows], minlength=len(share)) - share) < 1).all()


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("rows", SIZES)
def test_halves(rng, rows):
    labels = rng.choice(7, rows, p=np.arange(1, 8) / 28)
    for seed in range(3):
        check(labels, split_half(labels, seed), rows // 2)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize(("rows", "size"), [(100, 1), (100, 99), (101, 37)])
def test_held_out_rows(rng, rows, size):
    labels = rng.choice(5, rows).astype(np.int32)
    check(labels, hold_out(labels, size, 11), size)


@pytest.mark.medium
def test_divisions_do_not_change_with_versions():
    """Stored results depend on them."""
    labels = np.arange(20) % 3
    assert split_half(labels, 7)[0].tolist() == [0, 3, 4, 5, 10, 11, 14, 15, 16, 19]
    assert hold_out(labels, 5, 7)[0].tolist() == [1, 5, 9, 10, 11]


@pytest.mark.medium
def test_a_seed_and_a_purpose_have_a_division_of_their_own(rng):
    labels = rng.choice(4, 200)
    parts = [split_half(labels, 0)[0], split_half(labels, 1)[0], hold_out(labels, 100, 0)[0]]
    assert len({part.tobytes() for part in parts}) == 3
    np.testing.assert_array_equal(parts[0], split_half(labels, 0)[0])


@pytest.mark.medium
def test_rows_of_a_class_are_drawn_evenly():
    """100 halves of 6 rows of one class: each row is in 50 of them, to 5 standard errors (5): rate 4e-6 in all."""
    counts = np.zeros(6)
    for seed in range(100):
        counts[split_half(np.zeros(6, np.int32), seed)[0]] += 1
    assert (abs(counts - 50) < 5 * 100**0.5 / 2).all()


@pytest.mark.parametrize("size", [0, 5, -1])
def test_a_part_is_never_empty(size):
    with pytest.raises(ValueError, match=f"a part of {size} rows out of 5"):
        hold_out(np.zeros(5, np.int32), size, 0)


def test_labels_are_whole_numbers():
    with pytest.raises(ValueError, match="labels must be whole numbers"):
        split_half(np.zeros(4), 0)
