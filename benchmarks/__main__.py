"""`python -m benchmarks NAME [--quick] [--out DIR]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import calibration, distances, generative, simulator, training
from mixjax.runs import RunError

BENCHMARKS = {
    "calibration": calibration.run,
    "distances": distances.run,
    "generative": generative.run,
    "simulator": simulator.run,
    "training": training.run,
}


def main(arguments: Sequence[str]) -> int:
    """Run a benchmark; returns the exit status: 0, or 2 for an error the user can put right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios of speed, measured in one run.")
    parser.add_argument("name", choices=BENCHMARKS, help="what to measure")
    parser.add_argument("--out", type=Path, help="folder for NAME.md and NAME.json (results/benchmarks/NAME)")
    parser.add_argument("--quick", action="store_true", help="half a minute, to see that all is well: rough ratios")
    options = parser.parse_args(arguments)
    try:
        print(BENCHMARKS[options.name](options.out or Path("results/benchmarks") / options.name, quick=options.quick))
    except RunError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
