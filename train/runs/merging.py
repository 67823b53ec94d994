"""One folder from finished runs that differ in their seeds, widths or depths alone: how a run gets more of them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mixjax.commands import display_path
from mixjax.runs import RunDirectory, RunError, explained, read_manifest, write_atomically
from mixjax.runs.manifest import differences
from mixjax.runs.origin import read_provenance

from ..loop.history import Records
from ..running import experiment_of, load_records
from .records import write_records
from .summary import summary_csv

__all__ = ["merge"]

_MAY_DIFFER = ("seeds", "first_seed", "width", "depth")
_NETS = ("predictions", "features")  # folders with a file for each net


def merge(runs: Sequence[Path], out: Path, prog: str = "python -m mixjax train") -> Path:
    """Write finished runs into a new folder, as if one run had made them, and return its summary.csv.

    Args:
      runs: two or more folders. Their options are the same but for seeds, widths and depths, and so are their data,
        commit, versions and device.
      out: a new folder. `figures` and `publish` take it; a run cannot be resumed in it.
      prog: the program in the command that is recorded as the origin.

    Raises:
      RunError: if a run is not finished or differs otherwise, and if two of them hold the same net.
    """
    if len(runs) < 2:
        raise RunError(f"merge takes two or more runs, got {len(runs)}")
    for run in runs:
        experiment_of(run)
    manifests, records = [_manifest(run) for run in runs], [load_records(run) for run in runs]
    for run, manifest in zip(runs[1:], manifests[1:], strict=True):
        _refuse_difference(runs[0], run, manifests[0], manifest)
    _refuse_twice(runs, records)
    spec = _merged_spec([manifest["spec"] for manifest in manifests], records)
    if out.exists() and any(out.iterdir()):
        raise RunError(f"{out} is not empty; merge writes into a new folder")
    options: dict[str, Any] = {"layout": {}, "product": "summary.csv"}
    with RunDirectory.open(out, spec=spec, environment=manifests[0]["environment"], **options), explained(out):
        every = sorted((record for part in records for record in part), key=lambda record: _size(record["net"]))
        write_records(out / "records.jsonl", every)
        for part in _NETS:
            for run in runs:
                if (run / part).exists():
                    shutil.copytree(run / part, out / part, dirs_exist_ok=True)
        write_atomically(out / "provenance.json", json.dumps(_origin(runs, out, prog), indent=2).encode())
        write_atomically(out / "summary.csv", summary_csv(every).encode())
    return out / "summary.csv"


def _manifest(run: Path) -> Mapping[str, Any]:
    """Return the manifest of a run, with options and jobs."""
    manifest = read_manifest(run)
    options, jobs = (manifest["spec"].get(name) for name in ("options", "jobs"))
    if not isinstance(options, dict) or not isinstance(jobs, list) or not all(map(_are_sizes, _sizes(options))):
        raise RunError(f"{run / 'manifest.json'} does not name the options and the jobs of the run")
    return manifest


def _sizes(options: Mapping[str, Any]) -> list[Any]:
    return [options[name] for name in ("width", "depth") if name in options]


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int) for value in values)


def _refuse_difference(first: Path, other: Path, one: Mapping[str, Any], two: Mapping[str, Any]) -> None:
    """Refuse runs whose numbers do not belong to one table."""
    specs = [{key: part for key, part in manifest["spec"].items() if key != "jobs"} for manifest in (one, two)]
    for spec in specs:
        spec["options"] = {name: value for name, value in spec["options"].items() if name not in _MAY_DIFFER}
    found = differences(specs[0], specs[1]) or differences(one["environment"], two["environment"])
    if found:
        raise RunError(f"{first} and {other} are not parts of one run: {found}")


def _refuse_twice(runs: Sequence[Path], records: Sequence[Records]) -> None:
    """Refuse two runs of the same net."""
    seen: dict[tuple[str, str, int], Path] = {}
    for run, part in zip(runs, records, strict=True):
        nets = {(record["net"], record["arm"], record["seed"]) for record in part}
        for net, arm, seed in sorted(nets & seen.keys()):
            raise RunError(
                f"{net}, arm {arm}, seed {seed} is in {seen[net, arm, seed]} and in {run}; choose another --first-seed"
            )
        seen |= dict.fromkeys(nets, run)


def _merged_spec(specs: Sequence[dict[str, Any]], records: Sequence[Records]) -> dict[str, Any]:
    """Return the first spec, with the seeds, widths, depths and jobs of all."""
    options = {name: value for name, value in specs[0]["options"].items() if name not in ("seeds", "first_seed")}
    options |= _seeds([record for part in records for record in part])
    for name in {"width", "depth"} & options.keys():
        options[name] = sorted({value for spec in specs for value in spec["options"][name]})
    return {**specs[0], "options": options, "jobs": [job for spec in specs for job in spec["jobs"]]}


def _seeds(records: Records) -> dict[str, Any]:
    """Return the options of the seeds: those of one run, or which seeds there are."""
    found: dict[str, set[int]] = {}
    for record in records:
        found.setdefault(record["net"], set()).add(record["seed"])
    seeds = {net: sorted(its) for net, its in found.items()}
    first, *others = seeds.values()
    if any(other != first for other in others):
        return {"seeds": " and ".join(f"{its} of {net}" for net, its in seeds.items())}
    consecutive = first == list(range(first[0], first[0] + len(first)))
    return {"seeds": len(first), "first_seed": first[0]} if consecutive else {"seeds": first}


def _size(net: str) -> list[int]:
    """Return the numbers in the name of a net, so that nets are in order of width and depth: mlp-80x4, mlp-80x16."""
    return [int(digits) for digits in re.findall(r"\d+", net)]


def _origin(runs: Sequence[Path], out: Path, prog: str) -> dict[str, Any]:
    """Return the provenance of the first run, with the commands and the seconds of all."""
    made = [read_provenance(run) for run in runs]
    merging = " ".join([prog, "merge", *(display_path(folder) for folder in (out, *runs))])
    commands = [*(str(one["command"]) for one in made), merging]
    total = {"seconds": round(sum(one["seconds"] for one in made), 2), "sittings": sum(map(_sittings, made))}
    jobs = [str(one.get("jobs", "")).rpartition(" of ")[2] for one in made]
    count = "{0} of {0}".format(sum(map(int, jobs))) if all(map(str.isdecimal, jobs)) else ""
    return {**made[0], "command": "; ".join(commands), **total, "jobs": count}


def _sittings(made: Mapping[str, Any]) -> int:
    count = made.get("sittings")
    return count if isinstance(count, int) else 1
