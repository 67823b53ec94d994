"""records.jsonl: what is written is read, lines are whole or refused, and what is no record is not believed."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.train.running import load_records
from mixjax.train.runs.records import append_records, read_records, records_of, write_records
from tests.fuzzing import NUMBER, mutated, mutated_json, survive

RECORD = {
    "job": "mlp-8x1", "net": "mlp-8x1", "width": 8, "depth": 1, "arm": "erm", "seed": 0, "epoch": 1, "classes": 10,
    "alpha": 0.0, "evaluation": "test", "accuracy": 0.5, "nll": 1.25,
}  # fmt: skip
TABLE = {"count": [1.0, 2.0], "confidence": [0.5, 0.75], "accuracy_in_bin": [0.0, 1.0]}
RECORDS = [
    RECORD,
    RECORD | {"seed": 1, "final_norm": True, "init": "torch", "width_multiplier": 0.5},
    RECORD | {"evaluation": "reliability", **TABLE},
    RECORD | {"evaluation": "temperature", "temperature": 1.5, "fitted": False, "held_out": 20},
    RECORD | {"evaluation": "noise", "severity": 0.25},
]


def test_lines_are_appended_and_made_anew(tmp_path):
    path = tmp_path / "records.jsonl"
    append_records(path, RECORDS[:2])
    append_records(path, RECORDS[2:])
    assert read_records(path) == RECORDS
    assert [json.loads(line) for line in path.read_text().splitlines()] == RECORDS
    write_records(path, RECORDS[1:])
    assert read_records(path) == RECORDS[1:]
    write_records(path, [])
    assert read_records(path) == []
    assert [child.name for child in tmp_path.iterdir()] == ["records.jsonl"]


@pytest.mark.parametrize("write", [append_records, write_records])
def test_a_number_that_json_does_not_have_is_not_written(tmp_path, write):
    path = tmp_path / "records.jsonl"
    write_records(path, RECORDS)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        write(path, [RECORD | {"nll": float("nan")}])
    assert path.read_bytes() == before


def test_a_folder_that_is_gone(tmp_path):
    for write in (append_records, write_records):
        with pytest.raises(RunError, match=r"cannot write to .*gone"):
            write(tmp_path / "gone" / "records.jsonl", RECORDS)
    with pytest.raises(RunError, match=r"records.jsonl cannot be read; is .*gone the folder of a run\?"):
        read_records(tmp_path / "gone" / "records.jsonl")


def test_records_that_are_gone_from_a_finished_run(tmp_path):
    (tmp_path / "summary.csv").touch()
    with pytest.raises(RunError, match=r"cannot be read; delete .*summary\.csv and run the same command again"):
        read_records(tmp_path / "records.jsonl")


WRONG = {
    "half a line": json.dumps(RECORD)[:-5],
    "a list": json.dumps([RECORD]),
    "a number": "1",
    "deep": "[" * 100_000,
    "long": json.dumps(RECORD | {"seed": 0}).replace('"seed": 0', '"seed": 1' + "0" * 5000),
    "NaN": json.dumps(RECORD | {"nll": float("nan")}),
    "no job": json.dumps({name: part for name, part in RECORD.items() if name != "job"}),
    **{f"{name} is {part!r}": json.dumps(RECORD | {name: part}) for name, part in (
        ("job", 1), ("arm", ["erm"]), ("seed", "0"), ("seed", 0.5), ("seed", True), ("epoch", -1), ("epoch", None),
        ("evaluation", {}), ("accuracy", "0.5"), ("nll", [1.0]), ("severity", "x"), ("classes", None), ("count", 3),
        ("confidence", ["a"]), ("count", [[1]]), ("init", {"a": 1}), ("other", [0]),
    )},
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_line_that_is_no_record_is_named(tmp_path, case):
    path = tmp_path / "records.jsonl"
    path.write_text(f"{json.dumps(RECORD)}\n{WRONG[case]}\n")
    with pytest.raises(RunError, match=r"records.jsonl, line 2, is not a record; run the same command again"):
        read_records(path)
    (tmp_path / "summary.csv").touch()
    with pytest.raises(RunError, match=r"records.jsonl, line 2, is not a record; delete .*summary.csv and run"):
        read_records(path)


def test_records_in_a_shard():
    assert records_of({"records": np.array(json.dumps(RECORDS)), "logits": np.zeros(3)}) == RECORDS
    beyond = np.frombuffer(b"\xff" * 8, "<U2").reshape(())  # characters that do not exist
    for wrong in ({}, {"records": np.zeros(3)}, {"records": np.array("[")}, {"records": np.array("{}")},
                  {"records": np.array('[{"job": 1}]')}, {"records": beyond}):  # fmt: skip
        assert records_of(wrong) is None


def test_damaged_records_are_read_or_refused(tmp_path, rng):
    path, whole = tmp_path / "records.jsonl", "".join(json.dumps(record) + "\n" for record in RECORDS).encode()

    def damaged():
        for number in range(NUMBER):
            yield mutated_json(RECORDS[number % 5], rng) if number % 2 else mutated(whole, rng)

    def read(content: bytes) -> None:
        path.write_bytes(content)
        read_records(path)

    counts = survive(damaged(), read, tmp_path / "bad")
    assert counts["refused"] > NUMBER / 4 and counts["read"] > 0, counts


def test_a_link_in_place_of_the_records(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.csv").touch()
    write_records(tmp_path / "mine.jsonl", RECORDS)
    os.symlink("../mine.jsonl", tmp_path / "run" / "records.jsonl")
    with pytest.raises(RunError, match=r"records.jsonl is a link; a run has files and folders only"):
        load_records(tmp_path / "run")
