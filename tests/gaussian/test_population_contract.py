"""Population calibration errors: degenerate laws, shapes, errors, gradients, and one trace for all values."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.gaussian.law import ScoreLaw
from mixjax.gaussian.maximum import population_mce
from mixjax.gaussian.population import (
    population_accuracy,
    population_brier,
    population_ece,
    population_errors,
    population_nll,
    population_signed_gap,
)

FUNCTIONS = {
    "ece": population_ece,
    "ece1.5": partial(population_ece, norm=1.5),
    "rms_ece": partial(population_ece, norm=2),
    "nll": population_nll,
    "brier": population_brier,
    "mce": population_mce,
    "accuracy": population_accuracy,
    "signed gap": population_signed_gap,
    "errors": lambda law: population_errors(law).rms_ece,
}
COMPILED = {name: jax.jit(function) for name, function in FUNCTIONS.items()}
SHAPE = (2, 4)  # of all batches, so that each function is compiled once for each dtype
CASES = [*((name, np.float64) for name in FUNCTIONS), ("ece", np.float32)]


# --- degenerate laws, shapes, errors --------------------------------------------------------------


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("quantity, dtype", [case for case in CASES if case[0] not in ("nll", "brier", "accuracy")])
def test_calibrated_is_exactly_zero(quantity, dtype):
    law = ScoreLaw(np.array([[1e-30, 1e-5, 1e-3, 0.1], [1, 7, 1e4, 1e6]], dtype), np.zeros(SHAPE, dtype))
    np.testing.assert_array_equal(COMPILED[quantity](law), np.zeros(SHAPE))


@pytest.mark.medium
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mce_without_signal_and_with_the_wrong_sign(dtype):
    law = ScoreLaw(
        np.array([[0, 0, 0, 0], [-1e-30, -1, -1, -1e4]], dtype),
        np.array([[1e-30, 1, 9, 1e30], [1, 1.1, 2, 1.1e4]], dtype),
    )
    np.testing.assert_array_equal(COMPILED["mce"](law), [[0.5] * 4, [1] * 4])


@pytest.mark.few(2)
@pytest.mark.parametrize("quantity, dtype", CASES)
def test_no_variance_is_nan(quantity, dtype):
    nan = np.nan
    law = ScoreLaw(
        np.array([[0, 1, -1, 1], [0, nan, 1, nan]], dtype), np.array([[0, -1, 1, -2], [-1, 1, nan, nan]], dtype)
    )
    np.testing.assert_array_equal(np.isnan(COMPILED[quantity](law)), True)


BATCH = ScoreLaw(
    np.array([[1.0, 1.5, 3.0, -0.5], [0.0078125, 1e-4, 30.0, 0.0]]),
    np.array([[0.5, -0.5, -2.0, 2.0], [127.9921875, 1e-4, 1.0, 1.0]]),
)


@pytest.mark.medium
@pytest.mark.parametrize("quantity", ["errors", pytest.param("nll", marks=pytest.mark.slow)])
def test_batched_equals_looped(quantity):
    """An entry does not see its neighbors; 1e-13 for another order of operations."""
    batched = COMPILED[quantity](BATCH)
    assert batched.shape == SHAPE
    for i, j in np.ndindex(SHAPE):
        alone = COMPILED[quantity](ScoreLaw(BATCH.mean[i, j], BATCH.gap[i, j]))
        np.testing.assert_allclose(batched[i, j], alone, rtol=1e-13)


@pytest.mark.medium
def test_errors_equal_the_single_functions():
    """1e-14 for sums in another order."""
    found = jax.jit(population_errors)(BATCH)
    for name in ("ece", "rms_ece", "mce"):
        np.testing.assert_allclose(getattr(found, name), COMPILED[name](BATCH), rtol=1e-14)


def test_the_infinite_norm_is_the_mce():
    infinite, mce = (
        jax.make_jaxpr(function)(BATCH) for function in (partial(population_ece, norm=np.inf), population_mce)
    )
    assert str(infinite) == str(mce)


@pytest.mark.parametrize("norm", [0, 0.5, -1, np.nan, -np.inf])
def test_norms_below_one_are_refused(norm):
    with pytest.raises(ValueError, match=f"norm must be at least 1, got {norm}"):
        population_ece(BATCH, norm=norm)


@pytest.mark.parametrize("quantity", FUNCTIONS)
def test_only_laws_are_laws(quantity):
    with pytest.raises(TypeError, match="law must be a ScoreLaw, got tuple"):
        FUNCTIONS[quantity]((1.0, 1.0))


@pytest.mark.medium
@pytest.mark.parametrize("quantity", ["ece", "mce", "accuracy"])
def test_parts_of_several_dtypes_and_shapes(quantity):
    shape = partial(jax.eval_shape, FUNCTIONS[quantity])
    assert shape(ScoreLaw(jnp.float16(1), jnp.float16(0.5))).dtype == np.float32
    assert shape(ScoreLaw(jnp.int32(1), jnp.float32(0.5))).dtype == np.float32
    assert shape(ScoreLaw(jnp.ones((2, 1)), jnp.ones(3))).shape == (2, 3)


# --- gradients ------------------------------------------------------------------------------------

SMOOTH = ["ece", "rms_ece", "nll", "mce", "signed gap"]
GRADIENTS = {name: jax.jit(jax.grad(lambda law, f=FUNCTIONS[name]: jnp.sum(f(law)))) for name in SMOOTH}


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("quantity", SMOOTH)
def test_gradients_are_derivatives(quantity):
    """Fourth-order central differences with steps of 1e-3: errors of 1e-8 of the value over the scale of the law."""
    gradient = GRADIENTS[quantity](BATCH)
    scale = np.min(np.abs([BATCH.var, np.where(BATCH.mean == 0, 1, BATCH.mean), BATCH.gap]), axis=0)
    size = np.asarray(COMPILED[quantity](BATCH)) / scale
    keep = BATCH.mean != 0 if quantity == "mce" else np.full(SHAPE, True)  # at mean 0 the MCE jumps
    for part in ("mean", "gap"):
        steps = [BATCH._replace(**{part: getattr(BATCH, part) + k * 1e-3 * scale}) for k in (-2, -1, 1, 2)]
        f = [np.asarray(COMPILED[quantity](law)) for law in steps]
        quotient = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12e-3 * scale)
        error = np.abs(getattr(gradient, part) - quotient)
        assert (error <= 1e-7 * np.abs(quotient) + 1e-8 * np.abs(size))[keep].all(), (part, error)


EXTREMES = {
    "calibrated": (1.0, 0.0),
    "tiny": (1e-30, 1e-30),
    "huge": (1e4, 1.0),
    "huge, under-confident": (1e6, -1e5),
    "huge, wrong way": (-1e4, 2e4),
    "no signal": (0.0, 1.0),
    "tiny signal": (1e-30, 1.0),
    "rho = 1e8": (1.0, 1e-8 - 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("quantity", SMOOTH)
def test_gradients_are_finite(quantity):
    law = ScoreLaw(*(np.reshape(column, SHAPE) for column in zip(*EXTREMES.values(), strict=True)))
    gradient = np.stack(GRADIENTS[quantity](law)).reshape(2, -1)
    assert not [name for name, fine in zip(EXTREMES, np.isfinite(gradient).all(axis=0), strict=True) if not fine]


@pytest.mark.slow
def test_the_signed_gap_is_smooth_through_calibration():
    """Its slope in the gap at gap = 0 is a central difference quotient of step 1e-5, but for 1e-10."""
    below, above = (COMPILED["signed gap"](ScoreLaw(np.ones(SHAPE), np.full(SHAPE, step))) for step in (-1e-5, 1e-5))
    slope = GRADIENTS["signed gap"](ScoreLaw(np.ones(SHAPE), np.zeros(SHAPE))).gap
    np.testing.assert_allclose(slope, (above - below) / 2e-5, rtol=1e-8)


# --- compilation ----------------------------------------------------------------------------------


def test_new_values_do_not_retrace():
    traces = []

    @jax.jit
    def function(law):
        traces.append(law)
        return population_ece(law)

    for mean, gap in EXTREMES.values():
        function(ScoreLaw(mean, gap))
    assert len(traces) == 1


@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["ece", "nll"])
def test_new_values_do_not_recompile_an_eager_call(quantity, compilations):
    FUNCTIONS[quantity](ScoreLaw(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
    jax.jit(lambda x: x + 1)(1.0)  # a compilation to be seen, in case that all of the above was compiled before
    assert compilations
    compilations.clear()
    FUNCTIONS[quantity](ScoreLaw(np.array([4.0, 5.0]), np.array([0.0, 2.0])))
    assert not compilations
