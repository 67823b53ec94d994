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


OF_LOGITS = {"logits": scores.top_label_from_logits, "binary-logits": scores.binary_from_logits}
# kind -> (function, names of its arrays)
FUNCTIONS = {
    "binned": (ece, ("confidence", "correct")),
    "equal-mass": (partial(ece, binning="equal-mass"), ("confidence", "correct")),
    "mmce": (mmce, ("confidence", "correct")),
    "smooth": (smooth_ece, ("confidence", "correct")),
    "top-label": (top_label_ece, ("probs", "labels")),
    "classwise": (classwise_ece, ("probs", "labels")),
    **{kind: (partial(from_logits, make), ("logits", "labels")) for kind, make in OF_LOGITS.items()},
    "brier": (brier_score, ("probs", "labels")),
    "debiased-squared": (debiased, ("confidence", "correct")),
    "tace": (tace, ("probs", "labels")),
}


def arrays(case, names, dtype):
    return [np.asarray(case[n], np.int32 if n in ("correct", "labels") else dtype) for n in names]


NAMES = [name for name, case in CASES.items() if case["kind"] in FUNCTIONS]
ROWS = 8  # no case has more


@pytest.mark.parametrize("name", NAMES)
def test_case(name):
    """With others that are masked, so that those of the same options are one program."""
    case = CASES[name]
    function, names = FUNCTIONS[case["kind"]]
    columns, chosen = arrays(case, names, np.float32), options(case)
    where = np.arange(ROWS) < len(columns[0])
    where[: len(columns[0])] &= np.asarray(chosen.get("where", True), bool)
    pad = lambda column: np.resize(column, (ROWS, *column.shape[1:]))  # noqa: E731
    if "logits" in names:
        rows = OF_LOGITS[case["kind"]](*map(pad, columns))
        columns, function = list(map(np.asarray, rows)), ece
    if "weights" in chosen:
        chosen["weights"] = pad(np.array(chosen["weights"], np.float32))
    value = function(*map(pad, columns), **chosen | {"where": where})
    np.testing.assert_allclose(value, case["value"], rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("jit", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_case_alone(name, dtype, jit):
    case = CASES[name]
    function, names = FUNCTIONS[case["kind"]]
    function = partial(function, **options(case))
    value = (jax.jit(function) if jit else function)(*arrays(case, names, dtype))
    assert value.dtype == dtype
    np.testing.assert_allclose(value, case["value"], rtol=0, atol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "brier-decomposition"])
def test_brier_decomposition(name):
    case = CASES[name]
    parts = brier_decomposition(case["confidence"], case["correct"])
    np.testing.assert_allclose(parts, [case[part] for part in ("score", "mcb", "dsc", "unc")], atol=1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "stream"])
def test_stream(name):
    case = CASES[name]
    np.testing.assert_allclose(streamed(case["batches"], case["num_bins"]), case["value"], atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "large"])
def test_large(name):
    case = CASES[name]
    confidence = jnp.full(case["n"], case["confidence"], case["dtype"])
    correct = np.ones(case["n"], bool) if case["correct"] == "all" else np.arange(case["n"]) % 2 == 0
    np.testing.assert_allclose(ece(confidence, correct, **options(case)), case["value"], atol=1e-6)


@pytest.mark.medium
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


@pytest.mark.medium
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] == "error"])
def test_error(name):
    case = CASES[name]
    function, names = (top_label_ece, ("probs", "labels")) if "probs" in case else (ece, ("confidence", "correct"))
    given = [np.asarray(case[n]) for n in names]
    with pytest.raises(ValueError, match=r"must be .*, got .* in row \d"):
        function(*given)
