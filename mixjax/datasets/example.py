"""`tf.train.Example`, the record of tensorflow-datasets, read from its bytes without protobuf.

    Example   { Features features = 1; }         Feature { BytesList = 1 | FloatList = 2 | Int64List = 3; }
    Features  { map<string, Feature> = 1; }      each list { repeated value = 1; }, integers packed or one by one

Fields with other numbers are skipped, as protobuf does. Floating numbers are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # wire types
_BYTES_LIST, _INT64_LIST = 1, 3

Value = list[bytes] | list[int]


def parse_example(record: bytes) -> dict[str, Value]:
    """The features of an example by name: byte strings, or signed integers.

    Raises:
      ValueError: if the bytes are no example; no length within them is believed beyond their end.
    """
    features: dict[str, Value] = {}
    for message in _messages(record, 1):
        for entry in _messages(message, 1):
            name = b"".join(_messages(entry, 1)[-1:]).decode()
            for feature in _messages(entry, 2)[-1:]:
                features[name] = _value(feature)
    return features


def _value(feature: bytes) -> Value:
    strings = [string for content in _messages(feature, _BYTES_LIST) for string in _messages(content, 1)]
    return strings or [number for content in _messages(feature, _INT64_LIST) for number in _integers(content)]


def _integers(content: bytes) -> Iterator[int]:
    for number, value in _fields(content):
        if number != 1:
            continue
        if isinstance(value, int):
            yield _signed(value)
            continue
        position = 0
        while position < len(value):
            unsigned, position = _varint(value, position)
            yield _signed(unsigned)


def _messages(content: bytes, wanted: int) -> list[bytes]:
    return [value for number, value in _fields(content) if number == wanted and isinstance(value, bytes)]


def _fields(content: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Numbers and values of the fields of a message; of those with a fixed size the bytes."""
    position = 0
    while position < len(content):
        tag, position = _varint(content, position)
        if tag & 7 == _VARINT:
            value, position = _varint(content, position)
            yield tag >> 3, value
            continue
        if tag & 7 == _BYTES:
            size, position = _varint(content, position)
        elif tag & 7 in (_EIGHT, _FOUR):
            size = 8 if tag & 7 == _EIGHT else 4
        else:
            raise ValueError(f"wire type {tag & 7}")
        if size > len(content) - position:
            raise ValueError(f"a field of {size} bytes where {len(content) - position} are left")
        if tag & 7 == _BYTES:
            yield tag >> 3, content[position : position + size]
        position += size


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of at most 64 bits, seven a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(content):
            raise ValueError("a number that is cut off")
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
    raise ValueError("a number of more than ten bytes")


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value
