"""Mixup in a step: of the batch before the net, or of hidden values inside it.

ERM is alpha = 0, in the same program: the batch is then left as it is, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mixjax.mixing import CutMixDraw, MixupDraw, Pairing, Weight, draw_cutmix, draw_mixup
from mixjax.numerics.options import check_option

from ..nets.hidden_mixing import MixHidden, unmixed
from .loss import cross_entropy
from .mit import TwoMixes, draw_two_mixes
from .rank import RankedMixes, draw_ranked_mixes

__all__ = ["Mixing", "StepDraw", "draw_step", "mix_batch", "mixed_loss", "read_logits"]

Kind = Literal["mixup", "cutmix", "manifold", "regmixup", "mit", "rank"]


@dataclass(frozen=True)
class Mixing:
    """The way to mix; how much is alpha, which is data.

    Attributes:
      kind: "mixup" of inputs; "cutmix"; "manifold", Mixup of the inputs of a layer that is chosen anew for each batch
        (V. Verma et al., "Manifold Mixup", ICML 2019); "regmixup"; "mit" (`mixjax.train.loop.mit`); or "rank", which
        is RankMixup (`mixjax.train.loop.rank`).
      weight, pairing, fold: as of `mixjax.mixup`.

    Raises:
      ValueError: for unknown options, for `fold` with CutMix and MIT, where it has no meaning, and for one weight a
        row with MIT.
    """

    kind: Kind = "mixup"
    weight: Weight = "batch"
    pairing: Pairing = "permutation"
    fold: bool = False

    def __post_init__(self) -> None:
        check_option("kind", self.kind, Kind)
        check_option("weight", self.weight, Weight)
        check_option("pairing", self.pairing, Pairing)
        if self.kind in ("cutmix", "mit") and self.fold:
            raise ValueError(f"fold does not apply to {self.kind}")
        if self.kind == "mit" and self.weight == "sample":
            raise ValueError("weight='sample' does not apply to mit")


class StepDraw(NamedTuple):
    """The random part of mixing a batch: the pairs of rows, and the layer whose inputs manifold Mixup mixes."""

    pairs: MixupDraw | CutMixDraw | TwoMixes | RankedMixes
    layer: Int[Array, ""]


def draw_step(
    mixing: Mixing, key: PRNGKeyArray, alpha: ArrayLike, size: int, image_shape: tuple[int, int], layers: int
) -> StepDraw:
    """Draw for a batch of `size` images (H, W), and a net with `layers` to mix at."""
    key_pairs, key_layer = jax.random.split(key)
    layer = jnp.zeros((), jnp.int32)
    if mixing.kind == "manifold":
        layer = jax.random.randint(key_layer, (), 0, layers, jnp.int32)
    options: dict[str, Any] = {"alpha": alpha, "weight": mixing.weight, "pairing": mixing.pairing}
    if mixing.kind == "cutmix":
        return StepDraw(draw_cutmix(key_pairs, size, image_shape, **options), layer)
    if mixing.kind == "mit":
        return StepDraw(draw_two_mixes(key_pairs, size, **options), layer)
    draw = draw_ranked_mixes if mixing.kind == "rank" else draw_mixup
    return StepDraw(draw(key_pairs, size, fold=mixing.fold, **options), layer)


def mix_batch(
    mixing: Mixing, draw: StepDraw, images: Float[Array, "N H W C"], targets: Float[Array, "N K"]
) -> tuple[jax.Array, jax.Array, MixHidden]:
    """Return mixed images and targets, and what the net does to its hidden values."""
    if isinstance(draw.pairs, CutMixDraw):
        return draw.pairs.paste(images), draw.pairs.area.mix(targets), unmixed
    if isinstance(draw.pairs, TwoMixes):
        return draw.pairs.mix(images), draw.pairs.targets(targets), unmixed
    mix: Callable[[jax.Array], jax.Array] = draw.pairs.mix
    if isinstance(draw.pairs, MixupDraw) and mixing.kind == "manifold":
        return images, mix(targets), _at(draw.layer, draw.pairs)
    if mixing.kind == "regmixup":
        return jnp.concatenate([images, mix(images)]), jnp.concatenate([targets, mix(targets)]), unmixed
    return mix(images), mix(targets), unmixed


def read_logits(draw: StepDraw, logits: Float[Array, "N K"]) -> Float[Array, "N K"]:
    """Return the logits that the targets are compared with: the net's own, except under MIT, which solves for them."""
    return draw.pairs.unmix(logits) if isinstance(draw.pairs, TwoMixes) else logits


def mixed_loss(draw: StepDraw, logits: Float[Array, "N K"], targets: Float[Array, "N K"]) -> Float[Array, ""]:
    """Return the mean loss of a batch, of logits as read: the cross-entropy, to which RankMixup adds a penalty."""
    if isinstance(draw.pairs, RankedMixes):
        return draw.pairs.loss(logits, targets)
    return cross_entropy(logits, targets).mean()


def _at(chosen: jax.Array, pairs: MixupDraw) -> MixHidden:
    def mix_hidden(values: jax.Array, layer: int) -> jax.Array:
        return pairs._replace(lam=jnp.where(chosen == layer, pairs.lam, 1.0)).mix(values)

    return mix_hidden
