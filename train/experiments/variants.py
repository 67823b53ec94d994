"""The Mixup family: one lambda a batch or one a row, CutMix, manifold Mixup and RegMixup, beside no Mixup."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mixjax.commands import option
from mixjax.numerics.arguments import NOT_NEGATIVE, checked

from ..config import MLPConfig
from ..figures.variants import variants_figure
from ..loop.job import Arm, Job
from ..loop.mixing import Mixing
from .experiment import Experiment

__all__ = ["VARIANTS"]


@dataclass(frozen=True, kw_only=True)
class VariantsConfig(MLPConfig):
    """The options of `variants`; `alpha` is that of all variants but RegMixup."""

    regmixup_alpha: float = option(20.0, "alpha of RegMixup; its authors take 10 to 20")

    def __post_init__(self) -> None:
        super().__post_init__()
        checked({"regmixup_alpha": NOT_NEGATIVE}, regmixup_alpha=self.regmixup_alpha)


def variants(config: VariantsConfig) -> dict[str, tuple[Mixing, float]]:
    """Return how each variant mixes, and its alpha."""
    usual = config.mixing()
    return {
        "erm": (usual, 0.0),
        "mixup": (usual, config.alpha),
        "Mixup, one lambda a row": (replace(usual, weight="sample"), config.alpha),
        "CutMix": (replace(usual, kind="cutmix", fold=False), config.alpha),
        "manifold Mixup": (replace(usual, kind="manifold"), config.alpha),
        "RegMixup": (replace(usual, kind="regmixup"), config.regmixup_alpha),
    }


def jobs(config: VariantsConfig) -> tuple[Job, ...]:
    """Return a job for each variant and shape."""
    seeds = tuple(range(config.seeds))
    return tuple(
        Job(f"{shape.name}-{arm.slug}", config.recipe(shape, mixing), (arm,), seeds, config.single_phase)
        for shape in config.shapes
        for name, (mixing, alpha) in variants(config).items()
        for arm in (Arm(name, (alpha,)),)
    )


VARIANTS = Experiment(
    name="variants",
    summary="no Mixup, Mixup, CutMix, manifold Mixup and RegMixup side by side",
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
