"""Several processes: what one is refused all are, and what cannot be joined (`test_processes` has real ones)."""

from __future__ import annotations

import pytest

from mixjax.runs import RunError
from mixjax.train.loop import placement
from mixjax.train.loop.placement import all_processes, join


def test_what_another_process_is_refused_this_one_is(monkeypatch):
    with all_processes():
        pass
    monkeypatch.setattr(placement, "_first_message", lambda text: text or "another run is working in the folder")
    with pytest.raises(RunError, match="another run is working in the folder"), all_processes():
        pass
    with pytest.raises(RunError, match="it is its own"), all_processes():
        raise RunError("it is its own")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("here:1234", 2, 2), r"process must be in \[0, processes\), got 2 of 2"),
        (("here:1234", 2, -1), "got -1 of 2"),
        (("here:1234", 0, 0), "got 0 of 0"),
        (("here", 2, 0), "coordinator must be HOST:PORT, got 'here'"),
        ((":1234", 2, 0), "coordinator must be HOST:PORT, got ':1234'"),
    ],
)
def test_what_cannot_be_joined(arguments, message):
    with pytest.raises(RunError, match=message):
        join(*arguments)
