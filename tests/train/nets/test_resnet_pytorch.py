"""The pre-activation ResNet-18 beside the same architecture in PyTorch, where that is installed (extra `bench`)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from mixjax.train.nets import PreActResNet18
from tests.train.nets.test_resnet import STAGES, norms_of


def lived_in(rng: np.random.Generator) -> PreActResNet18:
    """Build a net with statistics, scales and biases of normalization that are not those of a start."""
    net = PreActResNet18(10, 3, rngs=nnx.Rngs(0))
    for norm in norms_of(net):
        size = norm.mean[...].shape
        norm.mean[...], norm.bias[...] = (jnp.asarray(rng.normal(0, 0.2, size), jnp.float32) for _ in range(2))
        norm.var[...], norm.scale[...] = (jnp.asarray(rng.uniform(0.5, 2, size), jnp.float32) for _ in range(2))
    return net


@pytest.mark.parametrize("train", [False, True])
def test_logits_are_those_of_pytorch(rng, train):
    """On the same weights, in both modes, and the running statistics after a batch."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    net = lived_in(rng)
    other = torch_resnet(torch)
    convert(torch, net, other)
    images = rng.normal(size=(4, 32, 32, 3)).astype(np.float32)
    net.train() if train else net.eval()
    other.train(train)
    with torch.no_grad():
        expected = other(torch.from_numpy(images.transpose(0, 3, 1, 2).copy())).numpy()
    np.testing.assert_allclose(net(jnp.asarray(images)), expected, rtol=0, atol=1e-4)
    theirs = [module for module in other.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for ours, norm in zip(norms_of(net), theirs, strict=True):
        np.testing.assert_allclose(ours.mean[...], norm.running_mean.numpy(), rtol=0, atol=1e-4)
        np.testing.assert_allclose(ours.var[...], norm.running_var.numpy(), rtol=1e-4, atol=1e-4)


def torch_resnet(torch: Any) -> Any:
    """The same architecture, written for PyTorch."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.bn1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn2, self.conv2 = nn.BatchNorm2d(outputs), nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            changes = stride != 1 or inputs != outputs
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if changes else None

        def forward(self, values):
            first = self.bn1(values).relu()
            shortcut = values if self.shortcut is None else self.shortcut(first)
            return shortcut + self.conv2(self.bn2(self.conv1(first)).relu())

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, blocks, inputs = nn.Conv2d(3, 64, 3, 1, 1, bias=False), [], 64
            for outputs, stride in STAGES:
                blocks += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
                inputs = outputs
            self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(512, 10)

        def forward(self, images):
            return self.head(self.blocks(self.stem(images)).mean((2, 3)))

    return Net()


def convert(torch: Any, net: PreActResNet18, other: Any) -> None:
    def copy(target, array, *axes):
        values = np.asarray(array[...])
        with torch.no_grad():
            target.copy_(torch.from_numpy(values.transpose(axes).copy() if axes else values.copy()))

    def copy_norm(target, norm):
        for name, part in (
            ("weight", norm.scale),
            ("bias", norm.bias),
            ("running_mean", norm.mean),
            ("running_var", norm.var),
        ):
            copy(getattr(target, name), part)

    copy(other.stem.weight, net.stem.kernel, 3, 2, 0, 1)
    for theirs, block in zip(other.blocks, (block for stage in net.stages for block in stage), strict=True):
        copy_norm(theirs.bn1, block.first_norm)
        copy_norm(theirs.bn2, block.second_norm)
        for target, layer in (
            (theirs.conv1, block.first),
            (theirs.conv2, block.second),
            (theirs.shortcut, block.shortcut),
        ):
            if layer is not None:
                copy(target.weight, layer.kernel, 3, 2, 0, 1)
    copy(other.head.weight, net.head.kernel, 1, 0)
    copy(other.head.bias, net.head.bias)
