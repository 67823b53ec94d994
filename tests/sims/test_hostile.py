"""Runs that somebody else made: manifests, tables and shards whose checksums are right and whose content is not."""

from __future__ import annotations

import hashlib
import json
import warnings

import numpy as np
import pytest

from mixjax import sims
from mixjax.runs import RunDirectory, RunError, read_manifest
from mixjax.sims.cli import main
from mixjax.sims.configuration import work_of
from mixjax.sims.merging import merge
from mixjax.sims.status import status
from mixjax.sims.studies import STUDIES
from tests.fuzzing import NUMBER, mutated, mutated_json, survive


def manifest_of(study):
    work = work_of(study, "quick")
    environment = {"jax": "0.10.1", "platform": "cpu", "x64": "False"}
    layout = {"unit_cells": 64, "tile_cells": 8, "draw_cells": 1}
    parts = {"environment": environment, "layout": layout, "config": work.stored_config, "mixed": [{"jax": "0.10.2"}]}
    return {"format": 1, "spec": work.spec, **parts}


@pytest.mark.medium
def test_damaged_manifests_are_refused_or_read(tmp_path, rng):
    """Of every study: parts of the JSON replaced, most of them in the configuration, and bytes changed."""
    whole = [manifest_of(study) for study in STUDIES if study != "real_images"]  # whose data may not be here

    def manifests():
        for number in range(NUMBER):
            manifest = whole[rng.integers(len(whole))]
            if number % 4 == 0:
                yield mutated(json.dumps(manifest).encode(), rng)
            elif number % 4 == 1:
                yield mutated_json(manifest, rng)
            else:
                part = "layout" if number % 16 == 2 else "config"
                text = mutated_json(manifest[part], rng).decode()
                yield json.dumps({**manifest, part: "@"}).replace('"@"', text).encode()

    def read(content: bytes) -> None:
        (tmp_path / "manifest.json").write_bytes(content)
        with warnings.catch_warnings(action="ignore"):
            found = status(tmp_path)
        assert found.number <= 2**20
        RunDirectory.open(tmp_path, spec={"study": "other"}, environment={}, layout={}, lock=False)

    (tmp_path / "shards").mkdir()
    counts = survive(manifests(), read, tmp_path / "dataset.nc")
    assert counts["refused"] > NUMBER / 2, counts


LAYOUTS = {
    "cells of a unit": {"unit_cells": 10**9},
    "cells of a tile": {"tile_cells": 10**9},
    "half a cell": {"unit_cells": 2.5},
    "true": {"draw_cells": True},
    "another": {"rows": 1},
}
CONFIGS = {
    "replicates": {"replicates": 10**18},
    "replicates as a float": {"replicates": 1e18},
    "an axis": {"theta_norm": "0:1:1000000000"},
    "all axes": {"n": "1:1e9:500000:log", "ratio": "1:2:500000", "theta_norm": "0:1:500000", "alpha": "1:2:500000"},
    "many units": {"ratio": "1:2:400000", "alpha": "1", "replicates": 2**31 - 1},
    "a number that no float is": {"n": [10**19]},
    "a word that is long": {"n": ["1"] * 1000 + ["x" * 10**6]},
    "a preset": {"preset": ["full"]},
    "a study": {"study": "capacity"},
}


@pytest.mark.medium
@pytest.mark.few(2)
@pytest.mark.parametrize("change", CONFIGS.values(), ids=CONFIGS)
def test_a_manifest_that_asks_for_too_much(copied, change):
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["config"] |= change
    (copied / "manifest.json").write_text(json.dumps(manifest))
    assert survive([b""], lambda _: status(copied), copied / "bad") == {"refused": 1}


@pytest.mark.parametrize("change", LAYOUTS.values(), ids=LAYOUTS)
def test_a_run_is_not_gone_on_with_as_such_a_manifest_says(copied, sizes, change):
    (copied / "dataset.nc").unlink()
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["layout"] |= change
    (copied / "manifest.json").write_text(json.dumps(manifest))
    assert survive([b""], lambda _: status(copied), copied / "bad") == {"refused": 1}
    with pytest.raises(RunError, match="this release does not know the manifest's layout"):
        sims.run("phase_diagram", copied, replicates=2000, **sizes["phase_diagram"])


@pytest.mark.medium
def test_other_lookups_that_fail_are_not_blamed_on_the_table(copied, monkeypatch):
    def wrong(*_, **__):
        raise KeyError("ours")

    monkeypatch.setattr("mixjax.sims.cli.write_figures", wrong)
    with pytest.raises(KeyError, match="ours"):
        main(["figures", str(copied)])


@pytest.mark.medium
def test_a_provenance_that_says_nothing(copied, tmp_path, capsys):
    made = json.loads((copied / "provenance.json").read_text())
    digest = hashlib.sha256((copied / "dataset.nc").read_bytes()).hexdigest()
    (copied / "provenance.json").write_text(json.dumps({"dataset_sha256": digest}))
    assert main(["publish", str(copied), str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.endswith("provenance.json does not name command; no run wrote it\n")
    assert made["dataset_sha256"] == digest
    (copied / "provenance.json").write_text("[" * 100_000)
    with pytest.raises(RunError, match=r"does not say the checksum of dataset\.nc; restore it, or delete"):
        sims.load(copied)


@pytest.mark.medium
def test_a_verification_of_something_else_is_not_published(copied, tmp_path, monkeypatch):
    """What `verify` leaves names the table; anything else is done again."""
    monkeypatch.setattr("mixjax.sims.publishing.write_figures", lambda *_: [])
    assert main(["verify", str(copied)]) == 0
    stored = (copied / "verification.txt").read_text()
    found, seal = stored.rsplit("\n", 2)[0] + "\n", stored.splitlines()[-1]
    assert seal == f"of dataset.nc, SHA-256 {hashlib.sha256((copied / 'dataset.nc').read_bytes()).hexdigest()}"
    for number, content in enumerate((b"all fine\n", b"\xff", stored.replace(seal[-8:], "0" * 8).encode())):
        (copied / "verification.txt").write_bytes(content)
        assert main(["publish", str(copied), str(tmp_path / f"out-{number}")]) == 0
        assert (tmp_path / f"out-{number}" / "verification.txt").read_text() == found
    (copied / "verification.txt").write_text(f"told\n{seal}\n")
    assert main(["publish", str(copied), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "verification.txt").read_text() == "told\n"


def test_the_status_of_a_run_that_is_not_intact(copied, capsys):
    """Finished is a run whose table is whole; its shards may be gone."""
    for shard in (copied / "shards").iterdir():
        shard.unlink()
    assert main(["status", str(copied)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"phase_diagram in {copied}: finished",
        f"the table is whole; of its {status(copied).number} units 0 are still stored",
    ]
    (copied / "dataset.nc").write_bytes(b"anything")
    assert main(["status", str(copied)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"phase_diagram in {copied}: damaged\n")
    assert f"{copied}/dataset.nc is damaged; delete it and run the same command again" in said
    (copied / "provenance.json").unlink()
    assert main(["status", str(copied)]) == 0
    assert f"{copied}/provenance.json is missing; restore it, or delete dataset.nc" in capsys.readouterr().out


SHARDS = {
    "nothing": {},
    "another name": {"x.mean": np.zeros(2)},
    "another shape": {"ece.mean": np.zeros((12, 10**5))},
    "more cells": {"ece.count": np.zeros((500, 2))},
    "words": {"ece.mean": np.array([["a", "b"]] * 12)},
}


@pytest.mark.medium
@pytest.mark.parametrize("case", SHARDS)
def test_whole_shards_of_something_else_make_no_table(copied, tmp_path, sizes, case):
    """...neither where the run goes on nor where it is merged."""
    (copied / "dataset.nc").unlink()
    directory = RunDirectory(copied, read_manifest(copied))
    for shard in sorted((copied / "shards").iterdir())[1:]:
        arrays = directory.read(shard.stem)
        directory.write(shard.stem, SHARDS[case] if case == "nothing" else {**arrays, **SHARDS[case]})
    if case == "another name":
        for shard in sorted((copied / "shards").iterdir()):
            directory.write(shard.stem, SHARDS[case] | {"x.count": np.zeros(2), "x.m2": np.zeros(2)})
    with pytest.raises(RunError, match=r"do not hold what phase_diagram computes \("):
        sims.run("phase_diagram", copied, replicates=2000, **sizes["phase_diagram"])
    with pytest.raises(RunError, match=r"do not hold what phase_diagram computes \("):
        merge([copied], tmp_path / "merged")
