"""The program `python -m train EXPERIMENT [--preset quick|digits|fashion|paper] [--out DIR] [options]`."""

import sys

try:
    from mixjax.commands import exit_status, run_program

    status = exit_status(lambda: run_program("train", sys.argv[1:], f"python -m {__package__}"))
except KeyboardInterrupt:  # before there is a run, or once more while it ends
    status = 130
sys.exit(status)
