"""The command line: studies with their axes as options, and commands on stored runs."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from mixjax.commands import CommandLine, FolderCommand, Parser, display_path, exit_status, named, whole
from mixjax.commands.progress import ProgressBar, Show, print_markdown, tell
from mixjax.plots import write_figures
from mixjax.runs import Location, RunError, explained, located, modified, write_atomically

from .cluster.cluster import cluster_of
from .comparing import TOLERANCE
from .configuration import work_of
from .engine.execution import ExecutionOptions, execute
from .loading import explain_missing, load, stored_digest
from .merging import merge
from .published import NotOfStudiesError, read_result
from .publishing import publish
from .reports.few_cells import few_cells
from .reproducing import reproduce_result
from .status import describe, status
from .studies import STUDIES
from .study import PiecewiseStudy, Study
from .verification import report, seal_of

USAGE = """usage: {prog} STUDY [--preset quick|default|full] [--out DIR] [axes]
       {prog} figures RUN [--format png,pdf,svg]    draw the figures of a stored run again
       {prog} verify RUN       compare a stored run with the exact expectations
       {prog} publish RUN DIR  write its figures, a table and their origin into a folder
       {prog} reproduce DIR... [--out RUNS]    run published results again, and compare the tables
       {prog} status RUN       show how much of a run is done, and how long the rest takes
       {prog} merge RUN... --out DIR    merge the parts that several machines computed

RUN and DIR are folders, or URLs such as s3://bucket/run.

studies:
{known}

{prog} STUDY --help lists the axes of a study."""


def main(arguments: Sequence[str], prog: str = "python -m sims") -> int:
    """Run a command; return the exit status, as `mixjax.commands.exit_status` does."""
    line = CommandLine(
        prog,
        USAGE,
        STUDIES,
        lambda name, rest: _study(prog, name, rest),
        {name: FolderCommand(_with_table(function), example) for name, (function, example) in _FOLDER_COMMANDS.items()},
        {"merge": lambda rest: _merge(prog, rest), "reproduce": lambda rest: _reproduce(prog, rest)},
    )
    interrupted = "Interrupted. Finished work is stored; the same command resumes from it."
    return exit_status(lambda: line(arguments), interrupted)


def _with_table(function: Callable[..., int]) -> Callable[..., int]:
    """Wrap a command on folders: find each folder, and explain a table of the first that cannot be read."""

    def on_folders(*folders: str, **options: Any) -> int:
        with explain_missing(folders[0]):
            return function(*map(located, folders), **options)

    return on_folders


def _study(prog: str, name: str, arguments: list[str]) -> int:
    given = vars(_parser(prog, named("study", name, STUDIES)).parse_args(arguments))
    preset, out = given.pop("preset"), located(given.pop("out"))
    part, allow_mixed = given.pop("part"), given.pop("allow_mixed")
    workers, scheduler = given.pop("workers"), given.pop("scheduler")
    axes = {axis: value for axis, value in given.items() if value is not None}
    words = [word for axis, value in axes.items() for word in (f"--{axis.replace('_', '-')}", str(value))]
    command = shlex.join([*prog.split(), name, "--preset", preset, "--out", display_path(out), *words])
    work = work_of(name, preset, **axes)
    with cluster_of(workers, scheduler) as cluster, ProgressBar() as show:
        options = _options(name, show, allow_mixed=allow_mixed, cluster=cluster, command=command, part=part)
        if not execute(work, out, options):
            print(f"part {part[0]} of {part[1]} is done: {out}")
            return 0
    return _conclude(name, out)


def _options(name: str, show: Show, **options: Any) -> ExecutionOptions:
    """Return the options of a run whose progress a bar shows, and which tells what it does."""

    def progress(done: int, total: int) -> None:
        stage = " (compiling)" if done == 0 < total else " (making the table)" if done == total else ""
        show(done, total, f"{name}{stage}, {done:,}/{total:,} units")

    return ExecutionOptions(progress=progress, announce=tell, warn=tell, **options)


def _conclude(name: str, out: Location) -> int:
    """Draw the figures of a finished run, and print where everything is."""
    table = load(out)
    study = STUDIES[name]
    with explained(out):
        pictures = _drawn(study, out) or write_figures(study.figures, table, out / "figures")
        if isinstance(study, PiecewiseStudy):
            for file, text in study.files(table).items():
                write_atomically(out / file, text.encode())
            print_markdown(study.report(table))
        elif cells := few_cells(table):
            print_markdown(cells)
    for picture in pictures[1:]:
        print(f"figure: {picture}")
    print(f"table: {out / 'dataset.nc'}")
    if pictures:
        print(f"figure: {pictures[0]}")
    elif study.figures:
        print("no figure: a map needs at least two values of p/n and of theta_norm")
    return 0


def _drawn(study: Study, out: Location) -> list[Location]:
    """Return the pictures of an earlier call, if all are there and not older than the table."""
    pictures = [out / "figures" / f"{figure.name}.png" for figure in study.figures]
    made = modified(out / "dataset.nc")
    return pictures if all(path.exists() and modified(path) >= made for path in pictures) else []


def _parser(prog: str, study: Study) -> argparse.ArgumentParser:
    """Make the parser of a study, from the fields of its configuration."""
    axes = "Axes are start:stop:count, start:stop:count:log, or values separated by commas."
    parser = Parser(f"{prog} {study.name}", description=f"{study.summary}. {axes}")
    parser.add_argument("--preset", default="default", help=f"{', '.join(study.presets)} (default: default)")
    parser.add_argument("--out", default=f"runs/{study.name}", help=f"folder or URL (default: runs/{study.name})")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N",
                        help="compute every N-th unit from the K-th; merge joins the parts")  # fmt: skip
    parser.add_argument("--allow-mixed", action="store_true", help="resume a run that another version or device began")
    parser.add_argument("--workers", type=whole, metavar="N", help="compute in N processes of this machine")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="compute on the Dask cluster of this scheduler")
    for field in dataclasses.fields(study.config):
        kind = whole if isinstance(field.default, int) else float if isinstance(field.default, float) else str
        usual = "" if field.default is None else f" (default: {field.default})"
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, help=field.metadata.get("help", "") + usual)
    return parser


def _part(text: str) -> tuple[int, int]:
    """Parse K/N."""
    try:
        part, number = map(int, text.split("/"))
    except ValueError:
        part, number = 0, 0
    if not 1 <= part <= number:
        raise argparse.ArgumentTypeError(f"must be K/N with K from 1 to N, as in 2/8, got {text!r}")
    return part, number


def _status(folder: Location) -> int:
    print(describe(status(folder), folder))
    return 0


def _merge(prog: str, arguments: list[str]) -> int:
    parser = Parser(f"{prog} merge", description="Merge the parts that several machines computed into one run.")
    parser.add_argument("runs", nargs="+", type=located, help="folders of the parts, which are left unchanged")
    parser.add_argument("--out", required=True, type=located, help="folder of the whole run")
    parser.add_argument("--allow-mixed", action="store_true", help="merge even if versions or devices differ")
    given = parser.parse_args(arguments)
    merged = merge(given.runs, given.out, warn=tell, allow_mixed=given.allow_mixed)
    print(describe(merged, given.out))
    return _conclude(merged.study, given.out) if merged.state in ("finished", "damaged") else 0


def _reproduce(prog: str, arguments: list[str]) -> int:
    """Reproduce each folder; return 0 if all tables agree, 1 if one does not, 2 if one could not be made."""
    parser = Parser(f"{prog} reproduce", description="Run published results again, and compare the tables.")
    parser.add_argument("folders", nargs="+", type=located, metavar="DIR", help="published results")
    parser.add_argument(
        "--out", default="runs/reproduced", type=located, help="where to run them (default: %(default)s)"
    )
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="relative difference that is allowed"
                        " (default: %(default)g)")  # fmt: skip
    parser.add_argument("--allow-mixed", action="store_true", help="resume a run that another version or device began")
    given = parser.parse_args(arguments)
    if not 0 <= given.tolerance < 1:
        raise RunError(f"--tolerance must be from 0 to below 1, got {given.tolerance:g}")
    if missing := [folder for folder in given.folders if not folder.exists()]:
        raise RunError(f"there is no {missing[0]}")
    found = [_reproduced(folder, given, alone=len(given.folders) == 1) for folder in given.folders]
    if all(status is None for status in found):
        raise RunError("no study of sims made any of these folders")
    return max(status for status in found if status is not None)


def _reproduced(folder: Location, given: argparse.Namespace, alone: bool) -> int | None:
    """Reproduce a folder, say what was found, and return the status; None, with the reason, for other results.

    An error that the user can mend is raised if the folder is `alone`, and else said, so that the others follow.
    """
    try:
        published = read_result(folder)
        took = "" if published.seconds is None else f", which took {published.seconds:g} s when it was made"
        tell(f"{folder}: {published.study}{took}")
        with ProgressBar() as show:
            options = _options(published.study, show, allow_mixed=given.allow_mixed)
            found = reproduce_result(published, given.out / published.name, given.tolerance, options)
    except RunError as error:
        if alone:
            raise
        skipped = isinstance(error, NotOfStudiesError)
        print(f"{folder}: {'skipped' if skipped else 'not made'}: {error}", flush=True)
        return None if skipped else 2
    print(*(f"{folder}: {line}" for line in str(found).splitlines()), sep="\n", flush=True)
    return 0 if found.agrees else 1


def _figures(folder: Location, formats: Sequence[str] = ("png",)) -> int:
    table = load(folder)
    with explained(folder):
        pictures = write_figures(STUDIES[table.attrs["study"]].figures, table, folder / "figures", formats=formats)
    print(*pictures, sep="\n")
    return 0


def _verify(folder: Location) -> int:
    text, agrees = report(load(folder))
    with explained(folder):
        write_atomically(folder / "verification.txt", f"{text}\n{seal_of(stored_digest(folder))}".encode())
    print(text)
    return 0 if agrees else 1


def _publish(run_folder: Location, folder: Location) -> int:
    with explained(folder):
        readme = publish(run_folder, folder)
    print(readme)
    return 0


_RUN, _PUBLISHED = "runs/phase_diagram", "results/phase_diagram"
_FOLDER_COMMANDS: dict[str, tuple[Callable[..., int], tuple[str, ...]]] = {
    "figures": (_figures, (_RUN,)),
    "verify": (_verify, (_RUN,)),
    "publish": (_publish, (_RUN, _PUBLISHED)),
    "status": (_status, (_RUN,)),
}
