"""What a result was made with: versions, source commit, machine; no path, user or host name. And read again."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from mixjax.runs.errors import RunError
from mixjax.runs.storage import Location
from mixjax.runs.untrusted import read_json

ENVIRONMENT = (
    "mixjax",
    "commit",
    "jax",
    "jaxlib",
    "platform",
    "device",
    "x64",
    "xla_flags",
)  # the last digits depend on it
_STORED = ("command", "seconds", "mixjax", "commit", "jax", "jaxlib", "python", "platform", "device", "devices",
           "cores", "memory_gib")  # fmt: skip


def provenance() -> dict[str, str | int]:
    """What a result was made with: versions, source commit, machine; no path, user or host name."""
    import jax
    import jaxlib

    import mixjax

    devices = jax.devices()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "mixjax": mixjax.__version__,
        "commit": _commit(),
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "python": platform.python_version(),
        "platform": devices[0].platform,
        "device": devices[0].device_kind if devices[0].platform != "cpu" else cpu_name(),
        "devices": len(devices),
        "x64": str(jax.config.read("jax_enable_x64")),
        "xla_flags": _flags(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(memory / 2**30),
    }


def read_provenance(folder: Location) -> dict[str, Any]:
    """What is stored with a finished run: as of `provenance`, with the command and the seconds that it took.

    Raises:
      RunError: if it is missing or says something else.
    """
    path = folder / "provenance.json"
    try:
        made = read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    said = made if isinstance(made, dict) else {}
    if missing := [name for name in _STORED if not isinstance(said.get(name), str | int | float)]:
        raise RunError(f"{path} does not say {missing[0]}, and is not what a run leaves")
    return said


def _flags() -> str:
    """XLA's flags, but for how many devices a CPU is taken for, and for what is written where."""
    left_out = ("--xla_force_host_platform_device_count", "--xla_dump")
    return " ".join(sorted(flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(left_out)))


def _commit() -> str:
    """The commit of the source tree, marked if it has changes; where git cannot tell, what MIXJAX_COMMIT says."""
    root = Path(__file__).resolve().parents[2]
    elsewhere = os.environ.get("MIXJAX_COMMIT", "unknown")
    if not (root / ".git").exists():
        return elsewhere

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + ("-modified" if git("status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.CalledProcessError):
        return elsewhere


def cpu_name() -> str:
    """Return the model of the CPU, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
