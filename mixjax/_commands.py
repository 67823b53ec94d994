"""What the command lines of `mixjax`, `sims`, `train` and `benchmarks` have in common."""

from __future__ import annotations

import argparse
import dataclasses
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

import mixjax
from mixjax._memory import wants_memory
from mixjax._untrusted import printable
from mixjax.runs import Location, RunError

Known = TypeVar("Known")


class Configurable(Protocol):
    """A study or an experiment: `config` is a dataclass, and each of the presets gives values to some of its fields."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def presets(self) -> Mapping[str, Mapping[str, Any]]: ...

    @property
    def config(self) -> type[Any]: ...


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise.

        Raises:
          RunError: always.
        """
        raise RunError(f"{message}; {self.prog} --help lists what there is")


def exit_status(command: Callable[[], int], interrupted: str = "Interrupted.") -> int:
    """What a command ends with.

    That is its own status, 2 for an error that the user can put right, 130, 143 and 129 when Ctrl-C, SIGTERM or a lost
    terminal interrupts it.

    Args:
      command: does the work.
      interrupted: what is said when it is interrupted.
    """
    try:
        with _stoppable(), _readable_output():
            return command()
    except BrokenPipeError:
        return 128 + 13  # as a shell says of SIGPIPE: whoever read what is printed, as `head` does, has had enough
    except KeyboardInterrupt as stop:
        with suppress(OSError):  # the terminal may be gone
            print(f"\n{interrupted}", file=sys.stderr)
        return stop.status if isinstance(stop, _Stopped) else 130
    except Exception as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        print(f"error: {sentence}", file=sys.stderr)
        return 2


def _sentence(error: Exception) -> str | None:
    """What the user can put right, of errors that may come from anywhere; None for those that are errors of ours."""
    said = printable(str(error).strip().split("\n")[0], 300)
    if isinstance(error, RunError):
        return str(error)
    if wants_memory(error):
        return f"out of memory ({said or type(error).__name__}): free some, or ask for less at a time"
    if isinstance(error, OSError):
        where = f"{printable(error.filename)}: " if error.filename else ""
        return f"{where}{(error.strerror or said).lower()}; mend that, and give the same command again"
    if isinstance(error, RuntimeError | AssertionError) and not _has_devices():
        return f"JAX finds no device ({said or 'it does not say why'}); name what is here, as in JAX_PLATFORMS=cpu"
    return None


def _has_devices() -> bool:
    """Whether JAX has anything to compute on; where JAX_PLATFORMS names what is not here, it may raise either."""
    import jax

    try:
        return bool(jax.devices())
    except (RuntimeError, AssertionError):
        return False


@contextmanager
def _readable_output() -> Iterator[None]:
    """Print what the terminal's encoding lacks as escapes; raise what keeps the output from being written."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        yield
        return
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        try:
            sys.stdout.flush()
        except OSError:  # once is enough: Python would try again at the very end
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise


class _Stopped(KeyboardInterrupt):
    """Asked to end by a signal other than Ctrl-C's; `status` is what a shell calls that."""

    def __init__(self, number: int):
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM, and the SIGHUP of a lost terminal, end what is done here as Ctrl-C does: by raising `_Stopped`."""

    def stop(number: int, _: object) -> NoReturn:
        raise _Stopped(number)

    names = ("SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = [(number, signal.signal(number, stop)) for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def answered(arguments: Sequence[str], usage: str, known: Mapping[str, Configurable]) -> int | None:
    """Answer --help, --version and a call without arguments; returns the exit status, None for any other call.

    Args:
      arguments: of the command line.
      usage: text with `{known}` in it.
      known: what is listed there, a line each.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, known))
        print(usage.format(known="\n".join(f"  {name:{width}}  {entry.summary}" for name, entry in known.items())))
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"mixjax {mixjax.__version__}")
        return 0
    return None


def named(kind: str, name: str, known: Mapping[str, Known]) -> Known:
    """What is known under a name.

    Raises:
      RunError: if nothing is; it says what there is.
    """
    if name not in known:
        raise RunError(f"there is no {kind} {name!r}; there are {', '.join(known)}")
    return known[name]


def preset_with(chosen: Configurable, preset: str, given: Mapping[str, Any], field: str = "option") -> dict[str, Any]:
    """A preset's fields of a configuration, with what is given in place of its values.

    Args:
      chosen: has the presets.
      preset: its name.
      given: value of each field.
      field: what a field is called where it is used.

    Raises:
      RunError: for a preset or a field that there is not.
    """
    fields = [known.name for known in dataclasses.fields(chosen.config)]
    if preset not in chosen.presets:
        raise RunError(f"{chosen.name} has no preset {preset!r}; it has {', '.join(chosen.presets)}")
    if unknown := [name for name in given if name not in fields]:
        raise RunError(f"{chosen.name} has no {field} {unknown[0]!r}; it has {', '.join(fields)}")
    return {**chosen.presets[preset], **given}


def option(default: Any, description: str, **metadata: Any) -> Any:
    """A field of a configuration, with the line that --help shows."""
    return dataclasses.field(default=default, metadata={"help": description, **metadata})


def whole(text: str) -> int:
    """A whole number, also as 1e3.

    Raises:
      argparse.ArgumentTypeError: for anything else.
    """
    try:
        value = int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None
    if value != value or abs(value) == float("inf") or value != int(value):
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}")
    return int(value)


def said(folder: Location) -> str:
    """A folder as it may be published: relative to where the command runs, or its name alone, in what is printable."""
    if not isinstance(folder, Path):
        return folder.name
    here, there = Path.cwd(), folder.resolve()
    return printable(there.relative_to(here) if there.is_relative_to(here) else folder.name, 4096)
