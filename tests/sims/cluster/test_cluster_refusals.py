"""Clusters that are refused, each with a sentence: without Dask, with wrong options, of other code or devices."""

import sys
from types import SimpleNamespace

import pytest

from mixjax import sims
from mixjax.runs import RunError, provenance
from mixjax.sims.cluster import cluster, tasks
from mixjax.sims.cluster.cluster import Cluster

MADE = provenance()


def test_without_dask_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(RunError, match="needs Dask"):
        Cluster(workers=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers must be from 1 to 1000, got 0"),
        ({"workers": 2.5}, "workers must be from 1 to 1000, got 2.5"),
        ({"workers": 2, "scheduler": "tcp://here:8786"}, "either workers, .* not both"),
    ],
)
def test_wrong_options(arguments, message, tmp_path):
    with pytest.raises(RunError, match=message):
        sims.run("phase_diagram", tmp_path / "run", **arguments)
    assert not (tmp_path / "run").exists()


def a_client(*workers):
    """One whose workers say that they are these."""
    said = {f"tcp://{index}": {**MADE, **made_with} for index, made_with in enumerate(workers)}
    return SimpleNamespace(
        wait_for_workers=lambda *_, **__: None,
        run_on_scheduler=lambda function: function(),
        run=lambda _: said,
        nthreads=lambda: dict.fromkeys(said, 4),
    )


def test_workers_are_alike_and_of_this_code():
    made_with = cluster._agreed(a_client({"device": "H100"}, {"device": "H100"}), 1)
    assert (made_with["device"], made_with["workers"], made_with["threads"]) == ("H100", 2, 8)
    with pytest.raises(RunError, match='workers differ: device is "H100" on tcp://0 and "A100" on tcp://1'):
        cluster._agreed(a_client({"device": "H100"}, {"device": "A100"}), 1)
    with pytest.raises(
        RunError, match=r'other code: commit is "another" on the workers and ".*" here; install the same'
    ):
        cluster._agreed(a_client({"commit": "another"}), 1)


@pytest.mark.parametrize("place", ["run_on_scheduler", "run"])
def test_a_scheduler_and_workers_that_lack_the_code(place):
    """As where Dask was started in another folder; it raises a plain Exception then."""

    def lacks(_):
        raise Exception("ModuleNotFoundError: No module named 'sims'")

    client = a_client({})
    setattr(client, place, lacks)
    with pytest.raises(RunError, match=r"cannot run this code \(ModuleNotFoundError.*; start them in a clone"):
        cluster._agreed(client, 1)


def test_a_worker_that_joins_later_is_looked_at_too():
    environment = {name: str(MADE[name]) for name in tasks.ENVIRONMENT}
    task = ("phase_diagram", "{}", {}, {**environment, "jaxlib": "0.0.1"})
    with pytest.raises(RunError, match=r'a worker joined .*jaxlib is "0.0.1" on the others'):
        tasks.compute_parts(task, ("a part",))
