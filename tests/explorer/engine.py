"""Run the core of the explorer: quickjs where it has a wheel, otherwise node, otherwise Chromium."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.paths import DOCS

EXPLORER = DOCS / "explorer"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@cache
def builder() -> ModuleType:
    """docs/explorer/build.py."""
    spec = spec_from_file_location("explorer_build", EXPLORER / "build.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def browser() -> str:
    """The path of Chromium, or skip."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    return path


def opened(page: Path, profile: Path, *options: str, link: str = "") -> subprocess.CompletedProcess[str]:
    """Open a page in Chromium without a screen, and wait until it is done."""
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *options]
    return subprocess.run([*command, page.as_uri() + link], capture_output=True, text=True, check=True, timeout=120)


def evaluate(expression: str, tmp_path: Path) -> Any:
    """The value of a JavaScript expression that may use every function of the core, by way of JSON."""
    text = _run(builder().data() + builder().script(builder().CORE), f"JSON.stringify({expression})", tmp_path)
    return json.loads(text)


def _run(source: str, expression: str, tmp_path: Path) -> str:
    if find_spec("quickjs"):
        import quickjs

        context = quickjs.Context()
        context.eval(source)
        return context.eval(expression)
    if node := shutil.which("node"):
        program = f"{source}\nprocess.stdout.write({expression})"
        return subprocess.run([node, "-"], input=program, capture_output=True, text=True, check=True).stdout
    page = tmp_path / "core.html"
    page.write_text(f"<meta charset=utf-8><pre></pre><script>{source}\n"
                    f"document.querySelector('pre').textContent = {expression}</script>")  # fmt: skip
    done = opened(page, tmp_path / "profile", "--dump-dom")
    return html.unescape(re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)[1])
