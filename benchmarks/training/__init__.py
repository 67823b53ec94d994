"""Training beside PyTorch on the same machine: steps, time to a loss, many seeds at once, ResNet-18."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import torch

from benchmarks.report import Benchmark, Row, Section
from benchmarks.training.accelerator import accelerator_section
from benchmarks.training.sections import convolutions_section, lanes_section, loss_section, steps_section
from benchmarks.training.sizes import QUICK, Sizes


def measure(sizes: Sizes) -> Iterator[Section]:
    """Time training; PyTorch takes denormal numbers for 0, as XLA does on a CPU."""
    torch.set_flush_denormal(True)  # before its threads begin, which have the setting of this one
    yield steps_section(sizes)
    if sizes.resnets:
        yield convolutions_section(sizes)
    yield loss_section(sizes)
    yield lanes_section(sizes)
    if jax.default_backend() == "gpu" and torch.cuda.is_available():
        yield accelerator_section(sizes, "cuda")


def about(_: Sizes) -> Row:
    """Name PyTorch and its threads."""
    return {"torch": torch.__version__, "torch_threads": torch.get_num_threads()}


BENCHMARK = Benchmark("training", "Training beside PyTorch", full=Sizes(), quick=QUICK, measure=measure, about=about)
