"""The command line: studies with their axes as options, and what can be done with a stored run."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Callable, Sequence

from mixjax._commands import Parser, answered, exit_status, named, said, whole
from mixjax._figures import write_figures
from mixjax.runs import Location, RunError, explained, located, modified, write_atomically
from sims.cluster import cluster_of
from sims.division import work_of
from sims.execution import carry_out
from sims.loading import lack_explained
from sims.merging import merge
from sims.publishing import publish
from sims.running import configured, load
from sims.stored import described, status
from sims.studies import STUDIES
from sims.study import PiecewiseStudy, Study
from sims.terminal import ProgressBar, print_markdown, tell
from sims.verification import report
from sims.work import Manner

USAGE = """usage: python -m sims STUDY [--preset quick|default|full] [--out DIR] [axes]
       python -m sims figures RUN      draw the figures of a stored run again
       python -m sims verify RUN       compare a stored run with the exact expectations
       python -m sims publish RUN DIR  write its figures, a table and their origin into a folder
       python -m sims status RUN       how much of a run is done, and how long the rest takes
       python -m sims merge RUN... --out DIR    one run from parts that several machines have made

RUN and DIR are folders, or URLs such as s3://bucket/run.

studies:
{known}

python -m sims STUDY --help lists the axes of a study."""


def main(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit status, as `mixjax._commands.exit_status` does."""
    interrupted = "Interrupted. Finished work is stored; the same command goes on from it."
    return exit_status(lambda: _dispatch(list(arguments)), interrupted)


def _dispatch(arguments: list[str]) -> int:
    if (answer := answered(arguments, USAGE, STUDIES)) is not None:
        return answer
    command, *rest = arguments
    if command == "merge":
        return _merge(rest)
    if command in _STORED and {"-h", "--help"} & set(rest):
        return _dispatch(["--help"])
    if command in _STORED:
        function, arity = _STORED[command]
        if len(rest) != arity:
            example = " ".join(["runs/phase_diagram", "results/phase_diagram"][:arity])
            raise RunError(
                f"{command} takes {arity} folder{'s' * (arity > 1)}, as in: python -m sims {command} {example}"
            )
        with lack_explained(rest[0]):
            return function(*map(located, rest))
    return _study(command, rest)


def _study(name: str, arguments: list[str]) -> int:
    study = named("study", name, STUDIES)
    given = vars(_parser(study).parse_args(arguments))
    preset, out = given.pop("preset"), located(given.pop("out"))
    part, allow_mixed = given.pop("part"), given.pop("allow_mixed")
    workers, scheduler = given.pop("workers"), given.pop("scheduler")
    axes = {axis: value for axis, value in given.items() if value is not None}
    options = [part for axis, value in axes.items() for part in (f"--{axis.replace('_', '-')}", str(value))]
    command = shlex.join(["python", "-m", "sims", name, "--preset", preset, "--out", said(out), *options])
    work = work_of(study, configured(name, preset, **axes))
    with cluster_of(workers, scheduler) as cluster, ProgressBar(name) as shown:
        manner = Manner(
            progress=shown,
            announce=tell,
            warn=tell,
            allow_mixed=allow_mixed,
            cluster=cluster,
            command=command,
            part=part,
        )
        if not carry_out(work, out, manner):
            print(f"part {part[0]} of {part[1]} is done: {out}")
            return 0
    return _conclude(name, out)


def _conclude(name: str, out: Location) -> int:
    """Draw the figures of a finished run, and say where everything is."""
    table = load(out)
    study = STUDIES[name]
    with explained(out):
        pictures = _drawn(study, out) or write_figures(study.figures, table, out / "figures")
        if isinstance(study, PiecewiseStudy):
            for file, text in study.files(table).items():
                write_atomically(out / file, text.encode())
            print_markdown(study.report(table))
    for picture in pictures[1:]:
        print(f"figure: {picture}")
    print(f"table: {out / 'dataset.nc'}")
    print(
        f"figure: {pictures[0]}" if pictures else "no figure: a map needs two or more values of p/n and of theta_norm"
    )
    return 0


def _drawn(study: Study, out: Location) -> list[Location]:
    """The pictures of an earlier call, if all are there and not older than the table."""
    pictures = [out / "figures" / f"{figure.name}.png" for figure in study.figures]
    made = modified(out / "dataset.nc")
    return pictures if all(path.exists() and modified(path) >= made for path in pictures) else []


def _parser(study: Study) -> argparse.ArgumentParser:
    """The options of a study, from the fields of its configuration."""
    axes = "Axes are start:stop:count, start:stop:count:log, or values separated by commas."
    parser = Parser(f"python -m sims {study.name}", description=f"{study.summary}. {axes}", allow_abbrev=False)
    parser.add_argument("--preset", default="default", help=f"{', '.join(study.presets)} (default: default)")
    parser.add_argument("--out", default=f"runs/{study.name}", help=f"folder or URL (default: runs/{study.name})")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="K/N",
                        help="compute every N-th unit from the K-th; merge puts the parts together")  # fmt: skip
    parser.add_argument("--allow-mixed", action="store_true", help="go on though another version or device began")
    parser.add_argument("--workers", type=whole, metavar="N", help="compute in N processes of this machine")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="compute on the Dask cluster of this scheduler")
    for field in dataclasses.fields(study.config):
        kind = whole if isinstance(field.default, int) else str
        usual = "" if field.default is None else f" (default: {field.default})"
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, help=field.metadata["help"] + usual)
    return parser


def _part(text: str) -> tuple[int, int]:
    """K/N, as (K, N)."""
    try:
        part, number = map(int, text.split("/"))
    except ValueError:
        part, number = 0, 0
    if not 1 <= part <= number:
        raise argparse.ArgumentTypeError(f"must be K/N with K from 1 to N, as in 2/8, got {text!r}")
    return part, number


def _status(folder: Location) -> int:
    print(described(status(folder), folder))
    return 0


def _merge(arguments: list[str]) -> int:
    parser = Parser("python -m sims merge", description="One run from parts that several machines have made.")
    parser.add_argument("runs", nargs="+", type=located, help="folders of the parts, which stay as they are")
    parser.add_argument("--out", required=True, type=located, help="folder of the whole run")
    parser.add_argument("--allow-mixed", action="store_true", help="though versions or devices differ")
    given = parser.parse_args(arguments)
    merged = merge(given.runs, given.out, warn=tell, allow_mixed=given.allow_mixed)
    print(described(merged, given.out))
    return _conclude(merged.study, given.out) if merged.state == "finished" else 0


def _figures(folder: Location) -> int:
    table = load(folder)
    with explained(folder):
        pictures = write_figures(STUDIES[table.attrs["study"]].figures, table, folder / "figures")
    print(*pictures, sep="\n")
    return 0


def _verify(folder: Location) -> int:
    text, agrees = report(load(folder))
    with explained(folder):
        write_atomically(folder / "verification.txt", (text + "\n").encode())
    print(text)
    return 0 if agrees else 1


def _publish(run_folder: Location, folder: Location) -> int:
    with explained(folder):
        readme = publish(run_folder, folder)
    print(readme)
    return 0


_STORED: dict[str, tuple[Callable[..., int], int]] = {  # commands on stored runs, and how many folders they take
    "figures": (_figures, 1),
    "verify": (_verify, 1),
    "publish": (_publish, 2),
    "status": (_status, 1),
}
