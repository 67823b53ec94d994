"""What every calibration error does with order, masks, weights, dtypes, wrong values and no rows."""

from __future__ import annotations

import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from mixjax import calibration
from mixjax.calibration import (
    ace,
    aurc,
    brier_decomposition,
    brier_score,
    class_conditional_ece,
    classwise_ece,
    debiased_ece2,
    ece,
    kde_ece,
    kde_ece_canonical,
    kuiper_test,
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

SIZE, CLASSES = 12, 3  # each function has two programs: of SIZE rows, and of rows with weights among others
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
    "aurc": aurc,
    "kuiper": kuiper_test,
}
OF_CLASSES = {
    "top-label": top_label_ece,
    "class-wise": classwise_ece,
    "class-conditional": class_conditional_ece,
    "ace": ace,
    "tace": partial(tace, threshold=0.1, num_bins=4),
    "nll": nll,
    "brier": brier_score,
    "kde canonical": partial(kde_ece_canonical, bandwidth=0.05),
    "skce": partial(skce, bandwidth=0.3),
}
FUNCTIONS = BINARY | OF_CLASSES
UNWEIGHTED = ("debiased", "sweep", "kde", "kuiper", "kde canonical", "skce")
WEIGHTED = [name for name in FUNCTIONS if name not in UNWEIGHTED]
every = pytest.mark.parametrize("name", FUNCTIONS)


def values(result):
    return np.array([float(leaf) for leaf in jax.tree.leaves(result)])


def draw(name, rng, size=SIZE):
    """Confidences, with ties and both ends, and correctness; or probabilities and labels."""
    if name in BINARY:
        confidence = np.where(rng.random(size) < 0.4, rng.choice([0.0, 0.2, 0.5, 1.0], size), rng.random(size))
        return confidence.astype(np.float32), rng.random(size) < 0.5
    return rng.dirichlet(np.ones(CLASSES), size).astype(np.float32), rng.integers(0, CLASSES, size)


def hidden(rng, scores, right, weights):
    """The rows in any order among others that hold anything, with weights and a mask."""
    at = rng.permutation(PADDED)[:SIZE]
    columns = np.full((PADDED, *scores.shape[1:]), np.nan, np.float32), np.full(PADDED, 7), np.full(PADDED, np.nan)
    for column, values in zip(columns, (scores, right, weights), strict=True):
        column[at] = values
    return columns[:2], {"weights": columns[2].astype(np.float32), "where": np.isin(np.arange(PADDED), at)}


def test_every_error_has_a_row():
    """Functions of rows that are no errors, or share the program of one, have tests of their own."""
    others = {
        *("corp_curve", "excess_aurc", "isotonic_regression", "kolmogorov_smirnov_test", "mce", "nll_from_logits"),
        *("reliability", "risk_coverage", "selective_accuracy", "skce_linear", "spiegelhalter_test"),
    }
    called = {getattr(function, "func", function).__name__ for function in FUNCTIONS.values()}
    firsts = {("confidence", "correct"), ("probs", "labels"), ("logits", "labels")}
    public = [getattr(calibration, name) for name in calibration.__all__ if name.islower()]
    of_rows = {each.__name__ for each in public if tuple(inspect.signature(each).parameters)[:2] in firsts}
    assert of_rows - called == others


@pytest.mark.few(5)
@every
def test_weights_repeat_rows_and_a_mask_removes_them(name, rng):
    """...in any order; NaN where none is left."""
    function = FUNCTIONS[name]
    for _ in range(4):
        rows, weights = draw(name, rng), np.ones(SIZE)
        if name in WEIGHTED:
            weights = rng.permutation([0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3])
        columns, options = hidden(rng, *rows, weights)
        if name in UNWEIGHTED:
            del options["weights"]
        repeated = [np.repeat(column, weights.astype(int), axis=0) for column in rows]  # as many rows again
        found = values(function(*columns, **options))
        np.testing.assert_allclose(found, values(function(*repeated)), atol=1e-6)
    assert np.isnan(values(function(*columns, **options | {"where": np.zeros(PADDED, bool)}))).all()


@pytest.mark.medium
@pytest.mark.few(4)
@pytest.mark.parametrize("name", WEIGHTED)
def test_a_row_of_weight_zero_is_no_row_whatever_it_holds(name, rng):
    """...without a mask, nor does it move the derivative."""
    function, (scores, right), weights = FUNCTIONS[name], draw(name, rng), rng.permutation([0.0, 1.0] * (SIZE // 2))
    kept, shape = weights > 0, (SIZE,) + (1,) * (scores.ndim - 1)
    hidden = np.where(kept.reshape(shape), scores, np.nan), np.where(kept, right, 255)
    weights = weights.astype(np.float32)
    np.testing.assert_allclose(
        values(function(*hidden, weights=weights)), values(function(scores[kept], right[kept])), atol=1e-6
    )
    slope = jax.grad(lambda scores: jax.tree.leaves(function(scores, hidden[1], weights=weights))[0])(hidden[0])
    assert (np.asarray(slope)[~kept] == 0).all()


@pytest.mark.medium
@pytest.mark.few(4)
@every
def test_what_rounding_puts_above_one_is_one(name, rng):
    """A mean of softmaxes may be 1.0000001; under jit too."""
    function, (scores, right) = FUNCTIONS[name], draw(name, rng)
    scores[3] = 1.0 if name in BINARY else np.eye(CLASSES, dtype=np.float32)[right[3]]
    above = np.where(scores == 1, np.float32(1.0000001), scores)
    assert (above > 1).any()
    for call in (function, jax.jit(function)):
        np.testing.assert_array_equal(values(call(above, right)), values(call(scores, right)))


@pytest.mark.few(6)
@pytest.mark.parametrize("name", WEIGHTED)
def test_wrong_weights(name, rng):
    columns, options = hidden(rng, *draw(name, rng), np.ones(SIZE))
    row = int(np.argmax(options["where"]))
    for wrong in (-1.0, np.inf):
        options["weights"][row] = wrong
        with pytest.raises(ValueError, match=f"weights must be finite and not negative, got {wrong:g} in row {row}"):
            FUNCTIONS[name](*columns, **options)
    options["weights"][:] = 0
    assert np.isnan(values(FUNCTIONS[name](*columns, **options))).all()


@pytest.mark.medium
@pytest.mark.few(5)
@every
def test_masked_rows_may_be_missing(name, rng):
    """...in columns as pandas and NumPy keep them: labels as floats with NaN, and objects with None, NA or NaN."""
    function, ((scores, right), options) = FUNCTIONS[name], hidden(rng, *draw(name, rng), np.ones(SIZE))
    scores, where = scores.astype(np.float64), options["where"]  # the default, as objects have no dtype
    expected, floats = values(function(scores, right, where=where)), np.where(where, right, np.nan)
    for empty in (None, pd.NA, np.nan):
        row, in_part = scores.astype(object), np.where(np.isnan(scores), 0.5, scores).astype(object)
        row[~where] = empty
        in_part.reshape(PADDED, -1)[np.flatnonzero(~where)[3], -1] = empty
        column = np.where(where, right, empty)
        seconds = [floats, floats.astype(np.float32), floats.tolist(), pd.Series(floats)]
        seconds += [column, pd.Series(column, dtype=object), pd.Series(floats, dtype="Int64")]
        table = pd.Series(row) if name in BINARY else pd.DataFrame(row)
        pairs = [(scores, second) for second in seconds] + [(first, floats) for first in (row, in_part, table)]
        for first, second in [*pairs, (table, column)]:
            np.testing.assert_array_equal(values(function(first, second, where=where)), expected)
    np.testing.assert_array_equal(values(function(table, column, where=pd.Series(where))), expected)


@pytest.mark.medium
@pytest.mark.few(5)
@every
def test_rows_that_count_may_not_be_missing(name, rng):
    """...nor be floats without a mask, nor text."""
    function, (scores, right), kept = FUNCTIONS[name], draw(name, rng), np.arange(SIZE) != 7
    first = "confidence" if name in BINARY else "probs"
    hint = "; fill missing values, or mask their rows"
    for wrong, then in ((None, hint), (pd.NA, hint), ("0.5", "$")):
        objects = scores.astype(object)
        objects[[3, 7], ...] = wrong
        with pytest.raises(TypeError, match=f"{first} must be real numbers, got dtype (object|<U32){then}"):
            function(objects, right, where=kept)
    if name in OF_CLASSES:
        for wrong in (np.nan, 0.5, -0.5):
            labels = np.where(np.arange(SIZE) == 3, wrong, np.where(kept, right, np.nan))
            with pytest.raises(ValueError, match=rf"labels must be whole numbers, got {wrong:g} in row 3$"):
                function(scores, labels, where=kept)
            with pytest.raises(TypeError, match="labels must be whole numbers, got float64"):
                function(scores, labels)
        for wrong, shown in ((3.0, "3"), (np.inf, "2147483647 or more"), (-1e300, "-2147483648")):
            with pytest.raises(ValueError, match=rf"labels must be in \[0, 3\), got {shown} in row 3"):
                function(scores, np.where(np.arange(SIZE) == 3, wrong, right), where=kept)
        with pytest.raises(TypeError, match="labels must be whole numbers, got float32"):
            jax.jit(function)(scores, right.astype(np.float32), where=kept)


@pytest.mark.medium
@pytest.mark.few(9)
@every
def test_wrong_values_and_dtypes(name, rng):
    """A wrong value names its row, NaN is NaN, and half precision is computed in float32."""
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
    half = scores.astype(np.float16)
    if name in OF_CLASSES:  # rows sum to 1 within what half precision can
        half = np.tile(np.float16([0.25, 0.25, 0.5]), (SIZE, 1))
    found = function(half, right)
    assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(found))
    again = function(half.astype(np.float32), right.astype(np.int8).tolist())
    np.testing.assert_array_equal(values(found), values(again))


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("name", OF_CLASSES)
def test_softmaxes_of_half_precision_may_be_converted(name, rng):
    """Their rows are off by 5e-3, which numbers of float32 may not be; a label of -100 says what to do."""
    logits = jnp.asarray(rng.standard_normal((SIZE, CLASSES)), jnp.bfloat16)
    half, right = jax.nn.softmax(logits), rng.integers(0, CLASSES, SIZE)
    rows = half.astype(jnp.float32)
    assert jnp.max(jnp.abs(jnp.sum(rows, axis=1) - 1)) > 1e-3
    function = FUNCTIONS[name]
    found = values(jax.jit(function)(rows, right))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, values(jax.jit(function)(half, right)), rtol=1e-6)  # two programs
    with pytest.raises(ValueError, match=r"probs must be rows that sum to 1, got 1\.0"):
        function(np.asarray(rows) * np.float32(1.02), right)
    right[3] = -100
    with pytest.raises(ValueError, match="got -100 in row 3; where=labels >= 0 leaves out rows without a label"):
        function(rows, right)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["mmce", "sweep", "kde", "corp", "skce", *(
    pytest.param(name, marks=pytest.mark.slow) for name in ("debiased", "smooth", "soft", "class-wise", "tace", "nll")
)])  # fmt: skip
def test_no_rows_are_nan(name, rng):
    scores, right = draw(name, rng)
    assert np.isnan(values(FUNCTIONS[name](scores[:0], right[:0]))).all()


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["mmce", "sweep", "corp", *(
    pytest.param(name, marks=pytest.mark.slow) for name in ("equal-mass", "smooth", "skce")
)])  # fmt: skip
def test_a_batch_under_jit_is_each_alone(name, rng):
    """...of what is not a sum; wrong values that are not known are NaN, theirs only."""
    function = FUNCTIONS[name]
    batch = [np.stack(column) for column in zip(*(draw(name, rng) for _ in range(3)), strict=True)]
    alone = [values(function(*(column[i] for column in batch))) for i in (0, 1)]
    batch[0][2, 3] = 1.5
    found = jax.tree.leaves(jax.jit(jax.vmap(function))(*batch))
    np.testing.assert_allclose(np.stack(found, axis=-1)[:2], alone, atol=1e-6)
    assert np.isnan([leaf[2] for leaf in found]).all()
