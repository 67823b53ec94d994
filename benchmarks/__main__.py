"""`python -m benchmarks NAME [--quick] [--out DIR | --publish]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from mixjax.commands import Parser, exit_status, import_program
from mixjax.runs import RunError

NAMES = ("agreement", "calibration", "distances", "generative", "logistic", "scaling", "simulator", "training")
EXTRAS = "bench,cluster,sims,train"


def main(arguments: Sequence[str]) -> int:
    """Run a benchmark; returns the exit status, as `mixjax.commands.exit_status` does."""
    parser = Parser(
        "python -m benchmarks",
        description="Ratios of speed, measured in one run; and in agreement, the same nets trained by PyTorch.",
    )
    parser.add_argument("name", choices=NAMES, help="what to measure")
    parser.add_argument("--quick", action="store_true", help="half a minute, to see that all is well: rough ratios")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--out", type=Path, help="folder for NAME.md and NAME.json (default: runs/benchmarks/NAME)")
    target.add_argument("--publish", action="store_true", help="write into results/benchmarks/NAME")

    def command() -> int:
        options = parser.parse_args(arguments)
        words = [options.name, *(f"--{flag}" for flag in ("quick", "publish") if getattr(options, flag))]
        benchmark = import_program(f"benchmarks.{options.name}", EXTRAS, f"the benchmark {options.name}").BENCHMARK
        if options.publish:
            refuse_to_publish(benchmark.peers, options.quick)
        folder = options.out or Path("results" if options.publish else "runs") / "benchmarks" / options.name
        sizes = benchmark.quick if options.quick else benchmark.full
        print(benchmark.run(folder, sizes, " ".join(["python -m benchmarks", *words])))
        return 0

    return exit_status(command)


def refuse_to_publish(peers: Sequence[str], quick: bool) -> None:
    """Refuse results that are rough, or have no rows of some peers."""
    if quick:
        raise RunError("--publish needs the full measurement: leave out --quick")
    if missing := [package for package in peers if find_spec(package) is None]:
        raise RunError(f"--publish needs every peer, and {', '.join(missing)} cannot be imported: pip install "
                       f"--editable '.[{EXTRAS}]'")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
