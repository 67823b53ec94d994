"""What docs/scaling.md says was measured is what results/benchmarks/scaling holds."""

from __future__ import annotations

import json

from tests.paths import ROOT


def test_how_it_grows():
    text = " ".join((ROOT / "docs" / "scaling.md").read_text().split("## How it grows")[1].split())
    results = json.loads((ROOT / "results" / "benchmarks" / "scaling" / "scaling.json").read_text())["results"]
    _, first, *_ = growth = results["growth"]["rows"]
    last = max(growth, key=lambda row: row["cells"])
    assert (first["cells"], last["cells"], first["replicates_of_each"]) == (64, 256 * 64, 1000)
    assert f"the time per replicate falls from {first['median_ns']:.0f} ns to {last['median_ns']:.0f} ns" in text
    million = [row["median_ns"] for row in growth if row["cells"] * row["replicates_of_each"] > 1e6]
    assert max(million) < 1.15 * min(million)
    weights = results["weights"]["rows"]
    assert f"with 32 values of t takes {weights[-1]['median_ns'] / weights[0]['median_ns']:.1f} times" in text
    rows = {(row["of"].split()[0], row["number"]): row for row in results["parallel"]["rows"]}
    threads, workers = rows["threads", 2], rows["Dask", 2]
    assert f"Two Dask workers of one thread are {workers['times_as_fast_as_one']:.2f} times" in text
    assert f"are {rows['Dask', 1]['median_s'] / threads['median_s']:.2f} times as fast as one such worker" in text
    assert f"They are only {threads['times_as_fast_as_one']:.2f} times as fast as one thread alone" in text
    assert round(results["overhead"]["rows"][0]["seconds_of_a_unit"], 1) == 0.5
    assert f"the scheduler takes {results['overhead']['ratios']['share']:.1%} of".replace("%", " %") in text
    assert f"these two cores {results['cost']['rows'][0]['hours']:.0f} hours" in text
