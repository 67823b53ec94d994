"""TFRecord files: framing and checksums from their definitions, and any damage seen."""

from __future__ import annotations

import struct
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mixjax.datasets import MissingDataError
from mixjax.datasets.tfrecord import read_tfrecord
from mixjax.runs import RunError
from tests.datasets.tfrecords import crc32c, framed

pytest.importorskip("google_crc32c", reason="google-crc32c is not installed")

SETTINGS = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_the_reference_here_has_the_vectors_of_rfc_3720(content, expected):
    assert crc32c(content) == expected


@SETTINGS
@given(records=st.lists(st.binary(max_size=40), max_size=5))
def test_what_is_written_is_read(tmp_path, records):
    path = tmp_path / "any"
    path.write_bytes(b"".join(map(framed, records)))
    assert read_tfrecord(path) == records


RECORDS = [b"", b"a record", bytes(range(100))]
WHOLE = b"".join(map(framed, RECORDS))


@SETTINGS
@given(bit=st.integers(0, 8 * len(WHOLE) - 1))
def test_a_bit_that_is_changed_is_seen(tmp_path, bit):
    content = bytearray(WHOLE)
    content[bit // 8] ^= 1 << bit % 8
    path = tmp_path / "any"
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"damaged.*; get it again") as error:
        read_tfrecord(path)
    assert "\n" not in str(error.value)


@SETTINGS
@given(size=st.integers(1, len(WHOLE) - 1))
def test_a_file_that_is_cut_off_is_seen_or_ends_with_a_record(tmp_path, size):
    path = tmp_path / "any"
    path.write_bytes(WHOLE[:size])
    ends = [len(b"".join(map(framed, RECORDS[:number]))) for number in range(3)]
    if size in ends:
        assert read_tfrecord(path) == RECORDS[: ends.index(size)]  # that it is too few is for who knows how many
    else:
        with pytest.raises(RunError, match="is cut off or damaged in record"):
            read_tfrecord(path)


def test_a_length_that_promises_much_costs_what_is_there(tmp_path):
    path = tmp_path / "promise"
    path.write_bytes(struct.pack("<QI", 2**64 - 1, 0) + bytes(100))
    with pytest.raises(RunError, match="is cut off or damaged in record 0"):
        read_tfrecord(path)


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(MissingDataError, match=r"needs google-crc32c: pip install .*google-crc32c"):
        read_tfrecord(tmp_path / "any")
