"""A study of one's own is run and stored by its name, and hides none of ours."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import xarray as xr

from mixjax import sims
from mixjax.sims.cli import main
from mixjax.sims.studies import STUDIES


@dataclasses.dataclass(frozen=True)
class Powers:
    """The powers of a number."""

    base: int = 3
    seed: int = 0


STUDY = sims.PiecewiseStudy(
    name="powers",
    summary="powers of a number",
    config=Powers,
    presets={"default": {}},
    figures=(),
    pieces=lambda config: {str(k): lambda k=k: {"power": np.float64(config.base**k)} for k in (1, 2)},
    table=lambda config, pieces: xr.Dataset({"power": ("k", [pieces[k]["power"] for k in ("1", "2")])}),
    report=lambda table: "# Powers\n",
)


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    monkeypatch.setitem(STUDIES, "powers", None)


def test_it_runs_by_its_name(tmp_path):
    sims.register(STUDY)
    found = sims.run("powers", tmp_path / "run", base=4)
    assert found["power"].values.tolist() == [4.0, 16.0]
    assert sims.load(tmp_path / "run")["power"].equals(found["power"])
    assert main(["powers", "--base", "5", "--out", str(tmp_path / "other")]) == 0


def test_a_cell_of_a_notebook_runs_twice():
    sims.register(STUDY)
    sims.register(dataclasses.replace(STUDY, summary="again"))
    assert STUDIES["powers"].summary == "again"


@pytest.mark.parametrize("name, says", [
    ("phase_diagram", "mixjax has a study 'phase_diagram' already; choose another name"),
    ("my study", "must be a word of letters, digits and underscores, got 'my study'"),
])  # fmt: skip
def test_names_that_are_refused(name, says):
    with pytest.raises(ValueError, match=says):
        sims.register(dataclasses.replace(STUDY, name=name))
