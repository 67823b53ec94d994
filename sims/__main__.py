"""`python -m sims STUDY [--preset quick|default|full] [--out DIR] [axes]`, and `python -m sims figures|verify RUN`."""

import sys

try:
    from sims.cli import main

    status = main(sys.argv[1:])
except KeyboardInterrupt:  # before there is a run, or once more while it ends
    status = 130
sys.exit(status)
