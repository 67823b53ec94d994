"""The wheel installs one name, with the studies and experiments in it, and works from any directory."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT

PLACES = {"mixjax": "mixjax", "sims": "mixjax/sims", "train": "mixjax/train"}  # of the tree, in the wheel

USE = """
import mixjax
from mixjax.gaussian import ScoreLaw, population_ece
print(mixjax.__file__)
print(float(population_ece(ScoreLaw(1.0, 0.5))))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what a release is made of, so that the tree stays as it is."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    for package in PLACES:
        for path in files_of(package):
            copy = source / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(out)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, check=True)
    (built,) = out.glob("*.whl")
    return built


def files_of(package: str) -> list[Path]:
    return [path for path in (ROOT / package).rglob("*") if path.suffix == ".py" or path.name == "py.typed"]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the wheel is unpacked, with nothing of the checkout in sight."""
    site = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(site)
    return site


def run(installed: Path, folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_the_library_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"mixjax"}
    wanted = {
        f"{place}/{path.relative_to(ROOT / package)}" for package, place in PLACES.items() for path in files_of(package)
    }
    assert {name for name in names if name.startswith("mixjax/")} == wanted


def test_the_wheel_works_elsewhere(installed: Path, tmp_path: Path) -> None:
    file, value = run(installed, tmp_path, "-c", USE).split()
    assert Path(file) == installed / "mixjax" / "__init__.py"
    assert 0.05 < float(value) < 0.06


@pytest.mark.parametrize("program", ["sims", "train"])
def test_the_wheel_has_the_studies_and_the_experiments(installed: Path, tmp_path: Path, program: str) -> None:
    help_text = run(installed, tmp_path, "-m", "mixjax", program, "--help")
    assert help_text.startswith(f"usage: mixjax {program} ")
    assert run(installed, tmp_path, "-m", f"mixjax.{program}", "--help").startswith(
        f"usage: python -m mixjax.{program}"
    )


SAME = """
import {0}, mixjax
from {0}.{1} import {2} as one
from mixjax.{0}.{1} import {2} as other
assert {0} is mixjax.{0} and one is other and one.__module__ == "mixjax.{0}.{1}"
assert {0}.{1}.__spec__.name == "mixjax.{0}.{1}"
"""


@pytest.mark.parametrize(("package", "module", "name"), [("sims", "study", "Study"), ("train", "nets", "MLP")])
def test_a_clone_has_both_names_and_one_package(package: str, module: str, name: str, tmp_path: Path) -> None:
    code = (
        SAME.format(package, module, name)
        .replace("one.__module__ ==", "one.__module__.startswith(")
        .replace(f'"mixjax.{package}.{module}"\n', f'"mixjax.{package}.{module}")\n', 1)
    )
    run(ROOT, tmp_path, "-c", code)


def test_a_clone_is_not_shadowed_by_its_own_folder(tmp_path: Path) -> None:
    """In the folder that holds a clone called mixjax, whose path an editable install adds to that of Python."""
    (tmp_path / "mixjax").symlink_to(ROOT)
    code = "import sys; sys.path.append(sys.argv[1]); import mixjax; print(mixjax.__version__)"
    run(Path(), tmp_path, "-c", code, str(ROOT))
