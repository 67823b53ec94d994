"""The README and its lists: examples print what it says, and every function and study that is named exists."""

import contextlib
import importlib
import io
import re

import jax
import pytest

from mixjax.sims.studies import STUDIES
from mixjax.train.experiments import EXPERIMENTS
from tests.paths import DOCS, ROOT

TEXT = (ROOT / "README.md").read_text()
WHERE, LISTS = ((DOCS / f"{name}.md").read_text() for name in ("where", "studies"))


EXAMPLES = re.findall(r"```python\n(.*?)```\n+```text\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.medium
@pytest.mark.parametrize(("code", "expected"), EXAMPLES, ids=["theory", "calibration"])
def test_an_example_prints_what_the_readme_says(code, expected):
    """In float32, which is what a user gets; four decimals of a mean do not depend on the version of JAX."""
    assert len([line for line in code.splitlines() if line.strip()]) <= 14
    printed = io.StringIO()
    with jax.enable_x64(False), contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def paper_map():
    """The rows of the paper map, as a dictionary each."""
    section = WHERE.split("## Paper map")[1].split("\n## ")[0]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")
    ]
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.mark.parametrize("row", paper_map(), ids=lambda row: row["in the paper"].replace(" ", "_"))
def test_a_row_of_the_paper_map_names_what_exists(row):
    """Functions, studies, tests and results: each a name in backticks that can be found, and a test for each row."""
    assert set(row) == {"in the paper", "symbol", "function", "study", "test", "result"}
    functions = re.findall(r"`((?:mixjax|train)[\w.]+)`", row["function"])
    assert functions
    for name in functions:
        module, _, attribute = name.rpartition(".")
        assert callable(getattr(importlib.import_module(module), attribute))
    for study in re.findall(r"`(.+?)`", row["study"]):
        assert study in {**STUDIES, **EXPERIMENTS}
    tests, results = (re.findall(r"`(.+?)`", row[column]) for column in ("test", "result"))
    assert tests
    assert all((ROOT / path).is_file() for path in (*tests, *results))
    assert bool(results) or not row["study"], "what a study shows has a result"


def test_every_study_has_a_row():
    beyond_the_paper = {"estimator_bias", "temperature", "beyond", "fits", "logistic_diagram", "interpolation_peak",
                        "regularizers", "real_images", "real_fits", "variants", "shift"}  # fmt: skip
    named = {study for row in paper_map() for study in re.findall(r"`(.+?)`", row["study"])}
    assert named == {*STUDIES, *EXPERIMENTS} - beyond_the_paper


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(mixjax(?:\.\w+)+)`", TEXT + WHERE))))
def test_every_name_exists(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


def test_the_lists_name_every_study_and_experiment():
    commands = {"verify", "figures", "publish", "status", "merge", "reproduce", "prepare", "tensorboard"}
    for program, known in (("sims", STUDIES), ("train", EXPERIMENTS)):
        assert set(re.findall(rf"python -m {program} (\w+)", LISTS)) - commands == set(known)
