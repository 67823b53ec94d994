r"""Beyond the paper: Mixup with finitely many random pairs, with classes of unequal size, and with more than two.

Pairs: the paper's Mixup is an expectation over pairs; training sees r n of them. How many until ECE is that of the
expectation, and until Mixup beats no Mixup at all? Exact law at one n, and the limit at every r.

Imbalance: P(y = +1) = pi. Mixup shrinks the score by 4 pi (1 - pi) t only. ECE(mix) - ECE of the predicted class
without a bias, of the predicted class with the log-odds as bias, and of the class y = +1 with it: exact law, and limit.

Classes: K of them (`more_classes`): ECE(mix) - ECE of the predicted class and class by class, exact law and limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from mixjax.commands import option
from mixjax.gaussian import (
    ScoreLaw,
    imbalanced_ece,
    limit_imbalanced_scores,
    limit_pairs_scores,
    limit_scores,
    mixup_weight,
    population_ece,
    sample_pairs_scores,
    sample_training_sets,
    with_positive_rate,
)
from mixjax.gaussian.beyond.class_ece import ClassKind
from mixjax.gaussian.beyond.class_sets import MAX_CLASSES
from mixjax.runs import RunError

from ..engine.keys import key_of
from ..engine.program import HostArrays
from ..figures.beyond import beyond_figures
from ..grid import AxisValue, axis, check_whole, positive_axis
from ..reports.beyond import beyond_report
from ..study import Piece, PiecewiseStudy
from .more_classes import CLASS_RATIOS, KINDS, class_changes, class_limits, class_variables
from .tables import Described, described_dataset, standard_error

ERRORS: dict[str, tuple[ClassKind, bool]] = {  # name -> (kind, whether the bias is the log-odds)
    "top-label, no bias": ("top-label", False),
    "top-label, bias": ("top-label", True),
    "class, bias": ("class-wise", True),
}
FINE = np.geomspace(0.05, 1e4, 400)  # pairs / n of the limit
RATIOS = np.geomspace(0.002, 10, 300)  # p/n of the limit with unequal classes


@dataclass(frozen=True)
class Beyond:
    """One training sample size; theta / sigma is 1 where classes are unequal."""

    n: int = option(200, "Training sample size")
    ratio: AxisValue = option("0.25,1,4", "p/n with finitely many pairs")
    theta_norm: AxisValue = option("1,2", "Signal |theta| / sigma with finitely many pairs")
    alpha: AxisValue = option("0.2,1", "alpha = beta of lambda ~ Beta(alpha, alpha), of the pairs; the last of both")
    epochs: AxisValue = option("0.5,1,2,5,10,20,50,100,300", "Pairs / n")
    positive_rate: AxisValue = option("0.5,0.7,0.9,0.97", "P(y = +1)")
    imbalanced_ratio: AxisValue = option("0.03:8:12:log", "p/n with unequal classes")
    classes: AxisValue = option("2,3,5,10", "Numbers of classes K")
    classes_ratio: AxisValue = option("0.03:8:8:log", "p/n with K classes; p is K at least")
    class_sets: int = option(100, "Training sets of a cell with K classes")
    draws: int = option(100_000, "Draws of K logits in the limit")
    replicates: int = option(1000, "Training sets of a cell")
    seed: int = option(0, "Of every draw")


def _pieces(config: Beyond) -> dict[str, Piece]:
    """Return a piece for each alpha, each positive rate, and each number of classes."""
    check_whole(config, n=2, replicates=10, draws=10, class_sets=10)
    for name in ("ratio", "theta_norm", "epochs", "imbalanced_ratio", "classes_ratio"):
        positive_axis(config, name)
    rates = positive_axis(config, "positive_rate")
    if max(rates) >= 1:
        raise RunError(f"positive_rate must be below 1, got {max(rates)}")
    pieces: dict[str, Piece] = {
        f"pairs-{a:g}": partial(measure_pairs, a, config) for a in positive_axis(config, "alpha")
    }
    pieces |= {f"imbalance-{rate:g}": partial(measure_imbalance, rate, config) for rate in rates}
    return pieces | {f"classes-{number}": partial(measure_classes, number, config) for number in _classes(config)}


def _classes(config: Beyond) -> list[int]:
    numbers = [int(number) for number in axis("classes", config.classes, whole=True, least=2)]
    if max(numbers) > MAX_CLASSES:
        raise RunError(f"classes must be at most {MAX_CLASSES}, got {max(numbers)}")
    return numbers


def _streams(config: Beyond) -> list[str]:
    alphas = [f"beyond pairs {alpha:g}" for alpha in positive_axis(config, "alpha")]
    classes = [f"beyond {name} {number}" for name in ("classes", "class sets") for number in _classes(config)]
    return [*alphas, "beyond imbalance", *classes]


def _key(name: str, config: Beyond) -> jax.Array:
    return key_of(config.seed, f"beyond {name}")


def _dimension(ratio: np.ndarray, n: int) -> np.ndarray:
    return np.maximum(1.0, np.rint(ratio * n)).astype(np.float32)


def measure_pairs(alpha: float, config: Beyond) -> HostArrays:
    """Measure the ECE of no Mixup, of the paper's, and of each number of pairs, [2 + numbers, ratio, theta]."""
    n, theta = config.n, positive_axis(config, "theta_norm").astype(np.float32)
    numbers = tuple(int(m) for m in np.maximum(1, np.rint(positive_axis(config, "epochs") * n)))
    p = _dimension(positive_axis(config, "ratio"), n)[:, None]
    law = sample_pairs_scores(_key(f"pairs {alpha:g}", config), n=n, num_pairs=numbers, p=p, theta_norm=theta[None, :],
                              alpha=np.float32(alpha), beta=alpha, replicates=config.replicates)  # fmt: skip
    ece = np.asarray(population_ece(law), np.float64)
    limit = limit_pairs_scores(
        p[..., None] / n, theta[None, :, None], alpha=alpha, beta=alpha, pairs_ratio=FINE.astype(np.float32)
    )
    ends = limit_scores(p[..., None] / n, theta[None, :, None], np.array([0.0, mixup_weight(alpha, alpha)], np.float32))
    return {
        "ece": ece.mean(axis=-1),
        "ece_se": standard_error(ece),
        "excess": (ece - ece[1]).mean(axis=-1),
        "excess_se": standard_error(ece - ece[1]),
        "limit": np.asarray(population_ece(limit), np.float64),
        "ends": np.asarray(population_ece(ends), np.float64),
    }


def measure_imbalance(rate: float, config: Beyond) -> HostArrays:
    """Measure ECE(mix) - ECE of each error at one P(y = +1), [errors, ratio], of training sets and in the limit."""
    n, theta, t = config.n, np.float32(1), np.float32(mixup_weight(*(positive_axis(config, "alpha")[-1],) * 2))
    p = _dimension(positive_axis(config, "imbalanced_ratio"), n)
    sets = sample_training_sets(
        _key("imbalance", config), n=np.float32(n), p=p, theta_norm=theta, replicates=config.replicates
    )
    sets = with_positive_rate(sets, np.float32(rate))
    limit = partial(limit_imbalanced_scores, RATIOS.astype(np.float32), theta, positive_rate=np.float32(rate))
    drawn = np.array([_change(sets.scores(0.0), sets.scores(t), rate, *how) for how in ERRORS.values()])
    return {
        "change": drawn.mean(axis=-1),
        "change_se": standard_error(drawn),
        "limit": np.array([_change(limit(t=np.float32(0)), limit(t=t), rate, *how) for how in ERRORS.values()]),
    }


def measure_classes(number: int, config: Beyond) -> HostArrays:
    """Measure both kinds of ECE with so many classes: in the limit, and the change of training sets."""
    t = float(mixup_weight(*(positive_axis(config, "alpha")[-1],) * 2))
    limits = class_limits(_key(f"classes {number}", config), number, t, config.draws)
    changes = class_changes(_key(f"class sets {number}", config), number, t, n=config.n,
                            ratio=positive_axis(config, "classes_ratio"), replicates=config.class_sets)  # fmt: skip
    return limits | changes


def _change(plain: ScoreLaw, mixed: ScoreLaw, rate: float, kind: ClassKind, has_bias: bool) -> np.ndarray:
    bias = np.float32(np.log(rate / (1 - rate)) if has_bias else 0.0)
    both = jax.tree.map(lambda *parts: jnp.stack(jnp.broadcast_arrays(*parts)), plain, mixed)
    first, second = imbalanced_ece(both, positive_rate=np.float32(rate), bias=bias, kind=kind)
    return np.asarray(second - first, np.float64)


def _table(config: Beyond, pieces: Mapping[str, HostArrays]) -> xr.Dataset:
    variables = _of_pairs(config, pieces) | _of_imbalance(config, pieces)
    variables |= class_variables(_stacked(pieces, [f"classes-{number}" for number in _classes(config)]))
    axes = ("alpha", "epochs", "ratio", "theta_norm", "positive_rate", "imbalanced_ratio", "classes_ratio")
    coordinates = {
        **{name: positive_axis(config, name) for name in axes},
        "fine_epochs": FINE,
        "error": list(ERRORS),
        "fine_ratio": RATIOS,
        "classes": _classes(config),
        "kind": list(KINDS),
        "class_ratio": CLASS_RATIOS,
    }
    return described_dataset(variables, coordinates, n=config.n)


def _stacked(pieces: Mapping[str, HostArrays], names: list[str]) -> dict[str, np.ndarray]:
    """Stack the arrays of some pieces of one kind along a first axis."""
    return {part: np.array([pieces[name][part] for name in names]) for part in pieces[names[0]]}


def _of_pairs(config: Beyond, pieces: Mapping[str, HostArrays]) -> dict[str, Described]:
    found = _stacked(pieces, [f"pairs-{alpha:g}" for alpha in positive_axis(config, "alpha")])
    cell = ("alpha", "ratio", "theta_norm")
    wide = ("alpha", "epochs", "ratio", "theta_norm")
    return {
        "ece_plain": (cell, found["ece"][:, 0], "ECE without Mixup"),
        "ece_expectation": (cell, found["ece"][:, 1], "ECE of the paper's Mixup, the expectation over pairs"),
        "ece_pairs": (wide, found["ece"][:, 2:], "ECE of Mixup with finitely many pairs"),
        "ece_pairs_se": (wide, found["ece_se"][:, 2:], "standard error of ece_pairs"),
        "excess": (wide, found["excess"][:, 2:], "ece_pairs - ece_expectation"),
        "excess_se": (wide, found["excess_se"][:, 2:], "standard error of the difference (paired)"),
        "ece_pairs_limit": ((*cell, "fine_epochs"), found["limit"], "limit of ece_pairs"),
        "ece_plain_limit": (cell, found["ends"][..., 0], "limit of ece_plain"),
        "ece_expectation_limit": (cell, found["ends"][..., 1], "limit of ece_expectation"),
    }


def _of_imbalance(config: Beyond, pieces: Mapping[str, HostArrays]) -> dict[str, Described]:
    found = _stacked(pieces, [f"imbalance-{rate:g}" for rate in positive_axis(config, "positive_rate")])
    dims, fine = ("positive_rate", "error", "imbalanced_ratio"), ("positive_rate", "error", "fine_ratio")
    return {
        "change": (dims, found["change"], "ECE(mix) - ECE with unequal classes"),
        "change_se": (dims, found["change_se"], "standard error of the difference (paired)"),
        "change_limit": (fine, found["limit"], "limit of ECE(mix) - ECE with unequal classes"),
    }


STUDY = PiecewiseStudy(
    name="beyond",
    summary="Mixup with finitely many random pairs, with classes of unequal size, and with more than two",
    config=Beyond,
    presets={
        "quick": {
            "epochs": "1,10,100",
            "imbalanced_ratio": "0.03:8:5:log",
            "classes_ratio": "0.03:8:3:log",
            "class_sets": 20,
            "replicates": 200,
            "draws": 10_000,
        },
        "default": {},
        "full": {"n": 1000, "replicates": 10_000, "class_sets": 1000, "draws": 1_000_000},
    },
    pieces=_pieces,
    table=_table,
    figures=beyond_figures(),
    report=beyond_report,
    streams=_streams,
)
