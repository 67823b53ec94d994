"""Shards: read as they were written, and damage that is seen."""

import numpy as np
import pytest

from mixjax.runs import RunDirectory, RunError
from mixjax.runs.shards import seal, unseal
from tests.runs.run_folder import ARRAYS, RUN, SPEC


def test_what_is_written_is_read(run):
    assert not run.has("a")
    run.write("a", ARRAYS)
    assert run.has("a")
    stored = run.read("a")
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(stored[name], array)
        assert stored[name].dtype == array.dtype


def test_every_flipped_bit_is_seen():
    content = seal(ARRAYS, b"unit")
    assert unseal(content, b"unit").keys() == ARRAYS.keys()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        assert unseal(bytes(damaged), b"unit") is None, position


def test_a_shard_that_is_cut_lengthened_swapped_or_deleted_is_not_there(run):
    run.write("a", ARRAYS)
    run.write("b", {**ARRAYS, "mean": ARRAYS["mean"] + 1})
    path, other = (run.path / "shards" / f"{name}.npz" for name in "ab")
    whole = path.read_bytes()
    checksum = other.read_bytes()[-32:]
    for content in (b"", whole[:1], whole[:50], whole[:-1], whole + b"\0", whole[:-32] + checksum, None):
        path.unlink() if content is None else path.write_bytes(content)
        assert not run.has("a")
        with pytest.raises(RunError, match="missing or damaged"):
            run.read("a")


def test_a_shard_is_of_its_unit_and_its_run(run, tmp_path):
    """Under another name, or among those of another spec, it is damage, whole as it is."""
    run.write("a", ARRAYS)
    content = (run.path / "shards" / "a.npz").read_bytes()
    (run.path / "shards" / "b.npz").write_bytes(content)
    assert run.inventory(["a", "b"]).damaged == ("b",)
    for seed, held in ((0, True), (1, False)):
        with RunDirectory.open(tmp_path / str(seed), **RUN | {"spec": {**SPEC, "seed": seed}}) as other:
            (other.path / "shards" / "a.npz").write_bytes(content)
            assert other.has("a") == held


def test_numpy_reads_a_shard(run):
    """It is a plain .npz: nobody needs this code to look into one."""
    run.write("a", ARRAYS)
    with np.load(run.path / "shards" / "a.npz") as stored:
        assert sorted(stored.files) == ["count", "mean"]
        np.testing.assert_array_equal(stored["mean"], ARRAYS["mean"])
