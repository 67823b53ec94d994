"""Numbers on the command line: what is written can be read again."""

import argparse

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixjax.commands import exactly, whole


@given(st.floats(allow_nan=False))
def test_a_number_is_read_as_it_was(value):
    assert float(exactly(value)) == value


def test_few_digits_are_written_where_they_are_enough():
    numbers = 0.1, 3.0, 1e-5, np.float64(0.1234567)
    assert [exactly(value) for value in numbers] == ["0.1", "3", "1e-05", "0.1234567"]


def test_whole_numbers():
    assert [whole(text) for text in ("12", "-3", "1e3", "2.0", "9007199254740993")] == [12, -3, 1000, 2, 2**53 + 1]
    for text in ("1.5", "nan", "inf", "1e", ""):
        with pytest.raises(argparse.ArgumentTypeError, match=f"must be a whole number, got '{text}'"):
            whole(text)
