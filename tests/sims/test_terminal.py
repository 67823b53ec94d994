"""A terminal that is lost, or a reader of its lines that has ended, is nothing that a run of days should die of."""

import os
import sys

import pytest

from sims.terminal import ProgressBar, tell


@pytest.mark.parametrize("place", ["a reader that is gone", "a disk that is full"])
def test_a_run_goes_on_though_nothing_can_be_shown(place, monkeypatch):
    reader, writer = os.pipe()
    target = writer if "reader" in place else os.open("/dev/full", os.O_WRONLY)
    with open(target, "w", buffering=1) as stream, monkeypatch.context() as to:
        to.setattr(sys, "stderr", stream)
        os.close(reader)
        with ProgressBar("map") as shown:
            tell("a line")
            for done in range(3):
                shown(done, 2)
                tell("another")
        os.dup2(os.open(os.devnull, os.O_WRONLY), target)  # or closing would try to write what is left
