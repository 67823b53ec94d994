"""Tables that several files look at, computed once; sizes are shared, so that few programs are compiled."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import xarray as xr

from mixjax import sims
from mixjax.sims.studies import STUDIES
from tests.sims.small_run import AXES, SMALL

# six cells each or twice six, and two Mixup settings where there are such
SIZES = {
    "phase_diagram": {"n": "200", "ratio": "0.1,0.5,2", "theta_norm": "1,2", "alpha": "0.5,5"},
    "high_dimension": {"n": "200", "ratio": "0.1,0.5,2", "theta_norm": "1,2", "alpha": "0.5,5"},
    "low_dimension": {"n": "50,1000,100000", "p": "5", "theta_norm": "1,2", "alpha": "0.5,5"},
    "capacity": {"n": "1000", "ratio": "0.3,1,4", "theta_norm": "1,2"},
    "temperature": {"n": "200", "ratio": "0.1,0.5,2", "theta_norm": "1,2", "held_out_ratio": "0.1,1", "alpha": "0.5,5"},
    "out_of_domain": {"n": "200", "theta_norm": "1.5", "test_norm": "0.5,6", "angle": "0,30,90", "alpha": "0.5,5"},
    "pseudo_label": {"n": "20", "ratio": "0.5,5", "theta_norm": "1,2", "unlabeled_per_label": "1,10", "alpha": "0.5,5"},
    "pseudo_label_shift": {"ratio": "2", "unlabeled_norm": "0.5,3", "angle": "0,60,120", "alpha": "0.5,5"},
}


SLOW = SIZES.keys() - {"phase_diagram"}  # each has a program of its own, which takes long to compile
STUDIES_OF_GRIDS = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in SIZES]


@pytest.fixture(params=STUDIES_OF_GRIDS)
def grid_study(request: pytest.FixtureRequest) -> str:
    """The name of each study of a grid."""
    return str(request.param)


@pytest.fixture
def one_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The phase diagram has its first figure alone: each takes a second to write."""
    study = STUDIES["phase_diagram"]
    monkeypatch.setitem(STUDIES, "phase_diagram", replace(study, figures=study.figures[:1]))


@pytest.fixture(scope="session")
def sizes() -> Mapping[str, Mapping[str, str]]:
    return SIZES


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A run of a study at its size above, which all processes of the test run share."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def run(study: str) -> Path:
        folder = shared / f"run-of-{study}"
        with (shared / f"{folder.name}.lock").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            sims.run(study, folder, replicates=2000, **SIZES[study])
        return folder

    return cache(run)


@pytest.fixture
def copied(folder_of: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of the run of the phase diagram, 12 cells in two units, to be changed."""
    return shutil.copytree(folder_of("phase_diagram"), tmp_path / "run")


@pytest.fixture(scope="session")
def table_of(folder_of: Callable[[str], Path]) -> Callable[[str], xr.Dataset]:
    """Its table."""
    return cache(lambda study: sims.load(folder_of(study)))


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of `small_run`, which nothing has disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    sims.run("phase_diagram", folder, layout=SMALL, **AXES)
    return folder


@pytest.fixture(scope="session")
def undisturbed(small_folder: Path) -> xr.Dataset:
    """Its table."""
    return sims.load(small_folder)


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """The name of a bucket of an emulated S3, in which each test has a folder."""
    moto = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    known = {"ENDPOINT_URL": f"http://{host}:{port}", "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}
    with pytest.MonkeyPatch.context() as environment:
        for name, value in known.items():
            environment.setenv(f"AWS_{name}", value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("mixjax")
        yield "mixjax"
    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()
