"""What is timed, as tables."""

from __future__ import annotations

import time
from typing import Any

import torch

from benchmarks.report import Section
from benchmarks.timing import Timing, interleaved
from benchmarks.training import ours, torches
from benchmarks.training.ours import BATCH, Epoch
from benchmarks.training.sizes import Sizes

LOSS = 0.1  # nats
MOST_EPOCHS = 200


def steps_section(sizes: Sizes) -> Section:
    """Milliseconds a step."""
    rows, ratios = [], {}
    for name, steps, cases in _pairs(sizes):
        timings = interleaved(cases, sizes.repetitions)
        rows.append({"net": name} | _row(timings, steps))
        ratios[name] = timings["torch"].median / timings["mixjax"].median
    text = (
        "Milliseconds a step, batch 64: an epoch of steps, data in memory; the epochs of both libraries in turn. "
        "mixjax has Mixup's draws in it (alpha = 0). Compilation is left out; it is in the last column alone. "
        "PyTorch over mixjax: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()) + "."
    )
    return Section("steps", "Steps", text, rows, ratios)


def _pairs(sizes: Sizes) -> Any:
    """(name, steps, epochs of both libraries) of each net."""
    for net in sizes.mlps:
        mine, pixels, labels = ours.mlp(net, sizes.steps * BATCH)
        yield net.name, sizes.steps, _both(mine, torches.mlp(net), pixels, labels)
    for multiplier in sizes.resnets:
        mine, pixels, labels = ours.resnet(multiplier, sizes.resnet_steps * BATCH)
        name = f"PreAct ResNet-18, x{multiplier:g} channels, 28x28"
        yield name, sizes.resnet_steps, _both(mine, torches.resnet(multiplier), pixels, labels)


def _both(mine: ours.Ours, net: torch.nn.Module, pixels: Any, labels: Any) -> dict[str, Epoch]:
    return {"mixjax": mine.train_epoch, "torch": torches.Torch(net, pixels, labels).train_epoch}


def _row(timings: dict[str, Timing], steps: int) -> dict[str, float]:
    row = {}
    for name, timing in timings.items():
        row |= {f"{name}_median_ms": timing.median / steps * 1e3, f"{name}_min_ms": timing.min / steps * 1e3}
    return row | {"mixjax_first_epoch_s": timings["mixjax"].first}


def loss_section(sizes: Sizes) -> Section:
    """Seconds until the mean loss of an epoch is below `LOSS`."""
    torch.manual_seed(0)
    net = sizes.mlps[0]
    mine, pixels, labels = ours.mlp(net, sizes.steps * BATCH)
    rows = []
    for name, epoch in _both(mine, torches.mlp(net), pixels, labels).items():
        started, epochs = time.perf_counter(), 0
        while epochs < MOST_EPOCHS:
            epochs += 1
            if epoch().mean() < LOSS:
                break
        rows.append({"library": name, "seconds": time.perf_counter() - started, "epochs": epochs})
    text = (
        f"{net.name}, PyTorch's start in both, until an epoch's mean loss is below {LOSS} nats (at most {MOST_EPOCHS} "
        "epochs). Compilation is left out; the draws of the start differ, and with them the epochs."
    )
    return Section("loss", "Time to a loss", text, rows, {})


def lanes_section(sizes: Sizes) -> Section:
    """Many seeds in one program against one at a time."""
    net = sizes.mlps[0]
    one, _, _ = ours.mlp(net, sizes.steps * BATCH)
    many, _, _ = ours.mlp(net, sizes.steps * BATCH, seeds=sizes.lanes)
    timings = interleaved({"one": one.train_epoch, "many": many.train_epoch}, sizes.repetitions)
    ratio = timings["many"].median / timings["one"].median
    rows = [{"nets": count, "median_ms_a_step": timings[name].median / sizes.steps * 1e3}
            for name, count in (("one", 1), ("many", sizes.lanes))]  # fmt: skip
    text = f"{net.name}: {sizes.lanes} seeds in one program take {ratio:.2f} times as long as one seed."
    return Section("lanes", "Seeds side by side", text, rows, {"many_over_one": ratio})
