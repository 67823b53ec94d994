"""The command `mixjax predict`: its options, and from a file to a table, a figure, a csv file and a page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mixjax.commands import Parser, display_path, exactly, whole
from mixjax.commands.origin import check_packages, check_paths, origin
from mixjax.runs import RunError, explained, write_atomically

if TYPE_CHECKING:
    from mixjax.prediction.features import FileFeatures
    from mixjax.prediction.measuring import Check
    from mixjax.prediction.settings import Settings
    from mixjax.prediction.table import Prediction

SUBSETS = 10  # of --check without a number

FILES = """What a file contains, and the options for other names:
  npz             arrays features [N, p] and labels [N]
  csv, parquet    a column label; every other column is a feature. --features-name PREFIX takes only the columns
                  whose names begin with PREFIX
Labels are whole numbers. With more than two classes every pair is predicted, or only the one of --pair.
The features are the inputs of the last layer: the outputs of the layer before it, or the inputs of a linear model."""


def predict(arguments: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    options = _parser().parse_args(arguments)
    check_paths(filter(None, (options.file, options.out)))
    check_packages(("matplotlib", "rich"), "report", "mixjax predict")
    import jax

    with jax.enable_x64(True):  # covariances of many rows, and penalties far below them
        return _write(options)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "mixjax predict",
        usage="mixjax predict FILE --n N [options]",
        description="Will Mixup or more weight decay help the calibration of a last layer? Predicts accuracy, signed "
        "gap, ECE and NLL of a logistic fit to N rows from the features alone. Only --check fits anything.",
        epilog=FILES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="features and labels: .npz, .csv or .parquet")
    parser.add_argument("--n", type=whole, required=True, metavar="N", help="rows to fit, of both classes together")
    parser.add_argument(
        "--pair", type=_pair, metavar="A,B", help="labels of two classes (default: every pair; write --pair=-1,1)"
    )
    parser.add_argument(
        "--penalties", type=_numbers, metavar="MU,...", help="of |w|^2 / 2 (default: 15, from the features' scale)"
    )
    parser.add_argument(
        "--alphas", type=_numbers, metavar="A,...", default=(0.2, 1.0), help="of Mixup's Beta law (default: 0.2,1)"
    )
    parser.add_argument(
        "--smoothings", type=_numbers, metavar="EPS,...", default=(0.05, 0.2), help="of labels (default: 0.05,0.2)"
    )
    parser.add_argument(
        "--check", type=whole, nargs="?", const=SUBSETS, metavar="SUBSETS",
        help=f"fit 2 or more random subsets of N rows, and score them on the others (without a number: {SUBSETS})",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="seed of the subsets (default: 0)")
    names = parser.add_argument_group("names in the file")
    names.add_argument("--features-name", metavar="NAME", help="array of features, or prefix of their columns")
    names.add_argument("--labels-name", metavar="NAME", help="array or column of labels")
    parser.add_argument("--drop-nan", action="store_true", help="leave out rows with NaN or an empty cell")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder (default: FILE without its suffix, _prediction)"
    )
    return parser


class _Numbers(tuple[float, ...]):
    """Numbers that are written as they are given."""

    def __str__(self) -> str:
        return ",".join(map(exactly, self))


def _numbers(text: str) -> _Numbers:
    try:
        return _Numbers(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers separated by commas, got {text!r}") from None


class _Pair(tuple[int, int]):
    def __str__(self) -> str:
        return ",".join(map(str, self))


def _pair(text: str) -> _Pair:
    try:
        first, second = (int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two labels separated by a comma, got {text!r}") from None
    if first == second:
        raise argparse.ArgumentTypeError(f"must be two different labels, got {text!r}")
    return _Pair((first, second))


def _write(options: argparse.Namespace) -> int:
    from mixjax.prediction.csv_table import csv_table
    from mixjax.prediction.features import read_features
    from mixjax.prediction.figures import MOST_FIGURES, pictures
    from mixjax.prediction.page import picture_name, prediction_page
    from mixjax.prediction.terminal import print_predictions

    settings = _settings(options)
    file = read_features(options.file, options.features_name, options.labels_name, options.drop_nan)
    predictions, checks = _computed(file, options.pair, settings)
    out = options.out or Path(options.file.with_name(f"{options.file.stem}_prediction"))
    with explained(out):
        out.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, bytes] = {}
    if len(predictions) <= MOST_FIGURES:
        for prediction, check in zip(predictions, checks, strict=True):
            drawn |= pictures(prediction, check, picture_name(prediction))
    page = prediction_page(file, predictions, checks, drawn, _made(options))
    table = csv_table(predictions, checks)
    print_predictions(predictions, checks)
    with explained(out):
        for name, content in {**drawn, "prediction.csv": table.encode(), "prediction.html": page.encode()}.items():
            write_atomically(out / name, content)
    for name in [name for name in drawn if name.endswith(".png")]:
        print(f"figure: {out / name}")
    print(f"table: {out / 'prediction.csv'}\npage: {out / 'prediction.html'}")
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    from mixjax.prediction.settings import Settings

    if options.check == 0:
        raise RunError("--check must be 2 subsets or more, got 0; leave it out for no check")
    alphas, smoothings = tuple(options.alphas), tuple(options.smoothings)
    try:
        return Settings(options.n, options.penalties, alphas, smoothings, options.check or 0, options.seed)
    except ValueError as error:
        raise RunError(str(error)) from None


def _computed(
    file: FileFeatures, chosen: tuple[int, int] | None, settings: Settings
) -> tuple[list[Prediction], list[Check | None]]:
    from mixjax.commands.progress import ProgressBar
    from mixjax.prediction.measuring import check_rows, measure
    from mixjax.prediction.settings import usual_penalties
    from mixjax.prediction.table import predict_pair

    pairs = file.pairs(chosen)
    for pair in pairs:  # each is checked before anything is computed
        _, y = file.of_pair(pair)
        if settings.subsets:
            check_rows(file, len(y), settings)
    used = sorted({label for pair in pairs for label in pair})
    penalties = settings.penalties or usual_penalties(file, used)
    predictions: list[Prediction] = []
    checks: list[Check | None] = []
    with ProgressBar() as show:
        for number, pair in enumerate(pairs):
            predictions.append(predict_pair(file, pair, settings, penalties))
            checks.append(measure(file, predictions[-1]) if settings.subsets else None)
            if len(pairs) > 1:
                show(number + 1, len(pairs), "pairs of classes")
    return predictions, checks


def _made(options: argparse.Namespace) -> dict[str, object]:
    """Return the origin of a page."""
    usual = vars(_parser().parse_args(["FILE", "--n", "2"]))
    words = ["mixjax", "predict", display_path(options.file), "--n", str(options.n)]
    return origin(words, vars(options), usual, ("file", "n"))
