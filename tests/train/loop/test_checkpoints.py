"""Checkpoints: what is kept comes back, what is damaged is told of and passed over."""

from __future__ import annotations

import errno
import gc
import shutil
from contextlib import closing

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.train.loop import checkpoints
from mixjax.train.loop.checkpoints import Checkpoints


def state(epoch: int) -> dict[str, object]:
    weights = jnp.asarray(np.random.default_rng(epoch).normal(size=(30, 20)), jnp.float32)
    return {"nets": {"weights": weights}, "labels": jnp.full((2, 50), epoch, jnp.int32), "history": np.full(3, np.nan)}


LIKE = jax.tree.map(jnp.zeros_like, state(0))


def last_in(folder) -> int:
    """The epoch of the last checkpoint; 0 if there is none."""
    return max((int(path.name) for path in folder.iterdir() if path.name.isdecimal()), default=0)


def restored(folder, warnings):
    with closing(Checkpoints(folder, warnings.append, seconds=0)) as these:
        return these.restore(LIKE)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "job"
    with closing(Checkpoints(folder, print, seconds=0)) as these:
        for epoch in (1, 2, 3):
            these.save(epoch, state(epoch))
        assert last_in(these.folder) == 3
    return folder


@pytest.fixture
def folder(kept, tmp_path):
    return shutil.copytree(kept, tmp_path / "job")


@pytest.mark.medium
def test_the_last_comes_back_and_two_are_kept(folder):
    warnings = []
    epoch, found = restored(folder, warnings)
    assert epoch == 3 and warnings == []
    jax.tree.map(np.testing.assert_array_equal, found, state(3))
    assert sorted(path.name for path in folder.iterdir() if path.name.isdecimal()) == ["2", "3"]


def damaged(content: bytes, damage: str) -> bytes:
    middle = len(content) // 2
    return {
        "truncated": content[:middle],
        "flipped": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :] if content else b"",
        "emptied": b"",
    }[damage]


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "deleted"])
def test_a_damaged_file_is_never_parsed(folder, damage):
    """Whichever file of the last checkpoint it is; and one that was added."""
    for path in sorted(path for path in (folder / "3").rglob("*") if path.is_file()):
        content = path.read_bytes()
        path.unlink()
        if damage != "deleted":
            path.write_bytes(damaged(content, damage))
        assert checkpoints._intact(folder / "3") is (damage != "deleted" and not content), path
        path.write_bytes(content)
        assert checkpoints._intact(folder / "3"), path
    (folder / "3" / "added").touch()
    assert not checkpoints._intact(folder / "3")


def test_what_is_damaged_is_told_of_and_the_one_before_is_taken(folder):
    largest = max((path for path in (folder / "3").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    largest.write_bytes(damaged(largest.read_bytes(), "flipped"))
    warnings: list[str] = []
    epoch, found = restored(folder, warnings)
    assert epoch == 2 and warnings == [checkpoints._DAMAGED.format(3, folder)]
    jax.tree.map(np.testing.assert_array_equal, found, state(2))
    assert not (folder / "3").exists()


def sealed(folder, epoch):
    """The checksum of what is there now."""
    (folder / "checksums" / f"{epoch}.sha256").write_bytes(checkpoints._digest(folder / str(epoch)))


@pytest.mark.medium
@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Orbax drops reads that it has begun
@pytest.mark.parametrize("change", ["parameters of words", "another shape", "an epoch too far"])
def test_files_with_a_checksum_that_are_no_state_are_passed_over(folder, change):
    if change == "parameters of words":
        for path in (folder / "3" / "default").rglob("*"):
            if path.is_file():
                path.write_bytes(b"[" * 1000)
        sealed(folder, 3)
    elif change == "another shape":
        shutil.rmtree(folder / "3")
        with closing(Checkpoints(folder, print, seconds=0)) as other:
            other.save(3, {**state(3), "labels": jnp.zeros((3, 5), jnp.int32)})
    else:
        shutil.move(folder / "3", folder / "9")
        sealed(folder, 9)
    warnings: list[str] = []
    with closing(Checkpoints(folder, warnings.append, seconds=0)) as these:
        epoch, found = these.restore(LIKE, epochs=8)
    gc.collect()
    assert epoch == 2 and len(warnings) == 1
    jax.tree.map(np.testing.assert_array_equal, found, state(2))


def test_words_in_place_of_what_a_checkpoint_says_of_itself(folder):
    for path in (folder / "3").iterdir():
        if path.is_file():
            path.write_bytes(b"[" * 100_000)
    sealed(folder, 3)
    with pytest.raises(RunError, match=f"the checkpoints in {folder} cannot be read; delete them"):
        Checkpoints(folder, print)


def test_a_link_in_a_checkpoint_is_not_followed(folder, tmp_path):
    (tmp_path / "outside").mkdir()
    (folder / "4").symlink_to(tmp_path / "outside")
    with pytest.raises(RunError, match="4 is a link; a run has files and folders only"):
        Checkpoints(folder, print)


def test_nothing_to_restore(tmp_path):
    assert restored(tmp_path / "job", []) is None


def test_an_epoch_soon_after_another_is_not_kept(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    with closing(Checkpoints(tmp_path / "job", print)) as these:
        for epoch, seconds in enumerate((1, 1, 1.5, 0.4, 2), start=1):
            now[0] += seconds
            these.save(epoch, state(epoch))
        assert last_in(these.folder) == 5
    assert sorted(path.name for path in (tmp_path / "job").iterdir() if path.name.isdecimal()) == ["2", "5"]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot write to"):
        Checkpoints(tmp_path / "file" / "job", print)


def test_where_writing_takes_long_fewer_are_kept(tmp_path, monkeypatch):
    """A write of one second is followed by none for twenty, so that training loses a twentieth at most."""
    now = [0.0]

    def slowly(path, content):
        now[0] += 1
        path.write_bytes(content)

    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoints, "write_atomically", slowly)
    last = []
    with closing(Checkpoints(tmp_path / "job", print, seconds=2)) as these:
        for now[0] in (1, 3, 14, 23, 25):
            these.save(int(now[0]), state(1))
            last.append(last_in(these.folder))
    assert last == [0, 3, 3, 3, 25]


def test_the_last_epoch_is_kept_if_it_is_to_stay(tmp_path):
    """`--keep-checkpoints` promises the parameters of the final nets, however quick they were."""
    for keep_last in (False, True):
        with closing(Checkpoints(tmp_path / str(keep_last), print, seconds=1e9, keep_last=keep_last)) as these:
            these.save(1, state(1))
            these.save(2, state(2), last=True)
            assert last_in(these.folder) == (2 if keep_last else 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of writes that fail after the first
def test_what_the_file_system_refuses_is_one_sentence(folder):
    """As a disk that is full; what was kept before stays, and a checkpoint is kept again where there is room."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with closing(Checkpoints(folder, print, seconds=0)) as these:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        try:
            with pytest.raises(RunError, match="the file would be larger than allowed; finished work is kept"):
                these.save(4, state(4))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    epoch, found = restored(folder, [])
    assert epoch == 3
    jax.tree.map(np.testing.assert_array_equal, found, state(3))


def test_a_full_disk_is_found_before_orbax_finds_it(folder, tmp_path, monkeypatch):
    """Its threads would print tracebacks; nothing is begun, and what was kept before stays."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(checkpoints.shutil, "disk_usage", lambda _: usage._replace(free=2**20))
    with closing(Checkpoints(folder, print, seconds=0)) as these:
        monkeypatch.setattr(these._manager, "save", None)
        with pytest.raises(RunError, match="the disk is full; finished work is kept"):
            these.save(4, state(4))
        assert last_in(these.folder) == 3


def test_what_cannot_be_read_just_now_is_kept(folder, monkeypatch):
    """A file system that fails for a while says nothing against the checkpoint."""

    def refused(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    with closing(Checkpoints(folder, print, seconds=0)) as these:
        with monkeypatch.context() as patched:
            patched.setattr(these._manager, "restore", refused)
            with pytest.raises(RunError, match=r"checkpoint 3 in .* read now, but is kept: input/output error"):
                these.restore(LIKE)
        found = these.restore(LIKE)
    assert found is not None and found[0] == 3
