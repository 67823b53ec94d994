"""Runs to their end: killed, damaged, changed, without memory; and what they leave."""

from __future__ import annotations

import doctest
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mixjax.runs import RunError, cpu_name, provenance
from mixjax.train import running
from mixjax.train.kept import load_nets
from mixjax.train.loop.training import train_job
from mixjax.train.running import load_records, run
from mixjax.train.runs import runner
from mixjax.train.runs.options import configured, option_words
from tests.paths import ROOT
from tests.train.conftest import SMALL

TINY = {"width": (10,), "depth": (2,), "epochs": 3, "seeds": 2, "train_rows": 200}
PSEUDO = {"width_multiplier": 1 / 16, "train_rows": 80, "batch_size": 20, "epochs": 4, "seeds": 1}
KILLED = {  # (options, after how many steps: three moments; for pseudo-labels one is just after the midpoint)
    "width": (TINY | {"epochs": 12}, (4, 13, 22)),
    "pseudo_label": (PSEUDO, (3, 4, 19)),
}
SCRIPT = """
from train.running import run
show = lambda done, total, text: print(done, flush=True)
run({name!r}, {out!r}, checkpoint_seconds=0, progress=show, **{options!r})
"""


def start(name: str, out: Path, options: dict[str, object], cache: Path) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "0",
        "JAX_COMPILATION_CACHE_DIR": str(cache),  # the same programs again and again
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-c", SCRIPT.format(name=name, out=str(out), options=options)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", KILLED)
@pytest.mark.slow
def test_killed_three_times_it_ends_with_the_same_bytes(tmp_path, name):
    """SIGKILL, and the same command again; records and summary beside those of an undisturbed run."""
    options, moments = KILLED[name]
    whole = start(name, tmp_path / "whole", options, tmp_path / "cache")
    assert whole.communicate(timeout=300) and whole.returncode == 0
    for moment in moments:
        process = start(name, tmp_path / "killed", options, tmp_path / "cache")
        for line in process.stdout:
            if int(line) >= moment:
                break
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert process.returncode == -signal.SIGKILL
        with pytest.raises(RunError, match="holds no finished run"):
            load_records(tmp_path / "killed")
    last = start(name, tmp_path / "killed", options, tmp_path / "cache")
    printed, _ = last.communicate(timeout=300)
    assert last.returncode == 0
    assert int(printed.split()[0]) > 0  # it went on from a checkpoint
    for file in ("records.jsonl", "summary.csv"):
        assert (tmp_path / "killed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.fixture
def copied(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.mark.medium
def test_what_a_run_leaves(finished):
    """Every option, the data, the settings of the metrics, versions and device."""
    manifest = json.loads((finished / "manifest.json").read_text())
    spec, environment = manifest["spec"], manifest["environment"]
    assert spec["options"]["weight_decay"] == 0 and spec["options"]["epochs"] == 2 and spec["options"]["alpha"] == 1
    assert {"batch_size", "weight", "pairing", "fold", "augment", "dtype", "norm", "init"} <= spec["options"].keys()
    assert spec["metrics"] == {"num_bins": 15, "closed": "left", "unit": "fraction", "temperature": 1, "epoch": "last"}
    assert spec["jobs"][0]["recipe"]["mixing"] == {
        "kind": "mixup", "weight": "batch", "pairing": "permutation", "fold": False,
    }  # fmt: skip
    assert spec["dataset"]["rows"] == [710, 355] and len(spec["dataset"]["sha256"]) == 64
    assert {"commit", "jax", "jaxlib", "device", "devices", "x64", "xla_flags", "jax_settings"} <= environment.keys()
    assert environment["device"] == cpu_name()
    records = load_records(finished)
    tested = [record for record in records if record["evaluation"] == "test"]
    assert [r["epoch"] for r in tested if r["arm"] == "erm"] == [1, 2]
    assert not (finished / "checkpoints").exists()
    with np.load(finished / "predictions" / "mlp-8x1-mixup-seed0.npz") as stored:
        right = (stored["logits"].argmax(1) == stored["labels"]).mean()
    last = next(r for r in tested if (r["arm"], r["seed"], r["epoch"]) == ("mixup", 0, 2))
    np.testing.assert_allclose(last["accuracy"], right, atol=1e-6)
    assert {"nll", "ece", "accuracy", "signed_gap"} <= last.keys()


@pytest.mark.medium
def test_a_finished_run_is_read_and_not_trained(finished, monkeypatch):
    monkeypatch.setattr(runner, "train_job", None)
    lines = []
    assert run("width", finished, warn=lines.append, **SMALL) == load_records(finished)
    assert not lines
    monkeypatch.setattr(running, "provenance", lambda: {**provenance(), "commit": "edited"})
    assert run("width", finished, warn=lines.append, **SMALL) == load_records(finished)
    assert "was finished earlier, by commit" in lines[0] and "nothing was computed" in lines[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("device", "another CPU"), ("x64", "maybe"), ("xla_flags", "--xla_cpu_enable_fast_math=true"),
        ("jax_settings", "jax_default_matmul_precision=bfloat16"), ("devices", 3),
    ],
)  # fmt: skip
def test_what_changes_last_digits_ends_no_run_of_others(copied, monkeypatch, name, value):
    """A run that another model of CPU or another setting began is refused, and what differs is named."""
    (copied / "summary.csv").unlink()
    monkeypatch.setattr(running, "provenance", lambda: {**provenance(), name: value})
    with pytest.raises(RunError, match=rf'another environment \({name} is ".* there and "{value}" here\)'):
        run("width", copied, **SMALL)


def test_a_summary_that_is_not_of_the_records_is_noticed(copied):
    """As one that is cut in half, which a crash does not do but a copy may."""
    summary = copied / "summary.csv"
    whole = summary.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole + b"\n", whole.replace(b"mixup - erm", b"mixup-erm")):
        summary.write_bytes(damaged)
        with pytest.raises(RunError, match=r"summary\.csv does not match the records; delete it and run"):
            load_records(copied)
    summary.write_bytes(whole)
    assert load_records(copied)


def test_a_run_takes_the_seconds_of_all_its_sittings(copied):
    """Resumed after an hour and a half of another process, it says so; and what was computed last is only the rest."""
    first = json.loads((copied / "provenance.json").read_text())
    assert first["sittings"] == 1
    (copied / "summary.csv").unlink()
    (copied / "sittings.json").write_text('{"before": 5400}')
    run("width", copied, **SMALL)
    made = json.loads((copied / "provenance.json").read_text())
    assert made["sittings"] == 2 and made["seconds"] >= 5400
    assert (first["jobs"], made["jobs"]) == ("1 of 1", "0 of 1")


def test_a_changed_option_is_refused_and_named(copied):
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    with pytest.raises(RunError, match=r"another spec \(jobs is not the same; options\.epochs is 2 there and 4 here\)"):
        run("width", copied, **{**SMALL, "epochs": 4})
    with pytest.raises(RunError, match=r'experiment is "width" there and "depth" here'):
        run("depth", copied, **SMALL)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


@pytest.mark.medium
@pytest.mark.parametrize("damage", ["flipped", "truncated", "deleted"])
def test_a_damaged_shard_is_computed_anew(copied, damage):
    (copied / "summary.csv").unlink()
    expected = (copied / "records.jsonl").read_bytes()
    shard = copied / "shards" / "mlp-8x1.npz"
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.unlink()
    if damage != "deleted":
        shard.write_bytes(content if damage == "flipped" else content[: len(content) // 2])
    seen = []
    run("width", copied, progress=lambda done, total, text: seen.append(done), **SMALL)
    assert seen[0] == 0
    assert (copied / "records.jsonl").read_bytes() == expected


def test_damaged_records_are_made_anew_as_the_message_says(copied):
    records = copied / "records.jsonl"
    expected = records.read_bytes()
    records.write_bytes(expected[:-30])
    with pytest.raises(RunError, match=r"is not a record; delete .*summary\.csv and run the same command again"):
        run("width", copied, **SMALL)
    (copied / "summary.csv").unlink()
    run("width", copied, **SMALL)
    assert records.read_bytes() == expected


@pytest.mark.medium
def test_a_lack_of_memory_is_one_sentence(tmp_path, monkeypatch):
    """Of XLA: an array of a hundred terabytes; of the machine; and other errors are not disguised."""
    import jax.numpy as jnp

    def too_much(*_):
        jnp.zeros(10**14, np.uint8).block_until_ready()

    def none_left(*_):
        raise MemoryError

    def broken(*_):
        raise RuntimeError("INTERNAL: something else")

    message = "out of memory in mlp-8x1, 2 nets side by side; finished work is kept; in another folder, use fewer"
    for failing, error, text in (
        (too_much, RunError, message), (none_left, RunError, message), (broken, RuntimeError, "INTERNAL"),
    ):  # fmt: skip
        monkeypatch.setattr(runner, "train_job", failing)
        with pytest.raises(error, match=text):
            run("width", tmp_path / "run", **SMALL)
    monkeypatch.setattr(runner, "train_job", train_job)
    assert run("width", tmp_path / "run", **SMALL)


def test_a_file_is_stored_by_its_name(tmp_path, rng):
    """Results name no absolute path, and a file that was moved is the same data."""
    images, labels = rng.integers(0, 255, (40, 4, 4), np.uint8), np.arange(40) % 3
    np.savez(tmp_path / "data.npz", train_inputs=images, train_labels=labels, test_inputs=images, test_labels=labels)
    config = configured("width", dataset=str(tmp_path / "data.npz"))
    spec = running._spec(running.EXPERIMENTS["width"], config, running.training_set(config, None), ())
    assert spec["options"]["dataset"] == "data.npz" and str(tmp_path) not in json.dumps(spec)
    assert option_words({"dataset": config.dataset, "seeds": 2}) == ["--dataset", "data.npz", "--seeds", "2"]


@pytest.mark.medium
@pytest.mark.parametrize("function", [run, load_records, load_nets])
def test_examples(function):
    (found,) = doctest.DocTestFinder(recurse=False).find(function, globs={"run": run, function.__name__: function})
    failed, attempted = doctest.DocTestRunner().run(found)
    assert attempted > 2 and failed == 0
