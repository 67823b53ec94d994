"""Provenance: the versions, machine and sources that it names, and the private names that it leaves out."""

import json
import os
import platform
import re
import subprocess
from importlib.metadata import version

import jax
import pytest

from mixjax.runs import ENVIRONMENT, origin, provenance
from tests.paths import ROOT


def test_provenance_names_versions_machine_and_sources():
    made = provenance()
    assert made["jax"]
    assert made["platform"] == "cpu"
    assert made["devices"] >= 1
    assert made["cores"] >= 1
    if (ROOT / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{12}(-modified-[0-9a-f]{8})?", str(made["commit"]))
    for name in ("numpy", "scipy"):
        assert made[name] == version(name)
    text = json.dumps(made)
    for secret in (os.path.expanduser("~"), os.uname().nodename, os.getcwd()):
        assert len(secret) < 4 or secret not in text


def test_settings_that_change_numbers_are_named(monkeypatch):
    """Only where they are not the usual ones; x64 and XLA's flags have entries of their own."""
    assert provenance()["jax_settings"] == ""
    with jax.default_matmul_precision("bfloat16"), jax.threefry_partitionable(False), jax.enable_x64(False):
        made = provenance()
    assert made["jax_settings"] == "jax_default_matmul_precision=bfloat16 jax_threefry_partitionable=False"
    assert made["x64"] == "False"
    assert {"x64", "xla_flags", "jax_settings"} <= set(ENVIRONMENT) <= made.keys()
    monkeypatch.setenv(
        "XLA_FLAGS", "--xla_dump_to=/secret --xla_b=1 --xla_force_host_platform_device_count=4 --xla_a=2"
    )
    assert provenance()["xla_flags"] == "--xla_a=2 --xla_b=1"


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (
            "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n"
            "flags\t\t: fpu avx avx2 avx512f\n",
            "AMD EPYC (AuthenticAMD 25/17, AVX-512)",
        ),
        ("vendor_id: GenuineIntel\nmodel name: A: B @ 2.0GHz\nflags: avx2 avx", "A: B @ 2.0GHz (GenuineIntel, AVX2)"),
        ("model name: a\nflags: sse\n\nprocessor: 1\nmodel name: b\nflags: avx", "a"),
        ("BogoMIPS: 50\nFeatures: fp asimd sve", f"{platform.machine()} (SVE)"),
        ("", platform.machine()),
    ],
)
def test_a_processor_has_a_family_and_instructions(lines, name):
    assert origin._processor(lines) == name


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A source tree of two files, committed."""
    monkeypatch.setattr(origin, "ROOT", tmp_path)
    for name in ("mixjax/a.py", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1\n")
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    me = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], [*me, "commit", "-q", "-m", "m"]):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    return tmp_path


def test_every_change_of_the_sources_has_a_label_of_its_own(clone):
    """A file edited twice, renamed, deleted, added, and added with another content."""
    commit = origin.source_label()
    assert re.fullmatch("[0-9a-f]{12}", commit)
    labels, changes = [], [("mixjax/a.py", "2\n"), ("mixjax/a.py", "3\n"), ("mixjax/a.py", None)]
    for name, content in (*changes, ("mixjax/ü b.py", "1\n"), ("sims/a.py", "1\n"), ("sims/a.py", "2\n")):
        (clone / name).parent.mkdir(exist_ok=True)
        (clone / name).unlink() if content is None else (clone / name).write_text(content)
        labels.append(origin.source_label())
    assert len(set(labels)) == len(labels)
    assert all(re.fullmatch(rf"{commit}-modified-[0-9a-f]{{8}}", label) for label in labels)
    (clone / "sims" / "a.py").unlink()
    (clone / "mixjax" / "ü b.py").unlink()
    assert origin.source_label() == labels[2], "the same sources, the same label"


def test_what_makes_no_number_changes_no_label(clone):
    commit = origin.source_label()
    (clone / "README.md").write_text("2\n")
    (clone / "mixjax" / "a.pyc").write_text("2\n")
    (clone / "mixjax" / "a.py").write_text("1\n")
    assert origin.source_label() == commit


def test_without_git_a_variable_names_the_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(origin, "ROOT", tmp_path)
    monkeypatch.delenv("MIXJAX_COMMIT", raising=False)
    assert origin.source_label() == "unknown"
    (tmp_path / ".git").mkdir()  # of a repository that git cannot read
    monkeypatch.setenv("MIXJAX_COMMIT", "abc")
    assert origin.source_label() == "abc"
