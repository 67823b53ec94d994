"""The numbers of docs/theorems.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import optimize

from mixjax.gaussian import critical_ratio, turning_ratio
from tests.pages.shift_numbers import shift_numbers
from tests.pages.tables import at, table
from tests.paths import ROOT

FOLDER = ROOT / "results" / "theorems"
SHARES = "theorems/theorem-configuration-n.csv"
LARGEST = 10_000_000


def numbers() -> dict[str, float]:
    return verdicts() | low_dimension() | others() | pseudo_labels() | capacity() | shift_numbers()


def entries() -> Mapping[str, Mapping[str, Any]]:
    return {entry["theorem"]: entry for entry in json.loads((FOLDER / "theorems.json").read_text())}


def position(theorem: str, configuration: str) -> int:
    """Return the number of a configuration in the tables, from the list of them in theorems.json."""
    return entries()[theorem]["configurations"].index(configuration)


def share(theorem: str, configuration: str, n: int = LARGEST) -> Any:
    return at(SHARES, f"theorem == {theorem}", configuration=position(theorem, configuration), n=n)


def first(theorem: str, configuration: str) -> int:
    """Return the size from which on the share is 99 % or more."""
    rows = table(SHARES, f"theorem == {theorem}", configuration=position(theorem, configuration))
    failing = rows[rows.share < 0.99].n.max()
    return int(rows[rows.n > failing].n.min()) if failing == failing else int(rows.n.min())


def verdicts() -> dict[str, float]:
    values = {f"{name}.n": entry["n"] for name, entry in entries().items() if entry["n"] is not None}
    text = (FOLDER / "README.md").read_text()
    return values | {"replicates": int(re.search(r"replicates = (\d+)", text)[1])}


def low_dimension() -> dict[str, float]:
    cell = "p = 5, |theta| = {}, alpha = 1"
    zero = share("3.2", cell.format("0"))
    without = [position("3.2", cell.format(theta)) for theta in ("0", "n^-0.5")]
    return {
        "3.2.zero": zero.share,
        "3.2.zero.high": zero.share_high,
        "3.2.root": share("3.2", cell.format("n^-0.5")).share,
        "3.2.most": table(SHARES, f"theorem == 3.2 and configuration in {without}").share.max(),
        "3.2.kappa": float(critical_ratio(0.01, 1 / 3)) * 1e4,
        "3.2.one": first("3.2", cell.format("1")),
        "3.2.tenth": first("3.2", cell.format("0.1")),
        "3.2.hundredth": first("3.2", cell.format("0.01")),
        "5.1.root": share("5.1", "p = 0.5 n, |theta| = n^-0.5").share,
    }


def others() -> dict[str, float]:
    cell = "p = {}, |theta| = 1, |theta'| = 1, cosine = 1"
    root = table(SHARES, "theorem == 3.4", configuration=position("3.4", cell.format("n^0.5"))).share
    rows = table("out_of_domain/table.csv", "angle < 60 and alpha == .05").dropna(subset="helps_up_to")
    reach = rows.groupby("ratio").helps_up_to.mean()
    return {
        "3.4.root.least": root.min(),
        "3.4.root.most": root.max(),
        "3.4.fixed.before": share("3.4", cell.format("1000"), 10_000).share,
        "3.4.fixed": share("3.4", cell.format("1000")).share,
        "3.4.three": first("3.4", cell.format("n^0.75")),
        "ood.half": reach[0.5],
        "ood.two": reach[2],
    }


def pseudo_labels() -> dict[str, float]:
    many, repaired = "p = 5, |theta| = 1, n_u = {}", "p = 12 n, |theta| = 2, n_u = 100 n"
    hundred = share("4.3", repaired, 100)
    assert hundred.exact == 1
    return {
        "4.2.root": share("4.2", many.format("n^0.5")).share,
        "4.2.quarter": share("4.2", many.format("n^0.25")).share,
        "4.3.hundred": hundred.share,
        "4.3.hundred.high": hundred.share_high,
        "4.3.root": share("4.3", "p = n^0.5, |theta| = 1, n_u = n^0.5").share,
    }


def capacity() -> dict[str, float]:
    needed = {
        f"needed.{c}": optimize.brentq(lambda norm, c=c: float(turning_ratio(norm)) - c, 1.5, 9, xtol=1e-4)
        for c in (1, 10, 100, 1000)
    }
    peak = optimize.brentq(lambda v: 2 * v * np.tanh(v) - 1, 0.1, 2)
    assert (table("theorems/slope.csv").widest > peak).all()
    return needed | {"step.peak": peak}
