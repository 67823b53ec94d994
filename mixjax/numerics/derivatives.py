"""Functions that have first derivatives and no second ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax

Result = TypeVar("Result")


def once_differentiable(name: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Return a decorator of functions of arrays, whose second derivatives then raise NotImplementedError.

    It is for functions with parts that count as constant in a derivative, so that a second one would be wrong.
    """

    @jax.custom_jvp
    def last(values: Any) -> Any:
        return values

    @last.defjvp
    def _(_: Any, __: Any) -> Any:
        raise NotImplementedError(f"{name} has first derivatives only, no second ones")

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        differentiable = jax.custom_jvp(function)

        @differentiable.defjvp
        def _(values: tuple[Any, ...], moved: tuple[Any, ...]) -> Any:
            return jax.jvp(function, last(values), moved)

        return differentiable

    return decorate
