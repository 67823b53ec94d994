"""What a run refuses before it begins: options, data sets and nets, in one sentence, with nothing written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mixjax.runs import RunError
from mixjax.train.running import run

WRONG = {
    "experiment": (("heights",), {}, "no experiment 'heights'"),
    "preset": (("width",), {"preset": "huge"}, "width has no preset 'huge'"),
    "option": (("width",), {"gamma": 1}, "width has no option 'gamma'"),
    "width": (("width",), {"width": (0,)}, "width must be at least 1, got 0"),
    "depth": (("width",), {"depth": (0,)}, "depth must be at least 1, got 0"),
    "a width alone": (("width",), {"width": 10}, "width must be one or more whole numbers, got 10"),
    "no width": (("width",), {"width": ()}, "width must be one or more whole numbers"),
    "a width twice": (("width",), {"width": (10, 10)}, "width must be different numbers, got 10,10"),
    "alpha": (("width",), {"alpha": -1.0}, "alpha must be finite and not negative, got -1"),
    "alpha nan": (("width",), {"alpha": float("nan")}, "alpha must be finite and not negative, got nan"),
    "MIT": (("variants",), {"alpha": 20.0}, "alpha must be at most 10 in variants, since MIT would hardly ever draw"),
    "regmixup": (("variants",), {"regmixup_alpha": -1.0}, "regmixup_alpha must be finite and not negative, got -1"),
    "epochs": (("width",), {"epochs": 0}, "epochs must be at least 1, got 0"),
    "pseudo_label 0": (("pseudo_label",), {"epochs": 0}, "epochs must be at least 1, got 0"),
    "pseudo_label 1": (("pseudo_label",), {"epochs": 1}, "epochs must be at least 2, one before"),
    "seeds": (("width",), {"seeds": 0}, "seeds must be at least 1, got 0"),
    "half a seed": (("width",), {"seeds": 1.5}, "seeds must be an int, got float"),
    "batch of 0": (("width",), {"batch_size": 0}, "batch_size must be at least 1, got 0"),
    "batch": (("width",), {"batch_size": 1443}, "batch_size must be at most the number of training rows, 1442"),
    "half a batch": (("pseudo_label",), {"batch_size": 722}, "at most the number of training rows, 721, got 722"),
    "rows": (("width",), {"train_rows": 1443}, r"train_rows must be in \[1, 1442\] or 0 for all, got 1443"),
    "rows -1": (("width",), {"train_rows": -1}, "train_rows must be at least 0, got -1"),
    "one row": (("pseudo_label",), {"train_rows": 1}, "a part of 0 rows out of 1 leaves a part empty"),
    "rate": (("width",), {"learning_rate": 0.0}, "learning_rate must be finite and positive, got 0"),
    "momentum": (("width",), {"momentum": 1.0}, r"momentum must be in \[0, 1\), got 1"),
    "decay": (("width",), {"weight_decay": -1.0}, "weight_decay must be finite and not negative, got -1"),
    "multiplier": (("pseudo_label",), {"width_multiplier": 0.0}, "width_multiplier must be finite and positive, got 0"),
    "augment": (("width",), {"augment": "flip"}, "augment must be one of .* got 'flip'"),
    "dtype": (("width",), {"dtype": "float16"}, "dtype must be one of .* got 'float16'"),
    "fold": (("width",), {"fold": "no"}, r"fold must be one of \(False, True\), got 'no'"),
    "a path": (("width",), {"dataset": Path("mine.npz")}, "dataset must be a name, or a path as a string, got Posix"),
    "init": (("width",), {"init": "zero"}, "init must be one of"),
    "a deep net": (("depth",), {"depth": (10**9,)}, "depth must be at most 1000, because each layer is compiled"),
    "a billion nets": (("width",), {"seeds": 10**9}, "seeds times epochs must be at most 262144, got 1000000000"),
    "a billion epochs": (("width",), {"epochs": 10**9}, "seeds times epochs must be at most 262144"),
    "many in all": (("width",), {"seeds": 300}, "288,000 nets and epochs are more than the 262,144 that a run may"),
    "no variance": (("width",), {"norm": "batch", "batch_size": 1}, "batch normalization needs more than one value"),
    "a huge net": (("width",), {"width": (10**6,)}, r"parameters, which is more than 2\^31"),
    "data set": (("width",), {"dataset": "imagenet"}, "name must be one of digits, .* got 'imagenet'"),
    "no file": (("width",), {"dataset": "nowhere.npz"}, "there is no file nowhere.npz"),
    "no folder": (("width",), {"dataset": "cifar10", "data_dir": "nowhere"}, "data_dir nowhere is not a folder"),
    "no data": (("width",), {"dataset": "cifar10", "data_dir": "."}, "get cifar-10-binary.tar.gz from"),
}


@pytest.mark.parametrize(("arguments", "options", "message"), WRONG.values(), ids=WRONG)
def test_wrong_calls(arguments, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match=message):
        run(*arguments, tmp_path / "run", **options)
    assert list(tmp_path.iterdir()) == []


def test_one_class_is_refused(tmp_path):
    images, labels = np.zeros((4, 2, 2), np.uint8), np.zeros(4, np.int32)
    np.savez(tmp_path / "data.npz", train_inputs=images, train_labels=labels, test_inputs=images, test_labels=labels)
    with pytest.raises(RunError, match="data has one class"):
        run("width", tmp_path / "run", dataset=str(tmp_path / "data.npz"))
