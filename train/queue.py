"""The runs of the paper's figures, one after another, as far as a budget of time allows: `python -m train paper`.

Each run has a folder of its own and is what its command alone would be; the same command goes on with what is left.
The most telling come first: the paper's own panels where their data are at hand, and Fashion-MNIST at full size.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mixjax.commands import Parser
from mixjax.commands.durations import duration, seconds_of
from mixjax.commands.progress import tell
from mixjax.datasets import MissingDataError
from mixjax.runs import RunError, local

from .experiments import EXPERIMENTS
from .figures.paper import PANELS
from .running import jobs_of, training_set
from .runs.forecast import forecast
from .runs.options import configured, option_words

__all__ = ["QUEUE", "Entry", "main", "work_through"]


@dataclass(frozen=True)
class Entry:
    """A run: an experiment, its preset, and options in place of the preset's."""

    experiment: str
    preset: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return f"{self.experiment}-{self.preset}"

    def words(self, out: Path, data_dir: str | None) -> list[str]:
        """Return the arguments that the experiment's own command takes."""
        place = ["--out", str(out / self.folder), *(["--data-dir", data_dir] if data_dir else [])]
        return ["--preset", self.preset, *option_words(self.options), *place]

    def seconds(self, out: Path, data_dir: str | None) -> float:
        """Forecast what is left of the run.

        Raises:
          RunError: if it cannot be trained; MissingDataError if its data are not at hand.
        """
        config = configured(self.experiment, self.preset, **self.options)
        dataset = training_set(config, data_dir)
        jobs = jobs_of(EXPERIMENTS[self.experiment], config, dataset)
        shards = out / self.folder / "shards"
        return forecast([job for job in jobs if not (shards / f"{job.name}.npz").exists()], dataset)


_WHOLE = {"train_rows": 0, "seeds": 5}
QUEUE = (
    Entry("width", "paper"),
    Entry("depth", "paper"),
    Entry("width", "fashion", _WHOLE),
    Entry("depth", "fashion", _WHOLE),
    Entry("pseudo_label", "fashion", _WHOLE | {"width_multiplier": 0.25}),
    Entry("pseudo_label", "paper"),
    *(Entry(*key) for key in PANELS if key[1] != "paper"),
)


def main(arguments: Sequence[str], prog: str, run: Callable[[str, list[str]], int]) -> int:
    """Run what fits into the budget, or with `--dry-run` list it; return the largest exit status of the runs."""
    options = _parser(prog).parse_args(list(arguments))
    return work_through(QUEUE, options.budget, local(options.out), options.data_dir, None if options.dry_run else run)


def work_through(
    entries: Sequence[Entry],
    budget: float,
    out: Path,
    data_dir: str | None = None,
    run: Callable[[str, list[str]], int] | None = None,
) -> int:
    """Run the entries that fit into a budget.

    Args:
      entries: the most telling first.
      budget: seconds, of forecasts and runs together; it decides what begins, and stops nothing.
      out: the folder of the folders of the runs.
      data_dir: of all data sets; None is the usual places.
      run: called with an experiment and the arguments of its command; None runs nothing.

    Returns:
      The largest exit status of the runs, and 2 for one that was refused.
    """
    statuses = [0]
    for entry, verdict, seconds in _decisions(entries, budget, out, data_dir, dry=run is None):
        about = "" if seconds is None else f" (about {duration(seconds)})"
        tell(f"{verdict}{about}: {entry.experiment} {' '.join(entry.words(out, data_dir))}")
        if verdict == "run" and run is not None:
            try:
                statuses.append(run(entry.experiment, entry.words(out, data_dir)))
            except RunError as error:
                tell(f"error: {error}")
                statuses.append(2)
    return max(statuses)


def _decisions(
    entries: Sequence[Entry], budget: float, out: Path, data_dir: str | None, *, dry: bool
) -> Iterator[tuple[Entry, str, float | None]]:
    """Yield each entry when its turn comes, with "run" or why it is not run, and the seconds it would take, if known.

    What is run in between takes time from the budget.
    """
    started, planned = time.monotonic(), 0.0
    for entry in entries:
        if (out / entry.folder / "summary.csv").exists():
            yield entry, "finished", None
            continue
        tell(f"measuring {entry.folder}")
        try:
            seconds = entry.seconds(out, data_dir)
        except MissingDataError:
            yield entry, "no data", None
            continue
        except RunError as error:
            yield entry, f"cannot be run, {error}", None
            continue
        fits = seconds + planned <= budget - (0.0 if dry else time.monotonic() - started)
        planned += seconds if dry and fits else 0.0
        yield entry, "run" if fits else "does not fit", seconds


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(
        f"{prog} paper",
        description="Run the paper's panels, and Fashion-MNIST at full size, as far as a budget of time allows.\n"
        "Runs whose data are not at hand are left out. The same command goes on with what is left.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--budget", type=seconds_of, required=True, help="a time, as in 90min or 8h")
    parser.add_argument("--out", default="runs/training/paper", help="folder of the runs (default: %(default)s)")
    parser.add_argument("--data-dir", help="folder of the data sets' files (default: that of MIXJAX_DATA)")
    parser.add_argument(
        "--dry-run", action="store_true", help="run nothing; list the runs and how long they would take"
    )
    return parser
