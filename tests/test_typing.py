"""The calls that the documentation shows are what strict type checking accepts: mypy reads them all at once."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import DOCS, ROOT
from tests.test_examples import NAMES


def shown() -> Iterator[tuple[str, str]]:
    """(name, code) of the blocks of two pages, and of the example of every public name."""
    for page in (ROOT / "README.md", DOCS / "conventions.md"):
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
            yield f"{page.stem}_{number}", code
    for module, name in NAMES:
        docstring = getattr(importlib.import_module(module), name).__doc__ or ""
        yield (
            f"{module}.{name}".replace(".", "_"),
            "".join(line.source for line in doctest.DocTestParser().get_examples(docstring)),
        )


@pytest.mark.slow
def test_mypy_accepts_what_the_documentation_shows(tmp_path: Path) -> None:
    for name, code in shown():
        (tmp_path / f"{name}.py").write_text(code)
    options = (
        "--strict",
        "--follow-imports=silent",
        f"--config-file={ROOT / 'pyproject.toml'}",
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "."],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
