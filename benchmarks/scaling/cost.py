"""What 10^12 replicates would cost, from rates that were measured."""

from __future__ import annotations

import json
from pathlib import Path

import jax

from benchmarks.report import Row, Section
from mixjax import runs
from mixjax.commands.durations import duration
from mixjax.sims.engine.devices import usable_cores

MANY = 1e12
DEVICES = 64  # of a pod
GPU = Path(__file__).parents[2] / "results" / "benchmarks" / "simulator_h200" / "simulator.json"


def cost(grown: Section) -> Section:
    """This machine, at the rate of the largest run of `growth`; a GPU that was measured before; a pod of them."""
    largest = max(grown.rows, key=lambda row: row["cells"] * row["replicates_of_each"])
    made = runs.provenance()
    here = f"{jax.local_device_count()} x {made['device']}, {usable_cores()} cores"
    rows = [_row(here, largest["median_ns"], "measured, in this run")]
    measured = json.loads(GPU.read_text())
    each, device = measured["results"]["speed"]["rows"][0]["median_ns"], measured["device"]
    source = "/".join(GPU.parts[-4:-1])
    rows.append(_row(f"1 x {device}", each, f"measured, {source}"))
    rows.append(_row(f"{DEVICES} x {device}", each / DEVICES, f"assumed: {DEVICES} times the rate of one"))
    text = (
        "A replicate is a training set at n = p = 1000, the plain and one Mixup estimator, and the ECE and MCE of "
        "both; the rates are medians. Time is proportional to the number of replicates (above). That of a pod "
        "was not measured: it assumes that devices do not wait for each other, as units have nothing to say to each "
        "other."
    )
    return Section("cost", "What 10^12 replicates would cost", text, rows, {row["where"]: row["hours"] for row in rows})


def _row(where: str, each_ns: float, basis: str) -> Row:
    seconds = MANY * each_ns * 1e-9
    return {
        "where": where,
        "replicates_a_second": 1e9 / each_ns,
        "1e12_replicates_take": duration(seconds),
        "hours": seconds / 3600,
        "basis": basis,
    }
