"""TFRecord files from the description of the format, and a prepared folder turned into one that holds them."""

from __future__ import annotations

import json
import struct

import numpy as np


def crc32c(content: bytes) -> int:
    """The definition, bit by bit: division by x^32 + x^28 + ... + 1 with bits reversed, begun and ended with ones."""
    remainder = 0xFFFFFFFF
    for byte in content:
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0x82F63B78 if remainder & 1 else 0)
    return remainder ^ 0xFFFFFFFF


def framed(record: bytes) -> bytes:
    """A record as TensorFlow's format description has it."""

    def masked(content: bytes) -> bytes:
        crc = crc32c(content)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)

    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


def as_tfrecord(made, name: str, shards: int):
    """The same folder with records in TFRecord files, in several parts, written by the format's description."""
    from array_record.python.array_record_module import ArrayRecordReader

    info = json.loads((made / "dataset_info.json").read_text())
    del info["fileFormat"]  # folders of former times do not say it
    for split in info["splits"]:
        (path,) = made.glob(f"{name}-{split['name']}.array_record*")
        reader = ArrayRecordReader(str(path))
        parts = np.array_split(np.array(reader.read_all(), object), shards)
        reader.close()
        path.unlink()
        split["shardLengths"] = [str(len(part)) for part in parts]
        for number, part in enumerate(parts):
            file = made / f"{name}-{split['name']}.tfrecord-{number:05d}-of-{shards:05d}"
            file.write_bytes(b"".join(map(framed, part)))
    (made / "dataset_info.json").write_text(json.dumps(info))
    return made
