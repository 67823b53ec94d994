"""Settings of the site: `make docs` builds it from docs/, results/ and the docstrings.

The source folder is the repository, so that every link that works on GitHub works here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
sys.path.insert(0, str(ROOT))

from mixjax import __version__  # noqa: E402

# Notebooks run in processes of their own.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def digest_of_sources() -> str:
    """Return a name of the state of the code: what notebooks printed is kept for as long as it stays the same."""
    sources = sorted(path for room in ("mixjax", "sims", "train") for path in (ROOT / room).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def set_up_kernels() -> None:
    """Let kernels draw SVG and log errors only, by a profile in .cache."""
    profile = CACHE / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    settings = 'c.IPKernelApp.log_level = "ERROR"\nc.InlineBackend.figure_formats = {"svg"}\n'
    (profile / "ipython_kernel_config.py").write_text(settings)
    os.environ["IPYTHONDIR"] = str(profile.parent)


def offline_mathjax() -> Path:
    """Return MathJax as one file, without fonts to load."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the site needs sphinx-mathjax-offline: pip install --editable '.[docs]'")
    return Path(spec.origin).parent / "static" / "mathjax" / "tex-svg.js"


set_up_kernels()
project = "mixjax"
author = copyright = "mixjax developers"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "docs.site.entry_page",
    "docs.site.gallery",
    "docs.site.names",
    "docs.site.reference",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "results/**/*.md", "CHANGELOG.md", "CONTRIBUTING.md"]
beside = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"docs", "results"}
exclude_patterns = [*sorted(beside | {"build", "runs"}), "docs/site", "docs/explorer", "results/theorems/theorems.md"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
nitpicky = True
nitpick_ignore_regex = [("py:(class|exc)", ".*")]  # annotations of other libraries, and words of ours
default_role = "code"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

nb_execution_mode = "cache"
suppress_warnings = ["myst-nb.lexer"]  # of notebooks that `make docs NOTEBOOKS=off` does not run
nb_execution_cache_path = str(CACHE / "notebooks" / digest_of_sources())
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autodoc_typehints = "none"  # the docstrings say shapes, units and ranges
napoleon_attr_annotations = False
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "mixjax"
html_static_path = ["static", str(offline_mathjax())]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
mathjax_path = "tex-svg.js"
copybutton_exclude = ".linenos, .gp, .go"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c99", "color-brand-content": "#0b5c99"},
    "dark_css_variables": {"color-brand-primary": "#6db9ef", "color-brand-content": "#6db9ef"},
}
