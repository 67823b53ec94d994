"""Training sets before a weight is chosen: those of `sample_scores`, at one weight for all or one for each set."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.gaussian import sample_scores, sample_training_sets

OPTIONS = {"n": np.float32(12), "p": np.array([1, 5], np.float32), "theta_norm": 1.25, "sigma": 0.75, "replicates": 40}


@jax.jit
def scores(sets, t):
    return sets.scores(t)


@pytest.fixture(scope="module")
def sets(module_key):
    return sample_training_sets(module_key, **OPTIONS)


@pytest.mark.slow
def test_they_are_those_of_sample_scores(sets, module_key):
    """To 12 roundings of numbers of size 3; at a weight for each cell."""
    t = np.float32([0.3, 1.0])
    for part, same in zip(scores(sets, t[:, None]), sample_scores(module_key, t=t, **OPTIONS), strict=True):
        np.testing.assert_allclose(part, same, rtol=0, atol=12 * np.finfo(np.float32).eps * 3)


@pytest.mark.medium
def test_each_set_may_have_its_own_weight(sets, rng):
    t = rng.random((2, 40)).astype(np.float32)
    law, one_by_one = scores(sets, t), [scores(sets, t[:, [k]]) for k in range(40)]
    for part, parts in zip(law, zip(*one_by_one, strict=True), strict=True):
        np.testing.assert_allclose(part, np.stack([p[:, k] for k, p in enumerate(parts)], axis=1), rtol=1e-6, atol=1e-6)


@pytest.mark.medium
def test_shapes_and_gradient(sets):
    """An axis of weights before the cells; the gap is quadratic in t: a central difference of any step is its slope."""
    assert jax.eval_shape(scores, sets, np.zeros((3, 1, 1), np.float32)).mean.shape == (3, 2, 40)
    low, high = (np.asarray(scores(sets, np.full((2, 1), t, np.float32)).gap) for t in (0.0, 0.5))
    slope = jax.jit(jax.grad(lambda t: scores(sets, t).gap.sum()))(np.full((2, 1), 0.25, np.float32))
    np.testing.assert_allclose(slope, (high - low).sum(axis=1, keepdims=True) / 0.5, rtol=1e-4)
