"""The command that resumes a run, from what its folder says."""

from __future__ import annotations

import dataclasses
import json
import shlex

import pytest

from mixjax.runs import RunDirectory, RunError
from mixjax.train import cli
from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.running import load_records
from mixjax.train.runs.options import configured, resume_hint

CHANGED = {
    "width": {"width": (10, 20), "alpha": 0.3, "fold": True},
    "depth": {"depth": (3,), "norm": "none", "dataset": "my own.npz"},
    "pseudo_label": {"width_multiplier": 0.5, "final_norm": True},
    "temperature": {},
    "variants": {"regmixup_alpha": 10.0, "pairing": "roll"},
    "shift": {"learning_rate": 1e-5, "seeds": 1},
}


def stored(folder, spec):
    RunDirectory.open(folder, spec=json.loads(json.dumps(spec)), environment={}, layout={}).close()
    return folder


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("preset", ["quick", "fashion"])
def test_the_command_that_is_named_means_the_same_options(tmp_path, name, preset):
    """Read by the command line it gives the configuration of the run, and its folder."""
    config = configured(name, preset, **CHANGED[name])
    folder = stored(tmp_path / "a run", {"experiment": name, "options": dataclasses.asdict(config)})
    with pytest.raises(RunError, match="holds no finished run; resume with: ") as refused:
        load_records(folder)
    words = shlex.split(str(refused.value).partition("resume with: ")[2])
    assert words[:5] == ["python", "-m", "mixjax", "train", name]
    given = vars(cli._parser("python -m train", EXPERIMENTS[name]).parse_args(words[5:]))
    assert given["out"] == str(folder) and given["preset"] == "digits"
    fields = {field.name for field in dataclasses.fields(config)}
    assert configured(name, **{o: v for o, v in given.items() if o in fields and v is not None}) == config


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"experiment": "phase_diagram", "options": {}},
        {"experiment": ["width"], "options": {}},
        {"experiment": "width", "options": 3},
        {"experiment": "width", "options": {"gamma": 1}},
        {"experiment": "width", "options": {"epochs": -1}},
        {"experiment": "width", "options": {"fold": {}, "width": [[1]]}},
    ],
)
def test_a_folder_that_says_something_else(tmp_path, spec):
    assert resume_hint(stored(tmp_path / "run", spec)) == "run the same command again to resume"


def test_codes_that_a_terminal_obeys_are_not_repeated(tmp_path):
    options = dataclasses.asdict(configured("width")) | {"dataset": "\x1b[2J.npz"}
    assert resume_hint(stored(tmp_path / "run", {"experiment": "width", "options": options})).isprintable()
