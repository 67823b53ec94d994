"""The paper's nets: fully connected ones of any width and depth, and the pre-activation ResNet-18."""

try:
    from .mlp import MLP
    from .resnet import PreActResNet18
except ModuleNotFoundError as error:
    if error.name != "flax":
        raise
    raise ModuleNotFoundError("mixjax.train.nets needs flax: pip install 'mixjax[train]'", name="flax") from None

__all__ = ["MLP", "PreActResNet18"]
