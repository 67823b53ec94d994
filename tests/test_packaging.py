"""The wheel installs one name, and it works from any directory."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

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
    for package in ("mixjax", "sims"):
        for path in (ROOT / package).rglob("*"):
            if path.suffix == ".py" or path.name == "py.typed":
                copy = source / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(out)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, capture_output=True, check=True)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_the_library_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"mixjax"}
    library = {str(path.relative_to(ROOT)) for path in (ROOT / "mixjax").rglob("*.py")} | {"mixjax/py.typed"}
    assert {name for name in names if name.startswith("mixjax/")} == library


def test_the_wheel_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    """...with nothing of the checkout in sight."""
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    zipfile.ZipFile(wheel).extractall(site)
    elsewhere.mkdir()
    code = f"import sys; sys.path.insert(0, {str(site)!r}){USE}"
    done = subprocess.run([sys.executable, "-c", code], cwd=elsewhere, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    file, value = done.stdout.split()
    assert Path(file) == site / "mixjax" / "__init__.py"
    assert 0.05 < float(value) < 0.06
