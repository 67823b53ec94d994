"""The command `mixjax`, and the options and files of `mixjax report`; `mixjax.report` does the work."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import mixjax
from mixjax.calibration.rows.bins import Binning, Closed
from mixjax.commands import Parser, display_path, exit_status, run_program
from mixjax.commands.origin import check_packages, check_paths, origin
from mixjax.runs import RunError, explained

if TYPE_CHECKING:
    from mixjax.report.reading import FilePredictions

METHODS = (  # of `mixjax.report.recalibrating`
    "temperature", "vector", "dirichlet", "platt", "beta", "isotonic", "histogram", "venn-abers",
)  # fmt: skip

USAGE = """usage: mixjax report FILE (--logits | --probs | --binary) [options]
       mixjax report --compare A B (--logits | --probs | --binary) [options]
       mixjax report FILE (--logits | --binary) --recalibrate METHOD --fit HELDOUT [options]
       mixjax predict FILE --n N [options]  whether Mixup will help the calibration of a last layer, from its features
       mixjax sims STUDY [options]          where Mixup helps, by simulation; mixjax sims --help lists the studies
       mixjax train EXPERIMENT [options]    nets with and without Mixup; mixjax train --help lists the experiments

report: measures the calibration of predictions in an npz, csv or parquet file. Prints a table here, and writes a page
with diagrams into a folder. mixjax report --help lists the options.
predict: predicts accuracy, calibration and NLL of a logistic fit to N rows, with and without Mixup and label smoothing,
against the penalty, before anything is fitted. mixjax predict --help lists the options."""

FILES = """What a file contains, and the options for other names:
  --logits   npz: arrays logits [N, K] and labels [N]; csv and parquet: columns logit_0, logit_1, ... and label
  --probs    npz: arrays probs [N, K] and labels [N];  csv and parquet: columns prob_0, prob_1, ... and label
  --binary   arrays or columns confidence and correct, of N rows each
Labels are whole numbers from 0. --groups takes any array [N] or column of names, whole numbers or truth values. Rows
are counted from 0; messages on a csv file name the line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status: 0, 2 for an error that the user can fix, 130 when interrupted."""
    return exit_status(lambda: _dispatch(list(sys.argv[1:] if arguments is None else arguments)))


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    command, *rest = arguments
    if command == "--version":
        print(f"mixjax {mixjax.__version__}")
        return 0
    if command in ("sims", "train"):
        return run_program(command, rest, f"mixjax {command}")
    if command == "predict":
        from mixjax.prediction.command import predict

        return predict(rest)
    if command != "report":
        raise RunError(f"there is no command {command!r}; use report, predict, sims or train")
    return _report(_parser().parse_args(rest))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "mixjax report",
        usage="mixjax report (FILE | --compare A B) (--logits | --probs | --binary) [options]",
        description="Measure the calibration errors of predictions, with intervals, diagrams, and a page with both.",
        epilog=FILES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="predictions: .npz, .csv or .parquet")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("A", "B"), help="two models on the same rows, paired")
    parser.add_argument(
        "--recalibrate", choices=METHODS, help="compare FILE before and after this map, fitted on --fit"
    )
    parser.add_argument("--fit", type=Path, metavar="HELDOUT", help="held-out predictions, in the same format as FILE")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--logits", dest="kind", action="store_const", const="logits", help="the scores are logits")
    kind.add_argument("--probs", dest="kind", action="store_const", const="probs", help="the scores are probabilities")
    kind.add_argument("--binary", dest="kind", action="store_const", const="binary", help="confidences, right or not")
    _add_names(parser)
    parser.add_argument("--drop-nan", action="store_true", help="leave out rows with NaN or an empty cell")
    parser.add_argument(
        "--ignore-label", type=int, metavar="LABEL", help="leave out rows with this label, such as -100"
    )
    parser.add_argument("--normalize", action="store_true", help="divide each row of probabilities by its sum")
    parser.add_argument("--num-bins", type=int, metavar="M", default=15, help="(default: 15)")
    parser.add_argument("--binning", choices=get_args(Binning), default="equal-width", help="(default: equal-width)")
    parser.add_argument(
        "--closed", choices=get_args(Closed), default="left", help="which end of a bin belongs to it (default: left)"
    )
    parser.add_argument("--level", type=float, default=0.95, help="level of intervals and bands (default: 0.95)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap and of the test (default: 0)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder (default: FILE without its suffix, _report)")
    return parser


def _add_names(parser: argparse.ArgumentParser) -> None:
    names = parser.add_argument_group("names in the file")
    names.add_argument(
        "--scores-name", metavar="NAME", help="array of logits or probabilities, or prefix of their columns"
    )
    names.add_argument("--labels-name", metavar="NAME", help="array or column of labels")
    names.add_argument("--confidence-name", metavar="NAME", default="confidence", help="(default: confidence)")
    names.add_argument("--correct-name", metavar="NAME", default="correct", help="(default: correct)")
    names.add_argument("--classes", metavar="NAME,NAME,...", help="names of the classes, in the order of the scores")
    names.add_argument(
        "--groups", metavar="NAME", help="array or column of groups: accuracy, ECE and signed gap of each"
    )


def _report(options: argparse.Namespace) -> int:
    if (options.file is None) == (options.compare is None):
        raise RunError("give either one FILE or --compare A B; mixjax report --help lists the options")
    if (options.recalibrate is None) != (options.fit is None) or (options.recalibrate and options.compare):
        raise RunError("--recalibrate METHOD needs --fit HELDOUT and one FILE")
    if options.normalize and options.kind != "probs":
        raise RunError("--normalize needs --probs")
    for name, value in (("ignore-label", options.ignore_label), ("classes", options.classes)):
        if value is not None and options.kind == "binary":
            raise RunError(f"--{name} does not apply to --binary, which has no labels")
    if options.classes and options.ignore_label is not None and options.ignore_label >= 0:
        raise RunError("--ignore-label takes a number below 0 beside --classes, such as -100")
    check_paths(filter(None, (options.file, *(options.compare or ()), options.fit, options.out)))
    check_packages(("matplotlib", "rich"), "report", "mixjax report")
    import jax

    with jax.enable_x64(True):  # numbers of float64 files are computed in float64, those of float32 ones in float32
        return _write_report(options)


def _write_report(options: argparse.Namespace) -> int:
    from mixjax.report import CalibrationReport
    from mixjax.report.metrics import Settings

    try:
        settings = Settings(options.num_bins, options.binning, options.closed, options.level, options.seed)
    except ValueError as error:
        raise RunError(str(error)) from None
    files, labels, fitted = _files(options)
    out = options.out or _usual_folder(options)
    with explained(out):
        out.mkdir(parents=True, exist_ok=True)
    report = CalibrationReport.of(files, labels, settings, _made(options) | fitted)
    with explained(out):
        report.write(out)
    report.print()
    for what, value in fitted.items():
        print(f"{what}: {value}")
    print(f"figure: {out / 'reliability.png'}\npage: {out / 'report.html'}")
    return 0


def _files(options: argparse.Namespace) -> tuple[list[FilePredictions], list[str], dict[str, str]]:
    """Return the predictions to report on, their labels, and the description of a fit."""
    from mixjax.report.class_names import refuse_equal
    from mixjax.report.comparison import check_pair
    from mixjax.report.reading import Names, Rules, read_predictions, without_missing
    from mixjax.report.recalibrating import check_method, recalibrated

    classes = tuple(name.strip() for name in options.classes.split(",")) if options.classes else ()
    try:
        refuse_equal(classes, "--classes")
    except ValueError as error:
        raise RunError(str(error)) from None
    named = (options.scores_name, options.labels_name, options.confidence_name, options.correct_name)
    names = Names(*named, classes, options.groups)
    rules = Rules(options.normalize, options.ignore_label)
    paths = options.compare or [options.file]
    if options.recalibrate:
        check_method(options.recalibrate, options.kind)
    files = [read_predictions(path, options.kind, names, rules) for path in paths]
    if options.compare:
        check_pair(*files)
        labels = [f"{letter}: {path.stem}" for letter, path in zip("AB", paths, strict=True)]
        return without_missing(files, options.drop_nan), labels, {}
    files = without_missing(files, options.drop_nan)
    if not options.recalibrate:
        return files, [paths[0].stem], {}
    ungrouped = dataclasses.replace(names, groups=None)
    (held_out,) = without_missing([read_predictions(options.fit, options.kind, ungrouped, rules)], options.drop_nan)
    after, fitted = recalibrated(files[0], options.recalibrate, held_out)
    fitted += f" on {held_out.name}, {len(held_out)} rows, sha256 {held_out.sha256}"
    return [*files, after], ["A: before", "B: after"], {"fitted": fitted}


def _usual_folder(options: argparse.Namespace) -> Path:
    """Return the folder of the report, next to the (first) file."""
    first, *others = options.compare or [options.file]
    parts = [first.stem, *(path.stem for path in others), *([options.recalibrate] if options.recalibrate else [])]
    return Path(first.with_name("_and_".join(parts) + "_report"))


def _made(options: argparse.Namespace) -> dict[str, object]:
    usual = vars(_parser().parse_args(["FILE", f"--{options.kind}"]))
    given = ["--compare", *map(display_path, options.compare)] if options.compare else [display_path(options.file)]
    words = ["mixjax", "report", *given, f"--{options.kind}"]
    return origin(words, vars(options), usual, ("file", "compare", "kind"))
