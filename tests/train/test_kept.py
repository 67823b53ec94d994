"""The final nets of a run, loaded: their logits are the stored ones, and what is missing or damaged is one sentence."""

from __future__ import annotations

import logging
import shutil

import jax
import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.train.data.pipeline import channel_scale, normalize
from mixjax.train.kept import load_nets
from mixjax.train.running import run
from tests.train.conftest import SMALL, change_manifest, refuse

pytestmark = pytest.mark.medium


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("kept") / "width"
    run("width", out, keep_checkpoints=True, warn=refuse, **SMALL | {"seeds": 2})
    return out


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def test_their_logits_are_those_that_the_run_has_stored(finished, digits):
    nets = load_nets(finished)
    assert [*nets] == [("mlp-8x1", arm, seed) for arm in ("erm", "mixup") for seed in (0, 1)]
    for (net, arm, seed), one in nets.items():
        with np.load(finished / "predictions" / f"{net}-{arm}-seed{seed}.npz") as stored:
            np.testing.assert_allclose(one.logits(digits.test_inputs), stored["logits"], rtol=1e-5, atol=1e-5)
        assert (one.net, one.arm, one.seed) == (net, arm, seed)


def test_nothing_is_logged(finished, caplog):
    logging.getLogger("absl").setLevel(logging.WARNING)  # as in a process that has trained nothing
    load_nets(finished)
    assert not caplog.records


@pytest.mark.parametrize("cut", [np.s_[:0], np.s_[0], np.s_[:, :7]], ids=["none", "one", "smaller"])
def test_images_of_another_shape_are_refused(finished, digits, cut):
    net = load_nets(finished)["mlp-8x1", "erm", 0]
    with pytest.raises(ValueError, match=r"images must have shape \[M, 8, 8, 1\], M > 0, got"):
        net.logits(digits.test_inputs[cut])


def test_the_module_takes_normalised_images(finished, digits):
    net = load_nets(finished)["mlp-8x1", "mixup", 1]
    scale = channel_scale(digits.train_inputs)
    jax.tree.map(np.testing.assert_array_equal, tuple(net.scale), tuple(scale))
    logits = net.module()(normalize(digits.test_inputs[:9], scale))
    np.testing.assert_allclose(logits, net.logits(digits.test_inputs[:9]), rtol=1e-5, atol=1e-5)


def test_a_net_that_diverged_is_left_out(tmp_path, spoil):
    spoil(1, 0, 3)
    run("width", tmp_path / "run", keep_checkpoints=True, warn=lambda _: None, **SMALL)
    assert [*load_nets(tmp_path / "run")] == [("mlp-8x1", "mixup", 0)]


def test_nets_that_all_diverged_are_none(tmp_path, spoil):
    """Training ends before the last epoch; what it leaves is kept however soon that is."""
    spoil(0, 0, 3)
    spoil(0, 1, 3)
    options = {"keep_checkpoints": True, "checkpoint_seconds": 1e9, "warn": lambda _: None}
    run("width", tmp_path / "run", **options, **SMALL)
    assert load_nets(tmp_path / "run") == {}


def test_a_run_that_did_not_keep_them(copied):
    shutil.rmtree(copied / "checkpoints" / "mlp-8x1")
    with pytest.raises(
        RunError, match=r"there is no checkpoint in .*mlp-8x1; train in another folder with --keep-check"
    ):
        load_nets(copied)
    shutil.rmtree(copied / "checkpoints")
    with pytest.raises(RunError, match=r"there is no .*images\.json; train in another folder with --keep-checkpoints"):
        load_nets(copied)
    (copied / "summary.csv").unlink()
    with pytest.raises(RunError, match="is not finished; run the same command again"):
        load_nets(copied)


@pytest.mark.parametrize("content", ["", "[]", '{"shape": [8, 8, 1], "mean": [1, 2], "sd": [1]}', '{"shape": "8x8"}'])
def test_a_damaged_scale(copied, content):
    (copied / "checkpoints" / "images.json").write_text(content)
    with pytest.raises(RunError, match=r"images\.json is damaged"):
        load_nets(copied)


def test_a_damaged_checkpoint_is_not_parsed(copied):
    for path in (copied / "checkpoints" / "mlp-8x1" / "2").rglob("*"):
        if path.is_file():
            path.write_bytes(b"[" * 1000)
    with pytest.raises(RunError, match="is damaged, missing or of other nets; train in another folder"):
        load_nets(copied)


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec["jobs"][0]["recipe"].update(batch_size=17),
        lambda spec: spec["options"].update(shape="round"),
        lambda spec: spec.update(experiment="../width"),
        lambda spec: spec.update(options=3),
        lambda spec: spec["dataset"].pop("rows"),
    ],
)
def test_nets_of_another_release(copied, change):
    change_manifest(copied, lambda manifest: change(manifest["spec"]))
    with pytest.raises(RunError, match=r"are not of this release; load them with the one that provenance\.json names"):
        load_nets(copied)


def test_a_checkpoint_that_does_not_fit_stays(copied, finished):
    """Here it is one of another number of training rows than the manifest says."""
    change_manifest(copied, lambda manifest: manifest["spec"]["dataset"]["rows"].__setitem__(0, 711))
    with pytest.raises(RunError, match="is damaged, missing or of other nets"):
        load_nets(copied)
    files = [sorted(path.relative_to(run) for path in run.rglob("*")) for run in (copied, finished)]
    assert files[0] == files[1]
