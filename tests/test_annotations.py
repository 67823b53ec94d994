"""Annotations hold at run time: the examples of public names run with every argument and value checked by beartype.

jaxtyping's hook checks the functions that they call on the way, too.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.medium

QUICK = " or ".join(
    f"mixjax.{name}" for name in ("calibration.binned", "plots", "recalibration.temperature", "scores")
)  # others compile for long


@pytest.mark.parametrize(
    "names", [QUICK, pytest.param(f"not ({QUICK})", marks=pytest.mark.slow)], ids=["few", "others"]
)
def test_examples_keep_to_their_annotations(names: str) -> None:
    pytest.importorskip("beartype")
    options = ("-q", "-p", "no:cacheprovider", "--jaxtyping-packages=mixjax,beartype.beartype")
    command = [sys.executable, "-m", "pytest", *options, "-k", names, "tests/test_examples.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
