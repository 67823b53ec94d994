"""All calibration functions of rows that are sharded over two devices.

`python -m tests.calibration.on_mesh WAY alone|set_mesh [NAME ...]` calls those of CALLS that are named, or all; WAY is
one of WAYS.

The mesh is the default one of `jax.make_mesh`, whose axis is explicit. The right answer is that of the same rows on one
device.
"""

from __future__ import annotations

import os
import sys
from functools import partial

os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=2 {os.environ.get('XLA_FLAGS', '')}"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from mixjax import calibration, recalibration, scores
from mixjax.calibration import CalibrationState
from mixjax.mixing import cutmix, mixup, regmixup
from tests.calibration.test_contract import BINARY, OF_CLASSES

N, K = 64, 3
MESH = jax.make_mesh((2,), ("rows",))
SHARDING = NamedSharding(MESH, PartitionSpec("rows"))

rng = np.random.default_rng(0)
CONFIDENCE = rng.random(N, dtype=np.float32)
CORRECT = (rng.random(N) < CONFIDENCE).astype(np.float32)
LOGITS = rng.normal(size=(N, K)).astype(np.float32)
PROBS = np.asarray(jax.nn.softmax(LOGITS))
LABELS = np.argmax(LOGITS + 2 * rng.gumbel(size=(N, K)), axis=1).astype(np.int32)
WEIGHTS = rng.integers(1, 4, N).astype(np.float32)
WHERE = rng.random(N) < 0.8
ROWS, OF_PROBS, OF_LOGITS = (CONFIDENCE, CORRECT), (PROBS, LABELS), (LOGITS, LABELS)
IMAGES = rng.normal(size=(N, 3, 3, 1)).astype(np.float32)
TARGETS = np.eye(K, dtype=np.float32)[LABELS]
KEY = jax.random.key(0)
FEW = {"replicates": 20}


def updated(*rows, **options):
    return CalibrationState.empty(**options).update(*rows)


CALLS = {
    **{name: (function, ROWS) for name, function in BINARY.items()},
    **{name: (function, OF_PROBS) for name, function in OF_CLASSES.items()},
    "mce": (calibration.mce, ROWS),
    "many bins": (partial(calibration.ece, num_bins=100), ROWS),
    "norm 2": (partial(calibration.ece, norm=2), ROWS),
    "weights and mask": (lambda c, y, w, m: calibration.ece(c, y, weights=w, where=m), (*ROWS, WEIGHTS, WHERE)),
    "weighted equal mass": (lambda c, y, w: calibration.ece(c, y, weights=w, binning="equal-mass"), (*ROWS, WEIGHTS)),
    "masked classes": (lambda p, y, m: calibration.classwise_ece(p, y, where=m), (*OF_PROBS, WHERE)),
    "mask of one device": (partial(calibration.ece, where=WHERE), ROWS),
    "nll from logits": (calibration.nll_from_logits, OF_LOGITS),
    "skce linear": (partial(calibration.skce_linear, bandwidth=0.3), OF_PROBS),
    "skce of a median": (calibration.skce, OF_PROBS),
    "kde": (calibration.kde_ece, ROWS),
    "isotonic regression": (calibration.isotonic_regression, ROWS),
    "reliability": (calibration.reliability, ROWS),
    "test": (partial(calibration.calibration_test, KEY, num_draws=9, max_bins=8), ROWS),
    "bootstrap": (partial(calibration.bootstrap_intervals, KEY, **FEW), ROWS),
    "mean interval": (calibration.mean_interval, (CONFIDENCE,)),
    "group intervals": (lambda c, y: calibration.group_intervals(KEY, c, y, LABELS, **FEW), ROWS),
    "state": (lambda c, y: updated(c, y).ece(), ROWS),
    "state of classes": (lambda p, y: updated(p, y, num_classes=K).mce(), OF_PROBS),
    "states together": (lambda c, y: updated(c, y).merge(updated(c, y)).ece(), ROWS),
    "top label": (scores.top_label, OF_PROBS),
    "top label from logits": (scores.top_label_from_logits, OF_LOGITS),
    "binary from logits": (scores.binary_from_logits, (LOGITS[:, 0], LABELS > 0)),
    "temperature": (lambda z, y: recalibration.fit_temperature(z, y)(z), OF_LOGITS),
    "vector": (lambda z, y: recalibration.fit_vector_scaling(z, y)(z), OF_LOGITS),
    "temperature of two": (lambda z, y: recalibration.fit_temperature(z, y)(z), (LOGITS[:, 0], LABELS == 0)),
    "dirichlet": (lambda z, y: recalibration.fit_dirichlet_calibration(z, y)(z), OF_LOGITS),
    "beta": (lambda c, y: recalibration.fit_beta_calibration(c, y)(c), ROWS),
    "venn": (lambda c, y: recalibration.fit_venn_abers(c, y)(c), ROWS),
    "platt": (lambda z, y: recalibration.fit_platt(z, y)(z), (LOGITS[:, 0], LABELS > 0)),
    "isotonic": (lambda c, y: recalibration.fit_isotonic(c, y)(c), ROWS),
    "histogram": (lambda c, y: recalibration.fit_histogram_binning(c, y)(c), ROWS),
    "summary": (lambda p, y: calibration.calibration_summary(probs=p, labels=y), OF_PROBS),
    "summary of logits": (lambda z, y: calibration.calibration_summary(logits=z, labels=y), OF_LOGITS),
    "risk and coverage": (calibration.risk_coverage, ROWS),
    "aurc": (calibration.aurc, ROWS),
    "excess aurc": (calibration.excess_aurc, ROWS),
    "selective accuracy": (partial(calibration.selective_accuracy, coverage=0.5), ROWS),
    "Kolmogorov-Smirnov": (calibration.kolmogorov_smirnov_test, ROWS),
    "Kuiper": (calibration.kuiper_test, ROWS),
    "Spiegelhalter": (calibration.spiegelhalter_test, ROWS),
    "slope": (recalibration.calibration_slope, (LOGITS[:, 0], LABELS > 0)),
    "mixup": (partial(mixup, KEY, alpha=1.0), (IMAGES, TARGETS)),
    "mixup of rows": (partial(mixup, KEY, alpha=1.0, weight="sample", pairing="roll"), (IMAGES, TARGETS)),
    "regmixup": (partial(regmixup, KEY, alpha=1.0), (IMAGES, TARGETS)),
    "cutmix": (partial(cutmix, KEY, alpha=1.0), (IMAGES, TARGETS)),
}
SHARDED = (
    "top label", "binary", "temperature", "vector", "dirichlet", "platt", "beta", "isotonic", "histogram", "venn",
    "mix", "regmix", "cut",
)  # fmt: skip
HOST = ("bootstrap", "mean interval", "group intervals", "slope")  # these compute there
STEPS = ("isotonic", "venn")  # of the derivative 0: JAX itself refuses a constant gradient without `set_mesh`
LEFT_OUT = {
    "eager": (),
    "jit": HOST,
    "vmap": (*HOST, "mask of one device"),
    "grad": (*HOST, *STEPS, "beta"),  # whose gradient loses more digits than others do to the order of sums
}


def by_grad(function):
    def total(*rows):
        leaves = jax.tree.leaves(function(*rows))
        return sum(jnp.sum(leaf * leaf) for leaf in leaves if jnp.issubdtype(leaf.dtype, np.floating))

    return jax.jit(jax.grad(total))


def by_vmap(function):
    def halves(*rows):
        return jax.vmap(function)(*(row.reshape(2, N // 2, *row.shape[1:]) for row in rows))

    return jax.jit(halves)


WAYS = {"eager": lambda function: function, "jit": jax.jit, "vmap": by_vmap, "grad": by_grad}


def differences(name: str, way: str) -> list[str]:
    """What is wrong with a function of sharded rows."""
    function, given = CALLS[name]
    expected = jax.tree.map(np.asarray, WAYS[way](function)(*given))
    found = WAYS[way](function)(*(jax.device_put(part, SHARDING) for part in given))
    wrong = []
    for value, right in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if not np.allclose(value, right, rtol=1e-5, atol=1e-6, equal_nan=True):
            wrong.append(f"{value} for {right}")
        if way in ("eager", "jit") and isinstance(value, jax.Array):
            rows = name.startswith(SHARDED)
            if value.sharding.is_fully_replicated == rows:
                wrong.append(f"sharding {value.sharding}")
    return wrong


def main(way: str, context: str, *some: str) -> int:
    failed = 0
    names = [name for name in some or CALLS if name not in LEFT_OUT[way]]
    for name in names:
        try:
            if context == "set_mesh":
                with jax.set_mesh(MESH):
                    wrong = differences(name, way)
            else:
                wrong = differences(name, way)
        except Exception as error:  # noqa: BLE001 - the others are to be tried too
            wrong = [f"{type(error).__name__}: {str(error)[:300]}"]
        failed += bool(wrong)
        for line in wrong:
            print(f"{way}, {name}: {line}")
    print(f"{len(names) - failed} of {len(names)} right")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
