"""What the command lines of `mixjax`, `sims`, `train` and `benchmarks` have in common."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from mixjax.runs import RunError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise.

        Raises:
          RunError: always.
        """
        raise RunError(f"{message}; {self.prog} --help lists what there is")


def exit_status(command: Callable[[], int], interrupted: str = "Interrupted.") -> int:
    """What a command ends with: its own status, 2 for an error that the user can put right, 130 when interrupted.

    Args:
      command: does the work.
      interrupted: what is said when it is interrupted.
    """
    try:
        return command()
    except RunError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{interrupted}", file=sys.stderr)
        return 130


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


def said(folder: Path) -> str:
    """A folder as it may be published: relative to where the command runs, or its name alone."""
    here, there = Path.cwd(), folder.resolve()
    return str(there.relative_to(here)) if there.is_relative_to(here) else folder.name
