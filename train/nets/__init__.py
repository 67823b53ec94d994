"""The paper's nets: fully connected ones of any width and depth, and the pre-activation ResNet-18."""

from .mlp import MLP
from .resnet import PreActResNet18

__all__ = ["MLP", "PreActResNet18"]
