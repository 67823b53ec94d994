"""Files: the same predictions from every kind, and one sentence with the row and the column for what is wrong."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from mixjax.report.comparison import check_pair
from mixjax.report.reading import Names, Rules, read_predictions, without_missing
from mixjax.runs import RunError
from tests.report.conftest import draw, softmax, table_of, write_csv

LOGITS, LABELS = draw(1, 2.0)
PROBS = softmax(LOGITS.astype(np.float64))
N, K = PROBS.shape


def edited(array, index, value):
    copy = array.copy()
    copy[index] = value
    return copy


def test_every_kind_of_file_holds_the_same(files):
    table = [read_predictions(files / f"probs.{kind}", "probs") for kind in ("csv", "parquet")]
    for found in table:
        np.testing.assert_array_equal(found.scores, PROBS)
        np.testing.assert_array_equal(found.labels, LABELS)
        assert (found.num_classes, found.missing.any(), len(found.sha256)) == (K, False, 64)
    found = read_predictions(files / "plain.npz", "logits")
    assert found.scores.dtype == np.float32
    np.testing.assert_array_equal(found.scores, LOGITS)
    pairs = read_predictions(files / "pairs.csv", "binary")
    np.testing.assert_array_equal(pairs.scores, PROBS.max(axis=1))
    np.testing.assert_array_equal(pairs.labels, PROBS.argmax(axis=1) == LABELS)


WRITTEN = {  # what usual writers make of [[.25, .75], [.5, .5], [1, 0]] with labels 1, 0, 0 and of a row to leave out
    "a decimal comma": ("f.csv", "prob_0;prob_1;label\n0,25;0,75;1\n0,5;0,5;0\n1;0;0\n", {}),
    "tabs": ("f.csv", "\nprob_0\tprob_1\tlabel\n.25\t.75\t1\n.5\t.5\t0\n1\t0\t0\n", {}),
    "booleans": ("f.csv", "prob_0,prob_1,label\n.25,.75,True\n.5,.5,FALSE\n1,0,false\n", {}),
    "pandas with a missing label": ("f.csv", "prob_0,prob_1,label\n.25,.75,1.0\n.5,.5,0.0\n.5,.5,\n1,0,0.0\n", {}),
    "numbers as names": ("f.csv", "0,1,label\n.25,.75,1\n.5,.5,0\n1,0,0\n", {"names": Names(scores="")}),
    "names of classes": (
        "f.csv", "label,prob_no,prob_yes\nyes,.25,.75\nno,.5,.5\n,.5,.5\nno,1,0\n",
        {"names": Names(classes=("no", "yes"))},
    ),
    "names in an array": (
        "f.npz", {"labels": np.array(["yes", "no", "no"]), "probs": [0, 1, 2]}, {"names": Names(classes=("no", "yes"))},
    ),
    "an ignored label": (
        "f.csv", "prob_0,prob_1,label\n0,7,-100\n.25,.75,1\n.5,.5,0\n1,0,0\n", {"rules": Rules(ignored_label=-100)},
    ),
    "parts of a sum": ("f.csv", "prob_0,prob_1,label\n1,3,1\n.499,.499,0\n2,0,0\n", {"rules": Rules(normalize=True)}),
    "float labels": ("f.npz", {"labels": np.array([1.0, 0.0, np.nan, 0.0]), "probs": [0, 1, 0, 2]}, {}),
    "bfloat16": ("f.npz", {"labels": np.array([1, 0, 0]), "probs": [0, 1, 2], "dtype": jnp.bfloat16}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_what_usual_writers_write_is_read(case, tmp_path):
    name, content, options = WRITTEN[case]
    right = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    if name == "f.csv":
        (tmp_path / name).write_text(content)
    else:
        np.savez(tmp_path / name, labels=content["labels"], probs=right[content["probs"]].astype(content.get("dtype")))
    (found,) = without_missing([read_predictions(tmp_path / name, "probs", **options)], drop=True)
    np.testing.assert_array_equal(found.scores, right)
    np.testing.assert_array_equal(found.labels, [1, 0, 0])
    assert found.labels.dtype == np.int64


def test_ignored_rows_keep_the_names_of_the_others(tmp_path):
    (tmp_path / "f.csv").write_text(HEAD + "1,0,-1\n0.5,0.5,-1\n0.5,nan,1\n")
    found = read_predictions(tmp_path / "f.csv", "probs", rules=Rules(ignored_label=-1))
    assert (len(found), found.row_name(0), found.missing.tolist()) == (1, "line 4", [True])


def test_two_files_that_ignore_different_rows_are_no_pair(tmp_path):
    """What is left has as many rows and the same labels; each would be paired with another."""
    for name, labels in (("a", [-1, 1, 1, 1]), ("b", [1, 1, -1, 1])):
        np.savez(tmp_path / f"{name}.npz", probs=PROBS[:4, :2] / PROBS[:4, :2].sum(1, keepdims=True), labels=labels)
    a, b = (read_predictions(tmp_path / f"{name}.npz", "probs", rules=Rules(ignored_label=-1)) for name in "ab")
    check_pair(a, a)
    with pytest.raises(RunError, match=r"a.npz and b.npz ignore different rows; rows are paired by their position"):
        check_pair(a, b)


def test_names_can_be_said(tmp_path):
    np.savez(tmp_path / "f.npz", out=PROBS, y=LABELS.astype(np.uint8))
    assert len(read_predictions(tmp_path / "f.npz", "probs", Names("out", "y"))) == N
    write_csv(tmp_path / "f.csv", {**table_of("class", PROBS, LABELS), "note": np.full(N, "a, b")})
    (tmp_path / "f.csv").write_text("\ufeff" + (tmp_path / "f.csv").read_text().replace("\n", "\r\n"))
    np.testing.assert_array_equal(read_predictions(tmp_path / "f.csv", "probs", Names("class")).scores, PROBS)
    write_csv(tmp_path / "p.csv", {"p": PROBS[:, 0], "hit": LABELS == 0})
    (tmp_path / "p.csv").write_text((tmp_path / "p.csv").read_text().replace("True", "1").replace("False", "0"))
    found = read_predictions(tmp_path / "p.csv", "binary", Names(confidence="p", correct="hit"))
    np.testing.assert_array_equal(found.labels, LABELS == 0)


ARRAYS = {  # what is in the npz, the kind that is said, and what the sentence holds
    "no logits": ({"probs": PROBS, "labels": LABELS}, "logits", "no array 'logits'; it has probs, labels"),
    "no labels": ({"probs": PROBS}, "probs", "no array 'labels'; it has probs"),
    "one axis": ({"probs": PROBS[:, 0], "labels": LABELS}, "probs", "right, use --binary), got shape (240,)"),
    "one class": ({"probs": np.ones((N, 1)), "labels": LABELS * 0}, "probs", "use --binary), got shape (240, 1)"),
    "three axes": ({"probs": PROBS[None], "labels": LABELS}, "probs", "got shape (1, 240, 3)"),
    "swapped": ({"probs": LABELS, "labels": PROBS}, "probs", "are they swapped?"),
    "one-hot": ({"probs": PROBS, "labels": np.eye(K)[LABELS]}, "probs", "one-hot rows are not labels"),
    "lengths": ({"probs": PROBS, "labels": LABELS[:-1]}, "probs", "probs has 240 rows and labels has 239"),
    "half a label": (
        {"probs": PROBS, "labels": edited(LABELS * 1.0, 5, 0.5)}, "probs", "got float64 (0.5 in row 5)",
    ),
    "label K": ({"probs": PROBS, "labels": edited(LABELS, 7, K)}, "probs", "labels must be in [0, 3), got 3 in row 7"),
    "a label of 9 digits": (
        {"probs": PROBS, "labels": edited(LABELS, 7, 123_456_789)}, "probs", "got 123456789 in row 7",
    ),
    "a label of 64 bits": (
        {"probs": PROBS, "labels": LABELS.astype(np.uint64) + np.uint64(2**63)}, "probs", "[0, 3), got 92233720368547",
    ),
    "truth values": ({"probs": np.eye(K, dtype=bool)[LABELS], "labels": LABELS}, "probs", "real numbers, got bool"),
    "true confidences": ({"confidence": LABELS == 0, "correct": LABELS == 0}, "binary", "real numbers, got bool"),
    "label -1": ({"probs": PROBS, "labels": edited(LABELS, 7, -1)}, "probs", "got -1 in row 7"),
    "logits said to be probs": (
        {"probs": LOGITS, "labels": LABELS}, "probs", "probs must be in [0, 1] (are they logits? use --logits), got",
    ),
    "no sum of 1": (
        {"probs": edited(PROBS, (9, 1), 0.9999), "labels": LABELS}, "probs",
        "rows that sum to 1 within 0.0001 (rounded? use --normalize), got",
    ),
    "infinite logit": (
        {"logits": edited(LOGITS, (4, 2), np.inf), "labels": LABELS}, "logits", "infinity, got inf in row 4, class 2",
    ),
    "no class": ({"logits": edited(LOGITS, 4, -np.inf), "labels": LABELS}, "logits", "got -inf in row 4"),
    "strings": ({"logits": LOGITS.astype(str), "labels": LABELS}, "logits", "logits must be real numbers, got <U"),
    "complex": ({"logits": LOGITS * 1j, "labels": LABELS}, "logits", "logits must be real numbers, got complex"),
    "time spans": (
        {"confidence": PROBS[:, 0], "correct": LABELS.astype("m8[s]")}, "binary", "must be real numbers, got timedelta",
    ),
    "objects": ({"logits": LOGITS.astype(object), "labels": LABELS}, "logits", "pickles are not read"),
    "no rows": ({"logits": LOGITS[:0], "labels": LABELS[:0]}, "logits", "has no rows"),
    "swapped pair": (
        {"confidence": LABELS == 0, "correct": PROBS[:, 0]}, "binary", "0 or 1 (is it swapped with confidence?), got",
    ),
    "confidence above 1": ({"confidence": PROBS[:, 0] + 1, "correct": LABELS == 0}, "binary", "confidence must be in"),
    "correct of 2": ({"confidence": PROBS[:, 0], "correct": LABELS + 2}, "binary", "correct must be 0 or 1, got"),
    "matrix of confidences": ({"confidence": PROBS, "correct": LABELS}, "binary", "classes need --probs or --logits"),
}  # fmt: skip


@pytest.mark.parametrize("case", ARRAYS)
def test_wrong_arrays_are_refused(case, tmp_path):
    arrays, kind, message = ARRAYS[case]
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(RunError) as error:
        read_predictions(tmp_path / "f.npz", kind)
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "f.npz"))
    assert "\n" not in str(error.value)


HEAD = "prob_0,prob_1,label\n"
TEXTS = {  # the name of the file, what is in it, and what the sentence holds
    "missing class": ("f.csv", "prob_0,prob_2,label\n0.5,0.5,1\n", "no column 'prob_1'; it has prob_0, prob_2, label"),
    "missing label": ("f.csv", "prob_0,prob_1,y\n0.5,0.5,1\n", "no column 'label'; it has prob_0, prob_1, y"),
    "another separator": ("f.csv", "prob_0|prob_1|label\n0.5|0.5|1\n", "it has prob_0|prob_1|label"),
    "two commas in a number": ("f.csv", "prob_0;prob_1;label\n.5;.5;1\n1,0,0;0;1\n", "is '1.0.0' in line 3, which is"),
    "true scores": ("f.csv", HEAD + "true,false,1\n", "must be real numbers, got bool"),
    "not a number": ("f.csv", HEAD + "0.5,0.5,1\n0.5,x,1\n", "prob_1 is 'x' in line 3, which is not a number"),
    "half a label": ("f.csv", HEAD + "0.5,0.5,1\n\n0.5,0.5,0.5\n", "label is '0.5' in line 4, which is not a whole"),
    "wide label": ("f.csv", HEAD + f"0.5,0.5,{2**64}\n", "in line 2, which is not a whole number of at most 64 bits"),
    "underscore in a label": ("f.csv", HEAD + "0.5,0.5,0_1\n", "label is '0_1' in line 2, which is not a whole number"),
    "underscore in a score": ("f.csv", HEAD + "0.5,0.5,1\n0_0.5,0.5,1\n", "prob_0 is '0_0.5' in line 3, which is"),
    "NUL in a label": ("f.csv", HEAD + "0.5,0.5,1\0\n", "label is '1\\x00' in line 2, which is not a whole number"),
    "NUL in a score": ("f.csv", HEAD + "0.5\0,0.5,1\n", "prob_0 is '0.5\\x00' in line 2, which is not a number"),
    "digits of another script": ("f.csv", HEAD + "0.5,0.5,\u0661\n", "label is '\u0661' in line 2, which is"),
    "a quote without end": ("f.csv", HEAD + '0.5,0.5,"1\n', "is not a csv file: unexpected end of data"),
    "a number of 5000 digits": ("f.csv", HEAD + f"0.5,{'9' * 5000},1\n", "got inf in line 2, class 1"),
    "a class numbered 00": ("f.csv", "prob_0,prob_00,label\n0.5,0.5,1\n", "use --binary), got shape (1, 1)"),
    "label 2": ("f.csv", HEAD + '0.5,0.5,1\n"0.5",0.5,2\n', "label must be in [0, 2), got 2 in line 3"),
    "no sum of 1": ("f.csv", HEAD + "0.5,0.4,1\n", "got 0.9 in line 2"),
    "ragged": ("f.csv", HEAD + "0.5,0.5,1\n0.5,1\n", "line 3 has 2 cells where the header has 3"),
    "twice": ("f.csv", "prob_0,prob_0,label\n", "two columns have the name 'prob_0'"),
    "no class": (
        "f.csv",
        HEAD + "0.5,0.5,no\n\n0.5,0.5,maybe\n",
        "label is 'maybe' in line 4, which is not one of --c",
    ),
    "few classes": ("f.csv", HEAD + "0.5,0.5,no\n", "prob_ has 2 classes, and --classes names 3"),
    "a negative part": ("f.csv", HEAD + "0.5,0.5,1\n-1,2,1\n", "at least 0 and finite, got -1 in line 3"),
    "parts of 0": ("f.csv", HEAD + "0.5,0.5,1\n0,0,1\n", "a sum above 0, got 0 in line 3"),
    "an infinite part": ("f.csv", HEAD + "0.5,0.5,1\ninf,1,1\n", "at least 0 and finite, got inf in line 3"),
    "ignored labels": ("f.csv", HEAD + "0.5,0.5,1\n", "no rows are left without label 1"),
    "header alone": ("f.csv", HEAD, "has no rows"),
    "empty": ("f.csv", "", "is empty"),
    "not text": ("f.csv", b"\xff\xfe\x00", "is not a csv file in UTF-8"),
    "empty npz": ("f.npz", "", "is empty"),
    "no npz": ("f.npz", "text", "is damaged, or is not an npz file"),
    "no parquet": ("f.parquet", "text", "is damaged, or is not a parquet file"),
    "unknown suffix": ("f.txt", "text", "the name must end in .npz, .csv, .parquet"),
}


OPTIONS = {
    "no class": {"names": Names(classes=("no", "yes"))},
    "few classes": {"names": Names(classes=("no", "yes", "maybe"))},
    **{case: {"rules": Rules(normalize=True)} for case in ("a negative part", "parts of 0", "an infinite part")},
    "ignored labels": {"rules": Rules(ignored_label=1)},
}


@pytest.mark.parametrize("case", TEXTS)
def test_wrong_files_are_refused(case, tmp_path):
    name, content, message = TEXTS[case]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RunError) as error:
        read_predictions(tmp_path / name, "probs", **OPTIONS.get(case, {}))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_no_file_and_no_permission(tmp_path):
    with pytest.raises(RunError, match=r"there is no file .*f\.csv"):
        read_predictions(tmp_path / "f.csv", "probs")
    (tmp_path / "f.npz").mkdir()
    with pytest.raises(RunError, match="cannot be read: is a directory"):
        read_predictions(tmp_path / "f.npz", "probs")


def test_a_damaged_archive(files, tmp_path):
    content = bytearray((files / "plain.npz").read_bytes())
    content[len(content) // 3] ^= 255
    (tmp_path / "f.npz").write_bytes(content)
    with pytest.raises(RunError, match="is damaged"):
        read_predictions(tmp_path / "f.npz", "logits")


def test_an_array_in_place_of_an_archive(tmp_path):
    with open(tmp_path / "f.npz", "wb") as file:
        np.save(file, PROBS)
    with pytest.raises(RunError, match="is not an npz file"):
        read_predictions(tmp_path / "f.npz", "probs")


def test_floats_of_more_than_64_bits(tmp_path):
    np.savez(tmp_path / "f.npz", probs=PROBS.astype(np.longdouble), labels=LABELS)
    np.testing.assert_array_equal(read_predictions(tmp_path / "f.npz", "probs").scores, PROBS)


def test_missing_rows_are_counted_and_refused_or_dropped(tmp_path):
    (tmp_path / "f.csv").write_text(HEAD + "0.5,0.5,1\n,0.5,0\n0.25,nan,1\n0.75,0.25,NA\n1,0,0\n")
    file = read_predictions(tmp_path / "f.csv", "probs")
    says = r"f\.csv: 3 of 5 rows hold NaN or an empty cell, the first is line 3; --drop-nan"
    with pytest.raises(RunError, match=says):
        without_missing([file], drop=False)
    (kept,) = without_missing([file], drop=True)
    assert (kept.scores.tolist(), kept.labels.tolist(), kept.dropped) == ([[0.5, 0.5], [1, 0]], [1, 0], 3)
    (tmp_path / "g.csv").write_text(HEAD + "nan,0.5,1\n")
    with pytest.raises(RunError, match="1 of 1 rows holds NaN"):
        without_missing([read_predictions(tmp_path / "g.csv", "probs")], drop=False)
    with pytest.raises(RunError, match="no rows are left"):
        without_missing([read_predictions(tmp_path / "g.csv", "probs")], drop=True)


def test_rows_that_one_of_two_files_misses_are_dropped_from_both(tmp_path):
    for name, row in (("a", 3), ("b", 8)):
        np.savez(tmp_path / f"{name}.npz", logits=edited(LOGITS, (row, 0), np.nan), labels=LABELS)
    pair = without_missing([read_predictions(tmp_path / f"{name}.npz", "logits") for name in "ab"], drop=True)
    assert [(len(file), file.dropped) for file in pair] == [(N - 2, 2)] * 2
    np.testing.assert_array_equal(pair[0].scores, pair[1].scores)


def test_half_precision_may_sum_to_one_less_exactly(tmp_path):
    np.savez(tmp_path / "f.npz", probs=PROBS.astype(np.float16), labels=LABELS)
    assert len(read_predictions(tmp_path / "f.npz", "probs")) == N


@pytest.mark.medium
def test_many_rows_of_csv_are_one_array(tmp_path):
    """...also where a whole number follows others in a later part."""
    rows = "0.5,0.5,1\n" * 20_000 + "1,0,0\n" * 3
    (tmp_path / "f.csv").write_text(HEAD + rows)
    found = read_predictions(tmp_path / "f.csv", "probs")
    assert (len(found), found.labels.dtype, found.scores[-1].tolist()) == (20_003, np.int64, [1.0, 0.0])
