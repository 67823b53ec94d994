"""Leases in a store: who gets one, who loses it, and that no clock decides; looks and renewals take turns as told."""

import json
import os
import socket
import threading
import time

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from mixjax.runs.errors import KEPT, RunError
from mixjax.runs.lease import PATIENCE, Lease, holder_of
from mixjax.runs.storage import ObjectPath

ME = f"process {os.getpid()} on {socket.gethostname()}"
WATCHED = f"memory://bucket/run is held by {ME}: watching for {PATIENCE * 1000} s to see whether it is alive"
BUSY = f"another run is working in memory://bucket/run ({ME}); wait for it, stop it, or choose another folder"


class Store(MemoryFileSystem):
    """A store that creates an object at once or not at all, after `before` was called, and that can be out of reach."""

    cachable = False

    def __init__(self):
        super().__init__()
        self.store, self.pseudo_dirs = {}, [""]
        self.before, self.lost, self._turn = lambda: None, 0, threading.Lock()

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        if self.lost:
            self.lost -= 1
            raise ConnectionError("the connection is lost")
        if mode == "create":
            self.before()
        with self._turn:
            super().pipe_file(path, value, mode, **kwargs)


@pytest.fixture
def folder():
    return ObjectPath("memory://bucket/run", "/bucket/run", Store())


def lease(folder, turn=lambda: None, said=None):
    """One that its thread does not renew during a test; what happens between two looks is `turn`."""
    tell = [].append if said is None else said.append
    return Lease(folder, tell, period=1000.0, pause=lambda _: turn())


def assert_held(lease):
    """It is renewed, and nobody has taken it over."""
    lease.renew()
    lease.check()


def test_it_is_there_until_the_end_however_that_comes(folder):
    with pytest.raises(KeyboardInterrupt), lease(folder) as held:
        assert_held(held)
        [path] = (folder / ".lock").iterdir()
        content = json.loads(path.read_bytes())
        assert (path.name, content["process"], content["host"]) == ("1", os.getpid(), socket.gethostname())
        assert content["renewals"] == 1
        raise KeyboardInterrupt
    assert not list(folder.iterdir())


def test_a_second_is_refused_while_the_first_renews(folder):
    said = []
    with lease(folder) as first:
        with pytest.raises(RunError) as raised:
            lease(folder, first.renew, said)
        assert (str(raised.value), said) == (BUSY, [WATCHED])
        assert_held(first)
    with lease(folder, said=said):  # free: nothing to watch
        assert len(said) == 1


def renewals(folder):
    return json.loads((folder / ".lock" / "1").read_bytes())["renewals"]


def await_renewals(folder, number):
    deadline = time.monotonic() + 20
    while renewals(folder) < number:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_thread_renews(folder):
    with Lease(folder, print, period=0.001) as held:
        await_renewals(folder, 3)
    held._thread.join(60)  # `close` waits for a period, which is a millisecond here
    assert not held._thread.is_alive()


def test_a_dead_holder_is_followed_whatever_its_clock_said(folder):
    said, looks = [], []
    dead = lease(folder)
    system = folder.system
    system.store["/bucket/run/.lock/1"].modified = system.modified("/bucket/run/.lock/1").replace(year=2100)
    with lease(folder, lambda: looks.append(0), said) as held:
        assert said == [
            WATCHED,
            f"{ME} has not renewed its lease in {PATIENCE * 1000} s: it counts as dead, and this run takes over "
            "memory://bucket/run",
        ]
        assert len(looks) > 2 * PATIENCE
        dead.renew()  # it was suspended
        with pytest.raises(RunError) as raised:
            dead.check()
        assert str(raised.value) == (
            f"another run ({ME}) has taken over memory://bucket/run, because this one was silent for too long; {KEPT}"
        )
        dead.close()
        assert_held(held)
        assert [path.name for path in (folder / ".lock").iterdir()] == ["2"]
    assert not list(folder.iterdir())


def test_suspended_between_a_look_and_its_renewal(folder, monkeypatch):
    """What the former holder puts then is no lease that counts."""
    former = lease(folder)
    monkeypatch.setattr(former, "_is_mine", lambda: True)
    with lease(folder) as held:
        former.renew()
        assert_held(held)
        with pytest.raises(RunError, match="another run is working"):
            lease(folder, held.renew)
        monkeypatch.undo()
        former.renew()
        with pytest.raises(RunError, match="has taken over"):
            former.check()
        former.close()
    assert not list(folder.iterdir())


def test_a_lease_that_somebody_deletes_is_lost(folder):
    with lease(folder) as held:
        (folder / ".lock" / "1").unlink()
        held.renew()
        with pytest.raises(RunError, match=r"^the lease of this run in memory://bucket/run is gone; finished work"):
            held.check()


def test_one_that_ends_while_it_is_watched_is_followed(folder):
    first, said = lease(folder), []
    with lease(folder, first.close, said):
        assert said == [WATCHED]
        assert [path.name for path in (folder / ".lock").iterdir()] == ["1"]


@pytest.mark.parametrize("dead", [False, True], ids=["of those that begin", "of those that take over"])
def test_of_several_at_once_one_wins(folder, dead):
    """All find the folder free, or its holder dead, before the first of them creates its lease."""
    gone = lease(folder) if dead else None
    folder.system.before = threading.Barrier(4, timeout=20).wait
    leases, refused = [], []

    def take():
        try:
            leases.append(lease(folder))
        except RunError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(leases), refused) == (1, [BUSY] * 3)
    assert_held(leases[0])
    leases[0].close()
    if gone is not None:
        gone.close()
    assert not list(folder.iterdir())


def test_one_that_is_late_to_take_over_does_not(folder):
    """Two others have taken over one after another since it looked, so that the number that it creates is free."""
    taken = [lease(folder)]

    def others():
        folder.system.before = lambda: None
        taken.extend([lease(folder), lease(folder)])

    folder.system.before = others
    with pytest.raises(RunError) as raised:
        lease(folder)
    assert str(raised.value) == BUSY
    assert [path.name for path in (folder / ".lock").iterdir()] == ["3"]
    assert_held(taken[2])


def test_a_store_that_takes_creation_for_replacement(folder, monkeypatch):
    """Two may begin at once there; the one that is replaced ends when it renews."""
    put, begun = folder.system.pipe_file, []

    def replace(key, content, mode=None):
        if not begun:
            begun.append(None)
            begun.append(lease(folder))
        put(key, content)

    monkeypatch.setattr(folder.system, "pipe_file", replace)
    with lease(folder) as held:
        begun[1].renew()
        assert_held(held)
        with pytest.raises(RunError, match="has taken over"):
            begun[1].check()


def test_a_store_out_of_reach_ends_no_run(folder):
    with lease(folder) as held:
        folder.system.lost = 1
        with pytest.raises(RunError, match="cannot be written: the connection is lost"):
            held.renew()
        held.check()
        held.renew()
        assert renewals(folder) == 1


def test_a_thread_tries_again(folder):
    with Lease(folder, print, period=0.001) as held:
        folder.system.lost = 3
        await_renewals(folder, renewals(folder) + 2)
        assert not folder.system.lost
        held.check()


def test_without_the_right_to_delete(folder, monkeypatch):
    """Or out of reach at the end: the lease stays, and is taken for that of a dead holder."""

    def refuse(_):
        raise PermissionError("not allowed")

    monkeypatch.setattr(folder.system, "rm_file", refuse)
    lease(folder).close()
    with lease(folder) as held:
        assert_held(held)
    assert sorted(path.name for path in (folder / ".lock").iterdir()) == ["1", "2"]


def test_who_holds_it(folder):
    assert holder_of(folder) is None
    with lease(folder):
        put = folder.system.modified("/bucket/run/.lock/1")
        assert holder_of(folder) == (
            f"{ME}, which renewed its lease at {put:%Y-%m-%d %H:%M:%S} UTC by the clock of the store"
        )
    assert holder_of(folder) is None
