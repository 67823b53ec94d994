"""Errors and losses of a law of the score, integrated from the definitions: the independent answer of the tests.

A test point is u = y v ~ N(m, w). The classifier claims s(2v) for y = +1 where s(2 rho v) is true, rho = m/w.
"""

from __future__ import annotations

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def log_gap(u, mean, gap):
    """log of |s(2 rho u) - s(2u)| = |sinh(rho u - u)| / (2 cosh(rho u) cosh u); nothing cancels or overflows."""
    var = mean + gap
    a, b = np.abs(mean / var * u), np.abs(u)
    together = 2 * np.minimum(a, b) if mean >= 0 else 0.0
    with np.errstate(divide="ignore"):
        log_apart = np.log(-np.expm1(-2 * np.abs(gap / var * u)))
    return log_apart - together - np.log1p(np.exp(-2 * a)) - np.log1p(np.exp(-2 * b))


def log_softplus(u):
    """log of log(1 + e^{-2u})."""
    return np.where(u < 18, np.log(np.logaddexp(0, -2 * np.minimum(u, 18))), -2 * u)


def expectation(log_f, mean, gap):
    """E exp(log_f(u)), u ~ N(mean, mean + gap): 40 Gauss nodes on every panel of a mesh that resolves each scale."""
    sd = np.sqrt(mean + gap)
    # also of density * exp(-2 |u|), exp(-2 rho |u|)
    peaks = np.array([mean, -mean, 2 * sd**2 - mean, mean - 2 * sd**2])
    beside = np.add.outer((peaks - mean) / sd, np.arange(-40, 41, 2.0)).ravel()
    scales = np.array([1, sd**2 / abs(mean) if mean else 1])  # of s(2u) and s(2 rho u), meshed geometrically from 0
    ladder = np.outer(scales, 2.0 ** np.arange(-20, 12)).ravel()
    z = np.unique(np.concatenate([beside, [-mean / sd], (ladder - mean) / sd, (-ladder - mean) / sd]))
    z = z[np.abs(z) <= beside.max()]
    half = np.diff(z)[:, None] / 2
    nodes = z[:-1, None] + half * (1 + NODES)
    return np.sum(half * WEIGHTS * np.exp(log_f(mean + sd * nodes) - nodes**2 / 2)) / np.sqrt(2 * np.pi)


DEFINITIONS = {
    "ece": lambda m, d: expectation(lambda u: log_gap(u, m, d), m, d),
    "ece1.5": lambda m, d: expectation(lambda u: 1.5 * log_gap(u, m, d), m, d) ** (1 / 1.5),
    "rms_ece": lambda m, d: np.sqrt(expectation(lambda u: 2 * log_gap(u, m, d), m, d)),
    "nll": lambda m, d: expectation(log_softplus, m, d),
    "brier": lambda m, d: 2 * expectation(lambda u: -2 * np.logaddexp(0, 2 * u), m, d),
    "confidence": lambda m, d: expectation(lambda u: -np.logaddexp(0, -2 * np.abs(u)), m, d),
}


def defined(quantity, law):
    return np.array([DEFINITIONS[quantity](float(m), float(d)) for m, d in zip(law.mean, law.gap, strict=True)])
