"""Files that are made to harm: seeded changes to valid ones, and what a reader of them has to hold to.

A reader returns, or raises the error that it documents: in one sentence, within 5 seconds of the processor (and 60 of
the clock, on a machine that does other things too), and within 1 GiB of memory beyond what the process has. A test
takes a hundred inputs of each kind; MIXJAX_FUZZ says another number.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from mixjax.runs import RunError

NUMBER = int(os.environ.get("MIXJAX_FUZZ", "100"))
SECONDS, CLOCK, ROOM = 5, 60, 2**30
SIZES = Path("/proc/self/statm")  # where Linux says how many pages a process has
DEEP = "@deep@"  # in a JSON text: lists in lists
NUMBERS = [b"0", b"1", b"-1", b"255", b"65536", b"2147483648", b"9223372036854775807", b"1000000000000", b"1e308",
           b"1e999", b"0.5", b"-0.0", b"nan", b"9" * 30, b"9" * 5000]  # fmt: skip
VALUES: list[Any] = [
    *(0, 1, -1, True, False, None, 0.5, 1e18, 1e308, 2**31, 2**53 + 1, 2**63, 10**30, 10**400, -(2**63)),
    *(float("nan"), float("inf"), "", "1", "nan", "same", "full", "1e400", "9" * 5000, "1_000", "1,1", ","),
    *("0:1:1000000000", "1:2:524288", "0:1:2:log", "1:1e10:9:log", ":::", "1:2:1e99", "0.1:0.1:3"),
    *("../../etc/passwd", "/etc/passwd", "a\0b", "\x1b[2J\n", "\ud800", "\N{ARABIC-INDIC DIGIT ONE}", "x" * 100_000),
    *([], {}, [[]], [1, [2]], [1, "2"], list(range(2000)), [1e10] * 3, {"a": {"b": 1}}, [None], DEEP),
]  # fmt: skip


class TooLongError(BaseException):
    """Not an `Exception`, which a reader might catch."""


def survive(inputs: Iterable[bytes], read: Callable[[bytes], object], bad: Path) -> Counter[str]:
    """Hand each input to a reader; returns how many were read, and how many refused.

    Args:
      inputs: contents of files.
      read: returns, or raises a RunError.
      bad: where the input is left that a reader does not survive.
    """
    counts: Counter[str] = Counter()
    with _limited():
        for number, content in enumerate(inputs):
            bad.write_bytes(content)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.setitimer(signal.ITIMER_REAL, CLOCK)
            try:
                read(content)
                counts["read"] += 1
            except RunError as error:
                said = str(error)
                assert "\n" not in said and len(said) < 2000, f"input {number}: {said[:300]}"
                counts["refused"] += 1
            except BaseException as error:
                raise AssertionError(f"input {number}, in {bad}: {error!r:.300}") from error
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
    bad.unlink(missing_ok=True)
    return counts


@contextmanager
def _limited() -> Iterator[None]:
    """A bound on memory, and an alarm that ends what takes too long."""

    def ring(*_: object) -> None:
        raise TooLongError

    before = resource.getrlimit(resource.RLIMIT_AS)
    handlers = {number: signal.signal(number, ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    if SIZES.exists():
        size = int(SIZES.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def mutated(content: bytes, rng: np.random.Generator, most: int = 4) -> bytes:
    """One change of bytes, up to `most` of them."""
    for _ in range(rng.integers(1, most + 1)):
        content = bytes(_CHANGES[rng.integers(len(_CHANGES))](bytearray(content), rng))
    return content


def _place(content: bytearray, rng: np.random.Generator) -> slice:
    start = int(rng.integers(0, len(content) + 1))
    return slice(start, start + int(rng.integers(0, min(65, len(content) - start + 1))))


def _flip(content: bytearray, rng: np.random.Generator) -> bytearray:
    if content:
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return content


def _noise(content: bytearray, rng: np.random.Generator) -> bytearray:
    content[_place(content, rng)] = rng.bytes(int(rng.integers(0, 17)))
    return content


def _cut(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: _place(content, rng).start]


def _splice(content: bytearray, rng: np.random.Generator) -> bytearray:
    content[_place(content, rng)] = content[_place(content, rng)]
    return content


def _repeat(content: bytearray, rng: np.random.Generator) -> bytearray:
    place = _place(content, rng)
    content[place] = content[place] * int(rng.integers(2, 50))
    return content


def _extreme(content: bytearray, rng: np.random.Generator) -> bytearray:
    """A number as binary formats have it."""
    size = int(rng.choice([1, 2, 4, 8]))
    value = int(rng.choice([0, 1, 2 ** (8 * size - 1) - 1, -1, -(2 ** (8 * size - 1))]))
    start = _place(content, rng).start
    content[start : start + size] = value.to_bytes(size, "little", signed=True)
    return content


def _number(content: bytearray, rng: np.random.Generator) -> bytearray:
    """A number as texts have it."""
    found = list(re.finditer(rb"\d+(\.\d+)?", content))
    if found:
        start, stop = found[rng.integers(len(found))].span()
        content[start:stop] = NUMBERS[rng.integers(len(NUMBERS))]
    return content


_CHANGES = (_flip, _flip, _noise, _cut, _splice, _repeat, _extreme, _number, _number)


def mutated_json(value: Any, rng: np.random.Generator) -> bytes:
    """One to three parts of a JSON value replaced, removed, moved or wrapped."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.integers(1, 4)):
        places = [*_places(value)] or [({"": 0}, "")]
        where, key = places[rng.integers(len(places))]
        other, name = places[rng.integers(len(places))]
        change = rng.integers(10)
        if change < 6:
            where[key] = deepcopy(VALUES[rng.integers(len(VALUES))])
        elif change < 7:
            where[key] = json.loads(json.dumps(other[name]))
        elif change < 8:
            where[key] = [where[key]]
        elif isinstance(where, dict):
            content = where.pop(key)
            where |= {str(VALUES[rng.integers(len(VALUES))]): content} if change < 9 else {}
    text = json.dumps(value)
    return text.replace(f'"{DEEP}"', "[" * 100_000).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    names = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for name in names:
        yield value, name
        yield from _places(value[name])
