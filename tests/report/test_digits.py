"""The page of docs/ on real data runs, with a few steps in place of its two thousand."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.paths import ROOT


@pytest.mark.slow
def test_digits_with_and_without_mixup(tmp_path):
    pytest.importorskip("sklearn")
    command = [sys.executable, str(ROOT / "docs" / "digits.py"), "--steps", "60", "--train-rows", "1000"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "A: plain and B: mixup, 797 rows" in done.stdout
    folder = tmp_path / "runs" / "digits"
    files = [np.load(folder / f"{name}.npz") for name in ("plain", "mixup")]
    assert [file["logits"].shape for file in files] == [(797, 10)] * 2
    right = [(file["logits"].argmax(axis=1) == file["labels"]).mean() for file in files]
    assert min(right) > 0.5  # a tenth by chance
    assert (folder / "report" / "report.html").exists()
