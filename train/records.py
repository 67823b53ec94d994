"""DIR/records.jsonl: a line for each net and epoch as it is finished, whole or not there; no times, no paths.

While a run goes on lines are appended. When it starts again, and at its end, the file is made anew from what is stored
for good, in the order of the jobs: the file of a run that was killed is that of a run that was not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mixjax.runs import RunError, explained, write_atomically

__all__ = ["append_records", "read_records", "write_records"]

Records = list[dict[str, Any]]


def append_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Add lines, and see them on the disk.

    Raises:
      RunError: if they cannot be written.
    """
    with explained(path.parent), path.open("a") as file:
        file.write(_lines(records))
        file.flush()
        os.fsync(file.fileno())


def write_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Make the file anew.

    Raises:
      RunError: if it cannot be written; the file that was there stays.
    """
    with explained(path.parent):
        write_atomically(path, _lines(records).encode())


def read_records(path: Path) -> Records:
    """All records of a file.

    Raises:
      RunError: if there is none, or a line is not a record.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        raise RunError(f"{path} cannot be read; is {path.parent} the folder of a finished run?") from None
    advice = f"delete {path.with_name('summary.csv')} and run the same command again to make both anew"
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not {"job", "arm", "seed", "epoch", "evaluation"} <= set(record):
            raise RunError(f"{path}, line {number}, is not a record; {advice}")
        records.append(record)
    return records


def _lines(records: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, allow_nan=False) + "\n" for record in records)
