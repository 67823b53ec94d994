"""The limit of the trained classifier as the page has it, interpolated from a table."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mixjax.gaussian import limit_logistic_scores, mixup_weight, population_accuracy, population_ece
from tests.explorer.engine import evaluate

ERRORS = {0.001: 2.5e-3, 0.01: 5e-4, 0.1: 2e-4, 1.0: 1e-4}  # at most; 150 states: 1.9e-3, 3.8e-4, 1.1e-4, 6.4e-5
STATES = 24  # of each penalty


@pytest.mark.medium
def test_interpolated_errors(rng, tmp_path):
    """ECE and accuracy at random states, a third of them without Mixup."""
    penalty = np.repeat(list(ERRORS), STATES)
    ends = {"ratio": (0.05, 8.0), "theta": (0.25, 4.0), "alpha": (0.01, 10.0)}
    ratio, theta, alpha = (np.exp(rng.uniform(*np.log(pair), penalty.size)) for pair in ends.values())
    alpha[::3] = 0.0
    states = np.stack([penalty, ratio, theta, mixup_weight(alpha, alpha + (alpha == 0))], axis=-1)
    found = evaluate(f"""(() => {{
        const table = decodedTable(TABLE);
        const law = (penalty, c, theta, t) => logisticLaws(table, penalty, t, [c], [theta])[0][0];
        return {json.dumps(states.tolist())}.map((state) => [ece, accuracy].map((value) => value(law(...state))));
    }})()""", tmp_path)  # fmt: skip
    exact = limit_logistic_scores(ratio, theta, penalty=penalty, alpha=alpha)
    expected = np.stack([population_ece(exact), population_accuracy(exact)], axis=-1)
    error = np.abs(found - expected).max(axis=-1).reshape(len(ERRORS), STATES).max(axis=-1)
    assert (error < list(ERRORS.values())).all(), error
    assert np.median(np.abs(found - expected)) < 1e-4


def test_a_list_of_states_is_each_of_them(tmp_path):
    """Rows are |theta| and columns are p/n."""
    found = evaluate("""(() => {
        const table = decodedTable(TABLE), lists = [[0.3, 2, 7], [0.5, 3]];
        const laws = logisticLaws(table, 0.1, 0.2, ...lists);
        return laws.flatMap((row, j) => row.map((law, i) => (
            [law, logisticLaws(table, 0.1, 0.2, [lists[0][i]], [lists[1][j]])[0][0]])));
    })()""", tmp_path)  # fmt: skip
    assert len(found) == 6
    assert all(together == alone for together, alone in found)
