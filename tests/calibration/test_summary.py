"""The summary: each number is that of the function whose name it has, in one program."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.special import softmax

from mixjax import calibration, calibration_summary, scores

SIZE, PADDED, CLASSES = 12, 24, 3  # those of test_contract.py, whose programs are shared
KINDS = ("confidence", "probs", "logits")


@pytest.fixture
def logits(rng):
    return (2 * rng.standard_normal((SIZE, CLASSES))).astype(np.float32)


@pytest.fixture
def labels(rng):
    return rng.integers(0, CLASSES, SIZE)


def arguments(kind, logits, labels):
    """The same predictions as one kind of scores."""
    if kind == "logits":
        return {"logits": logits, "labels": labels}
    probs = softmax(logits, axis=1)
    if kind == "probs":
        return {"probs": probs, "labels": labels}
    return {"confidence": probs.max(axis=1), "correct": probs.argmax(axis=1) == labels}


def public(kind, logits, labels, **kept):
    """What the public functions return of rows of which all count."""
    given = arguments(kind, logits, labels)
    to_rows = {"logits": scores.top_label_from_logits, "probs": scores.top_label, "confidence": lambda *pair: pair}
    pair = to_rows[kind](*given.values())
    f, y = (np.asarray(part, np.float64) for part in pair)
    weights = kept.get("weights", np.ones(len(f)))
    values = {
        "num_rows": weights.sum(),
        "accuracy": np.average(y, weights=weights),
        "mean_confidence": np.average(f, weights=weights),
        "rms_ece": calibration.ece(*pair, norm=2, **kept),
    }
    values |= {name: getattr(calibration, name)(*pair, **kept) for name in ("ece", "mce", "signed_gap", "smooth_ece")}
    if "weights" not in kept:
        values["debiased_squared_ece"], values["debiased_rms_ece"] = calibration.debiased_ece2(*pair, **kept)
    if kind == "confidence":
        values["nll"] = calibration.nll(np.stack([1 - pair[0], pair[0]], axis=1), pair[1].astype(int), **kept)
        return values | {"brier_score": calibration.brier_decomposition(*pair, **kept).score}
    probs = softmax(logits, axis=1)
    values["nll"] = {"probs": calibration.nll, "logits": calibration.nll_from_logits}[kind](*given.values(), **kept)
    return values | {
        name: getattr(calibration, name)(probs, labels, **kept) for name in ("classwise_ece", "brier_score")
    }


def check(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == np.float32
        np.testing.assert_allclose(found[name], value, rtol=2e-6, atol=2e-7, err_msg=name)


@pytest.mark.medium
@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_that_of_the_function_of_its_name(kind, logits, labels):
    given = arguments(kind, logits, labels)
    check(jax.jit(lambda given: calibration_summary(**given))(given), public(kind, logits, labels))


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_a_mask(kind, rng, logits, labels):
    """...which may hide anything."""
    at, weights = rng.permutation(PADDED)[:SIZE], rng.integers(1, 4, SIZE).astype(np.float32)
    columns = {**arguments(kind, logits, labels), "weights": weights}
    hidden = {}
    for name, column in columns.items():
        integer = column.dtype.kind != "f"
        hidden[name] = np.full((PADDED, *column.shape[1:]), 7 if integer else np.nan, int if integer else np.float32)
        hidden[name][at] = column
    found = calibration_summary(**hidden, where=np.isin(np.arange(PADDED), at))
    check(found, public(kind, logits, labels, weights=weights))


@pytest.mark.slow
def test_bins_are_those_of_the_options(logits, labels):
    given = arguments("confidence", logits, labels)
    bins = {"num_bins": 4, "binning": "equal-mass", "closed": "right"}
    found = calibration_summary(**given, **bins)
    for name, norm in (("ece", 1), ("rms_ece", 2), ("mce", np.inf)):
        np.testing.assert_allclose(found[name], calibration.ece(*given.values(), norm=norm, **bins), rtol=1e-6)


@pytest.mark.medium
def test_wrong_values_raise_and_are_nan_under_jit(logits, labels):
    given = arguments("confidence", logits, labels)
    given["confidence"][3] = 1.5
    with pytest.raises(ValueError, match=r"confidence must be in \[0, 1\], got 1.5 in row 3"):
        calibration_summary(**given)
    found = jax.jit(lambda given: calibration_summary(**given))(given)
    assert {name for name, value in found.items() if not np.isnan(value)} == {"num_rows"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "give exactly one of probs, logits and confidence, got none"),
        (("probs", "logits", "labels"), "exactly one of .*, got probs and logits"),
        (("probs",), "probs needs labels, got neither"),
        (("logits", "correct"), "logits needs labels, got correct"),
        (("confidence", "correct", "labels"), "confidence needs correct, got labels and correct"),
    ],
)
def test_one_kind_of_scores_with_what_goes_with_it(names, message):
    with pytest.raises(TypeError, match=message):
        calibration_summary(**{name: [0.5] for name in names})
