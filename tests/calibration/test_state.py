"""Streams: what is pooled is what was seen, however it was cut."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec

from mixjax.calibration import CalibrationState
from tests.calibration.exact import binned_error
from tests.paths import ROOT

update = jax.jit(lambda state, c, y, where: state.update(c, y, where=where))
merge = jax.jit(lambda a, b: a.merge(b))
errors = jax.jit(lambda state: jnp.stack([state.ece(1), state.ece(2), state.mce()]))


@pytest.fixture
def stream(rng):
    """20 batches of 500, padded with NaN; and all rows that count."""
    batches = []
    for size in rng.integers(0, 501, 20):
        confidence = np.where(np.arange(500) < size, rng.integers(0, 41, 500) / 40, np.nan).astype(np.float32)
        batches.append((confidence, (rng.random(500) < 0.6).astype(np.float32), np.arange(500) < size))
    confidence, correct, where = map(np.concatenate, zip(*batches, strict=True))
    return batches, confidence[where], correct[where]


def exact(confidence, correct, **options):
    return [binned_error(confidence, correct, norm=norm, **options) for norm in (1, 2, np.inf)]


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.parametrize("closed", ["left", "right"])
def test_a_stream_is_its_rows(stream, closed):
    """...also in two parts that are merged; many scores are on the edges of bins."""
    batches, confidence, correct = stream
    parts = []
    for part in (batches[:7], batches[7:]):
        state = CalibrationState.empty(10, closed=closed)
        for batch in part:
            state = update(state, *batch)
        parts.append(state)
    expected = exact(confidence, correct, num_bins=10, closed=closed)
    for state in (merge(*parts), merge(*parts[::-1])):
        np.testing.assert_allclose(errors(state), expected, atol=3e-7)
        assert state.num_rows() == len(confidence)
    assert partial(type(state).empty, 10)().bins.closed == "left"


@pytest.mark.slow
def test_it_is_a_pytree_for_scan(stream):
    batches, confidence, correct = stream
    columns = [np.stack(column) for column in zip(*batches, strict=True)]
    step = lambda state, batch: (update(state, *batch), None)  # noqa: E731
    state, _ = jax.jit(lambda *columns: jax.lax.scan(step, CalibrationState.empty(10), columns))(*columns)
    np.testing.assert_allclose(errors(state), exact(confidence, correct, num_bins=10), atol=3e-7)


@pytest.mark.slow
def test_class_by_class(rng):
    """`update_probs` takes probabilities, and `update` too in their position."""
    probs, labels = rng.dirichlet(np.ones(3), 60).astype(np.float32), rng.integers(0, 3, 60)
    weights = rng.integers(1, 5, 60).astype(np.float32)
    state = CalibrationState.empty(10, num_classes=3).update_probs(probs[:30], labels[:30], weights=weights[:30])
    state = state.update(probs[30:], labels[30:], weights=weights[30:])
    each = [binned_error(probs[:, k], labels == k, num_bins=10, weights=weights) for k in range(3)]
    np.testing.assert_allclose(jax.jit(CalibrationState.errors)(state), each, atol=3e-7)
    np.testing.assert_allclose(errors(state)[0], np.mean(each), atol=3e-7)
    assert state.num_rows() == 60
    masked = state.update_probs(np.full((30, 3), np.nan, np.float32), labels[:30], where=np.zeros(30, bool))
    assert masked.num_rows() == 60


@pytest.mark.medium
def test_a_batch_of_states_has_no_rows_outside_of_vmap(rng):
    """Two states of two rows: their axis is not taken for the classes, or for the words of a count."""
    rows = rng.random((2, 2), np.float32), rng.random((2, 2)) < 0.5
    batch = jax.vmap(lambda c, y: CalibrationState.empty(4).update(c, y))(*rows)
    for reading in (batch.num_rows, batch.ece, lambda: batch.merge(batch)):
        with pytest.raises(ValueError, match=r"a batch of states, shape \(2,\), has no errors or rows"):
            reading()
    assert [jax.tree.map(lambda leaf: leaf[i], batch).num_rows() for i in range(2)] == [2, 2]  # noqa: B023


@pytest.mark.medium
def test_a_state_is_carried_inside_shard_map(rng):
    """...if it differs between devices from the start, as the docstring of `empty` says."""
    mesh = jax.make_mesh((1,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
    confidence, correct = rng.random((3, 20), np.float32), rng.random((3, 20)) < 0.5

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=PartitionSpec(None, "devices"), out_specs=PartitionSpec())
    def pooled(*batches):
        start = jax.lax.pcast(CalibrationState.empty(4), "devices", to="varying")
        state, _ = jax.lax.scan(lambda state, batch: (state.update(*batch), None), start, batches)
        return jax.lax.psum(state, "devices")

    state = pooled(confidence, correct)
    assert state.num_rows() == 60
    np.testing.assert_allclose(errors(state), exact(confidence.ravel(), correct.ravel(), num_bins=4), atol=3e-7)


ON_FOUR_DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import re
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
from mixjax.calibration import CalibrationState, debiased_ece2, ece, sweep_ece
rng = np.random.default_rng(0)
confidence, correct = rng.random(524_288).astype(np.float32), rng.random(524_288) < 0.5
mesh = jax.make_mesh((4,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
rows = confidence[:256], correct[:256].astype(np.int32)

def check(function, *given):
    def each(*rows):
        return jax.tree.map(lambda leaf: leaf[None], function(*rows))
    found = jax.jit(jax.shard_map(each, mesh=mesh, in_specs=P("devices"), out_specs=P("devices")))(*given)
    alone = [function(*(part[k : k + 64] for part in given)) for k in range(0, 256, 64)]
    for leaf, parts in zip(jax.tree.leaves(found), zip(*map(jax.tree.leaves, alone)), strict=True):
        np.testing.assert_allclose(leaf, np.stack(parts), rtol=1e-4, atol=1e-6)
"""


def on_four_devices(code):
    command = [sys.executable, "-c", ON_FOUR_DEVICES + code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_devices():
    """psum over four devices, one batch each, is the pooled value; estimators that search in a loop have their own."""
    on_four_devices("""
from mixjax.calibration import brier_decomposition
@jax.jit
@jax.shard_map(mesh=mesh, in_specs=P("devices"), out_specs=P())
def pooled(confidence, correct):
    return jax.lax.psum(CalibrationState.empty().update(confidence, correct), "devices")
state = pooled(jnp.asarray(confidence), jnp.asarray(correct))
assert state.num_rows() == 524_288
assert abs(state.ece() - ece(confidence, correct)) < 1e-6
for function in (sweep_ece, brier_decomposition):
    check(function, *rows)
""")


@pytest.mark.slow
def test_every_device_its_own_fit():
    """In `shard_map`."""
    on_four_devices("""
from mixjax import recalibration
logits = rng.normal(size=(256, 3)).astype(np.float32)
labels = np.where(rng.random(256) < 0.5, logits.argmax(1), 0)

def fitted(fit):
    return lambda scores, labels: jax.tree.leaves(fit(scores, labels))

check(fitted(recalibration.fit_beta_calibration), *rows)
check(fitted(recalibration.fit_isotonic), *rows)
check(fitted(recalibration.fit_venn_abers), *rows)
check(fitted(recalibration.fit_platt), logits[:, 0], rows[1])
check(fitted(recalibration.fit_temperature), logits, labels)
check(fitted(recalibration.fit_vector_scaling), logits, labels)
check(fitted(recalibration.fit_dirichlet_calibration), logits, labels)
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
def test_a_fresh_state_can_be_donated():
    donated = jax.jit(lambda state, *rows: state.update(*rows), donate_argnums=0)
    state = donated(CalibrationState.empty(10), np.float32([0.2]), np.float32([1]))
    assert abs(float(errors(state)[0]) - 0.8) < 1e-6


def test_it_is_small_and_nothing_overflows():
    """...or is rounded away: 2^33 rows, doubled from 2^13, of which half are right; then one row more, and another."""
    add = jax.jit(CalibrationState.update)
    state = CalibrationState.empty(10).update(np.full(2**13, 0.75, np.float32), np.arange(2**13) % 2)
    for _ in range(20):
        state = merge(state, state)
    assert state.num_rows() == 2**33
    np.testing.assert_allclose(errors(state)[0], 0.25, atol=1e-7)
    one = add(CalibrationState.empty(10), np.float32([0.5]), np.float32([0]))
    total = jax.jit(lambda a, b: jax.lax.fori_loop(0, 1001, lambda _, state: state.merge(b), a))(state, one)
    assert total.num_rows() == 2**33 + 1001
    assert np.asarray(total.mass, np.float64).sum() == 2**33 + 1001  # where a float32 sum stands still
    assert np.asarray(total.residual, np.float64).sum() == -0.25 * 2**33 - 0.5 * 1001
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(state)) < 4096


def test_no_rows_are_nan_and_nan_stays():
    state = CalibrationState.empty(10)
    assert np.isnan(errors(state)).all()
    two, one = np.float32([2.0]), np.float32([1])
    assert np.isnan(errors(update(state, two, one, np.array([True])))).all()
    hidden = update(state, two, one, np.array([False]))
    assert np.isnan(errors(hidden)).all()
    assert hidden.num_rows() == 0


def test_wrong_use_is_refused():
    state = CalibrationState.empty(10)
    with pytest.raises(ValueError, match="confidence must be in"):
        state.update(np.float32([1.5]), np.float32([1]))
    for other in (CalibrationState.empty(11), CalibrationState.empty(10, closed="right")):
        with pytest.raises(ValueError, match="states must have the same bins"):
            state.merge(other)
    with pytest.raises(TypeError, match="other must be a CalibrationState, got int"):
        state.merge(3)
    with pytest.raises(ValueError, match="probs must have 3 classes"):
        CalibrationState.empty(10, num_classes=3).update_probs(np.full((1, 2), 0.5), [0])
    with pytest.raises(ValueError, match="update_probs needs a state made with num_classes"):
        state.update_probs(np.full((1, 2), 0.5), [0])
