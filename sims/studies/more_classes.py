"""K classes in the study `beyond`: the effect of Mixup on both kinds of ECE, of training sets and in the limit.

Training sets by their exact law, whose cost does not grow with p; the ECE of each by draws of test points, which are
common to the plain and the mixed classifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import get_args

import jax
import numpy as np

from mixjax.gaussian import class_ece, limit_class_ece, limit_class_sets, sample_class_sets
from mixjax.gaussian.beyond.class_ece import ClassKind

from ..engine.program import HostArrays
from .tables import Described, standard_error

KINDS: tuple[ClassKind, ...] = get_args(ClassKind)
CLASS_RATIOS = np.geomspace(0.01, 10, 61)  # p/n of the limit
DRAWS = 8192  # of test points for a training set


def class_limits(key: jax.Array, number: int, t: float, draws: int) -> HostArrays:
    """Compute the limit of the ECE without and with Mixup, [2, kinds, ratio], for |theta| = 1."""
    weights = np.array([0.0, t], np.float32)[:, None]
    ratio, theta = CLASS_RATIOS.astype(np.float32), np.float32(1)
    key_top, key_each = jax.random.split(key)
    top = limit_class_ece(key_top, ratio[None], theta, weights, num_classes=number, num_draws=draws)
    sets = limit_class_sets(ratio, theta, num_classes=number)
    each = [class_ece(key_each, sets.estimator(w[0]), sets.means, kind="class-wise", num_draws=draws) for w in weights]
    parts = {
        name: [[top[position][0], each[0][position][:, 0]], [top[position][1], each[1][position][:, 0]]]
        for position, name in enumerate(("limit", "limit_se"))
    }
    return {name: np.asarray(part, np.float64) for name, part in parts.items()}


def class_changes(key: jax.Array, number: int, t: float, *, n: int, ratio: np.ndarray, replicates: int) -> HostArrays:
    """Measure ECE(mix) - ECE, [kinds, ratio], mean over training sets and its standard error, for |theta| = 1.

    The means of K classes need p >= K: p and the p/n that is used are returned, of the same shape.
    """
    key_sets, key_draws = jax.random.split(key)
    p = np.maximum(number, np.rint(ratio * n)).astype(np.float32)
    sets = sample_class_sets(key_sets, n=np.float32(n), p=p, theta_norm=np.float32(1), num_classes=number,
                             replicates=replicates)  # fmt: skip

    def change(kind: ClassKind) -> np.ndarray:
        ece = partial(class_ece, key_draws, means=sets.means, kind=kind, num_draws=DRAWS)
        return np.asarray(
            ece(sets.estimator(np.float32(t))).value - ece(sets.estimator(np.float32(0))).value, np.float64
        )

    drawn = np.array([change(kind) for kind in KINDS])
    used = np.broadcast_to(p.astype(np.float64), drawn.shape[:-1])
    return {"change": drawn.mean(axis=-1), "change_se": standard_error(drawn), "p": used, "used_ratio": used / n}


def class_variables(found: Mapping[str, np.ndarray]) -> dict[str, Described]:
    """Describe the arrays above, each with the numbers of classes as a first axis."""
    fine, points = ("classes", "kind", "class_ratio"), ("classes", "kind", "classes_ratio")
    described = {
        f"classes_{name}{end}": (fine, found[f"limit{end}"][:, position], f"{text} of the ECE of K classes, {name}")
        for position, name in enumerate(("plain", "mix"))
        for end, text in (("", "limit"), ("_se", "standard error of the limit"))
    }
    return described | {
        "classes_change": (points, found["change"], "ECE(mix) - ECE of K classes, mean over training sets"),
        "classes_change_se": (points, found["change_se"], "standard error of classes_change (paired)"),
        "classes_p": (points, found["p"], "p of classes_change, K at least"),
        "classes_used_ratio": (points, found["used_ratio"], "p/n of classes_change"),
    }
