"""What every calibration error does with order, masks, weights, dtypes, wrong values and no rows."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.calibration import (
    ace,
    brier_decomposition,
    brier_score,
    classwise_ece,
    debiased_ece2,
    ece,
    kde_ece,
    kde_ece_canonical,
    mmce,
    nll,
    signed_gap,
    skce,
    smooth_ece,
    soft_ece,
    sweep_ece,
    tace,
    top_label_ece,
)

SIZE, CLASSES = 12, 3  # one shape for all, and one for rows with a mask: each compiles
PADDED = 2 * SIZE
BINARY = {
    "ece": ece,
    "equal-mass": partial(ece, binning="equal-mass", num_bins=5),
    "debiased": debiased_ece2,
    "sweep": sweep_ece,
    "smooth": smooth_ece,
    "soft": soft_ece,
    "mmce": mmce,
    "kde": partial(kde_ece, bandwidth=0.05),
    "corp": brier_decomposition,
    "signed gap": signed_gap,
}
OF_CLASSES = {
    "top-label": top_label_ece,
    "class-wise": classwise_ece,
    "ace": ace,
    "tace": partial(tace, threshold=0.1, num_bins=4),
    "nll": nll,
    "brier": brier_score,
    "kde canonical": partial(kde_ece_canonical, bandwidth=0.05),
    "skce": partial(skce, bandwidth=0.3),
}
FUNCTIONS = BINARY | OF_CLASSES
WEIGHTED = [name for name in FUNCTIONS if name not in ("debiased", "sweep", "kde", "kde canonical", "skce")]
LOOPING = ["equal-mass", "sweep", "smooth", "mmce", "corp", "skce"]  # what is not a sum may not batch
every = pytest.mark.parametrize("name", FUNCTIONS)


def values(result):
    return np.array([float(leaf) for leaf in jax.tree.leaves(result)])


def draw(name, rng, size=SIZE):
    """Confidences, with ties and both ends, and correctness; or probabilities and labels."""
    if name in BINARY:
        confidence = np.where(rng.random(size) < 0.4, rng.choice([0.0, 0.2, 0.5, 1.0], size), rng.random(size))
        return confidence.astype(np.float32), rng.random(size) < 0.5
    return rng.dirichlet(np.ones(CLASSES), size).astype(np.float32), rng.integers(0, CLASSES, size)


def shuffled(rng, scores, right):
    """The rows in any order among others that hold anything, and which they are."""
    at = rng.permutation(PADDED)[: len(scores)]
    hidden = np.full((PADDED, *scores.shape[1:]), np.nan, np.float32), np.full(PADDED, 7)
    hidden[0][at], hidden[1][at] = scores, right
    return *hidden, np.isin(np.arange(PADDED), at)


@every
def test_order_and_masked_rows_do_not_matter(name, rng):
    function = FUNCTIONS[name]
    for _ in range(3):
        rows = draw(name, rng)
        *hidden, where = shuffled(rng, *rows)
        np.testing.assert_allclose(values(function(*hidden, where=where)), values(function(*rows)), atol=1e-6)
    assert np.isnan(values(function(*hidden, where=np.zeros(PADDED, bool)))).all()


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_repeat_rows(name, rng):
    """...and what is not a weight is refused."""
    function = FUNCTIONS[name]
    for _ in range(3):
        rows, weights = draw(name, rng), rng.permutation([0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 4, 5])
        *repeated, where = shuffled(rng, *(np.repeat(column, weights, axis=0) for column in rows))
        found = values(function(*rows, weights=weights.astype(np.float32)))
        np.testing.assert_allclose(found, values(function(*repeated, where=where)), atol=1e-6)
    for wrong in (-1.0, np.inf):
        with pytest.raises(ValueError, match=f"weights must be finite and not negative, got {wrong:g} in row 4"):
            function(*rows, weights=np.where(np.arange(SIZE) == 4, np.float32(wrong), np.float32(1)))
    assert np.isnan(values(function(*rows, weights=np.zeros(SIZE, np.float32)))).all()


@every
def test_wrong_values_no_rows_and_dtypes(name, rng):
    """A wrong value names its row, NaN and no rows are NaN, and half precision is computed in float32."""
    function, (scores, right) = FUNCTIONS[name], draw(name, rng)
    second, rule = ("correct", "0 or 1") if name in BINARY else ("labels", r"in \[0, 3\)")
    with pytest.raises(ValueError, match=rf"{second} must be {rule}, got 3 in row 5"):
        function(scores, np.where(np.arange(SIZE) == 5, 3, right))
    broken = scores.copy()
    broken[2] = 1.5
    with pytest.raises(ValueError, match=r"must be in \[0, 1\].*, got 1.5 in row 2"):
        function(broken, right)
    broken[2] = np.nan
    assert np.isnan(values(function(broken, right))).all()
    assert np.isnan(values(function(scores[:0], right[:0]))).all()
    half = jnp.asarray(scores, jnp.bfloat16)
    if name in OF_CLASSES:  # rows sum to 1 within what half precision can
        half = jnp.asarray([[0.25, 0.25, 0.5]] * SIZE, jnp.bfloat16)
    found = function(half, right)
    assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(found))
    again = function(np.asarray(half, np.float32), right.astype(np.int8).tolist())
    np.testing.assert_array_equal(values(found), values(again))


@pytest.mark.parametrize("name", LOOPING)
def test_a_batch_under_jit_is_each_alone(name, rng):
    """...and wrong values that are not known are NaN, theirs only."""
    function = FUNCTIONS[name]
    batch = [np.stack(column) for column in zip(*(draw(name, rng) for _ in range(3)), strict=True)]
    alone = [values(function(*(column[i] for column in batch))) for i in (0, 1)]
    batch[0][2, 3] = 1.5
    found = jax.tree.leaves(jax.jit(jax.vmap(function))(*batch))
    np.testing.assert_allclose(np.stack(found, axis=-1)[:2], alone, atol=1e-6)
    assert np.isnan([leaf[2] for leaf in found]).all()
