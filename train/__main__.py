"""`python -m train EXPERIMENT [--preset quick|digits|fashion|paper] [--dataset NAME] [--out DIR] [options]`."""

import sys

from train.cli import main

sys.exit(main(sys.argv[1:]))
