"""Functions of arrays that are sharded over a mesh with explicit axes.

On an axis of the type Explicit, which `jax.make_mesh` makes, JAX asks for an output sharding wherever rows meet: in a
sum by bins, a sort, a gather. `jitted` compiles a function as `jax.jit` does and lets the compiler choose there, as on
an axis of the type Auto: rows stay where they are, and results are on all devices.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import jax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec, auto_axes

Given = ParamSpec("Given")
Result = TypeVar("Result")
Rows = TypeVar("Rows")


def explicit_mesh(values: Any) -> AbstractMesh | None:
    """Return the mesh with an explicit axis that an array of a pytree is on, or None."""
    for leaf in jax.tree.leaves(values):
        if isinstance(leaf, jax.Array):
            mesh = jax.typeof(leaf).sharding.mesh
            if AxisType.Explicit in mesh.axis_types:
                return mesh
    return None


def row_sharding(values: Any) -> NamedSharding | None:
    """Return the sharding of the rows of the first array of a pytree on a mesh with explicit axes, or None."""
    mesh = explicit_mesh(values)
    if mesh is None:
        return None
    first = jax.typeof(jax.tree.leaves(values)[0]).sharding.spec
    return NamedSharding(mesh, PartitionSpec(*first[:1]))


def pooled(array: jax.Array, *, kept: int = 0) -> jax.Array:
    """Return an array whose first axis pools all but the last `kept` axes."""
    return reshaped(array, (-1, *array.shape[array.ndim - kept :]))


def reshaped(array: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return an array of another shape, sharded along its first axis as it was."""
    if array.ndim == len(shape):
        return array
    sharding = row_sharding(array)
    if sharding is None:
        return array.reshape(shape)
    rest = array.size // max(1, math.prod(size for size in shape if size >= 0))
    return jax.lax.reshape(array, tuple(rest if size < 0 else size for size in shape), out_sharding=sharding)


def jitted(
    *, static: tuple[str, ...] = (), rows: bool = False
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Compile a function as `jax.jit` does, also for arrays on a mesh with explicit axes.

    Args:
      static: names of its static arguments.
      rows: True if all results have one entry a row, and are to be sharded as the rows are; otherwise each device has
        them whole.
    """

    def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
        unbound: Any = function
        signature = inspect.signature(function)
        compiled = jax.jit(function, static_argnames=static)

        @partial(jax.jit, static_argnums=(1, 2))
        def on_mesh(arrays: dict[str, Any], options: tuple[tuple[str, Any], ...], sharding: NamedSharding) -> Any:
            within: Any = auto_axes(lambda arrays: unbound(**arrays, **dict(options)), out_sharding=sharding)
            return within(arrays)

        @wraps(function)
        def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            mesh = explicit_mesh((args, kwargs))
            if mesh is None:
                return compiled(*args, **kwargs)
            arrays = signature.bind(*args, **kwargs).arguments
            options = tuple((name, arrays.pop(name)) for name in static if name in arrays)
            sharding = row_sharding(next(iter(arrays.values()))) if rows else None
            return on_mesh(arrays, options, sharding or NamedSharding(mesh, PartitionSpec()))

        return call

    return decorate


def keeping_rows(function: Callable[[Rows, Any], jax.Array]) -> Callable[[Rows, Any], jax.Array]:
    """Compile a function of rows and of what mixes them, whose result is sharded as the rows are."""
    compiled = jax.jit(function)

    @partial(jax.jit, static_argnums=2)
    def on_mesh(rows: Rows, draw: Any, sharding: NamedSharding) -> jax.Array:
        within: Any = auto_axes(function, out_sharding=sharding)
        return within(rows, draw)

    @wraps(function)
    def call(rows: Rows, draw: Any) -> jax.Array:
        mesh = explicit_mesh(rows)
        if mesh is None:
            return compiled(rows, draw)
        return on_mesh(rows, draw, NamedSharding(mesh, jax.typeof(rows).sharding.spec))

    return call
