"""The main job: the phase diagram's computing time and memory."""

from __future__ import annotations

import resource
import sys
import tempfile

from benchmarks.report import Section
from benchmarks.simulator.exact import Exact
from benchmarks.timing import interleaved
from mixjax.runs import RunDirectory
from mixjax.sims.configuration import work_of
from mixjax.sims.engine.compute import compute, tiles_on_devices
from mixjax.sims.engine.units import plan
from mixjax.sims.engine.work import GridWork


def phase_diagram(exact: Exact) -> Section:
    """The main job, `python -m sims phase_diagram`."""
    work = work_of("phase_diagram", exact.sizes.preset)
    assert isinstance(work, GridWork)
    grid, replicates = work.grid, work.replicates
    units = plan(grid, replicates, exact.layout)
    tiles = tiles_on_devices(work.experiment, grid, study=work.study.name, seed=0, layout=exact.layout)

    def computed() -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            store = RunDirectory.open(folder, spec={}, environment={}, layout={})
            done = compute(tiles, units, lambda unit, moments: store.write(unit.name, moments))
            return [unit.name for unit in done]

    timing = interleaved({"compute": computed}, max(1, exact.sizes.repetitions // 4))["compute"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2 ** (30 if sys.platform == "darwin" else 20)
    row = {
        "cells": grid.num_cells,
        "replicate_settings": grid.num_cells * replicates * len(grid.settings["t"]),
        "compile_s": timing.first - timing.median,
        "computing_min_s": timing.min,
        "computing_median_s": timing.median,
        "peak_gib": peak,
    }
    text = (
        f"Preset {exact.sizes.preset}, all that the study computes, stored unit by unit as in a run. The peak is that "
        "of the process, after computing."
    )
    return Section("phase_diagram", "The phase diagram", text, [row], {"computing_s": timing.median, "peak_gib": peak})
