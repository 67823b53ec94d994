"""`python -m mixjax`: the same as the command `mixjax`."""

import sys

from mixjax.cli import main

if __name__ == "__main__":
    sys.exit(main())
