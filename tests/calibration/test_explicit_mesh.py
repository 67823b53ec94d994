"""Functions of rows that are sharded over an explicit mesh of two devices give what they give on one device."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.paths import ROOT

WAYS = [(way, context) for way in ("eager", "jit", "vmap", "grad") for context in ("alone", "set_mesh")]
FEW = ("ece", "weights and mask", "state", "top label", "platt", "mixup")  # a function of each kind


def check(*arguments: str) -> None:
    command = [sys.executable, "-m", "tests.calibration.on_mesh", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_few_functions():
    check("eager", "alone", *FEW)


@pytest.mark.parametrize(
    ("way", "context"),
    [pytest.param(*way, marks=pytest.mark.slow if number else pytest.mark.medium) for number, way in enumerate(WAYS)],
)
def test_sharded_rows(way, context):
    check(way, context)
