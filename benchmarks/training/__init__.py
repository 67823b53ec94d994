"""Training beside PyTorch on the same machine: steps, time to a loss, many seeds at once, ResNet-18."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import jax

from benchmarks.report import make_folder, write
from benchmarks.training.sizes import QUICK, Sizes
from mixjax import runs
from mixjax.runs import RunError


def run(out: Path, *, quick: bool = False, sizes: Sizes | None = None) -> str:
    """Time training, and return the page.

    Raises:
      RunError: if PyTorch is not installed, or the folder cannot be written.
    """
    if importlib.util.find_spec("torch") is None:
        raise RunError("the benchmark training needs PyTorch: pip install 'mixjax[bench,train]'")
    make_folder(out)
    started = time.perf_counter()
    sizes = sizes or (QUICK if quick else Sizes())
    import torch

    from benchmarks.training.accelerator import accelerator_section
    from benchmarks.training.sections import lanes_section, loss_section, steps_section

    sections = [steps_section(sizes), loss_section(sizes), lanes_section(sizes)]
    if jax.default_backend() == "gpu" and torch.cuda.is_available():
        sections.append(accelerator_section(sizes, "cuda"))
    header = {
        "command": "python -m benchmarks training" + (" --quick" if quick else ""),
        **runs.provenance(),
        "torch": torch.__version__,
        "torch_threads": torch.get_num_threads(),
        "seconds": round(time.perf_counter() - started, 1),
        "settings": {"steps": sizes.steps, "repetitions": sizes.repetitions, "batch_size": 64},
    }
    return write(out, "training", "Training beside PyTorch", header, sections)
