"""Settings and fixtures of the whole suite.

Tests run with 64-bit types, and with implicit rank and dtype promotion forbidden: what passes here
passes for users who forbid them. Every random input follows from the test's own name, so that a
failure repeats. Compiled programs are kept in .cache, so that the second run of a machine compiles little.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests.paths import program_cache

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Environment variables reach the processes that tests start.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(program_cache()))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")  # to store it takes as long
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # XLA takes its own preferences for features that a CPU lacks

import jax
import numpy as np
import pytest
from hypothesis import settings

from mixjax.runs import RunDirectory
from tests.runs.run_folder import ENVIRONMENT, LAYOUT, SPEC

settings.register_profile("repeatable", derandomize=True, deadline=None)  # examples follow from the test too
settings.load_profile("repeatable")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")


def seed_of(name: str) -> int:
    """63 bits that belong to a name, the same in every process."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) >> 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all but n parameter sets, evenly spread, of a test marked few(n)."""
    sets: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("slow"):
            sets.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in sets.values():
        (count,) = group[0].get_closest_marker("few").args
        kept = {round(k * (len(group) - 1) / max(count - 1, 1)) for k in range(count)}
        for position, item in enumerate(group):
            if position not in kept:
                item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """The garbage collector need not search all that was imported and collected again and again."""
    gc.collect()
    gc.freeze()


MAPS = Path("/proc/self/maps")  # where Linux lists the memory maps of a process
MANY = 30_000  # of them; a process may have 65,530, of which each compiled program takes ten


@pytest.fixture(scope="module", autouse=True)
def _forget_programs() -> Iterator[None]:
    """After a file, let go of the compiled programs before there are too many: XLA crashes without a word then."""
    yield
    if not MAPS.exists() or MAPS.read_bytes().count(b"\n") > MANY:
        jax.clear_caches()


@pytest.fixture
def key(request: pytest.FixtureRequest) -> jax.Array:
    """A JAX key of the test's own."""
    return jax.random.key(seed_of(request.node.nodeid), impl="threefry2x32")


@pytest.fixture(scope="module")
def module_key(request: pytest.FixtureRequest) -> jax.Array:
    """A JAX key of the file's own, for draws that several tests look at."""
    return jax.random.key(seed_of(request.node.nodeid), impl="threefry2x32")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A NumPy generator of the test's own."""
    return np.random.default_rng(seed_of(request.node.nodeid))


@pytest.fixture
def compilations() -> Iterator[list[str]]:
    """A list that grows by one entry with every program that XLA compiles."""
    compiled: list[str] = []

    def listen(event: str, duration: float, **_: object) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield compiled
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDirectory]:
    """A run folder of the test's own, held until the test ends."""
    with RunDirectory.open(tmp_path / "run", spec=SPEC, environment=ENVIRONMENT, layout=LAYOUT) as run:
        yield run
