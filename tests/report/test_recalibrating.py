"""Before and after recalibration: the same rows, with the map that the library fits."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from mixjax import cli, recalibration
from mixjax.cli import main
from mixjax.report.reading import read_predictions
from mixjax.report.recalibrating import METHODS, recalibrated
from mixjax.runs import RunError
from tests.report.conftest import draw, softmax


@pytest.fixture
def two(tmp_path):
    """Files of kind "logits" or "binary", to report on and to fit on; two classes if asked for."""

    def files(kind, classes=3):
        made = []
        for seed, name in ((1, "test.npz"), (2, "heldout.npz")):
            logits, labels = draw(seed, 3.0)
            if classes == 2:
                logits, labels = logits[:, :2], (labels == 1).astype(int)
            if kind == "logits":
                np.savez(tmp_path / name, logits=logits, labels=labels)
            else:
                probs = softmax(logits)
                np.savez(tmp_path / name, confidence=probs.max(axis=1), correct=probs.argmax(axis=1) == labels)
            made.append(read_predictions(tmp_path / name, kind))
        return made

    return files


SLOW = {name: pytest.param(name, marks=pytest.mark.slow) for name in ("vector", "dirichlet", "histogram", "venn-abers")}


@pytest.mark.parametrize("method", ["temperature", SLOW["vector"], SLOW["dirichlet"]])
def test_logits(method, two):
    file, held_out = two("logits")
    after, said = recalibrated(file, method, held_out)
    assert (after.kind, after.name) == ("probs", f"test.npz after {METHODS[method][1]}")
    np.testing.assert_array_equal(after.scores, METHODS[method][2](held_out.scores, held_out.labels)(file.scores))
    np.testing.assert_array_equal(after.labels, file.labels)
    assert said.startswith(METHODS[method][1])


@pytest.mark.slow
def test_platt(two):
    file, held_out = two("logits", classes=2)
    after, said = recalibrated(file, "platt", held_out)
    score = [part.scores[:, 1] - part.scores[:, 0] for part in (held_out, file)]
    np.testing.assert_array_equal(after.scores[:, 1], recalibration.fit_platt(score[0], held_out.labels)(score[1]))
    np.testing.assert_allclose(after.scores.sum(axis=1), 1, atol=1e-6)
    assert re.fullmatch(r"Platt scaling \(scale [\d.]+, bias -?[\d.e-]+\)", said)


def test_methods_are_those_of_the_library():
    names = [fit.__name__ for _, _, fit in METHODS.values()]
    of_logits = ("temperature", "vector_scaling", "dirichlet_calibration", "platt")
    of_confidences = ("beta_calibration", "isotonic", "histogram_binning", "venn_abers")
    assert names == [f"fit_{name}" for name in (*of_logits, *of_confidences)]
    assert all(fit is getattr(recalibration, fit.__name__) for _, _, fit in METHODS.values())
    assert tuple(METHODS) == cli.METHODS


@pytest.mark.medium
@pytest.mark.parametrize("method", ["beta", "isotonic", SLOW["histogram"], SLOW["venn-abers"]])
def test_confidences(method, two):
    file, held_out = two("binary")
    after, _ = recalibrated(file, method, held_out)
    assert after.kind == "binary"
    np.testing.assert_array_equal(after.scores, METHODS[method][2](held_out.scores, held_out.labels)(file.scores))


def test_logits_that_are_nearly_infinite(two, monkeypatch):
    """Their differences over a temperature below 1 are infinite, which is a probability of 0."""
    file, held_out = two("logits")
    huge = dataclasses.replace(file, scores=3e38 * np.sign(file.scores - file.scores.mean(axis=1, keepdims=True)))
    small = dataclasses.replace(held_out, scores=held_out.scores / 1000)
    after, _ = recalibrated(huge, "temperature", small)
    largest = huge.scores == huge.scores.max(axis=1, keepdims=True)
    np.testing.assert_allclose(after.scores, largest / largest.sum(axis=1, keepdims=True), atol=1e-6)
    steep = recalibration.VectorScaling(np.full(3, 1000, np.float32), np.zeros(3, np.float32))
    monkeypatch.setitem(METHODS, "vector", ("logits", "vector scaling", lambda logits, labels: steep))
    with pytest.raises(RunError, match=r"vector scaling cannot be applied to test\.npz: its logits are too large"):
        recalibrated(huge, "vector", small)


@pytest.mark.slow
def test_the_report_shows_both_and_says_what_was_fitted(two, tmp_path, monkeypatch, capsys):
    """Logits three times too large: a temperature near 3, and an error that is lower by more than its noise."""
    two("logits")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "test.npz", "--logits", "--recalibrate", "temperature", "--fit", "heldout.npz"]) == 0
    out = capsys.readouterr().out
    temperature = float(
        re.search(r"fitted: temperature scaling \(temperature ([\d.]+)\) on heldout.npz, 240 rows", out)[1]
    )
    assert 2 < temperature < 4.5
    page = (tmp_path / "test_and_temperature_report" / "report.html").read_text()
    assert "A: before" in page
    assert "B: after" in page
    assert f"temperature {temperature:g}" in page
    assert "--recalibrate temperature --fit heldout.npz" in page
    assert json.dumps("sha256")[1:-1] in page
