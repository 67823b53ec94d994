"""The file DIR/records.jsonl: a line for each net and epoch as it is finished; no times, no paths.

A running job appends lines. When a run is resumed, and at its end, the file is written anew from the stored jobs, in
their order: the file of a run that was killed is that of a run that was not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mixjax.runs import RunError, explained, write_atomically
from mixjax.runs.untrusted import parse_json, read_text

from ..loop.history import AT_THE_END, Records
from ..loop.metrics import METRICS

__all__ = ["LONGEST_RECORD", "MOST_RECORDS", "append_records", "read_records", "records_of", "write_records"]

MOST_RECORDS = 2**18  # of the epochs of all nets
LONGEST_RECORD = 2**10  # characters
_MOST_BYTES = MOST_RECORDS * LONGEST_RECORD
_TEXTS = ("job", "net", "arm", "evaluation")
_COUNTS = ("seed", "epoch")
_LISTS = ("count", "confidence", "accuracy_in_bin")
_NUMBERS = (*METRICS, *AT_THE_END, "alpha", "severity", "temperature", "width", "depth", "classes")


def append_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Append lines, and flush them to the disk.

    Raises:
      RunError: if they cannot be written.
    """
    with explained(path.parent), path.open("a") as file:
        file.write(_lines(records))
        file.flush()
        os.fsync(file.fileno())


def write_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Write the file anew.

    Raises:
      RunError: if it cannot be written; the file that was there stays.
    """
    with explained(path.parent):
        write_atomically(path, _lines(records).encode())


def read_records(path: Path) -> Records:
    """Return all records of a file.

    Raises:
      RunError: if there is none, or a line is not a record.
    """
    summary = path.with_name("summary.csv")
    delete = f"delete {summary} and " if summary.exists() else ""
    advice = f"{delete}run the same command again to write {path.name} anew"
    try:
        lines = read_text(path, _MOST_BYTES).splitlines()
    except (OSError, ValueError):
        reason = advice if summary.exists() else f"is {path.parent} the folder of a run?"
        raise RunError(f"{path} cannot be read; {reason}") from None
    records = []
    for number, line in enumerate(lines, start=1):
        record = _parsed(line)
        if not _is_record(record):
            raise RunError(f"{path}, line {number}, is not a record; {advice}")
        records.append(record)
    return records


def records_of(shard: Mapping[str, np.ndarray]) -> Records | None:
    """Return the records in the shard of a job, or None if it holds none."""
    text = shard.get("records", np.array(0))
    try:
        records = _parsed(str(text)) if text.dtype.kind == "U" else None
    except ValueError:  # characters that do not exist
        return None
    return records if isinstance(records, list) and all(map(_is_record, records)) else None


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _is_record(record: Any) -> bool:
    """Return whether a record is flat, has the fields of every record, and each is of its type."""
    if not isinstance(record, dict) or not {*_TEXTS, *_COUNTS} <= record.keys():
        return False
    return all(_KINDS.get(name, _is_scalar)(part) for name, part in record.items())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, int | float | str)


_KINDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_TEXTS, lambda value: isinstance(value, str)),
    **dict.fromkeys(_COUNTS, lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0),
    **dict.fromkeys(_LISTS, lambda value: isinstance(value, list) and all(map(_is_number, value))),
    **dict.fromkeys(_NUMBERS, _is_number),
}


def _lines(records: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, allow_nan=False) + "\n" for record in records)
