"""Tables that are loaded, and what is none: folders without a run, runs that are not finished, damage."""

import doctest

import pytest

from mixjax import runs, sims
from mixjax.runs import RunError


@pytest.mark.slow
@pytest.mark.parametrize("function", [sims.run, sims.load])
def test_examples(function):
    (found,) = doctest.DocTestFinder(recurse=False).find(function, globs={})
    assert found.examples and not doctest.DocTestRunner().run(found).failed


def test_loading_what_is_not_a_run(tmp_path):
    with pytest.raises(RunError, match="holds no run"):
        sims.load(tmp_path)
    with pytest.raises(RunError, match="holds no run"):
        sims.load(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"manifest\.json cannot be read"):
        (tmp_path / "file").touch()
        sims.load(tmp_path / "file")


def test_loading_what_is_not_finished_or_is_damaged(tmp_path):
    runs.RunDirectory.open(tmp_path, spec={}, environment={}, layout={})
    with pytest.raises(RunError, match="is not finished; run the same command again to resume"):
        sims.load(tmp_path)
    for text, reason in (
        (None, "is missing"),
        ("{}", "does not say the checksum"),
        ("[]", "does not say the checksum"),
    ):
        (tmp_path / "dataset.nc").write_bytes(b"")
        if text is not None:
            (tmp_path / "provenance.json").write_text(text)
        with pytest.raises(RunError, match=rf"provenance\.json {reason}.*; restore it, or delete dataset\.nc and run"):
            sims.load(tmp_path)
    (tmp_path / "provenance.json").write_text('{"dataset_sha256": "0"}')
    for content in (b"", b"\x89HDF\r\n\x1a\n and then nothing", b"words"):
        (tmp_path / "dataset.nc").write_bytes(content)
        with pytest.raises(RunError, match=r"dataset\.nc is damaged; delete it and run the same command again"):
            sims.load(tmp_path)
