"""The ResNet-18 on a GPU: images a second, in float32 and bfloat16, beside torch.compile."""

from __future__ import annotations

import torch

from benchmarks.report import Section
from benchmarks.timing import interleaved
from benchmarks.training import ours, torches
from benchmarks.training.ours import DType
from benchmarks.training.sizes import Sizes

_DTYPES: tuple[DType, ...] = ("float32", "bfloat16")


def accelerator_section(sizes: Sizes, device: str) -> Section:
    """Images a second of training, with all data on the device.

    Args:
      sizes: the widest ResNet, its steps, batches, and the compiler of PyTorch.
      device: PyTorch's name of what JAX uses too.
    """
    torch.backends.cuda.matmul.allow_tf32 = True  # as JAX does for float32, and as cuDNN's convolutions do here
    rows, ratios = [], {}
    for dtype in _DTYPES:
        for batch in sizes.accelerator_batches:
            number = sizes.accelerator_steps * batch
            mine, pixels, labels = ours.resnet(sizes.resnets[-1], number, batch, dtype)
            net = torch.compile(torches.resnet(sizes.resnets[-1]), backend=sizes.compiler)
            theirs = torches.Torch(net, pixels, labels, batch, device, half=dtype == "bfloat16")
            timings = interleaved({"mixjax": mine.train_epoch, "torch": theirs.train_epoch}, sizes.repetitions)
            rates = {f"{name}_images_per_s": number / timing.median for name, timing in timings.items()}
            rows.append({"dtype": dtype, "batch": batch} | rates)
            ratios[f"{dtype}, {batch}"] = timings["torch"].median / timings["mixjax"].median
    text = (
        f"{sizes.resnets[-1].name}; images of training a second, data on the device, "
        "compilation left out; float32 is TF32 in both. torch.compile over mixjax: "
        + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        + "."
    )
    return Section("accelerator", "ResNet-18 on an accelerator", text, rows, ratios)
