"""Any linear estimators: the joint law against literal data, also where the rest of theta has fewer dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mixjax.gaussian import sample_linear_scores
from mixjax.gaussian.beyond import linear
from mixjax.numerics.threefry import Source
from tests.gaussian.beyond.draws import REPLICATES

# p, theta_norm, sigma
CONFIGURATIONS = [(1, 1.0, 1.0), (2, 0.5, 2.0), (3, 1.0, 1.0), (4, 0.0, 0.5), (20, 1.5, 1.0)]
Y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
C = np.array([[1, -1, 1, 1, -1], [0.2, -1.5, 0.4, 0, 0.1], [1, 1, 1, 1, 1], [0.3, 0, 0, 0, 0]]) / 5
KS_CHECKS = len(CONFIGURATIONS) * (2 * len(C) + 3)
KS_LEVEL = 1e-6 / KS_CHECKS  # a right sampler fails under a fresh key with probability 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["triangular", "coefficients"])
def test_equals_literal_simulation(kind, key, rng):
    """KS of each mean and gap, and of the differences of the gaps of two: loadings are C itself, or its triangle."""
    loadings = C if kind == "coefficients" else np.linalg.qr(C.T, mode="r").T
    batch, cells = (len(CONFIGURATIONS), REPLICATES), np.array(CONFIGURATIONS, np.float32).T[:, :, None]
    law = sample_linear_scores(
        key,
        np.broadcast_to((C @ Y).astype(np.float32), (*batch, len(C))),
        np.broadcast_to(loadings.astype(np.float32), (*batch, *loadings.shape)),
        **dict(zip(("p", "theta_norm", "sigma"), cells, strict=True)),
    )
    for index, (p, theta_norm, sigma) in enumerate(CONFIGURATIONS):
        x = sigma * rng.standard_normal((REPLICATES, 5, p))
        x[:, :, 0] += Y * theta_norm
        estimates = np.einsum("ai,kip->kap", C, x)
        mean = estimates[..., 0] * theta_norm / sigma**2
        gap = np.sum(estimates**2, axis=-1) / sigma**2 - mean
        found = [np.asarray(part[index], float) for part in law]
        both = [(one[:, a], other[:, a]) for one, other in zip(found, (mean, gap), strict=True) for a in range(len(C))]
        both += [(found[1][:, a] - found[1][:, 0], gap[:, a] - gap[:, 0]) for a in (1, 2, 3)]
        for samples in both:
            assert stats.ks_2samp(*(np.round(v, 5) for v in samples), method="asymp").pvalue > KS_LEVEL / 2


@pytest.mark.medium
def test_shapes_are_checked(key):
    signal, loadings = np.ones((2, 3, 4)), np.ones((2, 3, 4, 1))
    with pytest.raises(ValueError, match=r"\[\*batch, a\] and \[\*batch, a, r\], got \(2, 3, 4\) and \(2, 3, 4\)"):
        sample_linear_scores(key, signal, signal, p=2, theta_norm=1.0)
    with pytest.raises(ValueError, match=r"must broadcast to \(2, 3\), got \(5, 2, 3\)"):
        sample_linear_scores(key, signal, loadings, p=np.full((5, 1, 1), 2), theta_norm=1.0)
    with pytest.raises(ValueError, match="loadings must have at most 63 columns, got 64"):
        sample_linear_scores(key, np.ones(1), np.ones((1, 64)), p=100.0, theta_norm=1.0)


@pytest.mark.medium
def test_columns_have_words_of_their_own(key, monkeypatch):
    """The purposes of 63 columns, of what they are spent on; drawing from them takes minutes to compile."""
    spent = []
    monkeypatch.setattr(linear, "standard_normals", lambda source, n, df: spent.append(source.purpose) or [df] * n)
    monkeypatch.setattr(linear, "centered_chisquare_from", lambda source, df: spent.append(source.purpose) or df)
    assert len(linear._bartlett(Source.of(key, (1,)), np.full(1, 100.0), linear.LARGEST_RANK)) == 63
    assert len(spent) == len(set(spent)) == 2 * 63
    assert max(spent) < 256
