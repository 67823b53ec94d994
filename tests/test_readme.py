"""The README: its example runs and prints what it says, and every path, function and study that it names exists."""

import contextlib
import importlib
import io
import re
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_the_example_prints_what_the_readme_says():
    """In float32, which is what a user gets; four decimals of a mean do not depend on the version of JAX."""
    code, expected = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", TEXT, re.DOTALL).groups()
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    printed = io.StringIO()
    with jax.enable_x64(False), contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def test_every_path_exists():
    paths = re.findall(r"`((?:mixjax|sims|tests|results)/[\w/.]*)`", TEXT) + re.findall(
        r"\]\(((?:results|docs)/[^)]+)\)", TEXT
    )
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(mixjax(?:\.\w+)+)`", TEXT))))
def test_every_name_exists(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


def test_every_study_exists():
    from sims.studies import STUDIES

    named = set(re.findall(r"python -m sims (\w+)", TEXT)) - {"verify", "figures", "publish"}
    assert named == set(STUDIES)
