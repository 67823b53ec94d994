"""The origin of a result: versions, source commit and machine, with no path, user or host name."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mixjax.runs.errors import RunError
from mixjax.runs.storage import Location
from mixjax.runs.untrusted import read_json

ROOT = Path(__file__).resolve().parents[2]  # of the source tree, if this is one
SOURCES = ("mixjax", "sims", "train")  # the folders whose code makes the numbers of a run
PACKAGES = ("numpy", "scipy", "flax", "optax")  # beside jax and jaxlib, whose code makes numbers
ENVIRONMENT = (
    "mixjax", "commit", "jax", "jaxlib", "platform", "device", "x64", "xla_flags", "jax_settings",
)  # fmt: skip
_SETTINGS = {  # of JAX that change draws or last digits, and their usual values; x64 is told by itself
    "jax_default_matmul_precision": None,
    "jax_threefry_partitionable": True,
    "jax_disable_most_optimizations": False,
    "jax_optimization_level": "UNKNOWN",
    "jax_exec_time_optimization_effort": 0.0,
}
_VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sve": "SVE", "asimd": "NEON"}  # the widest first
_STORED = ("command", "seconds", "mixjax", "commit", "jax", "jaxlib", "python", "platform", "device", "devices",
           "cores", "memory_gib")  # fmt: skip


def provenance() -> dict[str, str | int]:
    """Return versions, source commit and machine; no path, user or host name.

    Of `PACKAGES` it names those that are installed. The device is `cpu_name` on CPUs, or else what JAX calls it. The
    entries of `ENVIRONMENT` are those on which draws and last digits depend: a run is resumed only where they agree.
    """
    import jax
    import jaxlib

    import mixjax

    devices = jax.devices()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return {
        "mixjax": mixjax.__version__,
        "commit": source_label(),
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "python": platform.python_version(),
        **_versions(),
        "platform": devices[0].platform,
        "device": devices[0].device_kind if devices[0].platform != "cpu" else cpu_name(),
        "devices": len(devices),
        "x64": str(jax.config.read("jax_enable_x64")),
        "xla_flags": _flags(),
        "jax_settings": _settings(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(memory / 2**30),
    }


def read_provenance(folder: Location) -> dict[str, Any]:
    """Return the provenance that is stored with a finished run, with its command and seconds.

    Raises:
      RunError: if the file is missing or lacks an entry.
    """
    path = folder / "provenance.json"
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    stored = content if isinstance(content, dict) else {}
    if missing := [name for name in _STORED if not isinstance(stored.get(name), str | int | float)]:
        raise RunError(f"{path} does not name {missing[0]}; no run wrote it")
    return stored


def source_label() -> str:
    """Return the commit of the source tree: COMMIT, or COMMIT-modified-HASH where its sources differ from the commit.

    The hash covers the name and content of each file below mixjax, sims and train that was changed or deleted, and of
    each Python file there that is not tracked. Where git cannot tell, the label is that of the variable MIXJAX_COMMIT,
    or "unknown".
    """
    elsewhere = os.environ.get("MIXJAX_COMMIT", "unknown")
    if not (ROOT / ".git").exists():
        return elsewhere
    try:
        commit = _git("rev-parse", "--short=12", "HEAD").strip()
        changed = _git("diff", "--name-only", "--no-renames", "-z", "HEAD", "--", *SOURCES)
        added = _git(
            "ls-files", "--others", "--exclude-standard", "-z", "--", *(f"{folder}/*.py" for folder in SOURCES)
        )
    except (OSError, subprocess.CalledProcessError):
        return elsewhere
    names = sorted(name for name in (changed + added).split("\0") if name)
    return f"{commit}-modified-{_content_hash(names)}" if names else commit


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return os.fsdecode(subprocess.run(command, capture_output=True, check=True).stdout)


def _content_hash(names: list[str]) -> str:
    """Return eight hexadecimal digits that depend on the name and content of each file."""
    digest = hashlib.sha256()
    for name in names:
        path = ROOT / name
        content = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b"deleted"
        digest.update(os.fsencode(name) + b"\0" + content)
    return digest.hexdigest()[:8]


def _flags() -> str:
    """Return XLA's flags, without the number of devices a CPU stands for and the folders of dumps."""
    left_out = ("--xla_force_host_platform_device_count", "--xla_dump")
    return " ".join(sorted(flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(left_out)))


def _settings() -> str:
    """Return the settings of JAX that differ from the usual ones, as NAME=VALUE."""
    import jax

    values = {name: getattr(jax.config, name, usual) for name, usual in _SETTINGS.items()}
    return " ".join(f"{name}={value}" for name, value in values.items() if value != _SETTINGS[name])


def _versions() -> dict[str, str]:
    """Return the versions of `PACKAGES`, without importing them."""
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def cpu_name() -> str:
    """Return the model of the CPU, its vendor and family, and its widest vector instructions.

    XLA and BLAS choose their code by these, so that the last digits of a number may depend on them. An example is
    "AMD EPYC (AuthenticAMD 25/17, AVX-512)"; where the system tells less, that is left out.
    """
    try:
        return _processor(Path("/proc/cpuinfo").read_text())
    except OSError:
        return platform.machine()


def _processor(text: str) -> str:
    """Return `cpu_name` of the first processor in /proc/cpuinfo."""
    lines = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    told = {name.strip(): value.strip() for name, _, value in lines}
    flags = {*told.get("flags", "").split(), *told.get("Features", "").split()}
    vectors = next((name for flag, name in _VECTORS.items() if flag in flags), "")
    kind = f"{told.get('vendor_id', '')} {told.get('cpu family', '')}/{told.get('model', '')}".strip(" /")
    about = ", ".join(part for part in (kind, vectors) if part)
    return told.get("model name", platform.machine()) + (f" ({about})" if about else "")
