"""A self-test of the installed XLA: known numbers, checked at the start of every run.

Releases of jaxlib have returned wrong numbers silently (jax-ml/jax#39103, #40633). The test computes what a run is made
of: random words, normals in the far tail, a population error, and a product that is followed by a sum, at a shape that
jaxlib 0.10.2 gets wrong on CPUs. Once compiled it takes some milliseconds.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from mixjax.gaussian import ScoreLaw, population_ece
from mixjax.numerics.threefry import threefry_2x32
from mixjax.random import normal_from_word
from mixjax.runs import RunError

# Counters and keys of the authors' known-answer file for Threefry-2x32, 20 rounds, and the words.
COUNTERS = np.array([[0, 0], [0xFFFFFFFF, 0xFFFFFFFF], [0x243F6A88, 0x85A308D3]], np.uint32)
KEYS = np.array([[0, 0], [0xFFFFFFFF, 0xFFFFFFFF], [0x13198A2E, 0x03707344]], np.uint32)
WORDS = np.array([[0x6B200159, 0x99BA4EFE], [0x1CB996FC, 0xBB002BE7], [0xC4923A9C, 0x483DF7A0]], np.uint32)
# Words as tails: z with P(Z > z) = (word + 1/2) / 2^32, negative with the first bit set.
TAILS = np.array([0, 1, 1000, 1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31], np.uint32)
QUANTILES = np.array([
    6.3379577545537895, 6.166429517819751, 5.039851125968712, 3.48710397659169, 0.6744897498297384, 0.0,
    -6.3379577545537895,
])  # fmt: skip
# (mean, gap) of scores, and ECE; tests/cases/population.json
LAWS = np.array([[1.0, 1.0], [0.25, 63.75]], np.float32)
ERRORS = np.array([0.09853095004759965, 0.4531594306463183])
# Small whole numbers, whose sums every precision has in any order.
MATRIX = np.array([[1, 0, 2], [0, 1, 0], [0, -1, 1]], np.float32)
ROWS = (np.arange(32769 * 3).reshape(-1, 3) % 7 - 2).astype(np.float32)


def check_backend() -> None:
    """Compute the known numbers on the default device, once in a process.

    Raises:
      RunError: if anything is wrong, with what to do.
    """
    if wrong := _wrong(jax.config.read("jax_enable_x64")):
        device = jax.local_devices()[0]
        raise RunError(
            f"jaxlib {jaxlib.__version__} computes wrongly on this {device.platform} device ({', '.join(wrong)}); "
            "nothing was computed: install another jax, or set JAX_PLATFORMS to another platform"
        )


@lru_cache(maxsize=2)
def _wrong(_: bool) -> tuple[str, ...]:
    return faults(jax.jit(_test_values)(COUNTERS, KEYS, TAILS, LAWS, MATRIX, ROWS))


def _test_values(counters: Any, keys: Any, tails: Any, laws: Any, matrix: Any, rows: Any) -> tuple[jax.Array, ...]:
    words = jnp.stack(threefry_2x32((keys[:, 0], keys[:, 1]), (counters[:, 0], counters[:, 1])), axis=1)
    errors = population_ece(ScoreLaw(laws[:, 0], laws[:, 1]))
    sums = jax.vmap(lambda row: jnp.sum((matrix @ row) ** 2))(rows)
    return words, normal_from_word(tails), errors, sums


def faults(values: tuple[jax.Array, ...]) -> tuple[str, ...]:
    """Return the names of those of (words, normals, population errors, sums of squares) that are wrong."""
    words, normals, errors, sums = map(np.asarray, values)
    exact = ((ROWS.astype(np.int64) @ MATRIX.T.astype(np.int64)) ** 2).sum(axis=1)
    right = {
        "random words": np.array_equal(words, WORDS),
        "the tail of the normal": np.allclose(normals, QUANTILES, rtol=1e-5, atol=1e-6),
        "a calibration error": np.allclose(errors, ERRORS, rtol=0, atol=2e-6),
        "a product followed by a sum": np.array_equal(sums, exact),
    }
    return tuple(name for name, holds in right.items() if not holds)
