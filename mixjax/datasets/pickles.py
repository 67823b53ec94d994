"""A pickle as plain values, without Python's unpickler: nothing in it is called, and no class is looked up.

A pickle is a program for a small stack machine, which may call any function by its name. The machine here knows only
the instructions that dictionaries, lists, texts, whole numbers and NumPy arrays of bytes need. It knows the names of
the three functions that store such arrays, and does itself what they would do. It refuses any other instruction or
name.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["read_pickle"]

_VALUES = (
    *("BININT", "BININT1", "BININT2", "LONG1", "BINSTRING", "SHORT_BINSTRING", "BINUNICODE", "SHORT_BINUNICODE"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
)
_NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple,
}  # fmt: skip
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = ("PROTO", "FRAME", "STOP")
_ARRAYS = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
_BYTES = ("u1", "|u1")  # the only type of the entries of an array


class _Name(NamedTuple):
    text: str


class _Array:
    """An array, whose content comes later."""

    content: np.ndarray | None = None


class _Type:
    """The type of the entries of an array, which is `uint8`."""


def read_pickle(content: bytes) -> dict[str, Any]:
    """Read a dictionary of arrays of bytes, lists, texts and whole numbers, in protocols 2 to 4.

    Texts and the names of entries that Python 2 has written are bytes, taken for Latin-1.

    Raises:
      ValueError: for a pickle of anything else, by the name that it would call, and for one that is damaged.
    """
    machine = _Machine()
    try:
        for code, argument, _ in pickletools.genops(content):
            machine.do(code.name, argument)
        (value,) = machine.stack
        found = {_text(name): part.content if isinstance(part, _Array) else part for name, part in value.items()}
    except (LookupError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError) as error:
        raise ValueError(f"it is damaged, or no dictionary ({type(error).__name__})") from None
    return found


class _Machine:
    """The stack, what is remembered of it by number, and the stacks below marks."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def do(self, code: str, argument: Any) -> None:
        """Follow an instruction."""
        if code in _VALUES:
            self.stack.append(argument)
        elif code in _NEW:
            self.stack.append(_NEW[code]())
        elif code in ("BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if argument is None else argument] = self.stack[-1]
        elif code in ("BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif code == "MARK":
            self.below.append(self.stack)
            self.stack = []
        elif code in _TUPLES:
            self.stack[-_TUPLES[code] :] = [tuple(self.stack[-_TUPLES[code] :])]
        elif code == "GLOBAL":
            self.stack.append(_Name(argument))
        elif code not in _NOTHING:
            self._change(code)

    def _change(self, code: str) -> None:
        if code == "TUPLE":
            marked = self._marked()
            self.stack.append(tuple(marked))
        elif code in ("APPENDS", "APPEND"):
            marked = self._marked() if code == "APPENDS" else [self.stack.pop()]
            self.stack[-1].extend(marked)
        elif code in ("SETITEMS", "SETITEM"):
            marked = self._marked() if code == "SETITEMS" else [self.stack.pop(-2), self.stack.pop()]
            self.stack[-1].update(zip(marked[::2], marked[1::2], strict=True))
        elif code == "STACK_GLOBAL":
            name = self.stack.pop()
            self.stack.append(_Name(f"{self.stack.pop()} {name}"))
        elif code == "REDUCE":
            arguments = self.stack.pop()
            self.stack.append(_made(self.stack.pop(), arguments))
        elif code == "BUILD":
            _fill(self.stack, self.stack.pop())
        else:
            raise ValueError(f"it has the instruction {code}, which no array needs")

    def _marked(self) -> list[Any]:
        """Return what is above the last mark."""
        marked, self.stack = self.stack, self.below.pop()
        return marked


def _made(function: Any, arguments: Any) -> Any:
    """Return what one of the three known functions would."""
    name = function.text if isinstance(function, _Name) else "something without a name"
    if name in _ARRAYS and arguments[0] == _Name("numpy ndarray"):
        return _Array()
    if name == "numpy dtype":
        if _text(arguments[0]) not in _BYTES:
            raise ValueError(f"it has an array of {_text(arguments[0])!r}, not of bytes")
        return _Type()
    if name == "_codecs encode" and arguments[1] == "latin1":
        return arguments[0].encode("latin-1")
    raise ValueError(f"it would call {name}")


def _fill(stack: list[Any], state: Any) -> None:
    """Give the array on the stack its content; the state of a type says nothing more of bytes."""
    if isinstance(stack[-1], _Type):
        return
    if not isinstance(stack[-1], _Array):
        raise ValueError("it would set the state of something other than an array")
    _, shape, kind, fortran, content = state
    content = content.encode("latin-1") if isinstance(content, str) else content
    if not isinstance(kind, _Type) or not isinstance(content, bytes) or min(shape, default=0) < 0:
        raise ValueError("it has an array that is not of bytes")
    if math.prod(shape) != len(content):
        raise ValueError(f"it has an array of shape {shape} and {len(content)} bytes")
    stack[-1].content = np.frombuffer(content, np.uint8).reshape(shape, order="F" if fortran else "C")


def _text(name: Any) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else name + ""
