"""Held-out logits of a classifier that is wrong in a known way, and the mean NLL in float64 from its definition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

N, K = 300, 4  # of every sample: each shape compiles


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


def mean_nll(logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Of softmax(logits)."""
    losses = -log_softmax(np.asarray(logits, np.float64), axis=1)[np.arange(len(labels)), labels]
    return float(np.average(losses, weights=weights))
