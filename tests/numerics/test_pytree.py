"""Dataclasses as pytrees: their leaves, their structure, and copies that no `__init__` has checked."""

from __future__ import annotations

import dataclasses

import jax

from mixjax.numerics.pytree import pytree


@pytree
@dataclasses.dataclass(frozen=True)
class Line:
    slope: float
    kind: str = dataclasses.field(metadata={"static": True})
    bias: float

    def __post_init__(self) -> None:
        if not isinstance(self.slope, float):
            raise TypeError(self.slope)


LINE = Line(2.0, "solid", 1.0)


def test_fields_are_named_leaves_and_static_ones_are_structure() -> None:
    leaves, structure = jax.tree_util.tree_flatten_with_path(LINE)
    assert [(jax.tree_util.keystr(path), leaf) for path, leaf in leaves] == [(".slope", 2.0), (".bias", 1.0)]
    assert jax.tree.unflatten(structure, [2.0, 1.0]) == LINE
    assert structure != jax.tree.structure(dataclasses.replace(LINE, kind="dashed"))


def test_a_copy_may_hold_anything() -> None:
    assert jax.tree.map(str, LINE).slope == "2.0"
