"""`python -m benchmarks NAME [--quick] [--out DIR]`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import tyro

from benchmarks import simulator
from mixjax.runs import RunError

BENCHMARKS = {"simulator": simulator.main}

USAGE = """usage: python -m benchmarks NAME [--quick] [--out DIR]

benchmarks:
  simulator  the exact sampler against literal simulation, and how its time grows"""


def main(arguments: Sequence[str]) -> int:
    """Run a benchmark; returns the exit status: 0, or 2 for an error the user can put right."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    name, *rest = arguments
    try:
        if name not in BENCHMARKS:
            raise RunError(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
        tyro.cli(BENCHMARKS[name], args=rest, prog=f"python -m benchmarks {name}")
    except RunError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
