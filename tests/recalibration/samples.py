"""Held-out logits of a classifier that is wrong in a known way, and the mean NLL in float64 from its definition.

A fit takes seconds to compile, so that each has two programs: in float64 with weights and a mask, and `in_float32` a
batch of `BATCH` samples without them, under `jit`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import jax
import numpy as np
from scipy.special import log_softmax

N, K = 70, 4  # of every sample: each shape compiles; sums of more than 64 rows are trees
BATCH = 12
EVERY = {"weights": np.ones(N), "where": np.ones(N, bool)}


class Sample(NamedTuple):
    """Logits [N, K] and labels [N]."""

    logits: np.ndarray
    labels: np.ndarray


def drawn(
    rng: np.random.Generator, *, temperature: float = 1.7, scale=1.0, bias=0.0, size: int = N, classes: int = K
) -> Sample:
    """Labels of the law softmax(scale * logits / temperature + bias), by Gumbel's trick."""
    logits = 2 * rng.standard_normal((size, classes))
    noise = rng.gumbel(size=logits.shape)
    return Sample(logits, (scale * logits / temperature + bias + noise).argmax(axis=1))


def binary(rng: np.random.Generator, *, scale: float = 0.6, bias: float = -0.5, size: int = N) -> Sample:
    """Labels 1 with probability sigmoid(scale * logit + bias)."""
    logits = 2 * rng.standard_normal(size)
    return Sample(logits, (rng.random(size) < 1 / (1 + np.exp(-scale * logits - bias))).astype(np.int64))


def scored(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Confidences with ties, some on the edges of bins, and whether they were right."""
    confidence = (np.round(20 * rng.random(N)) / 20).astype(np.float32)
    return confidence, (rng.random(N) < confidence**2).astype(int)


def few(confidence, correct) -> tuple[np.ndarray, np.ndarray]:
    """A few rows among N, so that they need no program of their own; `options_of_few` masks the others."""
    return np.float32([*confidence, *[0.5] * (N - len(confidence))]), np.array([*correct, *[1] * (N - len(correct))])


def options_of_few(rows: int) -> dict[str, np.ndarray]:
    return {"weights": np.ones(N, np.float32), "where": np.arange(N) < rows}


@cache
def _batched(fit):
    def fitted_and_applied(logits, labels):
        function = fit(logits, labels)
        return function, function(logits)

    return jax.jit(jax.vmap(fitted_and_applied))


def in_float32(fit, samples):
    """The fit of each of at most `BATCH` samples, with what it makes of the logits; under `jit` and `vmap`."""
    padded = [*samples, *[samples[0]] * (BATCH - len(samples))]
    logits, labels = (np.stack(part) for part in zip(*padded, strict=True))
    found = jax.tree.map(np.asarray, _batched(fit)(logits.astype(np.float32), labels))
    return [jax.tree.map(lambda part, k=k: part[k], found) for k in range(len(samples))]


def mean_nll(logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Of softmax(logits)."""
    losses = -log_softmax(np.asarray(logits, np.float64), axis=1)[np.arange(len(labels)), labels]
    return float(np.average(losses, weights=weights))
