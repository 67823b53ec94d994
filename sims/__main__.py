"""`python -m sims STUDY [--preset quick|default|full] [--out DIR] [axes]`, and `python -m sims figures|verify RUN`."""

import sys

from sims.cli import main

sys.exit(main(sys.argv[1:]))
