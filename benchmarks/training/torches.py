"""The same nets and steps in PyTorch: the usual eager loop, on tensors that are in memory already."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import nn

from benchmarks.training.ours import BATCH, CLASSES, Net, ResNet


class Block(nn.Module):
    """Pre-activation, two 3x3 convolutions; a 1x1 convolution where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first_norm, self.second_norm = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        changes = stride != 1 or inputs != outputs
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if changes else None

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        active = torch.relu(self.first_norm(values))
        shortcut = values if self.shortcut is None else self.shortcut(active)
        return shortcut + self.second(torch.relu(self.second_norm(self.first(active))))


class Mean(nn.Module):
    """Over pixels."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values.mean((2, 3))


def mlp(net: Net) -> nn.Module:
    sizes = [net.in_features, *[net.width] * net.depth]
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(net.width, CLASSES))


def resnet(net: ResNet) -> nn.Module:
    channels = [max(1, round(net.multiplier * count)) for count in (64, 128, 256, 512)]
    blocks: list[nn.Module] = [nn.Conv2d(net.shape[-1], channels[0], 3, 1, 1, bias=False)]
    for stage, outputs in enumerate(channels):
        inputs = channels[max(stage - 1, 0)]
        blocks += [Block(inputs, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
    return nn.Sequential(*blocks, Mean(), nn.Linear(channels[-1], CLASSES))


class Torch:
    """One epoch at a time: shuffled rows, normalized, SGD with momentum.

    Args:
      net, pixels, labels: pixels are [N, H, W, C].
      batch: rows of a step.
      device: where all is.
      half: whether products are bfloat16, by autocast.
      channels_last: whether images and kernels lie in memory with channels last.
    """

    def __init__(
        self,
        net: nn.Module,
        pixels: np.ndarray,
        labels: np.ndarray,
        batch: int = BATCH,
        device: str = "cpu",
        half: bool = False,
        channels_last: bool = False,
    ):
        self.layout = torch.channels_last if channels_last else torch.contiguous_format
        self.net = net.to(device, memory_format=self.layout)
        self.batch, self.device, self.half = batch, device, half
        self.pixels = torch.from_numpy(np.ascontiguousarray(np.moveaxis(pixels, -1, 1))).to(device)
        self.labels = torch.from_numpy(labels.astype(np.int64)).to(device)
        axes = (0, 2, 3)
        self.mean = self.pixels.float().mean(axes)[None, :, None, None]
        self.sd = self.pixels.float().std(axes, correction=0)[None, :, None, None]
        self.optimizer = torch.optim.SGD(net.parameters(), 0.01, 0.9)

    def train_epoch(self) -> np.ndarray:
        """The losses of the steps, [1, steps]."""
        order = torch.randperm(len(self.labels), device=self.device)
        losses = []
        for first in range(0, len(order) - self.batch + 1, self.batch):
            rows = order[first : first + self.batch]
            images = ((self.pixels[rows].float() - self.mean) / self.sd).contiguous(memory_format=self.layout)
            self.optimizer.zero_grad()
            with torch.autocast(self.device, torch.bfloat16, enabled=self.half):
                logits = self.net(images)
            loss = nn.functional.cross_entropy(logits.float(), self.labels[rows])
            loss.backward()
            self.optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses).cpu().numpy()[None]
