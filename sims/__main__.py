"""`python -m sims STUDY [--preset quick|default|full] [--out DIR] [axes]`, and `python -m sims figures|verify RUN`."""

import sys

try:
    from mixjax.commands import exit_status, run_program

    status = exit_status(lambda: run_program("sims", sys.argv[1:], f"python -m {__package__}"))
except KeyboardInterrupt:  # before there is a run, or once more while it ends
    status = 130
sys.exit(status)
