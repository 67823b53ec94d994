"""The end of a command: its exit status, and one sentence for an error that the user can fix."""

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
    """Run a command and return its exit status.

    That is the command's own status, 2 for an error that the user can mend, 130, 143 and 129 when Ctrl-C, SIGTERM or a
    lost terminal interrupts it.

    Args:
      command: does the work.
      interrupted: printed when it is interrupted.
    """
    try:
        with _stoppable(), _printable_output():
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
    """Return one sentence on an error that the user can mend, from wherever it comes; None for a fault of this code."""
    text = printable(str(error).strip().split("\n")[0], 300)
    if isinstance(error, RunError):
        return str(error)
    if wants_memory(error):
        return f"out of memory ({text or type(error).__name__}): free some memory, or compute less at a time"
    if isinstance(error, OSError):
        where = f"{printable(error.filename)}: " if error.filename else ""
        return f"{where}{(error.strerror or text).lower()}; fix that, and run the same command again"
    if isinstance(error, RuntimeError | AssertionError) and not _has_devices():
        return f"JAX finds no device ({text or 'without a reason'}); name what is here, as in JAX_PLATFORMS=cpu"
    return None


def _has_devices() -> bool:
    """Return whether JAX has a device; where JAX_PLATFORMS names one that is not here, it may raise either error."""
    import jax

    try:
        return bool(jax.devices())
    except (RuntimeError, AssertionError):
        return False


@contextmanager
def _printable_output() -> Iterator[None]:
    """Print characters that the terminal cannot encode as escapes, and raise a write error only once."""
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
    """A signal other than Ctrl-C's that ends the program; `status` is the exit status that a shell has for it."""

    def __init__(self, number: int):
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM, and the SIGHUP of a lost terminal, end the command as Ctrl-C does: by raising `_Stopped`."""

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
