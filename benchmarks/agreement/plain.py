"""The plain PyTorch loop: modules, `DataLoader`, `torch.optim.SGD`, and Mixup in four lines.

It uses nothing of mixjax but the rows. Random numbers are PyTorch's own: of a seed, first weights and the order of the
rows are the same in both arms, as they are in mixjax, and the Mixup weights and partners are drawn apart from these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.agreement.scores import scores
from benchmarks.agreement.tasks import ALPHAS, BATCH, Task
from benchmarks.report import Row
from benchmarks.training import torches
from benchmarks.training.ours import Net, ResNet
from mixjax.datasets import Dataset
from mixjax.train.nets.shapes import MLPShape


def train(task: Task, dataset: Dataset, seeds: int) -> Iterator[tuple[Row, np.ndarray]]:
    """Yield a row for each net, after its last epoch, and its logits of the test rows."""
    images, targets, test_images = tensors(dataset)
    with one_thread():
        for arm, alpha in ALPHAS.items():
            for seed in range(seeds):
                torch.manual_seed(seed)
                net = build(task, dataset)
                order = torch.Generator().manual_seed(seed)
                loader = DataLoader(
                    TensorDataset(images, targets), BATCH, shuffle=True, drop_last=True, generator=order
                )
                loss = _train(net, loader, task.epochs, alpha)
                found = logits(net, test_images)
                kind = {"task": task.name, "library": "PyTorch", "arm": arm, "seed": seed}
                yield {**kind, "train_loss": loss, **scores(found, dataset.test_labels)}, found


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, which nets so small do not miss, and take numbers below 1.2e-38 as 0.

    PyTorch does not do that by default. Towards the end of a long training with Mixup many numbers are so small, and
    then a processor takes many times as long. XLA takes them as 0 too.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)


def tensors(dataset: Dataset, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return training images, one-hot targets and test images, scaled by the mean and sd of the training pixels."""
    train, test = (torch.from_numpy(images).to(dtype).permute(0, 3, 1, 2).contiguous()
                   for images in (dataset.train_inputs, dataset.test_inputs))  # fmt: skip
    sd, mean = torch.std_mean(train, (0, 2, 3), correction=0, keepdim=True)
    targets = nn.functional.one_hot(torch.from_numpy(dataset.train_labels).long(), dataset.num_classes)
    return (train - mean) / sd, targets.to(dtype), (test - mean) / sd


def build(task: Task, dataset: Dataset) -> nn.Module:
    """Return a net before training: PyTorch's default of a ResNet, He's variances of a fully connected net."""
    shape = dataset.train_inputs.shape[1:]
    if not isinstance(task.net, MLPShape):
        return torches.resnet(ResNet(task.net.width_multiplier, shape))
    net = torches.mlp(Net(math.prod(shape), task.net.width, task.net.depth))
    *hidden, head = (module for module in net.modules() if isinstance(module, nn.Linear))
    for layer in (*hidden, head):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="linear" if layer is head else "relu")
        nn.init.zeros_(layer.bias)
    return net


def optimizer_of(net: nn.Module) -> torch.optim.Optimizer:
    """Return the paper's."""
    return torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


def step(net: nn.Module, optimizer: torch.optim.Optimizer, images: torch.Tensor, targets: torch.Tensor) -> float:
    """Train on a batch, and return its loss before the step."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


def mix(
    images: torch.Tensor, targets: torch.Tensor, weight: torch.Tensor, partner: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Return weight * rows + (1 - weight) * partners, of the images and of their targets."""
    return tuple(weight * rows + (1 - weight) * rows[partner] for rows in (images, targets))


@torch.no_grad()
def logits(net: nn.Module, images: torch.Tensor) -> np.ndarray:
    """Return the logits of images, in evaluation mode."""
    net.eval()
    return torch.cat([net(rows) for rows in images.split(500)]).numpy()


def _train(net: nn.Module, loader: DataLoader, epochs: int, alpha: float) -> float:
    """Train, and return the mean loss of the last epoch."""
    optimizer, losses = optimizer_of(net), list[float]()
    net.train()
    for _ in range(epochs):
        losses = []
        for images, targets in loader:
            if alpha > 0:
                weight = torch.distributions.Beta(alpha, alpha).sample()
                images, targets = mix(images, targets, weight, torch.randperm(len(images)))
            losses.append(step(net, optimizer, images, targets))
    return sum(losses) / len(losses)
