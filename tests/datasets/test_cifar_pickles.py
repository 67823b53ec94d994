"""CIFAR's Python version: rows as in the binary one, and pickles that would do something else are refused unread."""

from __future__ import annotations

import os
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.datasets import load
from mixjax.datasets.known import KNOWN
from mixjax.datasets.pickles import read_pickle
from mixjax.runs import RunError
from tests.datasets.conftest import write_cifar, write_tar

FOLDERS = {"cifar10": "cifar-10-batches-py", "cifar100": "cifar-100-python"}
ARCHIVES = {"cifar10": "cifar-10-python.tar.gz", "cifar100": "cifar-100-python.tar.gz"}


def text(word: str) -> bytes:
    """A string as Python 2 has written it."""
    return b"U" + bytes([len(word)]) + word.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def array(values: np.ndarray) -> bytes:
    made = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + number(0) + b"\x85" + text("b") + b"\x87R"
    kind = b"cnumpy\ndtype\n" + text("u1") + number(0) + number(1) + b"\x87R("
    kind += number(3) + text("|") + b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
    shape = b"".join(map(number, values.shape)) + b"\x86"
    content = b"T" + struct.pack("<I", values.nbytes) + values.tobytes()
    return made + b"(" + number(1) + shape + kind + b"\x89" + content + b"tb"


def python2(stored: dict) -> bytes:
    """A dictionary as Python 2 has written it, with everything remembered by number."""

    def value(part):
        if isinstance(part, np.ndarray):
            return array(part)
        if isinstance(part, list):
            return b"](" + b"".join(map(value, part)) + b"e"
        return text(part) if isinstance(part, str) else number(part)

    entries = (text(name) + b"q" + bytes([place]) + value(part) for place, (name, part) in enumerate(stored.items()))
    return b"\x80\x02}q\xff(" + b"".join(entries) + b"u."


def python3(protocol: int):
    return lambda stored: pickle.dumps(stored, protocol)


WRITERS = {"Python 2": python2, **{f"protocol {number}": python3(number) for number in (2, 3, 4)}}


def files_of(name: str, train: np.ndarray, test: np.ndarray) -> dict[str, dict]:
    """The dictionaries of a version, of rows of the binary one."""
    if name == "cifar100":
        split = lambda rows: {  # noqa: E731
            "data": rows[:, 2:], "coarse_labels": rows[:, 0].tolist(), "fine_labels": rows[:, 1].tolist(),
            "filenames": ["a.png"] * len(rows),
        }  # fmt: skip
        names = {"fine_label_names": list(KNOWN[name].class_names), "coarse_label_names": ["group"] * 20}
        return {"train": split(train), "test": split(test), "meta": names}
    batches = {f"data_batch_{k}": part for k, part in enumerate(np.array_split(train, 5), 1)} | {"test_batch": test}
    files = {file: {"data": rows[:, 1:], "labels": rows[:, 0].tolist()} for file, rows in batches.items()}
    return files | {"batches.meta": {"label_names": list(KNOWN[name].class_names), "num_vis": 3072}}


@pytest.fixture
def folder(tmp_path, name, rows):
    made = tmp_path / FOLDERS[name]
    made.mkdir()
    for file, stored in files_of(name, *rows).items():
        (made / file).write_bytes(python2(stored))
    return made


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("place", ["folder", "the folder itself", "archive"])
def test_its_rows_are_those_of_the_binary_version(tmp_path, name, rows, writer, place):
    content = {file: writer(stored) for file, stored in files_of(name, *rows).items()}
    if place == "archive":
        write_tar(tmp_path / "a" / ARCHIVES[name], {f"{FOLDERS[name]}/{file}": part for file, part in content.items()})
    else:
        (tmp_path / "a" / FOLDERS[name]).mkdir(parents=True)
        for file, part in content.items():
            (tmp_path / "a" / FOLDERS[name] / file).write_bytes(part)
    write_cifar(tmp_path / "b", name, rows)
    found = load(name, data_dir=tmp_path / "a" / (FOLDERS[name] if place == "the folder itself" else ""))
    assert found.source == (ARCHIVES if place == "archive" else FOLDERS)[name]
    assert found.fingerprint == load(name, data_dir=tmp_path / "b").fingerprint
    assert found.class_names == KNOWN[name].class_names


class Trap:
    """Its pickle calls a function when it is read."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def objects() -> np.ndarray:
    made = np.empty(1, object)
    made[0] = 3
    return made


class Plain:
    """No exception: a package that a test imports, as distributed does tblib, may change how those are pickled."""


HOSTILE = {
    "a call": ({"data": Trap(os.mkdir, ("sprung",))}, "would call posix mkdir"),
    "a call in a list": ({"data": [Trap(exec, ("open('sprung', 'w')",))]}, "would call (builtins|__builtin__) exec"),
    "a class": ({"data": Trap(KeyError, ("a",))}, "would call (builtins|exceptions|__builtin__) KeyError"),
    "an object": ({"data": Plain()}, r"would call tests\.datasets\.test_cifar_pickles Plain|which no array needs"),
    "an array of objects": ({"data": objects()}, "array of 'O8', not of bytes"),
    "an array of floats": ({"data": np.zeros(3)}, "array of 'f8', not of bytes"),
    "a number of a million digits": ({"data": 10**1_000_00}, "instruction LONG4, which no array needs"),
    "a set": ({"data": {1, 2}}, "would call (builtins|__builtin__) set|which no array needs"),
    "no dictionary": ([1, 2], "damaged, or no dictionary"),
    "a fraction": ({"data": 0.5}, "instruction BINFLOAT"),
}
BYTES = {
    "code to run": (b"cos\nmkdir\n(U\x06sprungtR.", "would call os mkdir"),
    "code to run by its parts": (b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93\x8c\x06sprung\x85R.", "would call os mkdir"),
    "code as an instance": (b"(U\x06sprungios\nmkdir\n.", "instruction INST"),
    "a state for a dictionary": (b"}}b.", "set the state of something other"),
    "a persistent name": (b"Pa\n.", "instruction PERSID"),
    "an extension": (b"\x82\x01.", "instruction EXT1"),
    "a number for memory": (b"}r\xff\xff\xff\x7f.", ""),
    "more bytes than there are": (b"}\x8e" + b"\xff" * 7 + b"\x7f.", "."),
    "nothing remembered": (b"h\x05.", "damaged"),
    "no stack": (b"R.", "damaged"),
    "no end": (b"}", "."),
    "nothing": (b"", "."),
    "an array of another shape": (
        b"}U\x01a" + array(np.zeros((2, 3), np.uint8)).replace(number(3) + b"\x86", number(4) + b"\x86") + b"s.",
        r"array of shape \(2, 4\) and 6 bytes",
    ),
    "two values": (b"}}.", "."),
}  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize(("value", "words"), HOSTILE.values(), ids=HOSTILE)
def test_what_would_do_something_is_refused(tmp_path, monkeypatch, value, words, protocol):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        read_pickle(pickle.dumps(value, protocol))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("content", "words"), BYTES.values(), ids=BYTES)
def test_instructions_by_hand(tmp_path, monkeypatch, content, words):
    monkeypatch.chdir(tmp_path)
    if words:
        with pytest.raises(ValueError, match=words):
            read_pickle(content)
    else:
        assert read_pickle(content) == {}
    assert not list(tmp_path.iterdir())


@settings(max_examples=300)
@given(place=st.integers(0, 400), value=st.integers(0, 255))
def test_a_changed_byte_is_a_dictionary_or_one_sentence(place, value):
    content = bytearray(python2({"data": np.zeros((2, 3), np.uint8), "labels": [1, 2], "names": ["a", "b"]}))
    content[place % len(content)] = value
    try:
        found = read_pickle(bytes(content))
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(found, dict)


WRONG = {
    "a file less": (lambda file, stored: None, "has no (test|data_batch_1|train|batches.meta|meta); get cifar-"),
    "no images": (lambda file, stored: stored | {"data": [1]}, "has no images"),
    "short rows": (lambda file, stored: stored | {"data": stored["data"][:, 1:]}, "has no images"),
    "labels of words": (lambda file, stored: stored | {"labels": ["a"], "fine_labels": ["a"]}, "has no labels"),
    "too many labels": (
        lambda file, stored: stored | {"labels": [0] * 9, "fine_labels": [0] * 9},
        r"images and \d+ lab",
    ),
}


@pytest.mark.parametrize(("change", "words"), WRONG.values(), ids=WRONG)
def test_files_of_something_else(tmp_path, folder, name, rows, change, words):
    file = "train" if name == "cifar100" else "data_batch_1"
    stored = change(file, files_of(name, *rows)[file])
    (folder / file).unlink()
    if stored is not None:
        (folder / file).write_bytes(python2(stored))
    with pytest.raises(RunError, match=words):
        load(name, data_dir=tmp_path)


def test_a_hostile_file_of_cifar_is_one_sentence(tmp_path, folder, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = folder / ("meta" if name == "cifar100" else "batches.meta")
    file.write_bytes(pickle.dumps({"label_names": Trap(os.mkdir, ("sprung",))}, 2))
    with pytest.raises(RunError, match=r"meta is not a file of CIFAR: it would call posix mkdir; get it again$"):
        load(name, data_dir=tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_other_classes(tmp_path, folder, name):
    file = folder / ("meta" if name == "cifar100" else "batches.meta")
    file.write_bytes(python2({"label_names": ["a"], "fine_label_names": ["a"]}))
    with pytest.raises(RunError, match="meta does not name the classes of cifar"):
        load(name, data_dir=tmp_path)
