"""The numbers of docs/theorems.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import optimize

from mixjax.gaussian import critical_ratio, turning_ratio
from mixjax.gaussian.claims.theorems_4 import sufficient_norm
from tests.pages.shift_numbers import shift_numbers
from tests.pages.tables import at, table
from tests.paths import ROOT

FOLDER = ROOT / "results" / "theorems"
SHARES = "theorems/theorem-configuration-n.csv"
LARGEST = 10_000_000
NEEDED = {"half": 0.4, "fifth": 0.2, "tenth": 0.1, "more": 2.5}  # |theta| / sqrt(p/n_l)


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
    return values | {"favored": favored(), "replicates": int(re.search(r"replicates = (\d+)", text)[1])}


def interval(name: str, row: Any) -> dict[str, float]:
    """Return a share and its 95 % interval under a name."""
    return {name: row.share, f"{name}.low": row.share_low, f"{name}.high": row.share_high}


def favored() -> int:
    """Return how many theorems that need a condition hold as their authors may have meant them.

    One theta other than 0 at a time, p in proportion to n where it is to be comparable (3.4), n_u in proportion to n_l.
    """
    needy = [entry for entry in entries().values() if entry["verdict"] == "needs a condition"]
    return sum(not any(meant(entry["theorem"], each["configuration"]) for each in entry["fails"]) for entry in needy)


def meant(theorem: str, configuration: str) -> bool:
    values = dict(part.split(" = ") for part in configuration.split(", "))
    proportional = theorem != "3.4" or values["p"].endswith("n")
    return "^" not in configuration and values["|theta|"] != "0" and proportional


def low_dimension() -> dict[str, float]:
    late = [each for each in conditional("5.2") if first("5.2", each) == LARGEST]
    assert late == ["p = n^0.9, |theta| = 1, alpha = 1"]
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
        "5.2.others": max(size for each in conditional("5.2") if (size := first("5.2", each)) < LARGEST),
    } | interval("5.1.root", share("5.1", "p = 0.5 n, |theta| = n^-0.5"))


def conditional(theorem: str) -> list[str]:
    """Return the configurations that satisfy the condition too."""
    failing = {each["configuration"] for each in entries()[theorem]["fails"]}
    return [each for each in entries()[theorem]["configurations"] if each not in failing]


def others() -> dict[str, float]:
    cell = "p = {}, |theta| = 1, |theta'| = 1, cosine = 1"
    root = table(SHARES, "theorem == 3.4", configuration=position("3.4", cell.format("n^0.5")))
    rows = table("out_of_domain/table.csv", "angle < 60 and alpha == .05").dropna(subset="helps_up_to")
    reach = rows.groupby("ratio").helps_up_to.mean()
    return {
        "3.4.root.least": root.share.min(),
        "3.4.root.most": root.share.max(),
        "3.4.root.half": (root.share_high - root.share_low).max() / 2,
        "3.4.fixed.before": share("3.4", cell.format("1000"), 10_000).share,
        "3.4.three": first("3.4", cell.format("n^0.75")),
        "ood.half": reach[0.5],
        "ood.two": reach[2],
    } | interval("3.4.fixed", share("3.4", cell.format("1000")))


def pseudo_labels() -> dict[str, float]:
    many, repaired = "p = 5, |theta| = 1, n_u = {}", "p = 12 n, |theta| = 2, n_u = 100 n"
    hundred = share("4.3", repaired, 100)
    assert hundred.exact == 1
    needed = {f"4.1.{name}": float(sufficient_norm(relative, 0)) for name, relative in NEEDED.items()}
    needed |= {f"4.1.{name}.many": float(sufficient_norm(relative, 200)) for name, relative in NEEDED.items()}
    shares = {
        "4.1.small": share("4.1", "p/n_l = 400, |theta| / sqrt(p/n_l) = 0.1, n_u = n", 1000),
        "4.2.root": share("4.2", many.format("n^0.5")),
        "4.2.quarter": share("4.2", many.format("n^0.25")),
        "4.3.root": share("4.3", "p = n^0.5, |theta| = 1, n_u = n^0.5"),
    }
    found = {name: value for key, row in shares.items() for name, value in interval(key, row).items()}
    return needed | found | {"4.3.hundred": hundred.share, "4.3.hundred.high": hundred.share_high}


def capacity() -> dict[str, float]:
    needed = {
        f"needed.{c}": optimize.brentq(lambda norm, c=c: float(turning_ratio(norm)) - c, 1.5, 9, xtol=1e-4)
        for c in (1, 10, 100, 1000)
    }
    peak = optimize.brentq(lambda v: 2 * v * np.tanh(v) - 1, 0.1, 2)
    assert (table("theorems/slope.csv").widest > peak).all()
    return needed | {"step.peak": peak}
