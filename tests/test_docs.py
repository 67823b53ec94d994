"""What the pages of docs/ show is run, and what they and the README link to exists."""

from __future__ import annotations

import re

import jax
import pytest

from tests.paths import DOCS, ROOT

LONG = ("beyond", "generative", "report", "theorems", "training_loops")  # compile for long
EXAMPLES = [
    pytest.param(code, id=f"{page.stem}-{number}", marks=[pytest.mark.slow] * (page.stem in LONG))
    for page in sorted(DOCS.glob("*.md"))
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.medium
@pytest.mark.parametrize("code", EXAMPLES)
def test_example(code):
    """As a reader would run it, with the settings that JAX has by default."""
    with jax.enable_x64(False), jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        exec(compile(code, "example", "exec", dont_inherit=True), {"__name__": "__main__"})


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.glob("*.md"))], ids=lambda page: page.stem)
def test_links_and_paths_exist(page):
    """Every relative link, and every path of the repository in code marks."""
    text = page.read_text()
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", prose):
        assert (page.parent / link).exists(), link
    for path in re.findall(r"`((?:mixjax|sims|train|tests|docs|benchmarks|results)/[\w./-]+)`", text):
        assert (DOCS.parent / path).exists(), path
