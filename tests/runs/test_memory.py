"""Memory: that of the machine or of its container, and every wording of its lack."""

import pytest
from jax.errors import JaxRuntimeError

from mixjax.runs import memory as module
from mixjax.runs.memory import memory, wants_memory


def test_memory_is_that_of_the_machine_or_of_its_container(monkeypatch, tmp_path):
    machine = memory()
    assert 2**28 < machine < 2**63
    (tmp_path / "memory.max").write_text("1000000\n")
    monkeypatch.setattr(module, "_CGROUP", tmp_path / "memory.max")
    assert memory() == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory() >= machine


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (MemoryError(), True),
        (JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."), True),
        (JaxRuntimeError("INTERNAL: CUDA_ERROR_OUT_OF_MEMORY: out of memory"), True),
        (JaxRuntimeError("INTERNAL: Failed to allocate: CUDA_ERROR_OUT_OF_MEMORY"), True),
        (JaxRuntimeError("INVALID_ARGUMENT: shapes differ"), False),
        (OSError("out of memory"), False),
    ],
)
def test_a_lack_of_memory_is_known_in_every_wording(error, lacks):
    assert wants_memory(error) is lacks
