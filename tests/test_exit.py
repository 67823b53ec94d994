"""What a command ends with: its own status, or one sentence for what may go wrong anywhere."""

import errno
import os
import sys
from pathlib import Path

import jax
import pytest
from jax.errors import JaxRuntimeError

from mixjax.commands import display_path, exit_status
from mixjax.runs import RunError

ERRORS = {
    "its own": (RunError("no such run; choose another"), "no such run; choose another"),
    "memory": (
        MemoryError("Unable to allocate 8 GiB"),
        "out of memory (Unable to allocate 8 GiB): free some memory, or compute",
    ),
    "memory of a device": (
        JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.\nand much more"),
        "out of memory (RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.): free some memory, or compute less",
    ),
    "a file": (
        OSError(errno.EIO, os.strerror(errno.EIO), "runs/\x1b"),
        r"runs/\x1b: input/output error; fix that, and",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_what_may_go_wrong_anywhere_is_one_sentence(case, capsys):
    error, words = ERRORS[case]

    def command():
        raise error

    assert exit_status(command) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and words in said and said.count("\n") == 1


@pytest.mark.parametrize("error", [RuntimeError("Unable to initialize backend 'cuda'"), AssertionError()])
def test_no_device_is_one_sentence(error, capsys, monkeypatch):
    """JAX raises the one or the other where JAX_PLATFORMS names what is not here."""

    def command():
        raise error

    with pytest.raises(type(error)):
        exit_status(command)  # JAX has a device: it was something else
    monkeypatch.setattr(jax, "devices", command)
    assert exit_status(command) == 2
    reason = str(error) or "without a reason"
    sentence = f"error: JAX finds no device ({reason}); name what is here, as in JAX_PLATFORMS=cpu\n"
    assert capsys.readouterr().err == sentence


def test_an_error_of_ours_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        exit_status(lambda: 1 // 0)


@pytest.mark.parametrize("size", [1, 100_000], ids=["when it ends", "at once"])
@pytest.mark.parametrize("place", ["a reader that is gone", "a disk that is full", "an encoding that lacks letters"])
def test_what_is_printed_where_it_cannot_be(place, size, monkeypatch, capsys, tmp_path):
    """At once, or when the command ends: as --help does, with SystemExit."""

    def command():
        print("\udcff é" + "x" * size)
        return 0 if size > 1 or "encoding" in place else sys.exit(0)

    file = tmp_path / "out"
    if place == "a reader that is gone":
        reader, target = os.pipe()
        os.close(reader)
    else:
        target = os.open("/dev/full" if "full" in place else file, os.O_WRONLY | os.O_CREAT)
    with open(target, "w", encoding="ascii" if "encoding" in place else "utf-8") as stream, monkeypatch.context() as to:
        to.setattr(sys, "stdout", stream)  # which raises when it is closed, if something is left to be written
        status = exit_status(command)
    full = "error: no space left on device; fix that, and run the same command again\n"
    ends = {"a reader that is gone": (141, ""), "a disk that is full": (2, full)}
    assert (status, capsys.readouterr().err) == ends.get(place, (0, ""))
    if place not in ends:
        assert file.read_text() == rf"\udcff \xe9{'x' * size}" + "\n"


def test_a_folder_is_said_in_what_is_printable(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert display_path(Path("runs/\udcff")) == r"runs/\udcff"
    assert display_path(Path("runs/ü日本")) == "runs/ü日本"
