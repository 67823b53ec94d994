"""The command line: experiments with their options, and what can be done with a stored run."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table

from mixjax._commands import Parser, answered, exit_status, named, said, whole
from mixjax._figures import write_figures
from mixjax.runs import RunError, explained, local
from train.experiments import EXPERIMENTS, Experiment
from train.figures.lines import ARM_NAMES
from train.options import command_line, words_of
from train.placement import is_first, join
from train.running import experiment_of, load_records, run
from train.summary import Cell, accuracy_floor, cells_of, estimate

USAGE = """usage: python -m train EXPERIMENT [--preset quick|digits|fashion|paper] [--dataset NAME] [--out DIR]
       python -m train figures RUN        draw the figures of a stored run again
       python -m train tensorboard RUN    write event files of what is recorded so far
       python -m train publish RUN DIR    write its figures, a table and their origin into a folder
       python -m train prepare DATASET --from ARCHIVE    an official archive into a TFDS folder

experiments:
{known}

python -m train EXPERIMENT --help lists its options. A run that was interrupted goes on by the same command."""

_PRESET = "digits"  # where none is named
_TABLE_WIDTH = 110  # where it is not a terminal
_BAR_WIDTH = 16  # leaves room for the name of a net in 80 columns


def main(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit status: 0, 2 for an error the user can put right, 130 when interrupted."""
    interrupted = "Interrupted. What is finished is stored; the same command goes on from the last checkpoint."
    return exit_status(lambda: _dispatch(list(arguments)), interrupted)


def _dispatch(arguments: list[str]) -> int:
    if (answer := answered(arguments, USAGE, EXPERIMENTS)) is not None:
        return answer
    command, *rest = arguments
    if command == "prepare":
        from train.preparing import main as prepare

        return prepare(rest)
    if command in _STORED:
        if {"-h", "--help"} & set(rest):
            return _dispatch(["--help"])
        function, arity = _STORED[command]
        if len(rest) != arity:
            raise RunError(f"{command} takes {arity} folder{'s' * (arity > 1)}; python -m train --help shows how")
        folders = [local(folder) for folder in rest]
        with explained(folders[-1]):
            return function(*folders)
    return _experiment(command, rest)


def _experiment(name: str, arguments: list[str]) -> int:
    experiment = named("experiment", name, EXPERIMENTS)
    given = vars(_parser(experiment).parse_args(arguments))
    preset, out = given.pop("preset"), local(given.pop("out"))
    data_dir, keep = given.pop("data_dir"), given.pop("keep_checkpoints")
    _join(given.pop("coordinator"), given.pop("processes"), given.pop("process"))
    options = {option: value for option, value in given.items() if value is not None}
    command = command_line(name, said(out), {"preset": preset, **options})
    console = Console(stderr=True, highlight=False)
    with _Bar(console) as bar:
        records = run(
            name, out, preset=preset, data_dir=data_dir, keep_checkpoints=keep, progress=bar,
            warn=lambda text: console.print(text, markup=False, soft_wrap=True), command=command, **options,
        )  # fmt: skip
    if not is_first():
        return 0
    with explained(out):
        pictures = write_figures(experiment.figures, records, out / "figures")
    _print_summary(cells_of(records))
    print(f"records: {out / 'records.jsonl'}\nsummary: {out / 'summary.csv'}")
    for picture in pictures:
        print(f"figure: {picture}")
    return 0


def _join(coordinator: str | None, processes: int | None, process: int | None) -> None:
    given = [value is not None for value in (coordinator, processes, process)]
    if any(given) and not all(given):
        raise RunError("--coordinator HOST:PORT, --processes N and --process I go together")
    if coordinator is not None and processes is not None and process is not None:
        join(coordinator, processes, process)


def _parser(experiment: Experiment) -> argparse.ArgumentParser:
    """The options of an experiment, from the fields of its configuration."""
    width = max(map(len, experiment.presets))
    presets = [f"  {preset:{width}}  {shlex.join(words_of(given))}" for preset, given in experiment.presets.items()]
    parser = Parser(
        f"python -m train {experiment.name}",
        description=f"{experiment.summary}.",
        epilog="\n".join(["presets:", *presets]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    folder = f"runs/training/{experiment.name}"  # a study may have the same name
    parser.add_argument("--preset", default=_PRESET, help=f"{', '.join(experiment.presets)} (default: {_PRESET})")
    parser.add_argument("--out", default=folder, help=f"folder (default: {folder})")
    parser.add_argument("--data-dir", help="folder of the data set's files (default: where MIXJAX_DATA says)")
    parser.add_argument("--keep-checkpoints", action="store_true", help="keep the parameters of the final nets")
    several = parser.add_argument_group("several processes, which share the folder of the run")
    several.add_argument("--coordinator", metavar="HOST:PORT", help="where the first process can be reached")
    several.add_argument("--processes", type=whole, metavar="N", help="how many there are")
    several.add_argument("--process", type=whole, metavar="I", help="which of them this is, from 0")
    kinds = typing.get_type_hints(experiment.config)
    for field in dataclasses.fields(experiment.config):
        default = experiment.presets[_PRESET].get(field.name, field.default)
        usual = ",".join(map(str, default)) if isinstance(default, tuple) else default
        text = f"{field.metadata['help']} (default: {usual})"
        parser.add_argument(f"--{field.name.replace('_', '-')}", help=text, **_kind(kinds[field.name]))
    return parser


def _kind(annotation: Any) -> dict[str, Any]:
    """How argparse reads a field."""
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
        tested = cell.evaluation + (f" {cell.severity:g}" if cell.severity else "")
        means = [estimate(cell.figures[name]).mean for name in ("accuracy", "ece", "mce", "signed_gap", "nll")]
        marked = f"{means[0]:.4f}{'!' if cell.at_chance else ''}"
        table.add_row(
            cell.net, ARM_NAMES.get(cell.arm, cell.arm), tested, marked, *(f"{mean:.4f}" for mean in means[1:])
        )
    console = Console(highlight=False)
    console.width = max(console.width, _TABLE_WIDTH)
    console.print(table)
    if any(cell.at_chance for cell in cells):
        floor = accuracy_floor(cells[0].first["classes"])
        console.print(f"! a net with an accuracy below {floor:.2g}: that it is calibrated says nothing", markup=False)


def _figures(folder: Path) -> int:
    experiment = experiment_of(folder)
    for picture in write_figures(experiment.figures, load_records(folder), folder / "figures"):
        print(picture)
    return 0


def _tensorboard(folder: Path) -> int:
    from train.tensorboard import write_events

    print(write_events(folder))
    return 0


def _publish(run_folder: Path, folder: Path) -> int:
    from train.publishing import publish

    print(publish(run_folder, folder))
    return 0


_STORED: dict[str, tuple[Callable[..., int], int]] = {
    "figures": (_figures, 1),
    "publish": (_publish, 2),
    "tensorboard": (_tensorboard, 1),
}


class _Bar:
    """A progress bar over steps, as a context that gives the function to call."""

    def __init__(self, console: Console):
        name = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
        numbers = [
            column(table_column=Column(no_wrap=True, min_width=width))
            for column, width in ((TaskProgressColumn, 4), (TimeElapsedColumn, 7), (TimeRemainingColumn, 7))
        ]
        self.bar = Progress(name, BarColumn(_BAR_WIDTH), *numbers, TextColumn("left"), console=console, expand=True)

    def __enter__(self) -> Any:
        return self._advance

    def _advance(self, done: int, total: int, text: str) -> None:
        if not self.bar.tasks:
            self.bar.start()
            self.bar.add_task(text, total=total, completed=done)
            return
        self.bar.update(self.bar.tasks[0].id, completed=done, description=text)

    def __exit__(self, *_: object) -> None:
        if self.bar.tasks:
            self.bar.stop()
