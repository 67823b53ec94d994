"""Run an experiment to its end, or resume one that was interrupted; read its records.

DIR/manifest.json        options, data set, jobs; versions and device
DIR/records.jsonl        a line for each net and epoch
DIR/shards/JOB.npz       a job that is done: its records, the nets' logits of the test set
DIR/checkpoints/JOB/     of the job that is being trained; on request, its last one stays (`mixjax.train.kept`)
DIR/checkpoints/shared/  first phases that several jobs share
DIR/predictions/*.npz    logits and labels of each net, for `mixjax report FILE --logits`
DIR/features/*.npz       on request: what the last layer of each net is given, for `sims real_fits --features`
DIR/sittings.json        the seconds of each sitting
DIR/summary.csv, figures/, provenance.json      made at the end
DIR/tensorboard/         on request: event files (`mixjax.train.runs.tensorboard`)
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from mixjax.datasets import Dataset, load
from mixjax.runs import ENVIRONMENT, RunDirectory, RunError, Sittings, Tell, local, provenance, read_manifest
from mixjax.runs.untrusted import read_content, refuse_links

from .config import Config
from .data.pipeline import steps_per_epoch
from .data.splits import hold_out
from .experiments import EXPERIMENTS
from .experiments.experiment import Experiment
from .kept import stored_jobs
from .loop.checkpoints import SECONDS
from .loop.history import Records
from .loop.job import Job
from .loop.members import first_part_size
from .loop.metrics import NUM_BINS
from .loop.placement import all_processes, is_first
from .nets.shapes import check_net
from .runs.options import configured, resume_hint
from .runs.records import read_records
from .runs.room import check_records, check_room
from .runs.runner import CheckpointPolicy, JobRunner, Progress
from .runs.summary import summary_csv

__all__ = ["configured", "experiment_of", "load_records", "run"]

_ENVIRONMENT = (*ENVIRONMENT, "devices")  # batches are spread over devices, and their sums with them
_SETTINGS = {"num_bins": NUM_BINS, "closed": "left", "unit": "fraction", "temperature": 1, "epoch": "last"}


def run(
    experiment: str,
    out: str | PathLike[str],
    *,
    preset: str = "digits",
    data_dir: str | PathLike[str] | None = None,
    keep_checkpoints: bool = False,
    keep_features: bool = False,
    checkpoint_seconds: float = SECONDS,
    progress: Progress | None = None,
    warn: Callable[[str], None] = print,
    command: str = "",
    **options: Any,
) -> Records:
    """Run an experiment and return its records; resume it if it was interrupted.

    Args:
      experiment: "width", "depth", "pseudo_label", "temperature", "variants" or "shift".
      out: folder of the run, on a disk. The records of a finished run are read from it.
      preset: "quick", "digits", "fashion" or "paper".
      data_dir: folder of the data set, as for `mixjax.datasets.load`.
      keep_checkpoints: whether the last checkpoint of each job stays when the job is done.
      keep_features: whether features of the test images are written, of each job that this call ends.
      checkpoint_seconds: least time between two checkpoints, which are written after an epoch; 0 writes one after every
        epoch, as several processes do at any number. The last two of a job are kept.
      progress: called with the steps done, their total, and a line of text.
      warn: called with a sentence on each file that is damaged.
      command: recorded as the origin of the run.
      **options: fields of the experiment's configuration, in place of those of the preset.

    Returns:
      A dictionary for each net, epoch and test set, with metrics as fractions; on a CPU a run that was killed and
      resumed ends with the same bits. The last record of a net that diverged has the evaluation "diverged", the epoch
      and the step; the other nets go on.

    Raises:
      RunError: for wrong options, missing data, a folder that cannot be used.

    Example:
      >>> import tempfile
      >>> small = {"width": (8,), "depth": (1,), "norm": "batch", "learning_rate": 0.05, "batch_size": 16}
      >>> small |= {"epochs": 2, "seeds": 1, "train_rows": 710}
      >>> records = run("width", tempfile.mkdtemp(), **small)
      >>> [(record["arm"], record["epoch"]) for record in records if record["evaluation"] == "test"]
      [('erm', 1), ('mixup', 1), ('erm', 2), ('mixup', 2)]
    """
    with all_processes():
        config, out = configured(experiment, preset, **options), local(out)
        chosen = EXPERIMENTS[experiment]
        dataset = training_set(config, data_dir)
        jobs = jobs_of(chosen, config, dataset)
    made_with: dict[str, Any] = {**provenance()}
    environment = {name: str(made_with[name]) for name in _ENVIRONMENT}
    spec = _spec(chosen, config, dataset, jobs)
    with _opened(out, spec, environment, warn) as directory:
        if not directory.finished:
            sittings = Sittings(out)
            policy = CheckpointPolicy(checkpoint_seconds, keep_checkpoints, warn)
            runner = JobRunner(chosen, dataset, directory, jobs, policy, progress, keep_features, sittings)
            computed = runner.run_missing()
            made_with |= {
                "command": command or f"mixjax.train.running.run({experiment!r}, ...)",
                **sittings.total(),
                "jobs": f"{computed} of {len(jobs)}",
            }
            with all_processes():
                if is_first():
                    runner.conclude(made_with)
        return load_records(out)


def load_records(path: str | PathLike[str]) -> Records:
    """Return the records of a finished run.

    Args:
      path: folder of the run.

    Returns:
      What `run` returned: a dictionary for each net, epoch and test set.

    Raises:
      RunError: if there is no finished run, or its files are damaged.

    Example:
      >>> import tempfile
      >>> folder = tempfile.mkdtemp()
      >>> small = {"width": (8,), "depth": (1,), "norm": "batch", "learning_rate": 0.05, "batch_size": 16}
      >>> small |= {"epochs": 2, "seeds": 1, "train_rows": 710}
      >>> run("width", folder, **small) == load_records(folder)
      True
    """
    path = local(path)
    refuse_links(path)
    summary = path / "summary.csv"
    if not summary.exists():
        raise RunError(f"the folder {path} holds no finished run; {resume_hint(path)}")
    records = read_records(path / "records.jsonl")
    if not _is_summary_of(summary, records):
        raise RunError(f"{summary} does not match the records; delete it and run the same command again")
    return records


def _is_summary_of(path: Path, records: Records) -> bool:
    try:
        expected = summary_csv(records).encode()
        return read_content(path, len(expected)) == expected
    except (OSError, LookupError, TypeError, ValueError):  # of a file, or of records that are damaged themselves
        return False


def experiment_of(path: str | PathLike[str]) -> Experiment:
    """Return the experiment of a run.

    Raises:
      RunError: if the folder holds no run, or one of something else.
    """
    name = read_manifest(path)["spec"].get("experiment")
    if not isinstance(name, str) or name not in EXPERIMENTS:
        raise RunError(f"the run in {path} is not one of {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def training_set(config: Config, data_dir: str | PathLike[str] | None) -> Dataset:
    """Return the data set of a configuration, with as many training rows as it asks for.

    Raises:
      RunError: if it is missing, has one class, or has too few rows.
    """
    try:
        dataset = load(config.dataset, data_dir=data_dir, pixels=config.pixels)
    except ValueError as error:
        raise RunError(str(error)) from None
    if dataset.num_classes < 2:
        raise RunError(f"{dataset.name} has one class; training needs at least two")
    if config.train_rows == 0 or config.train_rows == len(dataset.train_labels):
        return dataset
    if not 0 < config.train_rows < len(dataset.train_labels):
        raise RunError(f"train_rows must be in [1, {len(dataset.train_labels)}] or 0 for all, got {config.train_rows}")
    rows, _ = hold_out(dataset.train_labels, config.train_rows, seed=0)
    return dataclasses.replace(
        dataset, train_inputs=dataset.train_inputs[rows], train_labels=dataset.train_labels[rows]
    )


def jobs_of(experiment: Experiment, config: Config, dataset: Dataset) -> tuple[Job, ...]:
    """Return all jobs, checked before anything is trained.

    Raises:
      RunError: if there are too many, or a net cannot be built, trained on these data, or held in memory.
    """
    try:
        jobs = experiment.jobs(config)
        check_records(jobs)
        for job in jobs:
            steps_per_epoch(first_part_size(job, dataset.train_labels), job.recipe.batch_size)
            check_net(job.recipe.net, dataset.train_inputs.shape[1:], dataset.num_classes, job.recipe.batch_size)
        jobs = tuple(part for job in jobs for part in job.split_by_member())
        check_room(jobs, dataset)
    except ValueError as error:
        raise RunError(str(error)) from None
    return jobs


def _spec(experiment: Experiment, config: Config, dataset: Dataset, jobs: tuple[Job, ...]) -> dict[str, Any]:
    """Return all that the numbers depend on, as JSON; a file by its name, since the SHA-256 has its content."""
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
        "jobs": stored_jobs(jobs),
    }
    return json.loads(json.dumps(spec))


def _opened(out: Path, spec: dict[str, Any], environment: dict[str, str], warn: Tell) -> RunDirectory:
    """Open the folder of the run, in the first process before the others."""
    for turn in (True, False):
        with all_processes():
            if is_first() == turn:
                options: dict[str, Any] = {"layout": {}, "product": "summary.csv", "lock": is_first()}
                options["warn"] = warn if is_first() else lambda _: None
                directory = RunDirectory.open(out, spec=spec, environment=environment, **options)
    return directory
