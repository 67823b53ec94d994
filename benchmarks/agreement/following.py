"""PyTorch in the steps of mixjax: the same first weights, batches, Mixup weights and partners, for an epoch.

Nothing is random then, and losses differ by rounding alone. How much rounding does is measured too: PyTorch takes the
same steps in float32 and in float64.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx

from benchmarks.agreement import plain
from benchmarks.agreement.ours import job_of
from benchmarks.agreement.scores import scores
from benchmarks.agreement.tasks import ALPHAS, BATCH, Task
from benchmarks.report import Section
from mixjax.datasets import Dataset
from mixjax.train.data.pipeline import channel_scale, steps_per_epoch
from mixjax.train.loop.members import members_of
from mixjax.train.loop.program import TrainingProgram, epoch_orders
from mixjax.train.loop.step import Images
from mixjax.train.nets.shapes import MLPShape

_TRANSPOSED = {2: (1, 0), 4: (3, 2, 0, 1)}  # axes of PyTorch's kernels in ours, by their number


class Epoch(NamedTuple):
    """An epoch of mixjax: what it began with and drew, and what came of it."""

    weights: dict[str, np.ndarray]
    batches: np.ndarray  # rows, [steps, batch]
    lam: np.ndarray  # [steps]
    partners: np.ndarray  # [steps, batch]
    losses: np.ndarray  # [steps]
    logits: np.ndarray  # of the test rows


def section(tasks: Iterable[Task]) -> Section:
    """Compare the losses of every step of the first epoch."""
    rows = []
    for task in tasks:
        dataset = task.load()
        for arm in ALPHAS:
            mine = epoch_of(task, dataset, arm)
            single, double = (follow(task, dataset, mine, dtype) for dtype in (torch.float32, torch.float64))
            eces = [scores(found, dataset.test_labels)["ece"] for found in (mine.logits, single[1])]
            rows.append({
                "task": task.name, "arm": arm, "steps": len(mine.losses),
                "mixjax_and_PyTorch": largest_relative(mine.losses, single[0]),
                "PyTorch_in_float32_and_float64": largest_relative(single[0], double[0]),
                "mixjax_and_PyTorch_in_float64": largest_relative(mine.losses, double[0]),
                "difference_of_ECE": eces[0] - eces[1],
            })  # fmt: skip
    text = (
        "The first epoch with the same first weights, batches, Mixup weights and partners in both libraries: the "
        "largest relative difference of the loss of a step, and the difference of the ECE on the test rows after the "
        "epoch, of mixjax and PyTorch in float32. Rounding grows with every step; how much, PyTorch in float64 says."
    )
    ratios = {
        "mixjax": max(row["mixjax_and_PyTorch"] for row in rows),
        "rounding": max(row["PyTorch_in_float32_and_float64"] for row in rows),
    }
    return Section("steps", "The same steps", text, rows, ratios)


def epoch_of(task: Task, dataset: Dataset, arm: str) -> Epoch:
    """Train one net with mixjax for an epoch, by the functions that `train_job` calls."""
    job = job_of(task, arm, (0,))
    images = Images(jnp.asarray(dataset.train_inputs), channel_scale(dataset.train_inputs))
    program = TrainingProgram(job.recipe, images, dataset.num_classes)
    members, size = members_of(job, dataset.train_labels)
    nets, steps, first = program.start(job.seeds), steps_per_epoch(size, BATCH), np.uint32(0)
    weights = renamed(nets.params, task)  # before the epoch, which uses the nets up
    order = np.asarray(epoch_orders(members, first, size))[0, : steps * BATCH]
    pairs = program.compiled.draws(steps, members, first).pairs
    losses = []
    for after, metrics in program.epoch(nets, members, 0, size):
        nets = after
        losses.append(np.asarray(metrics.loss)[0])
    logits = np.asarray(program.logits(nets, dataset.test_inputs))[0]
    lam, partners = np.asarray(pairs.lam)[:, 0], np.asarray(pairs.partner)[:, 0]
    return Epoch(weights, order.reshape(steps, BATCH), lam, partners, np.concatenate(losses), logits)


def follow(task: Task, dataset: Dataset, epoch: Epoch, dtype: torch.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses and the last logits of PyTorch in the same steps."""
    images, targets, test_images = plain.tensors(dataset, dtype)
    net = plain.build(task, dataset)
    unknown = net.load_state_dict({name: torch.tensor(value) for name, value in epoch.weights.items()}, strict=False)
    if unknown.unexpected_keys or any(
        "running" not in name and "num_batches" not in name for name in unknown.missing_keys
    ):
        raise ValueError(f"the nets have other parameters: {unknown}")
    net.to(dtype).train()
    optimizer, losses = plain.optimizer_of(net), []
    with plain.one_thread():
        for rows, lam, partner in zip(
            torch.tensor(epoch.batches), epoch.lam, torch.tensor(epoch.partners), strict=True
        ):
            mixed = plain.mix(images[rows], targets[rows], torch.tensor(lam, dtype=dtype), partner)
            losses.append(plain.step(net, optimizer, *mixed))
        return np.array(losses), plain.logits(net, test_images)


def renamed(params: Any, task: Task) -> dict[str, np.ndarray]:
    """Return the parameters of the first net by the names of PyTorch's modules, with their axes in its order."""
    found = {}
    for path, leaf in nnx.to_flat_state(params):
        value, (*layer, kind) = np.asarray(leaf[...])[0], path
        if kind == "kernel":
            value = value.transpose(_TRANSPOSED[value.ndim]).copy()
        found[f"{_module(task, layer)}.{'bias' if kind == 'bias' else 'weight'}"] = value
    return found


def largest_relative(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest |one - other| / other."""
    return float(np.max(np.abs(one - other) / other))


def _module(task: Task, layer: list[Any]) -> str:
    """Return the name of a layer in the `nn.Sequential` of `benchmarks.training.torches`."""
    if isinstance(task.net, MLPShape):
        return str(1 + 2 * (task.net.depth if layer[0] == "head" else layer[1]))
    if layer[0] == "stages":
        stage, block, name = layer[1:]
        return f"{1 + 2 * stage + block}.{name}"
    return {"stem": "0", "head": "10"}[layer[0]]
