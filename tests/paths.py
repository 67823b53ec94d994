"""Folders that tests read and write."""

import hashlib
import platform
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests" / "cases"
DOCS = ROOT / "docs"


def program_cache() -> Path:
    """The folder for compiled programs, which depend on the CPU and on the release of jaxlib."""
    about = [version("jaxlib"), platform.machine()]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        about += [line for line in lines if line.startswith(("model", "flags"))]
    return ROOT / ".cache" / "xla" / hashlib.sha256("\n".join(about).encode()).hexdigest()[:16]
