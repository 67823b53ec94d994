"""The numbers of docs/training.md."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.paths import ROOT


def numbers() -> dict[str, float]:
    return speed() | agreement()


def speed() -> dict[str, float]:
    file = ROOT / "results" / "benchmarks" / "training" / "training.json"
    results = json.loads(file.read_text())["results"]
    ratios = results["steps"]["ratios"] | results["convolutions"]["ratios"]
    names = {"mlp.gray": "MLP 784-400x8", "mlp.color": "MLP 3072-400x8", "wide": "MLP 784-1000x8"}
    for part in ("0.25", "1"):
        for short, shape in (("gray", "28x28x1"), ("color", "32x32x3")):
            names[f"x{part}.{short}"] = f"ResNet-18, x{part} channels, {shape}"
    rows = {row["net"]: row for part in ("steps", "convolutions") for row in results[part]["rows"]}
    spreads = [spread for name in names.values() for spread in _spreads(rows[name])]
    lanes = results["lanes"]["ratios"]["many_over_one"]
    return {"speed.spread": max(spreads), "speed.lanes": lanes} | {
        f"speed.{short}": ratios[name] for short, name in names.items()
    }


def _spreads(row: Mapping[str, float]) -> list[float]:
    """Return the spread over the median of mixjax's epochs, and of PyTorch's in its faster layout."""
    layouts = [name for name in ("torch", "torch channels last") if f"{name} median ms" in row]
    faster = min(layouts, key=lambda name: row[f"{name} median ms"])
    return [row[f"{library} spread ms"] / row[f"{library} median ms"] for library in ("mixjax", faster)]


def agreement() -> dict[str, float]:
    file = ROOT / "results" / "benchmarks" / "agreement" / "agreement.json"
    results = json.loads(file.read_text())["results"]
    counts, rows = results["comparisons"]["ratios"], results["comparisons"]["rows"]
    values = {f"agree.{name}": counts["asked"][name] for name in ("count", "largest_z")}
    values |= {f"agree.all.{name}": counts["all"][name] for name in ("count", "chance_beyond")}
    nets = {"digits, 300x4": "digits", "Fashion-MNIST, 100x4": "fashion", "digits, ResNet-18": "resnet"}
    errors = []
    for row in (row for row in rows if row["metric"] == "ece"):
        name = f"agree.{nets[row['task']]}.{row['arm'].replace(' ', '')}"
        values |= {f"{name}.ours": row["mixjax_mean"], f"{name}.torch": row["PyTorch_mean"], f"{name}.z": row["z"]}
        errors.append(row["standard_error"])
    steps = results["steps"]
    values |= {"agree.error.low": min(errors), "agree.error.high": max(errors), "agree.nets": len(steps["rows"])}
    for short, whose in (("", ""), ("torch.", "PyTorch_")):
        parted = sum(row[f"{whose}steps_together"] < row["steps"] for row in steps["rows"])
        values |= {f"agree.{short}median": steps["ratios"][f"{whose}median"], f"agree.{short}parted": parted}
    return values
