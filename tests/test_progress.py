"""A terminal that is lost, or a reader of its lines that has ended, is nothing that a run of days should die of."""

import os
import sys

import pytest

from mixjax.commands.progress import ProgressBar, tell
from mixjax.sims.cli import _options


@pytest.mark.parametrize("place", ["a reader that is gone", "a disk that is full"])
def test_a_run_goes_on_though_nothing_can_be_shown(place, monkeypatch):
    reader, writer = os.pipe()
    target = writer if "reader" in place else os.open("/dev/full", os.O_WRONLY)
    with open(target, "w", buffering=1) as stream, monkeypatch.context() as to:
        to.setattr(sys, "stderr", stream)
        os.close(reader)
        with ProgressBar() as shown:
            tell("a line")
            for done in range(3):
                shown(done, 2, "map")
                tell("another")
        os.dup2(os.open(os.devnull, os.O_WRONLY), target)  # or closing would try to write what is left


def test_the_bar_says_what_is_done_before_and_after_the_units(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    said = []
    with ProgressBar() as shown:
        for show in (shown, lambda *state: said.append(state[-1])):
            for done in range(3):
                _options("map", show).progress(done, 2)
    assert said == ["map (compiling), 0/2 units", "map, 1/2 units", "map (making the table), 2/2 units"]
    assert "map (making the table), 2/2 units" in capsys.readouterr().err
