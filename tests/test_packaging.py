"""The wheel installs one name, with the studies and experiments in it; it and a clone work from any folder.

The sdist holds what the wheel is built from, and no tests: these need the whole repository.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import mixjax
from tests.paths import ROOT

FOLDERS = {"mixjax": "mixjax", "sims": "mixjax/sims", "train": "mixjax/train"}  # of the tree, in the wheel
BESIDE = ("CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml")
BUILD = """
import shutil, sys
from setuptools import build_meta
out = sys.argv[1]
sdist = build_meta.build_sdist(out)
build_meta.build_editable(out + "/editable")
shutil.unpack_archive(out + "/" + sdist, out)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An sdist, the wheel that is built from it, and an editable one, of a copy, so that the tree stays as it is."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("out")
    for path in [*map(ROOT.joinpath, (*BESIDE, "tests/test_packaging.py")), *sources()]:
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    build(BUILD, source, out)
    (sdist,) = out.glob("*.tar.gz")
    build("import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])",
          out / sdist.name.removesuffix(".tar.gz"), out / "wheel")  # fmt: skip
    wheels = {kind: next((out / kind).glob("*.whl")) for kind in ("wheel", "editable")}
    return {"source": source, "sdist": sdist} | wheels


def build(code: str, folder: Path, out: Path) -> None:
    subprocess.run([sys.executable, "-c", code, str(out)], cwd=folder, capture_output=True, check=True)


def sources() -> list[Path]:
    return [path for package in FOLDERS for path in files_of(package)]


def files_of(package: str) -> list[Path]:
    return [path for path in (ROOT / package).rglob("*") if path.suffix == ".py" or path.name == "py.typed"]


def run(installed: Path, folder: Path, code: str) -> list[str]:
    """The lines that code prints, run in a folder by a Python that finds what is installed."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.medium
def test_the_sdist_holds_the_sources_and_no_tests(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as sdist:
        names = {member.name.partition("/")[2] for member in sdist if member.isfile()}
    made = {name for name in names if name.startswith("mixjax.egg-info/")} | {"PKG-INFO", "setup.cfg"}
    assert names - made == {*BESIDE} | {path.relative_to(ROOT).as_posix() for path in sources()}


@pytest.mark.medium
def test_metadata(built: dict[str, Path]) -> None:
    """The version is that of the package and of CITATION.cff; what an index shows has no link into the repository."""
    wheel = zipfile.ZipFile(built["wheel"])
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    cited = re.findall("^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert [metadata["Version"]] == [mixjax.__version__] == cited
    description = metadata.get_payload()
    assert isinstance(description, str) and "pip install mixjax" in description
    assert re.findall(r"\]\((?!https://)", description) == []


@pytest.mark.medium
def test_the_wheel_holds_the_library_and_nothing_else(built: dict[str, Path]) -> None:
    names = zipfile.ZipFile(built["wheel"]).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"mixjax"}
    wanted = {
        f"{there}/{path.relative_to(ROOT / package)}"
        for package, there in FOLDERS.items()
        for path in files_of(package)
    }
    assert {name for name in names if name.startswith("mixjax/")} == wanted


USE = """
import runpy, sys
from mixjax.gaussian import ScoreLaw, population_ece
import mixjax
print(mixjax.__file__)
print(0.05 < float(population_ece(ScoreLaw(1.0, 0.5))) < 0.06)
for module, *words in (("mixjax", "sims"), ("mixjax", "train"), ("mixjax.sims",), ("mixjax.train",)):
    sys.argv = [module, *words, "--help"]
    try:
        runpy.run_module(module, run_name="__main__")
    except SystemExit as end:
        print("status", end.code)
"""


@pytest.mark.medium
def test_the_wheel_works_elsewhere(built: dict[str, Path], tmp_path: Path) -> None:
    """With the studies and the experiments, and nothing of the checkout in sight."""
    zipfile.ZipFile(built["wheel"]).extractall(tmp_path / "site")
    (tmp_path / "elsewhere").mkdir()
    file, value, *lines = run(tmp_path / "site", tmp_path / "elsewhere", USE)
    assert (Path(file), value) == (tmp_path / "site" / "mixjax" / "__init__.py", "True")
    programs = ["mixjax sims", "mixjax train", "python -m mixjax.sims", "python -m mixjax.train"]
    usages = [line for line in lines if line.startswith("usage: ")]
    assert all(usage.startswith(f"usage: {program} ") for usage, program in zip(usages, programs, strict=True))
    assert lines.count("status 0") == 4


BOTH = """
import mixjax, sims, train
from mixjax.sims.study import Study
from mixjax.train.nets import MLP
from sims.study import Study as same_study
from train.nets import MLP as same_net
assert sims is mixjax.sims and train is mixjax.train and Study is same_study and MLP is same_net
assert Study.__module__ == "mixjax.sims.study" and MLP.__module__.startswith("mixjax.train.nets")
assert sims.study.__spec__.name == "mixjax.sims.study"
"""


@pytest.mark.slow
def test_a_clone_has_both_names_and_one_package(tmp_path: Path) -> None:
    """Also in the folder that holds a clone called mixjax, where the clone itself is no package."""
    (tmp_path / "mixjax").symlink_to(ROOT)
    run(ROOT, tmp_path, BOTH)


@pytest.mark.medium
def test_an_editable_install_adds_a_folder_to_the_path(built: dict[str, Path]) -> None:
    """Setuptools' default is a finder, which loses to a folder called mixjax where Python is started."""
    editable = zipfile.ZipFile(built["editable"])
    (name,) = (name for name in editable.namelist() if name.endswith(".pth"))
    assert editable.read(name).decode().split() == [str(built["source"])]


CORE = """
import runpy, sys
sys.modules.update(dict.fromkeys({hidden}))
for module in ("mixjax.sims", "sims", "train", "benchmarks"):
    sys.argv = [module, *(["simulator"] if module == "benchmarks" else ["--help"])]
    try:
        runpy.run_module(module, run_name="__main__")
    except SystemExit as end:
        print("status", end.code)
import mixjax.sims
from mixjax.runs import RunError
for use in ("mixjax.sims.load", "import mixjax.train.nets"):
    try:
        exec(use)
    except (ImportError, RunError) as error:
        print(error)
del sys.modules["xarray"], sys.modules["h5netcdf"], sys.modules["h5py"], sys.modules["matplotlib"], sys.modules["rich"]
try:
    mixjax.sims.run("generative", "runs/generative", preset="quick")
except RunError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_core_install_names_the_extra_in_one_sentence(tmp_path: Path) -> None:
    """Optional packages hidden, all of them, and then those of one study."""
    hidden = ("dask", "flax", "h5netcdf", "h5py", "matplotlib", "optax", "orbax", "rich", "sklearn", "xarray")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CORE.format(hidden=hidden)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    *statuses, of_sims, of_nets, sentence = done.stdout.splitlines()
    assert statuses == ["status 2"] * 4, done.stderr
    way = "pip install 'mixjax[{0}]', or in a clone pip install --editable '.[{0}]'"
    assert re.fullmatch(rf"mixjax.sims needs \w+: {re.escape(way.format('sims'))}", of_sims)
    assert of_nets == "mixjax.train.nets needs flax: pip install 'mixjax[train]'"
    assert sentence == f"the study generative needs flax: {way.format('generative')}"
    errors = done.stderr.splitlines()
    assert [line.partition(" needs ")[0] for line in errors] == [
        *("error: python -m mixjax.sims", "error: python -m sims", "error: python -m train"),
        "error: the benchmark simulator",
    ]
    ends = ("sims", "sims", "train", "bench,cluster,sims,train")
    assert all(line.endswith(f": {way.format(extra)}") for line, extra in zip(errors, ends, strict=True))
    assert not list(tmp_path.iterdir()), "nothing has begun"
