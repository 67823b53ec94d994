"""The shared table of cases: contested inputs with their right values, through the public functions."""

from __future__ import annotations

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax import scores
from mixjax.calibration import (
    CalibrationState,
    brier_decomposition,
    brier_score,
    classwise_ece,
    debiased_ece2,
    ece,
    mmce,
    smooth_ece,
    tace,
    top_label_ece,
)
from tests import paths

CASES = {case["id"]: case for case in json.loads((paths.CASES / "calibration.json").read_text())}
OPTIONS = ("num_bins", "norm", "closed", "where", "weights", "threshold", "variant")


def options(case):
    chosen = {name: case[name] for name in OPTIONS if name in case}
    return {**chosen, **({"norm": float(chosen["norm"])} if "norm" in chosen else {})}


def from_logits(make, logits, labels, **kwargs):
    return ece(*make(logits, labels), **kwargs)


def debiased(confidence, correct, *, variant, **kwargs):
    return debiased_ece2(confidence, correct, form=variant, **kwargs).squared


def streamed(batches, num_bins):
    state = CalibrationState.empty(num_bins)
    for confidence, correct in batches:
        state = state.update(confidence, correct)
    return state.ece()


# kind -> (function, names of its arrays)
FUNCTIONS = {
    "binned": (ece, ("confidence", "correct")),
    "equal-mass": (partial(ece, binning="equal-mass"), ("confidence", "correct")),
    "mmce": (mmce, ("confidence", "correct")),
    "smooth": (smooth_ece, ("confidence", "correct")),
    "top-label": (top_label_ece, ("probs", "labels")),
    "classwise": (classwise_ece, ("probs", "labels")),
    "logits": (partial(from_logits, scores.top_label_from_logits), ("logits", "labels")),
    "binary-logits": (partial(from_logits, scores.binary_from_logits), ("logits", "labels")),
    "brier": (brier_score, ("probs", "labels")),
    "debiased-squared": (debiased, ("confidence", "correct")),
    "tace": (tace, ("probs", "labels")),
}


def arrays(case, names, dtype):
    return [np.asarray(case[n], np.int32 if n in ("correct", "labels") else dtype) for n in names]


MORE = [(np.float32, True), (np.float64, False), (np.float64, True)]
FORMS = [(np.float32, False), *(pytest.param(*form, marks=pytest.mark.slow) for form in MORE)]


@pytest.mark.parametrize("dtype, jit", FORMS)
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] in FUNCTIONS])
def test_case(name, dtype, jit):
    case = CASES[name]
    function, names = FUNCTIONS[case["kind"]]
    function = partial(function, **options(case))
    value = (jax.jit(function) if jit else function)(*arrays(case, names, dtype))
    assert value.dtype == dtype
    np.testing.assert_allclose(value, case["value"], rtol=0, atol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "brier-decomposition"])
def test_brier_decomposition(name):
    case = CASES[name]
    parts = brier_decomposition(case["confidence"], case["correct"])
    np.testing.assert_allclose(parts, [case[part] for part in ("score", "mcb", "dsc", "unc")], atol=1e-12)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "stream"])
def test_stream(name):
    case = CASES[name]
    np.testing.assert_allclose(streamed(case["batches"], case["num_bins"]), case["value"], atol=1e-7)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "large"])
def test_large(name):
    case = CASES[name]
    confidence = jnp.full(case["n"], case["confidence"], case["dtype"])
    correct = np.ones(case["n"], bool) if case["correct"] == "all" else np.arange(case["n"]) % 2 == 0
    np.testing.assert_allclose(ece(confidence, correct, **options(case)), case["value"], atol=1e-6)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "nan"])
def test_nan(name):
    case = CASES[name]
    function = partial(ece, num_bins=case["num_bins"])
    confidence = np.array(case["confidence"], np.float32)
    correct = np.array(case["correct"], np.int32)
    assert np.isnan(function(confidence, correct))
    if "masked_value" in case:
        value = function(confidence, correct, where=~np.isnan(confidence))
        np.testing.assert_allclose(value, case["masked_value"], atol=1e-7)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "error"])
def test_error(name):
    case = CASES[name]
    function, names = (top_label_ece, ("probs", "labels")) if "probs" in case else (ece, ("confidence", "correct"))
    given = [np.asarray(case[n]) for n in names]
    with pytest.raises(ValueError, match=r"must be .*, got .* in row \d"):
        function(*given)
