"""How a command ends: its exit status, and one sentence for what the user can put right."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from mixjax.runs.errors import RunError
from mixjax.runs.memory import wants_memory
from mixjax.runs.untrusted import printable


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
