"""Keys of pieces: fixed by their names, and refused where two names would share one."""

from __future__ import annotations

import zlib

import jax
import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.sims.configuration import work_of
from mixjax.sims.engine.keys import check_distinct_words, key_of
from mixjax.sims.studies import STUDIES


def test_a_key_follows_from_the_seed_and_the_word_of_the_name():
    expected = jax.random.fold_in(jax.random.key(3, impl="threefry2x32"), zlib.crc32(b"fits 0.5"))
    np.testing.assert_array_equal(jax.random.key_data(key_of(3, "fits 0.5")), jax.random.key_data(expected))


def test_names_with_one_word_are_refused():
    """The shortest collision of CRC-32 in lower-case letters."""
    assert zlib.crc32(b"plumless") == zlib.crc32(b"buckeroo")
    check_distinct_words(["plumless", "another", "plumless"])
    with pytest.raises(RunError, match="'plumless' and 'buckeroo' would share their random numbers"):
        check_distinct_words(["plumless", "another", "buckeroo"])


@pytest.mark.parametrize("study", ["fits", "estimator_bias", "beyond", "generative"])
def test_a_study_refuses_what_it_draws_under_one_word(study, monkeypatch):
    """Every preset has distinct words; if all words are the same, none has."""
    for preset in STUDIES[study].presets:
        work_of(study, preset)
    monkeypatch.setattr("mixjax.sims.engine.keys._word", lambda name: 0)
    with pytest.raises(RunError, match="would share their random numbers"):
        work_of(study, "quick")
