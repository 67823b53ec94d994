"""The canary: its known answers are right, each fault is named, and a run is refused before anything is computed."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from mixjax import sims
from mixjax.runs import RunError
from mixjax.sims.engine import self_test as canary
from tests import paths

CASES = json.loads((paths.CASES / "population.json").read_text())
RIGHT = (
    canary.WORDS,
    canary.QUANTILES,
    canary.ERRORS,
    ((canary.ROWS.astype(int) @ canary.MATRIX.T.astype(int)) ** 2).sum(axis=1),
)


def test_the_answers_are_those_of_others():
    tails = (canary.TAILS & np.uint32((1 << 31) - 1)).astype(float)
    signs = np.where(canary.TAILS >> 31, -1, 1)
    np.testing.assert_allclose(canary.QUANTILES, signs * norm.isf((tails + 0.5) / 2**32), rtol=1e-12, atol=1e-9)
    cases = {(case["a"], case["s2"]): case["ece"] for case in CASES}
    assert [cases[mean, mean + gap] for mean, gap in canary.LAWS.tolist()] == canary.ERRORS.tolist()


def test_this_backend_sings():
    canary.check_backend()
    assert canary.faults(RIGHT) == ()


@pytest.mark.parametrize("part", range(4))
def test_each_fault_is_named(part):
    """One wrong entry in 10^0 to 10^5."""
    names = ("random words", "the tail of the normal", "a calibration error", "a product followed by a sum")
    sung = [np.array(array) for array in RIGHT]
    sung[part].flat[-1] += 1
    assert canary.faults(tuple(sung)) == (names[part],)


def test_the_tail_that_jax_has_is_a_fault():
    """`jax.random.normal` in single precision goes no further than 5.42."""
    assert canary.faults((RIGHT[0], np.clip(canary.QUANTILES, -5.42, 5.22), *RIGHT[2:])) == ("the tail of the normal",)


def test_a_run_on_a_wrong_backend_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(canary, "_wrong", lambda _: ("a product followed by a sum",))
    with pytest.raises(RunError, match=r"computes wrongly on this cpu device .*nothing was computed: install another"):
        sims.run("phase_diagram", tmp_path / "run", preset="quick")
    assert list((tmp_path / "run").rglob("*.npz")) == []
