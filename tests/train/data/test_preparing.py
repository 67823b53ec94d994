"""`python -m train prepare`: bad input is one sentence, and good input a folder."""

from __future__ import annotations

import tempfile

import pytest

from mixjax.datasets import MissingDataError, load
from mixjax.datasets.known import KNOWN
from mixjax.runs import RunError
from mixjax.train.data.preparing import main
from tests.datasets.conftest import cifar_members, cifar_rows, write_tar

BAD = {
    "no data set": ([], "the following arguments are required: DATASET, --from"),
    "no archive": (["cifar10"], "the following arguments are required: --from"),
    "unknown": (["imagenet", "--from", "."], "no data set 'imagenet' to prepare; choose from mnist, .*, cifar100"),
    "not in files": (["digits", "--from", "."], "no data set 'digits' to prepare"),
    "unknown option": (["kmnist", "--from", ".", "--out", "."], "unrecognized arguments: --out"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_bad_input(arguments, message):
    with pytest.raises(RunError, match=message):
        main(arguments, "python -m train")


def test_the_help_says_where_to_get_each(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--help"], "python -m train")
    printed = " ".join(capsys.readouterr().out.split())
    assert all(known.advice in printed for known in KNOWN.values())


@pytest.mark.medium
def test_an_archive_that_is_not_there(tmp_path):
    pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")
    with pytest.raises(MissingDataError, match=r"there is nothing at .*; get cifar-10-binary.tar.gz from"):
        main(["cifar10", "--from", str(tmp_path / "cifar-10.tar.gz"), "--data-dir", str(tmp_path)], "python -m train")


@pytest.mark.medium
def test_it_writes_what_is_then_loaded(tmp_path, rng, monkeypatch, capsys):
    """Where tensorflow-datasets looks, without a folder given; nothing is left in the temporary folder."""
    pytest.importorskip("tensorflow_datasets", reason="tensorflow-datasets is not installed")
    monkeypatch.setitem(KNOWN, "cifar10", KNOWN["cifar10"]._replace(sizes=(7, 3)))
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))
    rows = cifar_rows(rng, "cifar10", 7), cifar_rows(rng, "cifar10", 3)
    archive = write_tar(tmp_path / "cifar-10-binary.tar.gz", cifar_members("cifar10", *rows))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert main(["cifar10", "--from", str(archive)], "python -m train") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'tfds' / 'cifar10' / '3.0.2'}\n"
    assert not list((tmp_path / "temporary").iterdir())
    found = load("cifar10")
    assert found.source.startswith("tensorflow-datasets")
    assert found.fingerprint == load("cifar10", data_dir=tmp_path).fingerprint
