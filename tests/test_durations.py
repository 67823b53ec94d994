"""Times as a person writes and reads them."""

from __future__ import annotations

import argparse

import pytest

from mixjax.commands.durations import duration, seconds_of


def test_times_are_written_in_words():
    seconds = (0.2, 45, 1800, 36_000, 864_000)
    assert [duration(number) for number in seconds] == ["0.2 s", "45 s", "30 min", "10 h", "10 days"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45s", 45), ("90min", 5400), ("8h", 28_800), ("2.5 h", 9000), ("1days", 86_400), ("1e3 s", 1000)],
)
def test_times_are_read(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["8", "h", "-1h", "8 hours", "nan h", "infh", ""])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="must be a time as in 45s, 90min or 8h"):
        seconds_of(text)
