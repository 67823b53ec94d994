"""Options and inputs of the wrong type: refused by name, before anything is computed; NumPy's integers are integers."""

from __future__ import annotations

import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from mixjax import calibration, cli, recalibration
from mixjax.calibration import (
    CalibrationState,
    bootstrap_intervals,
    calibration_test,
    classwise_ece,
    ece,
    kde_ece,
    kde_ece_canonical,
    nll,
    reliability,
    skce,
    soft_ece,
    sweep_ece,
    tace,
    top_label_ece,
)
from mixjax.calibration.clu_metric import calibration_error
from mixjax.calibration.metric import CalibrationMetric
from mixjax.calibration.rows.bins import DEFAULT_BINS
from mixjax.report import of_arrays
from mixjax.report.metrics import Settings

ROWS = ([0.3, 0.8, 0.5], [1, 0, 1])
PROBS = ([[0.3, 0.7], [0.8, 0.2]], [1, 0])
KEY = jax.random.key(0, impl="threefry2x32")

NORMED = {
    "ece": partial(ece, *ROWS),
    "sweep": partial(sweep_ece, [0.1, 0.2, 0.8, 0.9], [0, 0, 0, 1]),
    "soft": partial(soft_ece, *ROWS),
    "kde": partial(kde_ece, *ROWS),
    "canonical": partial(kde_ece_canonical, *PROBS),
    "top-label": partial(top_label_ece, *PROBS),
    "class-wise": partial(classwise_ece, *PROBS),
    "state": lambda norm: CalibrationState.empty().ece(norm),
}


@pytest.mark.parametrize("name", NORMED)
def test_a_norm_is_a_number_of_at_least_1(name):
    for norm in (True, "2", None, 1 + 0j, np.array([1.0, 2.0])):
        with pytest.raises(TypeError, match=f"norm must be a number, got {type(norm).__name__}"):
            NORMED[name](norm=norm)
    for norm in (0.5, np.nan):
        with pytest.raises(ValueError, match="norm must be at least 1"):
            NORMED[name](norm=norm)


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["ece", "sweep", "soft", "kde"])
def test_the_default_norm_is_1(name):
    value = NORMED[name]()
    assert value == NORMED[name](norm=1)
    assert abs(float(value - NORMED[name](norm=2))) > 1e-3


WRONG = {
    "threshold": (lambda: tace(*PROBS, threshold="a"), TypeError, "threshold must be a number, got str"),
    "level": (lambda: reliability(*ROWS).intervals(None), TypeError, "level must be a number, got NoneType"),
    "level in percent": (lambda: reliability(*ROWS).consistency_band(95), ValueError, "between 0 and 1, got 95"),
    "one replicate": (lambda: bootstrap_intervals(KEY, *ROWS, replicates=1), ValueError, "must be at least 2, got 1"),
    "bins of the test": (lambda: calibration_test(KEY, *ROWS, max_bins=2**21), ValueError, "at most 1048576"),
    "vanishing kde": (
        lambda: kde_ece(np.float32(ROWS[0]), ROWS[1], bandwidth=1e-300), ValueError, "in float32, got 1e-300",
    ),
    "vanishing skce": (lambda: skce(np.float32(PROBS[0]), PROBS[1], bandwidth=1e-300), ValueError, "in float32"),
    "vanishing soft": (
        lambda: soft_ece(np.float32(ROWS[0]), ROWS[1], temperature=1e300), ValueError, "in float32, got 1e[+]300",
    ),
    "masked scores": (
        lambda: ece(np.ma.array(ROWS[0], mask=[0, 0, 1]), ROWS[1]), TypeError, "confidence must be an array without",
    ),
    "masked correct": (lambda: ece(ROWS[0], np.ma.array(ROWS[1])), TypeError, "correct must be an array without its"),
    "masked labels": (lambda: nll(PROBS[0], np.ma.array(PROBS[1])), TypeError, "labels must be an array without its"),
    "masked probs": (lambda: nll(np.ma.array(PROBS[0]), PROBS[1]), TypeError, "probs must be an array without its"),
    "a missing value": (
        lambda: ece(pd.Series([0.5, None, 0.5], dtype="object"), ROWS[1]), TypeError, "got dtype object; fill missing",
    ),
    "ragged correct": (lambda: ece(ROWS[0], [[1], [0, 1], 1]), ValueError, "correct must be an array, but has rows of"),
    "ragged labels": (lambda: nll(PROBS[0], [[1], [0, 1]]), ValueError, "labels must be an array, but has rows of"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_are_refused(case):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.slow
def test_integers_of_numpy_are_integers():
    for binning in ("equal-width", "equal-mass"):
        assert ece(*ROWS, num_bins=np.int64(100), binning=binning) == ece(*ROWS, num_bins=100, binning=binning)
    assert CalibrationState.empty(np.int32(70), num_classes=np.int8(2)).update(*PROBS).num_rows() == 2
    found = calibration_test(KEY, *ROWS, max_bins=np.int64(8), num_draws=np.int64(9))
    assert found == calibration_test(KEY, *ROWS, max_bins=8, num_draws=9)


LABELS = {
    "of 9 digits": (np.array([1, 123_456_789]), "123456789 in row 1"),
    "beyond 32 bits": (np.array([1, 2**32]), "in row 1"),
    "of JAX, beyond 32 bits": (jnp.asarray(np.array([1, 2**32 + 1])), "in row 1"),
    "of JAX, far below": (jnp.asarray(np.array([1, -(2**33) + 1])), "in row 1"),
    "of JAX, without sign": (jnp.asarray(np.array([1, 2**63], np.uint64)), "in row 1"),
}


@pytest.mark.medium
@pytest.mark.parametrize("case", LABELS)
def test_labels_do_not_wrap(case):
    """...into the classes there are, and whole numbers are printed as they are."""
    labels, message = LABELS[case]
    with pytest.raises(ValueError, match=rf"labels must be in \[0, 2\), got .*{message}"):
        nll(PROBS[0], labels)


def test_whole_numbers_are_printed_as_they_are():
    with pytest.raises(ValueError, match="where must be boolean, or 0 and 1, got 123456789 in row 1"):
        ece(*ROWS, where=[1, 123_456_789, 0])


def test_every_default_number_of_bins_is_the_same():
    public = [getattr(package, name) for package in (calibration, recalibration) for name in package.__all__]
    public += [CalibrationState.empty, CalibrationMetric, calibration_error, of_arrays, Settings]
    signatures = [inspect.signature(each).parameters for each in public]
    defaults = [parameters["num_bins"].default for parameters in signatures if "num_bins" in parameters]
    assert len(defaults) > 15
    command = cli._parser().parse_args(["rows.csv", "--binary"])
    assert {*defaults, command.num_bins} == {DEFAULT_BINS}
