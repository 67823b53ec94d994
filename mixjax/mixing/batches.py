"""A batch that is to be mixed, checked: soft targets, and the number of its rows."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from mixjax.calibration.rows.clean import refuse
from mixjax.calibration.rows.predictions import as_labels
from mixjax.numerics.arguments import as_array, float_dtype, known
from mixjax.numerics.options import check_size
from mixjax.typing import ArrayLike


def soft_targets(targets: ArrayLike, num_classes: int | None, inputs: object) -> jax.Array:
    """Return soft targets, of labels the rows of the unit matrix."""
    if num_classes is None:
        return jnp.asarray(as_array("targets", targets))
    num_classes = check_size("num_classes", num_classes)
    hint = " (num_classes= is for labels; leave it out for soft targets)"
    if (labels := as_labels(targets, name="targets", hint=hint)).ndim != 1:
        raise ValueError(f"targets must be labels of shape [N] with num_classes, got {labels.shape}")
    if (host := known(labels)) is not None:
        hint = "; leave rows without a label out of the batch" if (host < 0).any() else ""
        refuse("targets", host, (host >= 0) & (host < num_classes), f"in [0, {num_classes})", None, hint)
    return _unit_rows(labels, num_classes, float_dtype(inputs=jax.tree.leaves(inputs)[0]))


@partial(jax.jit, static_argnums=(1, 2))
def _unit_rows(labels: jax.Array, num_classes: int, dtype: np.dtype) -> jax.Array:
    """Return the row of the unit matrix of each label, NaN for one that is no class."""
    soft = jax.nn.one_hot(labels, num_classes, dtype=dtype)
    return jnp.where(((labels >= 0) & (labels < num_classes))[:, None], soft, jnp.nan)


def batch_size(given: str, inputs: object, targets: jax.Array) -> int:
    """Return N; messages name the inputs as they were given."""
    for name, leaf in (("targets", targets), *((given, leaf) for leaf in jax.tree.leaves(inputs))):
        if not jnp.issubdtype(jnp.asarray(leaf).dtype, np.floating):
            advice = "num_classes= for labels" if name == "targets" else f"{name}.astype(float)"
            raise TypeError(f"{name} must be floating, got {jnp.asarray(leaf).dtype}; use {advice}")
    sizes = {np.shape(leaf)[:1] for leaf in (targets, *jax.tree.leaves(inputs))}
    if len(sizes) != 1 or sizes == {()}:
        raise ValueError(f"{given} and targets must have one leading axis in common, got {sorted(sizes)}")
    return int(next(iter(sizes))[0])
