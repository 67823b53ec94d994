"""Errors that the user of a run can fix, each in one sentence."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str], None]  # prints a line for people
KEPT = "finished work is kept, and the same command resumes from it"


class RunError(Exception):
    """Report an error that the user of a run can mend; the message is one sentence."""


@contextmanager
def explained(path: object, kept: str = KEPT) -> Iterator[None]:
    """Turn an error of the file system into one sentence, which ends in `kept` where the disk is full."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        full = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EFBIG: "the file would be larger than allowed",
        }.get(error.errno or 0)
        advice = "choose another folder"
        if full:
            reason, advice = full, kept
        elif error.errno in (errno.EEXIST, errno.ENOTDIR):
            reason = "it is a file, or lies inside one"
        raise RunError(f"cannot write to {path}: {reason}; {advice}") from None
