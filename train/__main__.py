"""`python -m train EXPERIMENT [--preset quick|digits|fashion|paper] [--dataset NAME] [--out DIR] [options]`."""

import sys

try:
    from train.cli import main

    status = main(sys.argv[1:])
except KeyboardInterrupt:  # before there is a run, or once more while it ends
    status = 130
sys.exit(status)
