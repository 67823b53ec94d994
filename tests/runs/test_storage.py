"""Folders in a store: what is a URL, what is seen of what a store lists, and one sentence for whatever it raises."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import known_implementations

from mixjax.runs import RunDirectory, RunError, read_manifest
from mixjax.runs.storage import ObjectPath, each, local, located, modified
from tests.runs.run_folder import ARRAYS, ENVIRONMENT, RUN


class LostError(Exception):
    """What packages of stores raise: no OSError."""


def lose(*_, **__):
    raise LostError("the connection is lost\nand more of it")


@pytest.fixture
def store():
    """A store of its own, and the system of which it is made."""
    system = MemoryFileSystem(global_store=False, skip_instance_cache=True)
    return ObjectPath("memory://bucket/run", "/bucket/run", system)


@pytest.fixture
def run(store):
    with RunDirectory.open(store, **RUN, warn=lambda _: None) as run:
        yield run


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("runs/map", "runs/map"),
        ("/data/run", "/data/run"),
        ("file:///data/a b", "/data/a b"),
        ("local:///data", "/data"),
        ("C:/run", "C:/run"),
    ],
)
def test_what_is_on_a_disk(given, path):
    assert located(given) == local(given) == Path(path)
    assert located(Path(path)) == Path(path)


@pytest.mark.parametrize("given", ["memory://bucket/run", "memory://bucket/run/", "memory:///bucket/run"])
def test_what_is_in_a_store(given):
    place = located(given)
    assert (place.key, place.name) == ("/bucket/run", "run")
    assert str(place) == given.rstrip("/")
    assert located(place) is place
    below = place / "figures/map.png"
    assert (below.stem, str(below.with_suffix(".txt"))) == ("map", f"{place}/figures/map.txt")
    assert below.parent.parent == place
    with pytest.raises(RunError, match="is a URL, but this command needs a folder on a disk"):
        local(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nosuch://bucket/run", "nosuch://bucket/run cannot be used: Protocol not known: nosuch"),
        ("lacking://bucket/run", "lacking://bucket/run cannot be used: Install lackingfs to have it"),
        ("memory://", "no empty part"),
        ("memory://bucket//run", "no empty part"),
        ("memory://bucket/../other", "no .., got 'memory://bucket/../other'"),
        ("file://data/run", "is file:// and its absolute path"),
        ("simplecache::memory://bucket/run", "a URL is SCHEME://BUCKET/FOLDER"),
        ("://bucket", "a URL is SCHEME://BUCKET/FOLDER"),
    ],
)
def test_what_is_neither(given, words, monkeypatch):
    lacking = {"class": "lackingfs.System", "err": "Install lackingfs to have it"}
    monkeypatch.setitem(known_implementations, "lacking", lacking)
    with pytest.raises(RunError) as raised:
        located(given)
    assert words in str(raised.value)


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(RunError, match="memory://bucket/run needs fsspec, which the extra `remote` installs"):
        located("memory://bucket/run")
    assert located("runs/map") == Path("runs/map")


def test_an_object_is_what_was_put(store):
    path = store / "a"
    assert not path.exists()
    assert list(store.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        path.read_bytes()
    path.write_bytes(b"\xc3\xa9")
    assert path.exists()
    assert store.exists()
    assert path.read_text() == "é"
    assert modified(path) == pytest.approx(store.system.modified(path.key).timestamp())
    assert list(store.iterdir()) == [path]
    path.unlink()
    path.unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        path.unlink()
    assert not path.exists()


def test_what_is_listed_never_leads_elsewhere(store, monkeypatch):
    """Nor does what is asked for."""
    (store / "a").write_bytes(b"")
    listed = ["/bucket/run/a", "/bucket/run", "/bucket/run/", "/bucket/run/..", "/bucket/run/.", "/bucket/run/b/c",
              "/bucket/other", "/etc/passwd", "../x", "", "/bucket/run/../x"]  # fmt: skip
    monkeypatch.setattr(store.system, "ls", lambda *_, **__: listed)
    assert [str(child) for child in store.iterdir()] == ["memory://bucket/run/a"]
    for name in ("../other", "..", "", "/etc/passwd", "a/../../b"):
        with pytest.raises(RunError, match="no empty part in its name"):
            store / name


def test_of_two_that_begin_one_stays(store, monkeypatch):
    (store / "a").write_once(b"first")
    (store / "a").write_once(b"second")
    assert (store / "a").read_bytes() == b"first"
    put = store.system.pipe_file
    monkeypatch.setattr(store.system, "pipe_file", lambda key, content: put(key, content))  # cannot create
    (store / "b").write_once(b"first")
    (store / "b").write_once(b"second")
    assert (store / "b").read_bytes() == b"first"


def test_a_run_that_begins_where_another_has_just_begun_is_refused(store, monkeypatch):
    """Each saw an empty folder."""
    RunDirectory.open(store, **RUN | {"spec": {"seed": 1}}).write("a", ARRAYS)
    exists, unseen = ObjectPath.exists, [store / "manifest.json"]
    monkeypatch.setattr(ObjectPath, "exists", lambda path: exists(path) if path not in unseen else bool(unseen.clear()))
    with pytest.raises(RunError, match="another spec"):
        RunDirectory.open(store, **RUN)
    assert not unseen
    assert read_manifest(store)["spec"] == {"seed": 1}


@pytest.mark.parametrize(
    ("method", "ask", "words"),
    [
        ("cat_file", lambda path: path.read_bytes(), "a cannot be read: the connection is lost"),
        ("info", lambda path: path.exists(), "a cannot be read: the connection is lost"),
        ("modified", modified, "a cannot be read: the connection is lost"),
        ("ls", lambda path: list(path.iterdir()), "a cannot be listed: the connection is lost"),
        ("rm_file", lambda path: path.unlink(), "a cannot be deleted: the connection is lost"),
        ("pipe_file", lambda path: path.write_bytes(b""), "a cannot be written: the connection is lost; finished work "
         "is kept, and the same command resumes from it"),
    ],
)  # fmt: skip
def test_whatever_a_store_raises_is_one_sentence(store, monkeypatch, method, ask, words):
    (store / "a").write_bytes(b"")
    monkeypatch.setattr(store.system, method, lose)
    with pytest.raises(RunError) as raised:
        ask(store / "a")
    assert str(raised.value) == f"memory://bucket/run/{words}"


def test_a_bucket_that_is_not_there_is_one_sentence(store, monkeypatch):
    def refuse(*_, **__):
        raise FileNotFoundError("The specified bucket does not exist")

    monkeypatch.setattr(store.system, "pipe_file", refuse)
    with pytest.raises(RunError, match=r"run/.lock/1 cannot be written: The specified bucket does not exist"):
        RunDirectory.open(store, **RUN)


def test_a_run_in_a_store(store, monkeypatch):
    monkeypatch.setattr("mixjax.runs.directory.PERIOD", 0.01)
    said = []
    with RunDirectory.open(store, **RUN, warn=said.append) as run:
        run.write("a", ARRAYS)
        for name, array in run.read("a").items():
            np.testing.assert_array_equal(array, ARRAYS[name])
        monkeypatch.setattr("mixjax.runs.directory.PERIOD", 1.0)  # a look every tenth of it
        with pytest.raises(RunError, match=r"^another run is working in memory://bucket/run \(process .* on .*\);"):
            RunDirectory.open(store, **RUN, warn=said.append)
        [line] = said
        assert line.startswith("memory://bucket/run is held by process")
    assert [child.name for child in store.iterdir()] == ["manifest.json", "shards"]
    other = {**ENVIRONMENT, "jax": "2"}
    with RunDirectory.open(store, **RUN | {"environment": other}, allow_mixed=True, warn=said.append) as run:
        assert run.environments == [ENVIRONMENT, other]
        assert run.has("a")
    with pytest.raises(RunError, match="memory://bucket/run holds a run of another spec"):
        RunDirectory.open(store, **RUN | {"spec": {}})
    with pytest.raises(RunError, match="memory://bucket holds files that are not a run"):
        RunDirectory.open(store.parent, **RUN)


def test_an_inventory_of_a_store(run):
    for name in "abc":
        run.write(name, ARRAYS)
    shards = run.path / "shards"
    (shards / "b.npz").write_bytes((shards / "b.npz").read_bytes()[:-1])
    (shards / "\x1b[2J").write_bytes(b"")
    found = run.inventory(["a", "b", "c", "d"])
    assert (found.stored, found.damaged) == ({"a", "c"}, ("b",))
    assert found.remarks()[1] == r"1 file (\x1b[2J) in shards/ not of this run: left alone"
    with pytest.raises(RunError, match=r"shards/b.npz is missing or damaged"):
        run.read_all(["a", "b"])
    assert len(run.times(["a", "b", "c"])) == 3


def test_a_connection_that_is_lost_is_no_damage(run, monkeypatch):
    """What cannot be read now is not computed anew."""
    run.write("a", ARRAYS)
    monkeypatch.setattr(run.path.system, "cat_file", lose)
    for ask in (lambda: run.has("a"), lambda: run.inventory(["a"]), lambda: run.read("a"), lambda: run.read_all(["a"])):
        with pytest.raises(RunError, match=r"shards/a.npz cannot be read: the connection is lost$"):
            ask()


def test_several_questions_at_a_time_where_they_go_far(store, tmp_path):
    """Each waits for another one to be asked; on a disk they are asked by this thread, one after another."""
    both = threading.Barrier(2, timeout=20)
    assert list(each(lambda item: (both.wait() >= 0, -item), range(3000), tmp_path, store)) == [
        (True, -item) for item in range(3000)
    ]
    here = threading.current_thread()
    assert list(each(lambda _: threading.current_thread() is here, range(3), tmp_path, tmp_path)) == [True] * 3
