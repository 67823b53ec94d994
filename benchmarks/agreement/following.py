"""PyTorch in the steps of mixjax: the same first weights, batches, Mixup weights and partners, for an epoch.

Nothing is random then, and losses differ by rounding alone. How much rounding does is measured too: PyTorch takes the
same steps in float32 and in float64. Two runs agree to the last digits until the input of a ReLU lies so near 0 that
rounding gives it the other sign in one of them. Its unit then learns in that run alone, and the runs part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx
from torch import nn

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

TOGETHER = 1e-5  # relative difference of losses
_TRANSPOSED = {2: (1, 0), 4: (3, 2, 0, 1)}  # axes of PyTorch's kernels in ours, by their number


class Epoch(NamedTuple):
    """An epoch of mixjax: what it began with and drew, and what came of it."""

    weights: dict[str, np.ndarray]
    batches: np.ndarray  # rows, [steps, batch]
    lam: np.ndarray  # [steps]
    partners: np.ndarray  # [steps, batch]
    losses: np.ndarray  # [steps]
    logits: np.ndarray  # of the test rows


class Followed(NamedTuple):
    """The same epoch by PyTorch: losses and the nearest input of a ReLU to 0, [steps], and logits of the test rows."""

    losses: np.ndarray
    logits: np.ndarray
    nearest: np.ndarray


def section(tasks: Iterable[Task]) -> Section:
    """Compare the losses of every step of the first epoch."""
    rows = []
    for task in tasks:
        dataset = task.load()
        for arm in ALPHAS:
            mine = epoch_of(task, dataset, arm)
            single, double = (follow(task, dataset, mine, dtype) for dtype in (torch.float32, torch.float64))
            eces = [scores(found, dataset.test_labels)["ece"] for found in (mine.logits, single.logits)]
            together = compared(mine.losses, single.losses)
            rounding = compared(single.losses, double.losses)
            first = min(together["steps_together"], rounding["steps_together"])
            rows.append({
                "task": task.name, "arm": arm, "steps": len(mine.losses), **together,
                **{f"PyTorch_{name}": value for name, value in rounding.items()},
                "nearest_ReLU_input": float(double.nearest[: max(first, 1)].min()),
                "difference_of_ECE": eces[0] - eces[1],
            })  # fmt: skip
    text = (
        "The first epoch with the same first weights, batches, Mixup weights and partners in both libraries, in "
        "float32: the relative difference of the loss of a step. The runs are together in the first steps in which "
        f"it is below {TOGETHER:g}; median and largest are of these, and largest_of_all is that of all steps. "
        "PyTorch_ is the same of PyTorch in float32 and in float64. Runs part where the input of a ReLU is so near "
        "0 that rounding gives it the other sign: nearest_ReLU_input is the smallest of the steps together, over "
        "the root mean square of its layer, in float64. difference_of_ECE is that on the test rows after the epoch."
    )
    names = ("median", "largest", "largest_of_all", "PyTorch_median", "PyTorch_largest", "PyTorch_largest_of_all")
    return Section("steps", "The same steps", text, rows, {name: max(row[name] for row in rows) for name in names})


def compared(one: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Return how many steps two runs are together, and the relative differences of their losses."""
    differences = np.abs(one - other) / other
    parted = differences >= TOGETHER
    steps = int(parted.argmax()) if parted.any() else len(parted)
    first = differences[: max(steps, 1)]
    return {
        "steps_together": steps,
        "median": float(np.median(first)),
        "largest": float(first.max()),
        "largest_of_all": float(differences.max()),
    }


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
    lam, partners = np.asarray(pairs.lam)[0], np.asarray(pairs.partner)[0]
    return Epoch(weights, order.reshape(steps, BATCH), lam, partners, np.concatenate(losses), logits)


def follow(task: Task, dataset: Dataset, epoch: Epoch, dtype: torch.dtype) -> Followed:
    """Take the same steps with PyTorch."""
    images, targets, test_images = plain.tensors(dataset, dtype)
    net = plain.build(task, dataset)
    unknown = net.load_state_dict({name: torch.tensor(value) for name, value in epoch.weights.items()}, strict=False)
    missing = [name for name in unknown.missing_keys if not name.endswith(("running_mean", "running_var", "tracked"))]
    if unknown.unexpected_keys or missing:
        raise ValueError(f"the nets have other parameters: {unknown}")
    net.to(dtype).train()
    optimizer, losses, nearest = plain.optimizer_of(net), list[float](), list[float]()
    inputs = ReLUInputs(net)
    with plain.one_thread():
        for rows, lam, partner in zip(
            torch.tensor(epoch.batches), epoch.lam, torch.tensor(epoch.partners), strict=True
        ):
            mixed = plain.mix(images[rows], targets[rows], torch.tensor(lam, dtype=dtype), partner)
            losses.append(plain.step(net, optimizer, *mixed))
            nearest.append(inputs.pop_nearest())
        return Followed(np.array(losses), plain.logits(net, test_images), np.array(nearest))


class ReLUInputs:
    """The inputs of all ReLUs of a net in its last call: what normalizations and hidden linear layers give."""

    def __init__(self, net: nn.Module):
        self._nearest: list[float] = []
        *hidden, _ = (module for module in net.modules() if isinstance(module, nn.Linear))
        for module in (*hidden, *(module for module in net.modules() if isinstance(module, nn.BatchNorm2d))):
            module.register_forward_hook(self._look)

    def pop_nearest(self) -> float:
        """Return the smallest input that is not 0, over the root mean square of its layer, and forget it."""
        nearest, self._nearest = min(self._nearest), []
        return nearest

    def _look(self, module: nn.Module, _: object, values: torch.Tensor) -> None:
        sizes = values.detach().abs()
        self._nearest.append((sizes[sizes > 0].min() / sizes.square().mean().sqrt()).item())


def renamed(params: Any, task: Task) -> dict[str, np.ndarray]:
    """Return the parameters of the first net by the names of PyTorch's modules, with their axes in its order."""
    found = {}
    for path, leaf in nnx.to_flat_state(params):
        value, (*layer, kind) = np.asarray(leaf[...])[0], path
        if kind == "kernel":
            value = value.transpose(_TRANSPOSED[value.ndim]).copy()
        found[f"{_module(task, layer)}.{'bias' if kind == 'bias' else 'weight'}"] = value
    return found


def _module(task: Task, layer: list[Any]) -> str:
    """Return the name of a layer in the `nn.Sequential` of `benchmarks.training.torches`."""
    if isinstance(task.net, MLPShape):
        return str(1 + 2 * (task.net.depth if layer[0] == "head" else layer[1]))
    if layer[0] == "stages":
        stage, block, name = layer[1:]
        return f"{1 + 2 * stage + block}.{name}"
    return {"stem": "0", "head": "10"}[layer[0]]
