"""Threefry: the published vectors, JAX's own implementation, and words that depend on nothing but their address."""

from __future__ import annotations

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.numerics.threefry import Source, fold_in, key_words, single, threefry_2x32

# Random123 (Salmon et al. 2011), file kat_vectors, "threefry2x32 20": counter, key, result
KNOWN_ANSWERS = [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


def words(rng, *shape):
    return jnp.asarray(rng.integers(0, 2**32, shape, np.uint32))


blocks = jax.jit(threefry_2x32)


@pytest.mark.parametrize("counter, key, result", KNOWN_ANSWERS)
def test_published_vectors(counter, key, result):
    counter, key = (tuple(np.uint32(word) for word in pair) for pair in (counter, key))
    assert tuple(int(word) for word in blocks(key, counter)) == result


@pytest.mark.medium
def test_equals_jax(rng):
    key, counter = words(rng, 2), words(rng, 2, 1000)
    expected = jax.extend.random.threefry_2x32((key[0], key[1]), counter.reshape(-1)).reshape(2, 1000)
    result = blocks((key[:1], key[1:]), (counter[0], counter[1]))
    np.testing.assert_array_equal(np.stack(result), expected)


def test_keys_and_counters_broadcast(rng):
    key, counter = words(rng, 2, 3, 1), words(rng, 2, 1, 5)
    key, counter = np.asarray(key), np.asarray(counter)
    first, second = blocks((key[0], key[1]), (counter[0], counter[1]))
    for i in range(3):
        for j in range(5):
            alone = blocks((key[0, i, 0], key[1, i, 0]), (counter[0, 0, j], counter[1, 0, j]))
            assert (first[i, j], second[i, j]) == alone


def test_words_of_a_key_are_its_data():
    seed = 0x123456789ABCDEF
    found = key_words(jax.random.key(seed, impl="threefry2x32"))
    assert [int(word) for word in found] == [seed >> 32, seed & 0xFFFFFFFF]


def test_words_of_many_keys(key):
    keys = jax.random.split(key, (2, 3))
    np.testing.assert_array_equal(np.stack(key_words(keys), axis=-1), jax.random.key_data(keys))


@pytest.mark.slow
def test_other_kinds_of_keys_have_words_of_their_own():
    shape = (2, 3)
    keys = jax.random.split(jax.random.key(7, impl="rbg"), shape)
    first, second = key_words(keys)
    assert first.shape == second.shape == shape
    assert first.dtype == second.dtype == np.uint32
    assert len({(int(a), int(b)) for a, b in zip(first.ravel(), second.ravel(), strict=True)}) == keys.size


@pytest.mark.parametrize(
    "not_a_key", [0, np.uint32([0, 1]), jax.random.PRNGKey(0), None], ids=["int", "words", "raw", "None"]
)
def test_only_keys_are_keys(not_a_key):
    for taken_by in (key_words, single):
        with pytest.raises(TypeError, match=r"key must be made by jax\.random\.key\(seed\)"):
            taken_by(not_a_key)


def test_fold_in_gives_a_key_to_each_entry(key, rng):
    data = words(rng, 4, 5)
    data = np.asarray(data)
    first, second = jax.jit(fold_in)(key_words(key), data)
    expected = blocks(key_words(key), (data[2, 3], np.uint32(0)))
    assert (first[2, 3], second[2, 3]) == expected
    assert len(set(np.asarray(first).ravel().tolist())) == 20


def test_a_word_depends_on_its_position_only(key):
    long, short = jax.jit(lambda key: [Source.of(key, shape).words(3) for shape in ((6, 4), (7,))])(key)
    for a, b in zip(long, short, strict=True):
        np.testing.assert_array_equal(np.asarray(a).ravel()[:7], b)


@pytest.mark.medium
def test_streams_and_purposes_never_share_words(key):
    """16,000 pairs of words: two equal ones have probability 16000^2 / 2^65 = 7e-12."""
    source = Source.of(key, (1000,))
    drawn = [source.fold_in(purpose).words(stream) for purpose in (0, 1, 2, 255) for stream in (0, 1, 2, 2**24 - 1)]
    pairs = {pair for first, second in drawn for pair in zip(first.tolist(), second.tolist(), strict=True)}
    assert len(pairs) == 16_000


def test_a_source_broadcasts_keys_over_positions(key):
    first, second = np.asarray(jax.random.key_data(jax.random.split(key, 3))).T
    source = Source((first[:, None], second[:, None]), np.arange(5, dtype=np.uint32)[None, :])
    assert source.shape == (3, 5)
    alone = Source((first[1], second[1]), np.arange(5, dtype=np.uint32))
    together, alone = jax.jit(lambda: (source.words(2), alone.words(2)))()
    np.testing.assert_array_equal(np.stack(together)[:, 1], np.stack(alone))


def test_a_source_needs_a_single_key(key):
    with pytest.raises(ValueError, match=r"single key, got an array of keys of shape \(2,\)"):
        Source.of(jax.random.split(key), (3,))
