"""The study of temperature scaling: its numbers from the draws themselves, its signs, and its figures at the edges."""

from __future__ import annotations

import zlib

import jax
import numpy as np
import pytest

from mixjax.gaussian import (
    ScoreLaw,
    best_weight,
    held_out_size_matching,
    limit_scores,
    population_ece,
    sample_training_sets,
    scale_on_held_out,
    scaled_ece,
)
from mixjax.sims.figures.temperature import temperature_figures


@pytest.fixture
def table(table_of):
    return table_of("temperature")


@pytest.mark.slow
def test_numbers_are_those_of_the_draws(table):
    """The same key construction by hand for one cell, both blocks: means, and the paired standard error."""
    root = jax.random.fold_in(jax.random.key(0, impl="threefry2x32"), zlib.crc32(b"temperature"))
    own, scaled, pooled = [], [], []
    for block in (0, 1):
        key = jax.random.fold_in(root, block)
        options = {"p": np.float32(100), "theta_norm": np.float32(2), "replicates": 1000}
        sets = sample_training_sets(key, n=np.float32([200]), **options)
        t = np.float32([0.0, *table["t"].values, float(best_weight(0.5, 2.0))])[:, None, None]
        law = sets.scores(np.broadcast_to(t, (4, 1, 1)))
        own.append(population_ece(law)[:, 0])
        scaled.append(scaled_ece(scale_on_held_out(sets, ScoreLaw(law.mean[:2], law.gap[:2]), n_held_out=20))[:, 0])
        more = sample_training_sets(key, n=np.float32([220]), **options)
        pooled.append(population_ece(more.scores(more.estimated_weights()))[0])
    own, scaled = np.concatenate(own, axis=-1), np.concatenate(scaled, axis=-1)
    cell = table.sel(n=200, ratio=0.5, theta_norm=2.0, held_out_ratio=0.1)
    for name, wanted in (
        ("ece", own[0]),
        ("ece_best", own[3]),
        ("ece_temperature", scaled[0]),
        ("best_difference", own[3] - scaled[0]),
        ("plain_difference", own[0] - scaled[0]),
        ("ece_estimated_pooled", np.concatenate(pooled)),
    ):
        np.testing.assert_allclose(cell[name], wanted.mean(), rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(cell[f"{name}_se"], wanted.std(ddof=1) / np.sqrt(2000), rtol=1e-2)
    np.testing.assert_allclose(cell["ece_mix"], own[1:3].mean(axis=1), rtol=1e-3)
    np.testing.assert_allclose(cell["ece_mix_temperature"][0], scaled[1].mean(), rtol=1e-3)


@pytest.mark.slow
def test_more_held_out_points_are_better_and_mixup_does_not_matter_to_them(table):
    few, many = (table["ece_temperature"].sel(held_out_ratio=ratio) for ratio in (0.1, 1))
    assert (many < 0.6 * few).all()
    assert (np.abs(table["combined_difference"]) < 2e-3 * table["ece_temperature"]).all()


@pytest.mark.slow
def test_what_uses_no_held_out_points_does_not_change_with_them(table):
    """The same training sets in both columns, to rounding."""
    for name in ("ece", "ece_mix", "ece_best", "ece_estimated"):
        np.testing.assert_allclose(*(table[name].sel(held_out_ratio=ratio) for ratio in (0.1, 1)), rtol=1e-5)


@pytest.mark.slow
def test_the_best_weight_wins_where_theory_says_so(table):
    """At p/n = 0.1 and 0.5 for theta = 2 it is worth 46 n held-out points; at p/n = 2 and theta = 1 fewer than n/5."""
    difference, error = table["best_difference"], 5 * table["best_difference_se"]
    assert (difference < -error).sel(theta_norm=2, ratio=[0.1, 0.5]).all()
    assert (difference > error).sel(theta_norm=1, ratio=2, held_out_ratio=1).all()


@pytest.mark.slow
def test_boundaries_are_where_the_leading_order_equals_mixup(table):
    cell = table.sel(n=200, ratio=0.5, theta_norm=1.0)
    law = limit_scores(0.5, 1.0, 0.0)
    expected = held_out_size_matching(law, cell["ece_mix"].isel(held_out_ratio=0).values) / 200
    np.testing.assert_allclose(cell["mix_critical"], expected, rtol=0.05)  # ECE(mix) there is exact, here of 2000 sets
    assert float(table["best_critical_limit"].sel(n=200, ratio=2.0, theta_norm=1.0)) == 0


@pytest.mark.slow
def test_worth_is_where_the_leading_order_says(table):
    """At p/n = 2 and |theta| = 1 it is 0.11 to leading order, with an error of the interpolation from 0.1 to 1."""
    cell = table.isel(n=0).sel(ratio=2, theta_norm=1)
    assert 0.1 < float(cell["best_worth_from"]) <= float(cell["best_worth"]) <= float(cell["best_worth_to"]) < 0.16
    assert (table["best_worth"].sel(ratio=[0.1, 0.5], theta_norm=2) == 1).all()  # 46 n, and the run has n at most


@pytest.mark.slow
def test_a_single_row_is_no_map(table):
    figures = {figure.name: figure for figure in temperature_figures()}
    assert figures["worth"].draw(table.isel(held_out_ratio=[0])) is None
    assert figures["pooled_difference"].draw(table.isel(ratio=[0])) is None
    assert figures["ece_against_held_out"].draw(table.isel(ratio=[0])) is not None
