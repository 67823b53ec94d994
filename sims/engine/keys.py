"""The keys of pieces of work: each follows from what the piece is, so that neither order nor interruption matters."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import jax

from mixjax.runs import RunError


def key_of(seed: int, name: str) -> jax.Array:
    """Return the key of what a name of the run stands for.

    The name gives one word of 32 bits. Among k names two have the same word with probability k (k - 1) / 2^33: 2e-7 for
    the 40 pieces of `estimator_bias`, 1e-4 for a thousand. `check_distinct_words` refuses a study where it happens.
    """
    return jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), _word(name))


def check_distinct_words(names: Iterable[str]) -> None:
    """Refuse two names that `key_of` would give the same key.

    Raises:
      RunError: names both.
    """
    known: dict[int, str] = {}
    for name in names:
        if known.setdefault(_word(name), name) != name:
            raise RunError(
                f"{known[_word(name)]!r} and {name!r} would share their random numbers; change an axis slightly"
            )


def _word(name: str) -> int:
    return zlib.crc32(name.encode())
