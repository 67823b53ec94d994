"""Streaming: many masked batches into a state of a few hundred bytes, against one call on all rows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.calibration.sizes import NUM_BINS, Sizes, rows
from benchmarks.calibration.width import reference
from benchmarks.report import Section
from benchmarks.timing import seconds
from mixjax.calibration import CalibrationState


def streaming(sizes: Sizes) -> Section:
    """Batches of a fixed shape, each with some padding that is masked, as an evaluation loop has them."""
    padding = max(1, sizes.batch // 50)
    confidence, correct = rows(sizes.batch * sizes.batches)
    wanted = np.arange(sizes.batch + padding) < sizes.batch

    @jax.jit
    def update(
        state: CalibrationState, confidence: jax.Array, correct: jax.Array, wanted: jax.Array
    ) -> CalibrationState:
        return state.update(confidence, correct, where=wanted)

    def padded(part: np.ndarray, number: int) -> jax.Array:
        batch = part[number * sizes.batch : (number + 1) * sizes.batch]
        return jnp.asarray(np.pad(batch, (0, padding), constant_values=np.nan))

    def stream() -> CalibrationState:
        state = CalibrationState.empty(NUM_BINS)
        for number in range(sizes.batches):
            state = update(state, padded(confidence, number), padded(correct, number), wanted)
        return state

    first = seconds(stream)
    taken = seconds(stream)
    state = stream()
    difference = abs(float(state.ece()) - reference((confidence, correct)))
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    row = {
        "batches": sizes.batches,
        "rows_of_a_batch": sizes.batch,
        "padding": padding,
        "first_s": first,
        "seconds": taken,
        "ns_a_row": taken / len(confidence) * 1e9,
        "bytes_of_state": size,
        "difference": difference,
    }
    text = (
        "Masked, padded batches, copied to the device one by one; the padding holds NaN. The difference is from the "
        "ECE of all rows at once in double precision."
    )
    return Section("streaming", "Streaming", text, [row], {"difference": difference, "bytes": size})
