"""The options of studies and experiments: fields of a configuration, their presets, and how text becomes a value."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeVar, runtime_checkable

from mixjax.runs.errors import RunError

Known = TypeVar("Known")


@runtime_checkable
class Configurable(Protocol):
    """A study or an experiment: `config` is a dataclass, and each of the presets gives values to some of its fields."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def summary(self) -> str:
        """One line of help."""

    @property
    def presets(self) -> Mapping[str, Mapping[str, Any]]:
        """The values of some fields, by the name of the preset."""

    @property
    def config(self) -> type[Any]:
        """The dataclass of all options."""


def named(kind: str, name: str, known: Mapping[str, Known]) -> Known:
    """Return the entry of a name."""
    if name not in known:
        raise RunError(f"there is no {kind} {name!r}{did_you_mean(name, known)}; choose from {', '.join(known)}")
    return known[name]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question after the known name that is most like a name; empty if none is like it."""
    nearest = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


def preset_with(chosen: Configurable, preset: str, given: Mapping[str, Any], field: str = "option") -> dict[str, Any]:
    """Return a preset's fields of a configuration, with some of its values replaced.

    Args:
      chosen: has the presets.
      preset: its name.
      given: the values that replace those of the preset, by field.
      field: the word for a field in messages.
    """
    fields = [known.name for known in dataclasses.fields(chosen.config)]
    if preset not in chosen.presets:
        raise RunError(f"{chosen.name} has no preset {preset!r}; it has {', '.join(chosen.presets)}")
    if unknown := [name for name in given if name not in fields]:
        nearest = did_you_mean(unknown[0], fields)
        raise RunError(f"{chosen.name} has no {field} {unknown[0]!r}{nearest}; it has {', '.join(fields)}")
    return {**chosen.presets[preset], **given}


def option(default: Any, description: str, **metadata: Any) -> Any:
    """Make a field of a configuration, with the line that --help shows."""
    return dataclasses.field(default=default, metadata={"help": description, **metadata})


def whole(text: str) -> int:
    """Parse a whole number, also as 1e3."""
    with suppress(ValueError, OverflowError):  # of text, NaN and infinity
        value = int(text) if text.lstrip("+-").isdecimal() else float(text)
        if value == int(value):
            return int(value)
    raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}")


def exactly(value: float) -> str:
    """Write a number in the fewest digits from which it can be read again: "0.1", "3", "0.1234567"."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))
