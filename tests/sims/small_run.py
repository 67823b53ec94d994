"""A phase diagram that takes a moment: twelve differences in nine units of work."""

from __future__ import annotations

import numpy as np

from mixjax import sims
from mixjax.sims.configuration import work_of
from mixjax.sims.engine.units import Layout

AXES = {"n": "50", "ratio": "0.2,1,3", "theta_norm": "0.5,2", "alpha": "0,1", "replicates": 2500}
OPTIONS = [part for name, value in AXES.items() for part in (f"--{name.replace('_', '-')}", str(value))]
SMALL = Layout(2, 8, 1)  # three units of cells by three of replicates


def planned(layout=None, **axes):
    """Its work."""
    return work_of("phase_diagram", layout=layout, **{**AXES, **axes})


def resumed(out, warn=print):
    """The table of a run that goes on, and how many of its units were there already; None if it is loaded."""
    seen = []
    report = {"progress": lambda done, _: seen.append(done), "warn": warn}
    return sims.run("phase_diagram", out, layout=SMALL, **report, **AXES), seen[0] if seen else None


def assert_same_bits(one, other):
    for name in one:
        np.testing.assert_array_equal(one[name].values, other[name].values, err_msg=str(name))
