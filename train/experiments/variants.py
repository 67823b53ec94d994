"""The Mixup family: one lambda a batch or one a row, CutMix, manifold Mixup, RegMixup, MIT and RankMixup.

Beside them are no Mixup, label smoothing and weight decay, which the theory of the logistic limit compares with Mixup.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mixjax.commands import option
from mixjax.numerics.arguments import BELOW_ONE, NOT_NEGATIVE, Rule, checked

from ..config import MLPConfig
from ..figures.variants import variants_figure
from ..loop.job import Arm, Job, Recipe
from ..loop.mixing import Mixing
from ..nets.shapes import MLPShape
from .experiment import Experiment

__all__ = ["VARIANTS"]

_RULES = {
    "regmixup_alpha": NOT_NEGATIVE,
    "smoothing": BELOW_ONE,
    "decay": NOT_NEGATIVE,
}
_OF_MIT = Rule("at most 10 in variants, since MIT would hardly ever draw two weights half apart", lambda v: v <= 10)


@dataclass(frozen=True, kw_only=True)
class VariantsConfig(MLPConfig):
    """The options of `variants`; `alpha` is that of all variants but RegMixup."""

    regmixup_alpha: float = option(20.0, "alpha of RegMixup; its authors take 10 to 20")
    smoothing: float = option(0.1, "epsilon of label smoothing, in its arm; its authors take 0.1")
    decay: float = option(0.005, "weight decay of its arm; times the learning rate as the usual 5e-4 times 0.1")

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(_RULES, **{name: getattr(self, name) for name in _RULES})
        checked({"alpha": _OF_MIT}, alpha=self.alpha)


class Variant(NamedTuple):
    """How an arm differs from no Mixup."""

    mixing: Mixing
    alpha: float = 0.0
    smoothing: float = 0.0
    decay: float | None = None  # None is that of the other arms

    def recipe(self, config: VariantsConfig, shape: MLPShape) -> Recipe:
        """Return how to train a net of this arm."""
        usual = config.recipe(shape, self.mixing)
        decay = usual.optimizer.weight_decay if self.decay is None else self.decay
        return replace(usual, smoothing=self.smoothing, optimizer=replace(usual.optimizer, weight_decay=decay))


def variants(config: VariantsConfig) -> dict[str, Variant]:
    """Return the arms by name, the one that others are compared with first."""
    usual = config.mixing()
    return {
        "erm": Variant(usual),
        "mixup": Variant(usual, config.alpha),
        "Mixup, one lambda a row": Variant(replace(usual, weight="sample"), config.alpha),
        "CutMix": Variant(replace(usual, kind="cutmix", fold=False), config.alpha),
        "manifold Mixup": Variant(replace(usual, kind="manifold"), config.alpha),
        "RegMixup": Variant(replace(usual, kind="regmixup"), config.regmixup_alpha),
        "MIT": Variant(replace(usual, kind="mit", weight="batch", fold=False), config.alpha),
        "RankMixup": Variant(replace(usual, kind="rank"), config.alpha),
        "label smoothing": Variant(usual, smoothing=config.smoothing),
        "weight decay": Variant(usual, decay=config.decay),
    }


def jobs(config: VariantsConfig) -> tuple[Job, ...]:
    """Return a job for each variant and shape."""
    return tuple(
        Job(f"{shape.name}-{arm.slug}", variant.recipe(config, shape), (arm,), config.seed_range, config.single_phase)
        for shape in config.shapes
        for name, variant in variants(config).items()
        for arm in (Arm(name, (variant.alpha,)),)
    )


VARIANTS = Experiment(
    name="variants",
    summary="Mixup, CutMix, manifold Mixup, RegMixup, MIT, RankMixup, label smoothing and weight decay side by side",
    config=VariantsConfig,
    presets={
        "quick": {"width": (100,), "depth": (3,), "epochs": 15, "seeds": 2},
        "digits": {"width": (300,), "depth": (4,), "epochs": 60, "seeds": 5},
        "fashion": {"dataset": "fashion_mnist", "width": (300,), "depth": (4,), "train_rows": 10_000, "epochs": 40},
        "paper": {"dataset": "cifar10", "width": (400,), "epochs": 200, "augment": "crop+flip"},
    },
    jobs=jobs,
    figures=(variants_figure(),),
)
