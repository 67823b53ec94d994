"""Run an experiment to its end, or take up one that was interrupted; read what a run left.

DIR/manifest.json        options, data set, jobs; versions and device
DIR/records.jsonl        a line for each net and epoch
DIR/shards/JOB.npz       a job that is done: its records, the nets' logits of the test set
DIR/checkpoints/JOB/     of the job that is being trained
DIR/checkpoints/shared/  first phases that several jobs share
DIR/predictions/*.npz    logits and labels of each net, for `mixjax report FILE --logits`
DIR/summary.csv, figures/, provenance.json      made at the end
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from mixjax.datasets import Dataset, load
from mixjax.runs import RunDirectory, RunError, Tell, local, provenance, read_manifest
from mixjax.runs.untrusted import refuse_links

from .config import Config
from .data.pipeline import steps_per_epoch
from .data.splits import hold_out
from .experiments import EXPERIMENTS
from .experiments.experiment import Experiment, Records
from .loop.checkpoints import SECONDS
from .loop.job import Job
from .loop.members import first_part_size
from .loop.metrics import NUM_BINS
from .loop.placement import is_first, together
from .nets.shapes import check_net
from .runs.options import configured, how_to_go_on
from .runs.records import read_records
from .runs.room import check_records, check_room
from .runs.work import Keeping, Progress, Work

__all__ = ["configured", "experiment_of", "load_records", "run"]

_ENVIRONMENT = ("mixjax", "commit", "jax", "jaxlib", "platform", "device", "devices")
_SETTINGS = {"num_bins": NUM_BINS, "closed": "left", "unit": "fraction", "temperature": 1, "epoch": "last"}


def run(
    experiment: str,
    out: str | PathLike[str],
    *,
    preset: str = "digits",
    data_dir: str | PathLike[str] | None = None,
    keep_checkpoints: bool = False,
    checkpoint_seconds: float = SECONDS,
    progress: Progress | None = None,
    warn: Callable[[str], None] = print,
    command: str = "",
    **options: Any,
) -> Records:
    """Run an experiment and return its records.

    Args:
      experiment: a name in `train.experiments.EXPERIMENTS`, as "width".
      out: folder of the run, on a disk; the same call takes up an interrupted run, and a finished one is read.
      preset: "quick", "digits", "fashion" or "paper".
      data_dir: where the data set is, as for `mixjax.datasets.load`.
      keep_checkpoints: whether the last checkpoint of each job stays, with its parameters, when the job is done.
      checkpoint_seconds: an epoch is not kept if another one was kept less than so long ago; 0 keeps every epoch.
      progress: called as training goes on.
      warn: told what was found damaged.
      command: what to record as the origin of the run.
      **options: of the experiment, in place of those of the preset.

    Raises:
      RunError: for wrong options, data that are missing, a folder that cannot be used, a loss that is not finite.
    """
    with together():
        config, out = configured(experiment, preset, **options), local(out)
        chosen = EXPERIMENTS[experiment]
        dataset = training_set(config, data_dir)
        jobs = _jobs(chosen, config, dataset)
    made_with: dict[str, Any] = {**provenance()}
    environment = {name: str(made_with[name]) for name in _ENVIRONMENT}
    spec = _spec(chosen, config, dataset, jobs)
    with _opened(out, spec, environment, warn) as directory:
        if not directory.finished:
            started = time.perf_counter()
            keeping = Keeping(checkpoint_seconds, keep_checkpoints, warn)
            work = Work(chosen, dataset, directory, jobs, keeping, progress)
            computed = work.finish_jobs()
            made_with |= {
                "command": command or f"train.run({experiment!r}, ...)",
                "seconds": round(time.perf_counter() - started, 2),
                "jobs": f"{computed} of {len(jobs)}",
            }
            with together():
                if is_first():
                    work.conclude(made_with)
        return read_records(out / "records.jsonl")


def load_records(path: str | PathLike[str]) -> Records:
    """The records of a finished run.

    Raises:
      RunError: if there is none, or it is not finished.
    """
    path = local(path)
    refuse_links(path)
    if not (path / "summary.csv").exists():
        raise RunError(f"the folder {path} holds no finished run; {how_to_go_on(path)}")
    return read_records(path / "records.jsonl")


def experiment_of(path: str | PathLike[str]) -> Experiment:
    """The experiment of a run.

    Raises:
      RunError: if the folder holds no run, or one of something else.
    """
    name = read_manifest(path)["spec"].get("experiment")
    if not isinstance(name, str) or name not in EXPERIMENTS:
        raise RunError(f"the run in {path} is not one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def training_set(config: Config, data_dir: str | PathLike[str] | None) -> Dataset:
    """The data set of a configuration, with as many training rows as it asks for.

    Raises:
      RunError: if it is not there, has one class, or has too few rows.
    """
    try:
        dataset = load(config.dataset, data_dir=data_dir)
    except ValueError as error:
        raise RunError(str(error)) from None
    if dataset.num_classes < 2:
        raise RunError(f"{dataset.name} has one class; there is nothing to learn, or to calibrate, with less than two")
    if config.train_rows == 0 or config.train_rows == len(dataset.train_labels):
        return dataset
    if not 0 < config.train_rows < len(dataset.train_labels):
        raise RunError(f"train_rows must be in [1, {len(dataset.train_labels)}] or 0 for all, got {config.train_rows}")
    rows, _ = hold_out(dataset.train_labels, config.train_rows, seed=0)
    return dataclasses.replace(
        dataset, train_inputs=dataset.train_inputs[rows], train_labels=dataset.train_labels[rows]
    )


def _jobs(experiment: Experiment, config: Config, dataset: Dataset) -> tuple[Job, ...]:
    """All jobs, checked before anything is trained."""
    try:
        jobs = experiment.jobs(config)
        check_records(jobs)
        for job in jobs:
            steps_per_epoch(first_part_size(job, dataset.train_labels), job.recipe.batch_size)
            check_net(job.recipe.net, dataset.train_inputs.shape[1:], dataset.num_classes, job.recipe.batch_size)
        jobs = tuple(part for job in jobs for part in job.apart())
        check_room(jobs, dataset)
    except ValueError as error:
        raise RunError(str(error)) from None
    return jobs


def _spec(experiment: Experiment, config: Config, dataset: Dataset, jobs: tuple[Job, ...]) -> dict[str, Any]:
    """All that the numbers depend on, as JSON has it; of a file its name, since its content is in the SHA-256."""
    spec = {
        "experiment": experiment.name,
        "options": dataclasses.asdict(config) | {"dataset": Path(config.dataset).name},
        "dataset": {
            "name": dataset.name,
            "source": dataset.source,
            "sha256": dataset.fingerprint,
            "rows": [len(dataset.train_labels), len(dataset.test_labels)],
            "classes": dataset.num_classes,
        },
        "metrics": _SETTINGS,
        "jobs": [dataclasses.asdict(job) | {"kind": type(job.recipe.net).__name__} for job in jobs],
    }
    return json.loads(json.dumps(spec))


def _opened(out: Path, spec: dict[str, Any], environment: dict[str, str], warn: Tell) -> RunDirectory:
    """The run's folder, opened by the first process before the others."""
    for turn in (True, False):
        with together():
            if is_first() == turn:
                options: dict[str, Any] = {"layout": {}, "product": "summary.csv", "lock": is_first()}
                options["warn"] = warn if is_first() else lambda _: None
                directory = RunDirectory.open(out, spec=spec, environment=environment, **options)
    return directory
