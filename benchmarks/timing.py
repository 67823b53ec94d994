"""Timings that can be compared: warm, waited for, and taken in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import jax

Name = TypeVar("Name")


@dataclass(frozen=True)
class Timing:
    """Seconds of a call: of the first, compilation included, and of the later ones in order."""

    first: float
    later: tuple[float, ...]

    @property
    def min(self) -> float:
        return min(self.later)

    @property
    def median(self) -> float:
        return statistics.median(self.later)

    def row(self, count: float) -> dict[str, float]:
        """Nanoseconds for each of the `count` things that a call does."""
        return {"min_ns": self.min / count * 1e9, "median_ns": self.median / count * 1e9}


def interleaved(cases: Mapping[Name, Callable[[], Any]], repetitions: int) -> dict[Name, Timing]:
    """Time each case once with its compilation, then all in turn, so that a slow moment of the machine meets them all.

    The order rotates: no case always follows the same other.
    """
    names = list(cases)
    first = {name: seconds(cases[name]) for name in names}
    later: dict[Name, list[float]] = {name: [] for name in names}
    for turn in range(repetitions):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            later[name].append(seconds(cases[name]))
    return {name: Timing(first[name], tuple(later[name])) for name in names}


def seconds(call: Callable[[], Any]) -> float:
    """Wall time of a call, until its arrays are there."""
    started = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - started


@contextmanager
def record_compilations() -> Iterator[list[str]]:
    """A list that grows by a name with every program that XLA compiles."""
    compiled: list[str] = []

    def listen(event: str, _: float, fun_name: str = "unknown", **__: object) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(fun_name)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield compiled
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
