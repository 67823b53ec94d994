"""What the commands have in common: `mixjax`, `python -m sims`, `python -m train`."""

from __future__ import annotations

import argparse
from typing import NoReturn

from mixjax.runs import RunError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to look.

        Raises:
          RunError: always.
        """
        raise RunError(f"{message}; {self.prog} --help lists what there is")
