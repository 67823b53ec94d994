"""The core of the explorer against mixjax, and against the cases that mixjax is tested with."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp

from mixjax.gaussian import (
    ScoreLaw,
    critical_ratio,
    derivative_at_zero,
    derivative_slope,
    expected_errors,
    limit_scores,
    mixup_weight,
    population_accuracy,
    population_errors,
    reliability_curve,
    sample_scores,
)
from tests.explorer.engine import evaluate
from tests.paths import CASES

STATES = 200  # over what the sliders have


@pytest.fixture(scope="module")
def states() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(19)
    ends = {"theta": (0.25, 4.0), "ratio": (0.05, 8.0), "alpha": (0.01, 10.0)}
    return {name: np.exp(rng.uniform(*np.log(pair), STATES)) for name, pair in ends.items()}


def at_states(states: dict[str, np.ndarray], function: str, path: Any) -> dict[str, np.ndarray]:
    """The values of a JavaScript function of a state, by name, each of shape [states]."""
    rows = [dict(zip(states, map(float, row), strict=True)) for row in zip(*states.values(), strict=True)]
    found = evaluate(f"{json.dumps(rows)}.map({function})", path)
    return {name: np.array([row[name] for row in found]) for name in found[0]}


def test_cases(tmp_path):
    """The reference values of population errors, to the last digits."""
    cases = json.loads((CASES / "population.json").read_text())
    laws = [{"mean": case["a"], "gap": case["s2"] - case["a"]} for case in cases]
    values = "(law) => [ece, rmsEce, mce, accuracy].map((value) => value(law))"
    found = evaluate(f"{json.dumps(laws)}.map({values})", tmp_path)
    expected = [[case[name] for name in ("ece", "ece2", "mce", "accuracy")] for case in cases]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.medium
def test_population_values_are_those_of_mixjax(states, tmp_path):
    """At 200 random states, without and with Mixup."""
    values = """({theta, ratio, alpha}) => Object.fromEntries([0, mixupWeight(alpha)].flatMap((t, k) => {
        const law = limitLaw(ratio, theta, t);
        return Object.entries({ece: ece(law), rms_ece: rmsEce(law), mce: mce(law), accuracy: accuracy(law),
                               at: reliability(law, 0.8)}).map(([name, value]) => [name + k, value]);
    }))"""
    found = at_states(states, values, tmp_path)
    t = np.stack([np.zeros(STATES), mixup_weight(states["alpha"], states["alpha"])])
    law = limit_scores(states["ratio"][None], states["theta"][None], t)
    expected = population_errors(law)._asdict() | {
        "accuracy": population_accuracy(law), "at": reliability_curve(law, [0.8])[..., 0],
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose([found[f"{name}{k}"] for k in (0, 1)], value, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.medium
def test_boundaries_and_derivatives_are_those_of_mixjax(states, tmp_path):
    values = """({theta, ratio, alpha}) => {
        const t = mixupWeight(alpha), plain = derivative(ratio, theta), largest = derivativeMce(ratio, theta);
        return {critical: criticalRatio(theta, t), critical_mce: criticalRatioMce(theta, t), value: plain.value,
                slope: plain.slope, value_mce: largest.value, slope_mce: largest.slope};
    }"""
    found = at_states(states, values, tmp_path)
    ratio, theta, t = states["ratio"], states["theta"], mixup_weight(states["alpha"], states["alpha"])
    for name, norm in (("", 1), ("_mce", np.inf)):
        expected = {
            "critical": critical_ratio(theta, t, norm=norm),
            "value": derivative_at_zero(ratio, theta, norm=norm),
            "slope": derivative_slope(ratio, theta, norm=norm),
        }
        for kind, value in expected.items():  # mixjax is right to 1e-11 of a boundary and of a derivative
            scale = np.abs(derivative_at_zero(ratio, theta, norm=norm)) if kind == "slope" else np.abs(value)
            error = np.abs(found[kind + name] - value) / scale
            assert error.max() < 1e-10, (kind + name, error.max())


SETS = 4000
CELLS = [(3, 1, 0.5), (3, 2, 0.5), (4, 5, 0.0), (3001, 2400, 1.0)]  # p = 1 and 2 have fewer directions


@pytest.mark.medium
@pytest.mark.parametrize(("n", "p", "theta"), CELLS)
def test_training_sets_have_the_law_of_mixjax(n, p, theta, key, tmp_path):
    """Kolmogorov-Smirnov on both numbers of a law, at a weight and at the largest, where every part counts: 16 tests of
    false-alarm rate 1e-7."""
    drawn = f"trainingSets({n}, {p}, {theta}, [0.3, 1], {SETS}).map((laws) => laws.map(({{mean, gap}}) => [mean, gap]))"
    found = np.moveaxis(evaluate(drawn, tmp_path), -1, 0)
    expected = sample_scores(key, n=n, p=p, theta_norm=theta, t=np.array([0.3, 1.0]), replicates=5 * SETS)
    for ours, theirs in zip(found, expected, strict=True):
        for k in (0, 1):
            assert ks_2samp(ours[k], np.asarray(theirs[k]), method="asymp").pvalue > 1e-7


@pytest.mark.medium
def test_the_difference_on_the_same_training_sets(tmp_path):
    """Both weights see the same sets: the mean difference is the exact one, within 5 of its small standard errors."""
    n, p, theta, t = 200, 160, 2.0, [0.0, 1 / 3]
    drawn = f"trainingSets({n}, {p}, {theta}, {t}, {SETS})"
    errors = evaluate(f"{drawn}.map((laws) => laws.map((law) => ece(law, FAST)))", tmp_path)
    difference = np.subtract(*errors[::-1])
    exact = np.diff(expected_errors(n=n, p=p, theta_norm=theta, t=np.array(t)).ece)[0]
    standard_error = difference.std() / np.sqrt(SETS)
    assert standard_error < 1e-4
    assert abs(difference.mean() - exact) < 5 * standard_error + 2e-6 + 5e-6  # FAST, and the exact expectation


@pytest.mark.medium
def test_fast_rule(states, tmp_path):
    """What is drawn with few nodes is within 2e-6, also of under-confident laws, and of those worse than chance."""
    mean = states["ratio"] * np.where(np.arange(STATES) % 10 == 0, -0.1, 1.0)
    gap = np.maximum(states["theta"] - 2.0, 0.1 - mean)
    laws = [{"mean": m, "gap": d} for m, d in zip(mean.tolist(), gap.tolist(), strict=True)]
    found = evaluate(f"{json.dumps(laws)}.map((law) => ece(law, FAST))", tmp_path)
    np.testing.assert_allclose(found, population_errors(ScoreLaw(mean, gap)).ece, rtol=0, atol=2e-6)


def test_states_and_links(tmp_path):
    """A link gives its state back; what is wrong in it is as at the start, or at the end of the axis."""
    found = evaluate("""{
        same: stateOf(linkOf({...START, theta: 1.3, alpha: 0.3, classifier: "logistic", penalty: 0.1})),
        wrong: stateOf("#theta=abc&ratio=1e9&penalty=7&classifier=<b>&x=1&n=17.2"),
        start: START,
        round: [roundAt("alpha", place("alpha", 1)), roundAt("n", place("n", 1000)), roundAt("ratio", 2)],
        reached: Object.keys(VALUES).every((name) => VALUES[name].every((value, i) => nearest(name, value) === i)),
    }""", tmp_path)  # fmt: skip
    assert found["same"] == found["start"] | {"theta": 1.3, "alpha": 0.3, "classifier": "logistic", "penalty": 0.1}
    assert found["wrong"] == found["start"] | {"ratio": 8, "n": 17}
    assert found["round"] == [1, 1000, 8]
    assert found["reached"]


@pytest.mark.medium
def test_theorems_at_states(states, tmp_path):
    """3.1 and 5.1 hold everywhere, 5.3 nowhere; 3.2 and 5.2 speak below a boundary, 3.3 where its slope is negative."""
    values = "(state) => Object.fromEntries(theoremsAt(state).map((row) => [row.theorem, row.holds]))"
    rows = at_states(states, values, tmp_path)
    ratio, theta, t = states["ratio"], states["theta"], mixup_weight(states["alpha"], states["alpha"])
    assert all(rows["3.1"]) and all(rows["5.1"]) and not any(rows["5.3"])
    for theorem, norm in (("3.2", 1), ("5.2", np.inf)):
        expected = np.where(ratio < critical_ratio(theta, t, norm=norm), True, None)
        assert rows[theorem].tolist() == expected.tolist()
    assert rows["3.3"].tolist() == np.where(derivative_slope(ratio, theta) < 0, True, None).tolist()
