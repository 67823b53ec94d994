"""The command line: studies with their axes as options, figures of a stored run, and the check against exact expectations."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from mixjax.runs import RunError
from sims.figures import write_figures
from sims.running import configured, load, run
from sims.studies import STUDIES
from sims.verification import report

USAGE = """usage: python -m sims STUDY [--preset quick|default|full] [--out DIR] [axes]
       python -m sims figures RUN      draw the figures of a stored run again
       python -m sims verify RUN       compare a stored run with the exact expectations

studies:
{studies}

python -m sims STUDY --help lists the axes of a study."""


def main(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit status: 0, 2 for an error the user can put right, 130 when interrupted."""
    console = Console(stderr=True, highlight=False)
    try:
        return _dispatch(list(arguments))
    except RunError as error:
        console.print(f"error: {error}", markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        console.print("\nInterrupted. Finished work is stored; the same command goes on from it.")
        return 130


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, STUDIES))
        print(USAGE.format(studies="\n".join(f"  {name:{width}}  {study.summary}" for name, study in STUDIES.items())))
        return 0 if arguments else 2
    command, *rest = arguments
    if command in ("figures", "verify"):
        if len(rest) != 1:
            raise RunError(f"{command} takes the folder of one run, as in: python -m sims {command} runs/phase_diagram")
        return {"figures": _figures, "verify": _verify}[command](Path(rest[0]))
    return _study(command, rest)


def _study(name: str, arguments: list[str]) -> int:
    preset, arguments = _option(arguments, "--preset", "default")
    out, arguments = _option(arguments, "--out", f"runs/{name}")
    config = configured(name, preset)
    if _gives(arguments, "--p") and not _gives(arguments, "--ratio") and hasattr(config, "ratio"):
        config = dataclasses.replace(config, ratio=None)  # p replaces the preset's p/n
    config = tyro.cli(
        type(config), args=arguments, default=config, prog=f"python -m sims {name} [--preset NAME] [--out DIR]", description=STUDIES[name].summary,
        config=(tyro.conf.AvoidSubcommands,),
    )  # fmt: skip
    axes = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    command = shlex.join(["python", "-m", "sims", *sys.argv[1:]])
    with _progress(name) as shown:
        table = run(name, out, preset=preset, progress=shown, command=command, **axes)
    pictures = write_figures(STUDIES[name], table, Path(out) / "figures")
    for picture in pictures[1:]:
        print(picture)
    print(f"table: {Path(out) / 'dataset.nc'}")
    print(f"figure: {pictures[0]}" if pictures else "no figure: a map needs two or more values of p/n and of theta_norm")
    return 0


def _figures(folder: Path) -> int:
    table = load(folder)
    for picture in write_figures(STUDIES[table.attrs["study"]], table, folder / "figures"):
        print(picture)
    return 0


def _verify(folder: Path) -> int:
    text, agrees = report(load(folder))
    print(text)
    return 0 if agrees else 1


def _option(arguments: list[str], name: str, default: str) -> tuple[str, list[str]]:
    """The value of --name VALUE or --name=VALUE, and the other arguments."""
    for index, argument in enumerate(arguments):
        if argument == name:
            if index + 1 == len(arguments):
                raise RunError(f"{name} needs a value")
            return arguments[index + 1], arguments[:index] + arguments[index + 2 :]
        if argument.startswith(f"{name}="):
            return argument.partition("=")[2], arguments[:index] + arguments[index + 1 :]
    return default, arguments


def _gives(arguments: list[str], name: str) -> bool:
    return any(argument == name or argument.startswith(f"{name}=") for argument in arguments)


class _progress:
    """A progress bar over units of work, as a context that gives the function to call."""

    def __init__(self, title: str):
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("units"), TimeElapsedColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.title = title

    def __enter__(self) -> Any:
        self.bar.start()
        task = self.bar.add_task(f"{self.title} (compiling)", total=None)

        def advance(done: int, total: int) -> None:
            description = self.title if done else f"{self.title} (compiling)"
            self.bar.update(task, completed=done, total=total, description=description)

        return advance

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
