"""Arguments: which dtype is computed in, and what is refused with which words."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from mixjax._arguments import (
    aligned,
    as_floats,
    check,
    check_count,
    check_not_negative,
    check_positive,
    check_size,
    float_dtype,
)

# what is passed, and the dtype with x64 on and with x64 off
DTYPES = {
    "python float": ((1.0,), "float64", "float32"),
    "python int": ((3,), "float64", "float32"),
    "list": (([1, 2.5],), "float64", "float32"),
    "int8": ((np.int8(3),), "float64", "float32"),
    "uint64": ((np.uint64(3),), "float64", "float32"),
    "float16": ((np.float16(3),), "float32", "float32"),
    "bfloat16": ((np.asarray(3, ml_dtypes.bfloat16),), "float32", "float32"),
    "float32": ((np.float32(3),), "float32", "float32"),
    "float64": ((np.float64(3),), "float64", "float32"),
    "float32 decides over python float": ((1.0, np.float32(3)), "float32", "float32"),
    "float32 decides over int64": ((np.int64(1), np.ones(2, np.float32)), "float32", "float32"),
    "the wider float decides": ((np.ones(2, np.float32), np.float64(1)), "float64", "float32"),
    "float16 decides over list": (([1.0, 2.0], np.float16(3)), "float32", "float32"),
}


@pytest.mark.parametrize("values, wide, narrow", DTYPES.values(), ids=DTYPES.keys())
def test_dtype(values, wide, narrow):
    named = {f"value{i}": value for i, value in enumerate(values)}
    for x64, expected in ((True, wide), (False, narrow)):
        with jax.enable_x64(x64):
            arrays = as_floats(**named)
            assert [a.dtype for a in arrays] == [expected] * len(values)
            assert float_dtype(**named) == np.dtype(expected)
    for array, value in zip(arrays, values, strict=True):
        np.testing.assert_array_equal(np.asarray(array, np.float64), np.asarray(value).astype(np.float64))


def test_weakly_typed_arrays_do_not_decide():
    """A traced Python number is weak: `jit(f)(0.5)` computes in the dtype of the arrays beside it."""
    dtypes = []
    jax.jit(lambda t: dtypes.append(float_dtype(t=t, x=np.ones(2, np.float32))))(0.5)
    assert dtypes == [np.float32]


@pytest.mark.parametrize("value", ["1", None, 1j, True, np.array("a"), object(), np.array([None]), {1.0}])
def test_what_is_not_real_numbers_is_a_type_error(value):
    with pytest.raises(TypeError, match="width must be real numbers, got"):
        as_floats(width=value)


def test_check_reports_the_first_offending_entry():
    with pytest.raises(ValueError, match=r"^share must be in \[0, 1\], got 1\.5$"):
        check("share", np.array([[0.5, 1.5], [0.1, -2.0]]), lambda v: (v >= 0) & (v <= 1), "in [0, 1]")


REFUSED = [
    (check_count, 0, "a whole number, 1 or more, got 0"),
    (check_count, 2.5, "a whole number, 1 or more, got 2.5"),
    (check_count, np.nan, "a whole number, 1 or more, got nan"),
    (check_count, np.inf, "a whole number, 1 or more, got inf"),
    (check_not_negative, -1e-300, "finite and not negative, got -1e-300"),
    (check_not_negative, np.nan, "finite and not negative, got nan"),
    (check_not_negative, np.inf, "finite and not negative, got inf"),
    (check_positive, 0, "finite and positive, got 0"),
    (check_positive, np.nan, "finite and positive, got nan"),
    (check_positive, np.inf, "finite and positive, got inf"),
]


@pytest.mark.parametrize("checker, value, words", REFUSED)
def test_wrong_values_are_refused_alone_in_an_array_and_as_a_jax_array(checker, value, words):
    for given in (value, np.array([1.0, value]), jnp.asarray([1.0, value])):
        with pytest.raises(ValueError, match="^size must be " + words.rsplit(" got", 1)[0]):
            checker("size", given)
    with pytest.raises(ValueError, match=words):
        checker("size", value)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.uint64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
)
def test_whole_numbers_of_every_dtype_are_counts(dtype):
    check_count("n", np.array([1, 2, 100], dtype))
    check_count("n", np.array([0], dtype), least=0)
    with pytest.raises(ValueError, match="n must be a whole number"):
        check_count("n", np.array([1, 0], dtype))


def test_edges_are_accepted():
    check_count("n", 10**10)
    check_not_negative("alpha", [0, 1e300])
    check_positive("sigma", 5e-324)


def test_values_are_not_checked_while_tracing():
    jax.jit(lambda v: check_positive("sigma", v))(-1.0)


@pytest.mark.parametrize("value", [True, 2.0, np.float64(2), "2", None])
def test_sizes_are_integers(value):
    with pytest.raises(TypeError, match=f"replicates must be an int, got {type(value).__name__}"):
        check_size("replicates", value)


def test_sizes_have_a_least_value():
    check_size("replicates", 1)
    check_size("replicates", np.int32(1))
    check_size("points", 0, least=0)
    with pytest.raises(ValueError, match="replicates must be at least 1, got 0"):
        check_size("replicates", 0)


def test_aligned_puts_axes_in_front():
    shapes = [a.shape for a in aligned(jnp.ones(()), jnp.ones(3), jnp.ones((2, 3)))]
    assert shapes == [(1, 1), (1, 3), (2, 3)]
