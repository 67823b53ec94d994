"""Verdicts from shares, and the study that measures them: what it finds, and what it leaves."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from mixjax import sims
from mixjax.gaussian.claims import CLAIMS
from mixjax.gaussian.claims.claim import Claim
from mixjax.sims.cli import main
from mixjax.sims.reports.theorems import verdict
from mixjax.sims.studies import STUDIES
from mixjax.sims.studies.comparison import wilson_interval
from mixjax.sims.studies.theorems import CONFIGURATIONS

pytestmark = pytest.mark.slow


def row(shares, stated, met, count=1000):
    """A theorem whose shares at n = 10, 100, 1000 are given for each configuration."""
    share = np.array(shares, float)
    low, high = wilson_interval(share, np.full(share.shape, count))
    value, dims = 0.5 - share, ("configuration", "n")
    return xr.Dataset(
        {
            "value": (dims, value),
            "value_se": (dims, 0.01 + 0 * value),
            "share": (dims, share),
            "share_low": (dims, low),
            "share_high": (dims, high),
            "stated": ("configuration", np.array(stated, float)),
            "met": ("configuration", np.array(met, float)),
        },
        {"n": [10, 100, 1000], "cell": ("configuration", [f"cell {k}" for k in range(len(share))])},
    )


CLAIM = Claim("9.9", "It is so.", value=lambda: 0, limit=lambda: 0, stated=lambda: True, condition="if it is")
UP, DOWN, HALF = [0.6, 0.995, 1.0], [0.5, 0.1, 0.0], [0.5, 0.5, 0.5]


@pytest.mark.parametrize("shares, stated, met, expected, n", [
    ([UP, UP], [1, 1], [1, 1], "holds", 100),
    ([UP, [0.2, 0.4, 1.0]], [1, 1], [1, 1], "holds", 1000),
    ([UP, DOWN], [1, 1], [1, 0], "holds with condition", 100),
    ([UP, DOWN], [1, 0], [1, 1], "holds", 100),  # what is not stated does not count
    ([DOWN, DOWN], [1, 1], [0, 0], "refuted", None),
    ([UP, HALF], [1, 1], [1, 1], "undecided", None),
    ([UP, HALF], [1, 1], [1, 0], "undecided", None),
    ([DOWN, HALF], [1, 1], [0, 0], "undecided", None),
    ([[0.6, 0.995, 0.9]], [1], [1], "undecided", None),
    ([UP, UP], [1, np.nan], [1, np.nan], "holds", 100),
])  # fmt: skip
def test_verdict(shares, stated, met, expected, n):
    found = verdict(row(shares, stated, met), CLAIM)
    assert (found["verdict"], found["n"]) == (expected, n)


def test_the_estimate_is_of_the_configuration_that_is_closest_to_the_opposite():
    shares = [[0.9, 0.95, 1.0], [0.9, 0.95, 0.999]]
    found = verdict(row(shares, [1, 1], [1, 1]), CLAIM)
    np.testing.assert_allclose(found["estimate"], -0.499)
    assert "cell 1" in found["conditions"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "theorems"
    assert main(["theorems", "--n", "100,100000", "--replicates", "400", "--out", str(out)]) == 0
    return out


def test_what_is_found(run):
    """Eleven rows: 5.3 refuted, 3.3 and 4.3 hold with a condition, the others hold, by n = 100,000."""
    entries = json.loads((run / "theorems.json").read_text())
    assert [entry["theorem"] for entry in entries] == list(CLAIMS) == sorted(CLAIMS)
    assert len(entries) == 11
    found = {entry["theorem"]: entry["verdict"] for entry in entries}
    assert found.pop("5.3") == "refuted"
    assert {found.pop(name) for name in ("3.3", "4.3")} == {"holds with condition"}
    assert set(found.values()) == {"holds"}
    keys = {"theorem", "statement", "verdict", "estimate", "standard_error", "n", "conditions", "figure", "command"}
    for entry in entries:
        assert keys <= entry.keys()
        assert (run / entry["figure"]).exists()
        assert (entry["estimate"] < 0) == (entry["verdict"] != "refuted")
        assert entry["command"].startswith("python -m sims theorems --preset default --out")
        assert entry["studies"]
        assert set(entry["studies"]) <= STUDIES.keys()
    page = (run / "theorems.md").read_text()
    assert "**refuted**" in page
    assert next(line for line in page.splitlines() if "| 3.5 |" in line).endswith("| `generative`, `real_images` |")


def test_values_tend_to_their_limits(run):
    """At n = 100,000 within 6 standard errors, 2 % of the limit, and what is left at fixed p, of order 1/sqrt(n)."""
    table = sims.load(run).isel(n=-1)
    shown = table["stated"] == 1
    error = abs(table["value"] - table["limit"]) - 6 * table["value_se"]
    assert (error.where(shown, -1) < 0.02 * abs(table["limit"]).where(shown, 1) + 0.1 / np.sqrt(1e5)).all()


def test_configurations_are_what_the_claims_take():
    assert CONFIGURATIONS.keys() == CLAIMS.keys()
    for name, cells in CONFIGURATIONS.items():
        assert all(np.isfinite(CLAIMS[name].limit(**cell)) for cell in cells)
        assert any(CLAIMS[name].stated(**cell) for cell in cells)
