"""What all random numbers have in common: draws that repeat, the keys and parameters they take, and one trace."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from mixjax.random import centered_chisquare, normal, rademacher_mean

draw_normal = jax.jit(normal, static_argnums=(1, 2))  # outside of `jit` each of its operations is a program
SAMPLERS = {
    "normal": lambda key: draw_normal(key, (100,), np.float32),
    "centered_chisquare": lambda key: centered_chisquare(key, np.float32(3), (100,)),
    "rademacher_mean": lambda key: rademacher_mean(key, np.float32(100), (100,)),
}
EVERY_SAMPLER = pytest.mark.parametrize("sample", SAMPLERS.values(), ids=SAMPLERS.keys())


@pytest.mark.few(1)
@EVERY_SAMPLER
def test_draws_repeat_and_differ_between_keys_and_positions(key, sample):
    draws = np.stack([sample(jax.random.fold_in(key, number)) for number in range(3)])
    np.testing.assert_array_equal(sample(jax.random.fold_in(key, 0)), draws[0])
    assert np.unique(draws.sum(axis=1)).size == 3
    assert all(np.unique(row).size > 10 for row in draws)


@pytest.mark.few(1)
@EVERY_SAMPLER
def test_draws_are_the_same_under_vmap(key, sample):
    """The same numbers up to the rounding of a fused program: 4 units of float32."""
    keys = jax.random.split(key, 3)
    one_by_one = np.stack([sample(k) for k in keys])
    np.testing.assert_allclose(jax.vmap(sample)(keys), one_by_one, rtol=5e-7, atol=5e-7)


@EVERY_SAMPLER
def test_an_array_of_keys_is_refused(key, sample):
    with pytest.raises(ValueError, match=r"key must be a single key, got an array of keys of shape \(2,\)"):
        sample(jax.random.split(key))


@pytest.mark.parametrize("sample", [centered_chisquare, rademacher_mean])
@pytest.mark.parametrize("value", ["3", None, 1j, True])
def test_parameters_are_real_numbers(key, sample, value):
    with pytest.raises(TypeError, match="must be real numbers, got"):
        sample(key, value)


@pytest.mark.few(1)
@pytest.mark.parametrize("sample", [centered_chisquare, rademacher_mean])
def test_a_new_parameter_does_not_recompile(key, sample, compilations):
    sample(key, np.float32(100), (100,))
    compilations.clear()
    sample(key, np.float32(3), (100,))
    assert not compilations
