"""A function with first derivatives only: they are those of the function, in every mode, and second ones raise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.numerics.derivatives import once_differentiable

cube = once_differentiable("cube")(lambda x, kept: jnp.where(kept, x**3, 0.0))
X, KEPT = np.array([1.0, 2.0]), np.array([True, False])


@pytest.mark.medium
def test_first_derivatives_are_those_of_the_function():
    total = lambda x, kept: cube(x, kept).sum()  # noqa: E731
    np.testing.assert_array_equal(cube(X, KEPT), [1, 0])
    np.testing.assert_array_equal(jax.jit(jax.grad(total))(X, KEPT), [3, 0])
    np.testing.assert_array_equal(jax.jit(jax.jacfwd(total))(X, KEPT), [3, 0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(cube))(X, KEPT), [3, 0])


@pytest.mark.medium
@pytest.mark.parametrize("outer", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("inner", [jax.jacfwd, jax.jacrev])
def test_second_derivatives_raise(outer, inner):
    with pytest.raises(NotImplementedError, match="cube has first derivatives only, no second ones"):
        outer(inner(cube))(X, KEPT)
