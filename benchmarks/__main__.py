"""`python -m benchmarks NAME [--quick] [--out DIR]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import calibration, distances, generative, scaling, simulator, training
from mixjax.commands import Parser, exit_status

BENCHMARKS = {
    "calibration": calibration.run,
    "distances": distances.run,
    "generative": generative.run,
    "scaling": scaling.run,
    "simulator": simulator.run,
    "training": training.run,
}


def main(arguments: Sequence[str]) -> int:
    """Run a benchmark; returns the exit status, as `mixjax.commands.exit_status` does."""
    parser = Parser("python -m benchmarks", description="Ratios of speed, measured in one run.")
    parser.add_argument("name", choices=BENCHMARKS, help="what to measure")
    parser.add_argument("--out", type=Path, help="folder for NAME.md and NAME.json (results/benchmarks/NAME)")
    parser.add_argument("--quick", action="store_true", help="half a minute, to see that all is well: rough ratios")

    def command() -> int:
        options = parser.parse_args(arguments)
        print(BENCHMARKS[options.name](options.out or Path("results/benchmarks") / options.name, quick=options.quick))
        return 0

    return exit_status(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
