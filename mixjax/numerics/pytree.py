"""Dataclasses as pytrees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

import jax

Class = TypeVar("Class")


def pytree(cls: type[Class]) -> type[Class]:
    """Register a dataclass as a pytree of its fields, but for those whose metadata say that they are static.

    `jax.tree_util.register_dataclass` calls `__init__` for each copy, with whatever a transformation puts in the place
    of arrays. This does not, so that the annotations of the fields hold for all that `__init__` is given.
    """
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    static = [field.name for field in fields if field.metadata.get("static")]
    data = [field.name for field in fields if field.name not in static]

    def flatten_with_keys(tree: Class) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        leaves = [(jax.tree_util.GetAttrKey(name), getattr(tree, name)) for name in data]
        return leaves, tuple(getattr(tree, name) for name in static)

    def unflatten(settings: Iterable[Any], leaves: Iterable[Any]) -> Class:
        tree = object.__new__(cls)
        for name, value in zip((*data, *static), (*leaves, *settings), strict=True):
            object.__setattr__(tree, name, value)
        return tree

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten)
    return cls
