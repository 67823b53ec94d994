"""Published results, run again: equal, equal to some digits or different, and why; and folders that cannot be."""

import json
import shutil

import pytest

from mixjax.runs import ENVIRONMENT, RunError
from mixjax.sims import reproduce, reproducing
from mixjax.sims.cli import main
from mixjax.sims.published import NotOfStudiesError, read_result
from mixjax.sims.publishing import publish
from tests.paths import ROOT

pytestmark = pytest.mark.medium


@pytest.fixture(scope="module")
def published(small_folder, tmp_path_factory):
    """The published run of `small_run`, without its figures."""
    folder = tmp_path_factory.mktemp("results") / "small"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mixjax.sims.publishing.write_figures", lambda *_: [])
        publish(small_folder, folder)
    return folder


@pytest.fixture
def copy(published, tmp_path):
    """A copy of it that may be changed."""
    return shutil.copytree(published, tmp_path / "small")


@pytest.fixture(scope="module")
def again(published, tmp_path_factory):
    """The run that the first reproduction makes; later ones only compare."""
    folder = tmp_path_factory.mktemp("again") / "small"
    reproduce(published, folder)
    return folder


def change(folder, line, column, text):
    """Replace a cell of table.csv, and return what it was."""
    lines = (folder / "table.csv").read_text().splitlines()
    cells = lines[line - 1].split(",")
    index = lines[0].split(",").index(column)
    before, cells[index] = cells[index], text
    lines[line - 1] = ",".join(cells)
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    return before


def test_the_same_code_makes_the_same_tables(published, again):
    found = reproduce(published, again)
    assert str(found) == "table.csv: equal"
    assert found.agrees


def test_a_changed_cell_is_named(copy, again):
    before = change(copy, 5, "ece", "0.7")
    found = reproduce(copy, again)
    assert not found.agrees
    text = str(found)
    assert "different in 1 of" in text
    assert "most in line 5 (p = 10, ratio = 0.2, theta_norm = 2, alpha = 1): " in text
    assert f"ece is 0.7 then and {before} now" in text
    assert "standard errors" in text
    assert text.endswith("versions, commit and processor are the same")


def test_tables_that_are_missing_or_left_over(copy, again):
    (copy / "table.csv").rename(copy / "other.csv")
    found = {part.file: part for part in reproduce(copy, again).comparisons}
    assert found["other.csv"].text == "published, but not made now"
    assert found["table.csv"].text == "not published, but made now"
    assert not any(part.agrees for part in found.values())


def test_other_versions_and_processors_are_the_reason(copy, again):
    change(copy, 5, "ece", "0.7")
    made = json.loads((copy / "provenance.json").read_text()) | {"jax": "0.9", "device": "another", "numpy": "1.0"}
    (copy / "provenance.json").write_text(json.dumps(made))
    text = str(reproduce(copy, again)).splitlines()[-1]
    assert 'jax is "0.9" then and' in text
    assert 'device is "another" then and' in text
    assert 'numpy is "1.0" then and' in text


def test_results_older_than_provenance_json_are_read_from_their_readme(copy, again):
    stored = read_result(copy)
    (copy / "provenance.json").unlink()
    read = read_result(copy)
    assert (read.study, read.config["replicates"]) == (stored.study, stored.config["replicates"])
    assert reproduce(copy, again).agrees
    for name in ("command", "commit", "jax", "jaxlib", "python", "device", "platform", "mixjax"):
        assert read.made[name] == stored.made[name], name


def test_every_published_study_can_be_run_again():
    """Its configuration is one of this release; only the work is made, nothing is computed."""
    named = set()
    for folder in sorted((ROOT / "results").iterdir()):
        try:
            named.add(read_result(folder).study)
        except NotOfStudiesError:
            assert folder.name in {"benchmarks", "digits", "training"}
    assert {"phase_diagram", "theorems", "generative", "low_dimension"} <= named


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("my own\n", "does not say how it was made"),
        ("# width\n\n| | |\n|---|---|\n| command | `python -m train width` |\n", "made by python -m train width"),
        ("# phase_diagram\n\n| command | `x` |\n| axes | n = 1, replicates = many |\n", "does not say which axes"),
    ],
)
def test_folders_that_no_study_made(lines, message, tmp_path):
    with pytest.raises(NotOfStudiesError, match="does not say how"):
        read_result(tmp_path)
    (tmp_path / "README.md").write_text(lines)
    with pytest.raises(NotOfStudiesError, match=message):
        read_result(tmp_path)


def test_a_configuration_of_another_release(copy, again, tmp_path):
    made = json.loads((copy / "provenance.json").read_text())
    made["config"]["gamma"] = 1
    (copy / "provenance.json").write_text(json.dumps(made))
    with pytest.raises(RunError, match="was made with gamma, which phase_diagram no longer has"):
        reproduce(copy, tmp_path / "new")
    del made["config"]["gamma"], made["config"]["alpha"]
    (copy / "provenance.json").write_text(json.dumps(made))
    said = []
    with pytest.raises(RunError):  # another spec than that of the run
        reproduce(copy, again, warn=said.append)
    assert said == [f"{copy} does not say alpha: as the study has them now"]
    (copy / "provenance.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        read_result(copy)


def test_the_command(copy, again, tmp_path, capsys):
    runs, other = again.parent, tmp_path / "notes"
    other.mkdir()
    assert main(["reproduce", str(copy), str(other), "--out", str(runs)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{copy}: table.csv: equal",
        f"{other}: skipped: {other} does not say how it was made (no README.md of `publish`)",
    ]
    change(copy, 5, "ece", "0.7")
    assert main(["reproduce", str(copy), "--out", str(runs)]) == 1
    assert main(["reproduce", str(copy), "--out", str(runs), "--tolerance", "0.999"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no nowhere"),
        (["{here}"], "does not say how it was made"),
        (["{here}", "{here}"], "no study of sims made any of these folders"),
        (["{here}", "--tolerance", "2"], "--tolerance must be from 0 to below 1, got 2"),
        ([], "the following arguments are required: DIR"),
    ],
)
def test_what_cannot_be_reproduced_is_one_sentence(arguments, message, tmp_path, capsys):
    assert main(["reproduce", *(word.format(here=tmp_path) for word in arguments)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


def test_a_study_that_lacks_a_package_does_not_stop_the_others(copy, again, monkeypatch, capsys):
    def lacks(*_, **__):
        raise RunError("the study needs flax: pip install 'mixjax[generative]'")

    monkeypatch.setattr(reproducing, "work_of", lacks)
    assert main(["reproduce", str(copy), str(copy), "--out", str(again.parent)]) == 2
    assert capsys.readouterr().out.count("not made: the study needs flax") == 2
    assert main(["reproduce", str(copy), "--out", str(again.parent)]) == 2
    assert "error: the study needs flax" in capsys.readouterr().err


def test_what_other_code_finished_is_not_compared(copy, again, monkeypatch, capsys):
    """The verdict would be on the other code. A mixed run that this code went on with is compared where allowed."""
    other = reproducing.provenance() | {"commit": "0123456789ab"}
    monkeypatch.setattr(reproducing, "provenance", lambda: other)
    command = ["reproduce", str(copy), "--out", str(again.parent)]
    for extra in ([], ["--allow-mixed"]):
        assert main(command + extra) == 2
        error = capsys.readouterr().err
        assert f"nothing would be computed: {again} holds a run that was finished before, and commit is" in error
        assert 'then and "0123456789ab" now; choose another folder (--out), or delete that run' in error
    mixed = shutil.copytree(again, copy.parent / "mixed" / "small")
    manifest = json.loads((mixed / "manifest.json").read_text())
    manifest["mixed"] = [{name: str(other[name]) for name in ENVIRONMENT}]
    (mixed / "manifest.json").write_text(json.dumps(manifest))
    command[-1] = str(mixed.parent)
    assert main(command) == 2
    assert main([*command, "--allow-mixed"]) == 0


@pytest.mark.parametrize("word", [".", "..", "deeper/..", "{copy}"])
def test_the_run_has_the_name_of_the_folder(word, copy, again, monkeypatch, capsys):
    """However its path is written, so that it stays in --out."""
    (copy / "deeper").mkdir()
    monkeypatch.chdir(copy / "deeper" if word == ".." else copy)
    assert main(["reproduce", word.format(copy=copy), "--out", str(again.parent)]) == 0
    assert capsys.readouterr().out.endswith("table.csv: equal\n")


@pytest.mark.parametrize("out", ["..", ".", "deeper"])
def test_the_published_folder_is_no_place_for_the_run(out, copy, monkeypatch, capsys):
    monkeypatch.chdir(copy)
    before = sorted(copy.rglob("*"))
    assert main(["reproduce", str(copy), "--out", out]) == 2
    assert f"the run would land in the published folder {copy}; choose another" in capsys.readouterr().err
    assert sorted(copy.rglob("*")) == before


def test_a_damaged_table_does_not_stop_the_others(copy, again, tmp_path, capsys):
    bad = shutil.copytree(copy, tmp_path / "bad")
    (bad / "table.csv").write_bytes(b"")
    assert main(["reproduce", str(bad), str(copy), "--out", str(again.parent)]) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"{bad}: not made: {bad}/table.csv, line 1: no names of columns; the file is empty or cut off",
        f"{copy}: table.csv: equal",
    ]
    assert main(["reproduce", str(bad), "--out", str(again.parent)]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"error: {bad}/table.csv, line 1: no names of columns")


@pytest.mark.parametrize(
    ("change", "says", "status"),
    [
        ({"study": []}, "which is not a study of sims", 2),
        ({"seconds": "\x1b[31mred"}, "{copy}: phase_diagram\n", 0),
        ({"seconds": None}, "{copy}: phase_diagram\n", 0),
        ({"seconds": 12.5}, "{copy}: phase_diagram, which took 12.5 s when it was made\n", 0),
    ],
)
def test_a_strange_origin(change, says, status, copy, again, capsys):
    made = json.loads((copy / "provenance.json").read_text()) | change
    (copy / "provenance.json").write_text(json.dumps(made))
    assert main(["reproduce", str(copy), "--out", str(again.parent)]) == status
    error = capsys.readouterr().err
    assert says.format(copy=copy) in error
    assert "\x1b[31mred" not in error
