"""What is timed, as tables."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator
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
    """Milliseconds a step of fully connected nets."""
    return _steps("steps", "Steps of fully connected nets", _mlps(sizes), sizes)


def convolutions_section(sizes: Sizes) -> Section:
    """Milliseconds a step of ResNets, beside both layouts of PyTorch."""
    return _steps("convolutions", "Steps of ResNets", _resnets(sizes), sizes)


def _steps(name: str, title: str, nets: Iterable[tuple[str, int, dict[str, Epoch]]], sizes: Sizes) -> Section:
    rows, ratios = [], {}
    for net, steps, cases in nets:
        timings = interleaved(cases, sizes.repetitions)
        rows.append({"net": net} | _row(timings, steps))
        theirs = min(timing.median for library, timing in timings.items() if library != "mixjax")
        ratios[net] = theirs / timings["mixjax"].median
    text = (
        "Milliseconds a step, batch 64: an epoch of steps, data in memory; the epochs of both libraries in turn. "
        "mixjax has Mixup's draws in it (alpha = 0). Compilation is left out; it is in the last column alone. The "
        "spread is the range of the middle half of the epochs. PyTorch, in its faster layout, over mixjax: "
        + ", ".join(f"{net} {ratio:.2f}" for net, ratio in ratios.items())
        + "."
    )
    return Section(name, title, text, rows, ratios)


def _mlps(sizes: Sizes) -> Iterator[tuple[str, int, dict[str, Epoch]]]:
    for net in sizes.mlps:
        mine, pixels, labels = ours.mlp(net, sizes.steps * BATCH)
        yield net.name, sizes.steps, _both(mine, torches.mlp(net), pixels, labels)


def _resnets(sizes: Sizes) -> Iterator[tuple[str, int, dict[str, Epoch]]]:
    for net in sizes.resnets:
        steps = sizes.small_resnet_steps if net.multiplier < 1 else sizes.resnet_steps
        mine, pixels, labels = ours.resnet(net, steps * BATCH)
        cases = _both(mine, torches.resnet(net), pixels, labels)
        last = torches.Torch(torches.resnet(net), pixels, labels, channels_last=True)
        yield net.name, steps, cases | {"torch channels last": last.train_epoch}


def _both(mine: ours.Ours, net: torch.nn.Module, pixels: Any, labels: Any) -> dict[str, Epoch]:
    return {"mixjax": mine.train_epoch, "torch": torches.Torch(net, pixels, labels).train_epoch}


def _row(timings: dict[str, Timing], steps: int) -> dict[str, float]:
    row = {}
    for name, timing in timings.items():
        low, _, high = statistics.quantiles(timing.later, n=4) if len(timing.later) > 1 else timing.later * 3
        row |= {f"{name} median ms": timing.median / steps * 1e3, f"{name} spread ms": (high - low) / steps * 1e3}
    return row | {"mixjax first epoch s": timings["mixjax"].first}


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
