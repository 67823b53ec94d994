"""Arguments: which dtype is computed in, and what is refused with which words."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from mixjax.numerics.arguments import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    aligned,
    as_floats,
    check_scalars,
    checked,
    float_dtype,
)
from mixjax.numerics.options import check_size

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


def test_the_first_offending_entry_is_reported():
    with pytest.raises(ValueError, match=r"^lam must be in \[0, 1\], got 1\.5$"):
        checked(lam=np.array([[0.5, 1.5], [0.1, -2.0]]))


WRONG = {
    COUNT: (0, 2.5, -1, np.nan, np.inf, -np.inf),
    NOT_NEGATIVE: (-1e-300, -1, np.nan, np.inf),
    POSITIVE: (0, -1, np.nan, np.inf),
    SHARE: (-1e-9, 1.0000001, np.nan, np.inf),
}


@pytest.mark.parametrize("rule, value", [(rule, value) for rule, values in WRONG.items() for value in values])
def test_a_wrong_value_raises_alone_in_an_array_and_as_a_jax_array(rule, value):
    for given in (value, np.array([1.0, value]), jnp.asarray([1.0, value])):
        with pytest.raises(ValueError, match=re.escape(f"size must be {rule.words}, got ")):
            checked({"size": rule}, size=given)
    with pytest.raises(ValueError, match=re.escape(f"size must be {rule.words}, got {value}") + "$"):
        checked({"size": rule}, size=value)


def test_what_is_too_large_for_the_dtype_is_refused_as_infinite():
    with pytest.raises(ValueError, match=r"^size must be finite and not negative, got 1e\+300$"):
        checked({"size": NOT_NEGATIVE}, size=1e300, x=np.float32(1))
    assert checked({"size": NOT_NEGATIVE}, size=1e300)[0] == 1e300


@pytest.mark.parametrize("rule", WRONG)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wrong_values_are_nan_while_tracing(rule, dtype):
    values = np.array([1, *(-1e-30 if value == -1e-300 else value for value in WRONG[rule])], dtype)
    (array,) = jax.jit(lambda v: checked({"size": rule}, size=v))(values)
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, [1, *[np.nan] * len(WRONG[rule])])


traced_counts = jax.jit(lambda n: checked(n=n))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.uint64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
)
def test_counts_of_every_dtype(dtype):
    counts = np.array([1, 2, 100], dtype)
    np.testing.assert_array_equal(checked(n=counts)[0], [1, 2, 100])
    np.testing.assert_array_equal(traced_counts(np.append(counts, dtype(0)))[0], [1, 2, 100, np.nan])
    with pytest.raises(ValueError, match="n must be a whole number"):
        checked(n=np.array([1, 0], dtype))


def test_edges_are_accepted():
    values = checked(n=10**10, alpha=[0, 1e300], sigma=5e-324, t=[0, 1])
    traced = jax.jit(lambda *args: checked(n=args[0], alpha=args[1], sigma=args[2], t=args[3]))
    again = traced(1e10, np.array([0, 1e300]), 1e-300, np.array([0.0, 1.0]))
    assert np.isfinite(np.concatenate([np.ravel(v) for v in (*values, *again)])).all()


def test_exceptions_replace_the_rule_of_a_name_and_other_names_have_none():
    with pytest.raises(ValueError, match="t must be finite and positive, got 0"):
        checked({"t": POSITIVE}, t=0)
    x, t = checked(x=[np.nan, -1], t=np.float32(0.5))
    assert x.dtype == t.dtype == np.float32
    np.testing.assert_array_equal(x, [np.nan, -1])


def test_a_known_value_is_checked_while_others_are_traced():
    with pytest.raises(ValueError, match="sigma must be finite and positive, got -1"):
        jax.jit(lambda t: checked(t=t, sigma=-1))(0.5)


@pytest.mark.parametrize("value", [True, 2.0, np.float64(2), "2", None])
def test_sizes_are_integers(value):
    with pytest.raises(TypeError, match=f"replicates must be an int, got {type(value).__name__}"):
        check_size("replicates", value)


def test_sizes_have_a_least_value():
    with pytest.raises(ValueError, match=r"replicates must be below 2\^31, got 8589934592"):
        check_size("replicates", 2**33)
    check_size("replicates", 1)
    check_size("replicates", np.int32(1))
    check_size("points", 0, least=0)
    with pytest.raises(ValueError, match="replicates must be at least 1, got 0"):
        check_size("replicates", 0)


@pytest.mark.parametrize("value, shape", [([1.0], "(1,)"), ([], "(0,)"), ([[0.5, 2.0]], "(1, 2)")])
def test_a_scalar_has_no_shape_also_while_tracing(value, shape):
    check_scalars(alpha=jnp.asarray(2.0))
    said = re.escape(f"beta must be one number, got an array of shape {shape}")
    for call in (check_scalars, jax.jit(check_scalars)):
        with pytest.raises(ValueError, match=said):
            call(alpha=jnp.asarray(2.0), beta=jnp.asarray(value))


def test_aligned_puts_axes_in_front():
    shapes = [a.shape for a in aligned(jnp.ones(()), jnp.ones(3), jnp.ones((2, 3)))]
    assert shapes == [(1, 1), (1, 3), (2, 3)]


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ValueError, match=r"must have shapes that broadcast, got \(3,\), \(4,\)"):
        aligned(jnp.ones(3), jnp.ones(4))


def test_rows_of_unequal_length():
    with pytest.raises(ValueError, match="ratio must be an array, but has rows of unequal length"):
        as_floats(ratio=[[1], [1, 2]])
