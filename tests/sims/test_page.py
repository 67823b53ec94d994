"""What docs/scaling.md says was measured is what results/benchmarks/scaling holds."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_how_it_grows():
    text = " ".join((ROOT / "docs" / "scaling.md").read_text().split("## How it grows")[1].split())
    results = json.loads((ROOT / "results" / "benchmarks" / "scaling" / "scaling.json").read_text())["results"]
    _, first, *_ = growth = results["growth"]["rows"]
    last = max(growth, key=lambda row: row["cells"])
    assert (first["cells"], last["cells"], first["replicates_of_each"]) == (64, 256 * 64, 1000)
    assert f"the time of one falls from {first['median_ns']:.0f} ns to {last['median_ns']:.0f} ns" in text
    million = [row["median_ns"] for row in growth if row["cells"] * row["replicates_of_each"] > 1e6]
    assert max(million) < 1.15 * min(million)
    weights = results["weights"]["rows"]
    assert f"with 32 values of t takes {weights[-1]['median_ns'] / weights[0]['median_ns']:.1f} times" in text
    threads, workers = (row["times_as_fast_as_one"] for row in results["parallel"]["rows"] if row["number"] == 2)
    assert f"Two threads are {threads:.2f} times" in text
    assert f"one thread {workers:.2f} times as fast as one" in text
    assert f"the scheduler takes {results['overhead']['ratios']['share']:.1%} of".replace("%", " %") in text
    assert f"these two cores {results['cost']['rows'][0]['hours']:.0f} hours" in text
