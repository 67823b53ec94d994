"""Simulation studies: `python -m sims STUDY`, or `sims.run(study, ...)` and `sims.load(folder)` from Python."""

from sims.running import load as load
from sims.running import run as run
