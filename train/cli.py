"""The command line: experiments with their options, and commands on a stored run."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from rich.console import Console
from rich.table import Table

from mixjax.commands import CommandLine, FolderCommand, Parser, display_path, exit_status, named, whole
from mixjax.commands.progress import ProgressBar, tell
from mixjax.plots import write_figures
from mixjax.runs import RunError, explained, local

from .data.preparing import main as prepare
from .experiments import EXPERIMENTS, Experiment
from .figures.lines import ARM_NAMES
from .figures.paper import PANELS
from .loop.history import DIVERGED, Records
from .loop.placement import is_first, join
from .queue import main as run_queue
from .running import experiment_of, load_records, run
from .runs.merging import merge
from .runs.options import command_line, option_words
from .runs.publishing import publish, redraw
from .runs.stored import stored_of
from .runs.summary import Cell, accuracy_floor, cells_of, divergence, summarize
from .runs.tensorboard import write_events

USAGE = """usage: {prog} EXPERIMENT [--preset quick|digits|fashion|paper] [--dataset NAME] [--out DIR]
       {prog} figures RUN [--format png,pdf,svg]    draw the figures of a stored run again
       {prog} tensorboard RUN    write event files of the records so far
       {prog} publish RUN DIR    write its figures, a table and their origin into a folder
       {prog} redraw DIR         draw the figures of a published table anew
       {prog} paper --budget 8h    the paper's panels, as far as a budget of time allows
       {prog} merge OUT RUN RUN    runs of other seeds, widths or depths into one new folder
       {prog} prepare DATASET --from ARCHIVE    an official archive into a TFDS folder

experiments:
{known}

{prog} EXPERIMENT --help lists its options. A run that was interrupted is resumed by the same command."""

_PRESET = "digits"  # where none is named
_TABLE_WIDTH = 110  # where it is not a terminal
_MOST_NAMED = 5  # nets in the last line


def main(arguments: Sequence[str], prog: str = "python -m train") -> int:
    """Run a command and return the exit status.

    That is 0; 1 if the run is done and some net diverged; 2 for an error the user can put right; 130, 143 or 129
    when Ctrl-C, SIGTERM or a lost terminal ends it.
    """
    line = CommandLine(
        prog,
        USAGE,
        EXPERIMENTS,
        lambda name, rest: _experiment(prog, name, rest),
        {name: FolderCommand(_printing(function), example) for name, (function, example) in _FOLDER_COMMANDS.items()},
        {
            "prepare": lambda rest: prepare(rest, prog),
            "merge": lambda rest: _merge(prog, rest),
            "paper": lambda rest: run_queue(rest, prog, lambda name, words: _experiment(prog, name, words)),
        },
    )
    interrupted = "Interrupted. Finished work is stored; the same command resumes from the last checkpoint."
    return exit_status(lambda: line(arguments), interrupted)


def _printing(function: Callable[..., Sequence[object]]) -> Callable[..., int]:
    """Locate the folders, explain why the last cannot be written, and print the files that are."""

    def on_folders(*folders: str, **options: Any) -> int:
        located = [local(folder) for folder in folders]
        with explained(located[-1]):
            print(*function(*located, **options), sep="\n")
        return 0

    return on_folders


def _merge(prog: str, folders: Sequence[str]) -> int:
    if len(folders) < 3 or any(folder.startswith("-") for folder in folders):
        raise RunError(
            f"merge takes a new folder and two or more runs, as in: {prog} merge {_RUN}-all {_RUN} {_RUN}-more"
        )
    out, *runs = map(local, folders)
    print(merge(runs, out, prog))
    folder = display_path(out)
    print(f"next: {prog} figures {folder}; {prog} publish {folder} FOLDER")
    return 0


def _experiment(prog: str, name: str, arguments: list[str]) -> int:
    experiment = named("experiment", name, EXPERIMENTS)
    given = vars(_parser(prog, experiment).parse_args(arguments))
    preset, out = given.pop("preset"), given.pop("out")
    out = local(out or folder_of(name, preset))
    data_dir, keep, features = (given.pop(name) for name in ("data_dir", "keep_checkpoints", "keep_features"))
    _join(given.pop("coordinator"), given.pop("processes"), given.pop("process"))
    options = {option: value for option, value in given.items() if value is not None}
    command = command_line(name, display_path(out), {"preset": preset, **options}, prog)
    with ProgressBar() as show:
        records = run(
            name, out, preset=preset, data_dir=data_dir, keep_checkpoints=keep, keep_features=features, progress=show,
            warn=tell, command=command, **options,
        )  # fmt: skip
    if not is_first():
        return 0
    with explained(out):
        pictures = write_figures(experiment.figures, stored_of(records), out / "figures")
    _print_summary(cells_of(records))
    print(f"records: {out / 'records.jsonl'}\nsummary: {out / 'summary.csv'}")
    for picture in pictures:
        print(f"figure: {picture}")
    return _report_divergence(records)


def folder_of(experiment: str, preset: str) -> str:
    """Return the usual folder of a run; a study may have the same name as an experiment."""
    return f"runs/training/{experiment}{f'-{preset}' if (experiment, preset) in PANELS else ''}"


def _join(coordinator: str | None, processes: int | None, process: int | None) -> None:
    if coordinator is not None and processes is not None and process is not None:
        join(coordinator, processes, process)
    elif (coordinator, processes, process) != (None, None, None):
        raise RunError("--coordinator HOST:PORT, --processes N and --process I go together")


def _parser(prog: str, experiment: Experiment) -> argparse.ArgumentParser:
    """Return the parser of an experiment, from the fields of its configuration."""
    width = max(map(len, experiment.presets))
    lines = ["presets:"]
    for preset, given in experiment.presets.items():
        panels = ", ".join(PANELS.get((experiment.name, preset), ()))
        lines.append(f"  {preset:{width}}  {shlex.join(option_words(given))}{f'   ({panels})' if panels else ''}")
    if experiment.departures:
        lines += ["", "panels of the paper are in brackets; what its presets add to what it says:"]
        lines += [f"  {text}" for text in experiment.departures]
    parser = Parser(
        f"{prog} {experiment.name}",
        description=f"{experiment.summary}.",
        epilog="\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--preset", default=_PRESET, help=f"{', '.join(experiment.presets)} (default: {_PRESET})")
    usual = folder_of(experiment.name, _PRESET)
    parser.add_argument("--out", help=f"folder (default: {usual}, with the preset after it for panels of the paper)")
    parser.add_argument("--data-dir", help="folder of the data set's files (default: that of MIXJAX_DATA)")
    parser.add_argument("--keep-checkpoints", action="store_true", help="keep the parameters of the final nets")
    parser.add_argument("--keep-features", action="store_true",
                        help="write the inputs of their last layers for the test images")  # fmt: skip
    several = parser.add_argument_group("several processes that share the folder of the run")
    several.add_argument("--coordinator", metavar="HOST:PORT", help="address of the first process")
    several.add_argument("--processes", type=whole, metavar="N", help="how many processes there are")
    several.add_argument("--process", type=whole, metavar="I", help="which process this is, from 0")
    kinds = typing.get_type_hints(experiment.config)
    for field in dataclasses.fields(experiment.config):
        default = experiment.presets[_PRESET].get(field.name, field.default)
        usual = ",".join(map(str, default)) if isinstance(default, tuple) else default
        text = f"{field.metadata['help']} (default: {usual})"
        parser.add_argument(f"--{field.name.replace('_', '-')}", help=text, **_kind(kinds[field.name]))
    return parser


def _kind(annotation: Any) -> dict[str, Any]:
    """Return how argparse reads a field."""
    if annotation is bool:
        return {"action": "store_true", "default": None}
    if annotation is int:
        return {"type": whole}
    if get_origin(annotation) is tuple:
        return {"type": lambda text: tuple(whole(part) for part in text.split(","))}
    return {"choices": get_args(annotation)} if get_args(annotation) else {"type": annotation}


def _print_summary(cells: list[Cell]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("net", "arm", "tested on", "accuracy", "ECE", "MCE", "conf. - acc.", "NLL"):
        table.add_column(heading, justify="left" if heading in ("net", "arm", "tested on") else "right", no_wrap=True)
    for cell in cells:
        tested = cell.evaluation + (f" {cell.severity:g}" if "severity" in cell.first else "")
        means = [summarize(cell.metrics[name]).mean for name in ("accuracy", "ece", "mce", "signed_gap", "nll")]
        marked = f"{means[0]:.4f}{'!' if cell.at_chance or cell.diverged else ''}"
        table.add_row(
            cell.net, ARM_NAMES.get(cell.arm, cell.arm), tested, marked, *(f"{mean:.4f}" for mean in means[1:])
        )
    console = Console(highlight=False)
    console.width = max(console.width, _TABLE_WIDTH)
    console.print(table)
    if any(cell.at_chance for cell in cells):
        floor = accuracy_floor(cells[0].first["classes"])
        console.print(f"! a net with an accuracy below {floor:.2g}: its calibration means nothing", markup=False)
    if any(cell.diverged for cell in cells):
        console.print("! a net that diverged, which the means leave out", markup=False)


def _report_divergence(records: Records) -> int:
    """Say which nets diverged, and return the exit status: 1 if any did."""
    lost = [divergence(record) for record in records if record["evaluation"] == DIVERGED]
    if not lost:
        return 0
    more = f"; and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
    print(f"diverged: {'; '.join(lost[:_MOST_NAMED])}{more}. In another folder, a lower --learning-rate may help.")
    return 1


def _figures(folder: Path, formats: Sequence[str] = ("png",)) -> Sequence[object]:
    figures = experiment_of(folder).figures
    return write_figures(figures, stored_of(load_records(folder)), folder / "figures", formats=formats)


_RUN, _PUBLISHED = "runs/training/width", "results/training/width"
_FOLDER_COMMANDS: dict[str, tuple[Callable[..., Sequence[object]], tuple[str, ...]]] = {
    "figures": (_figures, (_RUN,)),
    "publish": (lambda run_folder, folder: [publish(run_folder, folder)], (_RUN, _PUBLISHED)),
    "redraw": (lambda folder: [redraw(folder)], (_PUBLISHED,)),
    "tensorboard": (lambda folder: [write_events(folder)], (_RUN,)),
}
