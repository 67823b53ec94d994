"""Streams: what is pooled is what was seen, however it was cut."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixjax.calibration import CalibrationState, classwise_ece, ece, mce

update = jax.jit(lambda state, c, y, where: state.update(c, y, where=where))


@pytest.fixture
def stream(rng):
    """20 batches of 500, padded with NaN; and all rows that count."""
    batches = []
    for size in rng.integers(0, 501, 20):
        confidence = np.where(np.arange(500) < size, rng.random(500), np.nan).astype(np.float32)
        batches.append((confidence, rng.random(500) < 0.6, np.arange(500) < size))
    confidence, correct, where = map(np.concatenate, zip(*batches, strict=True))
    return batches, confidence[where], correct[where]


@pytest.mark.parametrize("closed", ["left", "right"])
def test_a_stream_is_its_rows(stream, closed):
    batches, confidence, correct = stream
    state = CalibrationState.empty(10, closed=closed)
    for batch in batches:
        state = update(state, *batch)
    options = {"num_bins": 10, "closed": closed}
    assert state.num_rows() == len(confidence)
    for norm in (1, 2, np.inf):
        np.testing.assert_allclose(state.ece(norm), ece(confidence, correct, norm=norm, **options), atol=3e-7)
    np.testing.assert_allclose(state.mce(), mce(confidence, correct, **options), atol=3e-7)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 19), st.booleans())
def test_split_and_merge(at, swap):
    rng = np.random.default_rng(at)
    confidence, correct = rng.random((20, 8)).astype(np.float32), rng.random((20, 8)) < 0.5
    states = []
    for part in (slice(0, at), slice(at, 20)):
        state = CalibrationState.empty(5)
        for c, y in zip(confidence[part], correct[part], strict=True):
            state = update(state, c, y, np.ones(8, bool))
        states.append(state)
    merged = states[1].merge(states[0]) if swap else states[0].merge(states[1])
    np.testing.assert_allclose(merged.ece(), ece(confidence.ravel(), correct.ravel(), num_bins=5), atol=3e-7)


def test_class_by_class(rng):
    probs, labels = rng.dirichlet(np.ones(3), 300).astype(np.float32), rng.integers(0, 3, 300)
    weights = rng.random(300).astype(np.float32)
    state = CalibrationState.empty(10, num_classes=3)
    for part in (slice(0, 100), slice(100, 300)):
        state = state.update(probs[part], labels[part], weights=weights[part])
    expected = classwise_ece(probs, labels, num_bins=10, weights=weights)
    np.testing.assert_allclose(state.ece(), expected, atol=3e-7)
    each = [ece(probs[:, k], labels == k, num_bins=10, weights=weights) for k in range(3)]
    np.testing.assert_allclose(state.errors(), each, atol=3e-7)
    assert state.num_rows() == 300


ON_FOUR_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import re
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from mixjax.calibration import CalibrationState, debiased_ece2, ece, sweep_ece
from tests.paths import ROOT
rng = np.random.default_rng(0)
confidence, correct = rng.random(524_288).astype(np.float32), rng.random(524_288) < 0.5
mesh = jax.make_mesh((4,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
"""


def on_four_devices(code):
    command = [sys.executable, "-c", ON_FOUR_DEVICES + code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_sums_over_devices():
    """psum over four devices, one batch each, is the pooled value."""
    on_four_devices("""
@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("devices"), out_specs=P())
def pooled(confidence, correct):
    return jax.lax.psum(CalibrationState.empty().update(confidence, correct), "devices")
state = pooled(jnp.asarray(confidence), jnp.asarray(correct))
assert state.num_rows() == 524_288
assert abs(state.ece() - ece(confidence, correct)) < 1e-6
""")


def test_every_device_its_own_error():
    """In `shard_map`, of the estimators and fits that search in a loop."""
    on_four_devices("""
from mixjax import recalibration
from mixjax.calibration import brier_decomposition
rows = confidence[:256], correct[:256].astype(np.int32)
logits = rng.normal(size=(256, 3)).astype(np.float32)
labels = np.where(rng.random(256) < 0.5, logits.argmax(1), 0)

def fitted(fit):
    return lambda scores, labels: jax.tree.leaves(fit(scores, labels))

for function, given in (
    (sweep_ece, rows),
    (brier_decomposition, rows),
    (fitted(recalibration.fit_isotonic), rows),
    (fitted(recalibration.fit_platt), (logits[:, 0], rows[1])),
    (fitted(recalibration.fit_temperature), (logits, labels)),
    (fitted(recalibration.fit_vector_scaling), (logits, labels)),
):
    def each(*rows):
        return jax.tree.map(lambda leaf: leaf[None], function(*rows))
    found = jax.jit(jax.shard_map(each, mesh=mesh, in_specs=P("devices"), out_specs=P("devices")))(*given)
    alone = [function(*(part[k : k + 64] for part in given)) for k in range(0, 256, 64)]
    for leaf, parts in zip(jax.tree.leaves(found), zip(*map(jax.tree.leaves, alone)), strict=True):
        np.testing.assert_allclose(leaf, np.stack(parts), rtol=1e-4, atol=1e-6)
""")


@pytest.mark.slow
def test_sharded_rows_stay_where_they_are():
    """Devices exchange sums over bins, as many for 524,288 rows as for 262,208, and no rows; the value is the same.

    Both are multiples of 64, the number of streams.
    """
    on_four_devices("""
def exchanged(function, size):
    rows = [jax.device_put(part[:size], NamedSharding(mesh, P("devices"))) for part in (confidence, correct)]
    compiled = jax.jit(function).lower(*rows).compile()
    collective = r"= (.*) (all|collective|reduce-scatter)([-a-z]*)\\("
    found = [re.search(collective, line) for line in compiled.as_text().splitlines()]
    shapes = [match[1] for match in found if match]
    dims = [re.findall(r"\\d+", found) for found in re.findall(r"\\[([\\d,]*)\\]", " ".join(shapes))]
    assert 0 < sum(np.prod([int(n) for n in found]) for found in dims) < size / 4, shapes
    return compiled(*rows), shapes

def equal_mass(confidence, correct):
    return ece(confidence, correct, binning="equal-mass")

for function in (ece, equal_mass, debiased_ece2, lambda c, y: CalibrationState.empty().update(c, y).ece()):
    values, shapes = exchanged(function, 524_288)
    assert exchanged(function, 262_208)[1] == shapes, (shapes, exchanged(function, 262_208)[1])
    for value, alone in zip(jax.tree.leaves(values), jax.tree.leaves(function(confidence, correct)), strict=True):
        assert abs(float(value) - float(alone)) < 1e-6
""")


@pytest.mark.slow
def test_explicitly_sharded_rows():
    """The page on conventions says how; of the estimators that add and of one that sorts."""
    on_four_devices("""
explicit = jax.make_mesh((4,), ("devices",), axis_types=(jax.sharding.AxisType.Explicit,))
with jax.set_mesh(explicit):
    rows = [jax.device_put(part, NamedSharding(explicit, P("devices"))) for part in (confidence, correct)]
    for function in (ece, lambda c, y: CalibrationState.empty().update(c, y).ece(), sweep_ece):
        value = jax.sharding.auto_axes(function, out_sharding=P())(*rows)
        assert abs(float(value) - float(function(confidence, correct))) < 1e-6
""")


def test_a_fresh_state_can_be_donated():
    donated = jax.jit(lambda state, *rows: state.update(*rows), donate_argnums=0)
    state = donated(CalibrationState.empty(), np.float32([0.2]), np.float32([1]))
    assert abs(float(state.ece()) - 0.8) < 1e-6


def test_it_is_small_and_nothing_overflows():
    """...or is rounded away: 2^33 rows, doubled from 2^13, of which half are right."""
    state = CalibrationState.empty().update(np.full(2**13, 0.75, np.float32), np.arange(2**13) % 2)
    for _ in range(20):
        state = state.merge(state)
    assert state.num_rows() == 2**33
    np.testing.assert_allclose(state.ece(), 0.25, atol=1e-7)
    one = CalibrationState.empty().update(np.array([0.5], np.float32), [1])
    grown = state.merge(one)
    assert grown.num_rows() == 2**33 + 1
    assert float(grown.mass.astype(np.float64).sum()) == 2**33 + 1
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(state)) < 4096


def test_small_batches_after_many_rows_still_count():
    """One row at a time beyond 2^24, where a float32 sum stands still."""
    many = CalibrationState.empty(1).update(np.full(2**12, 0.5, np.float32), np.ones(2**12))
    for _ in range(13):
        many = many.merge(many)
    one = CalibrationState.empty(1).update(np.array([0.5], np.float32), [0])
    total = jax.jit(lambda a, b: jax.lax.fori_loop(0, 1001, lambda _, state: state.merge(b), a))(many, one)
    rows = 2**25
    expected = (0.5 * rows - 0.5 * 1001) / (rows + 1001)
    np.testing.assert_allclose(total.ece(), expected, atol=1e-7)
    assert total.num_rows() == rows + 1001
    assert float(total.residual.astype(np.float64).sum()) == 0.5 * rows - 0.5 * 1001


def test_no_rows_are_nan_and_nan_stays():
    state = CalibrationState.empty()
    assert np.isnan(state.ece())
    assert np.isnan(update(state, jnp.array([2.0]), jnp.array([1]), jnp.array([True])).ece())
    hidden = update(state, jnp.array([2.0]), jnp.array([1]), jnp.array([False]))
    assert np.isnan(hidden.ece())
    assert hidden.num_rows() == 0


def test_wrong_use_is_refused():
    state = CalibrationState.empty(10)
    with pytest.raises(ValueError, match="confidence must be in"):
        state.update([1.5], [1])
    with pytest.raises(ValueError, match="states must have the same bins"):
        state.merge(CalibrationState.empty(11))
    with pytest.raises(ValueError, match="states must have the same bins"):
        state.merge(CalibrationState.empty(10, closed="right"))
    with pytest.raises(ValueError, match="probs must have 3 classes"):
        CalibrationState.empty(10, num_classes=3).update(np.full((1, 2), 0.5), [0])
    with pytest.raises(ValueError, match="num_bins must be at least 1"):
        CalibrationState.empty(0)
    with pytest.raises(ValueError, match="norm must be at least 1"):
        state.ece(norm=0)


def test_it_is_a_pytree_for_scan(stream):
    batches, confidence, correct = stream
    columns = [jnp.stack(column) for column in zip(*batches, strict=True)]
    step = lambda state, batch: (update(state, *batch), None)  # noqa: E731
    state, _ = jax.lax.scan(step, CalibrationState.empty(10), columns)
    np.testing.assert_allclose(state.ece(), ece(confidence, correct, num_bins=10), atol=3e-7)
    assert partial(type(state).empty, 10)().closed == "left"
