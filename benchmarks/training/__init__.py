"""Training beside PyTorch on the same machine: steps, time to a loss, many seeds at once, ResNet-18."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from pathlib import Path

import jax

from benchmarks.report import make_folder, write
from benchmarks.training.ours import Net
from mixjax import runs
from mixjax.runs import RunError


@dataclass(frozen=True)
class Sizes:
    """How much is timed."""

    steps: int = 100
    repetitions: int = 7
    mlps: tuple[Net, ...] = (Net(784, 400, 8), Net(3072, 400, 8), Net(784, 100, 8), Net(784, 1000, 8))
    resnets: tuple[float, ...] = (0.125, 0.25, 1.0)
    resnet_steps: int = 4
    lanes: int = 8
    accelerator_steps: int = 100
    accelerator_batches: tuple[int, ...] = (64, 512)
    compiler: str = "inductor"  # of torch.compile


QUICK = Sizes(steps=10, repetitions=2, mlps=(Net(784, 100, 2),), resnets=(0.0625,), resnet_steps=2, lanes=2,
              accelerator_steps=2, accelerator_batches=(8,), compiler="eager")  # fmt: skip


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
