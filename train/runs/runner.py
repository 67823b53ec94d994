"""The jobs of a run, one after another, and what is written of each (`mixjax.train.running` has the list of files)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from mixjax.datasets import Dataset
from mixjax.runs import RunDirectory, RunError, Sittings, explained, local, write_atomically
from mixjax.runs.memory import wants_memory

from ..data.pipeline import channel_scale, steps_per_epoch
from ..experiments.experiment import Experiment
from ..kept import write_scale
from ..loop.checkpoints import Checkpoints
from ..loop.history import DIVERGED, History, Records, epoch_records, has_diverged
from ..loop.job import Job, Member
from ..loop.members import first_part_size
from ..loop.placement import barrier, is_first, to_host
from ..loop.training import TrainedJob, train_job
from .records import append_records, records_of, write_records
from .reliability import reliability_records
from .summary import divergence, summary_csv

__all__ = ["CheckpointPolicy", "JobRunner", "Progress", "steps_of"]

RECORDS = "records.jsonl"
SHARED = "shared"  # no job has this name: theirs begin with that of a net

Progress = Callable[[int, int, str], None]  # steps done, of all, and what is being trained


class CheckpointPolicy(NamedTuple):
    """Least seconds between checkpoints, whether the last stays when a job is done, and a function for warnings."""

    seconds: float
    keep_last: bool
    warn: Callable[[str], None]


@dataclass(frozen=True)
class JobRunner:
    """The jobs of a run, and where the results go."""

    experiment: Experiment
    dataset: Dataset
    directory: RunDirectory
    jobs: tuple[Job, ...]
    policy: CheckpointPolicy
    progress: Progress | None
    keep_features: bool
    sittings: Sittings

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return local(self.directory.path)

    def run_missing(self) -> int:
        """Train the jobs that are not stored yet; return how many those were."""
        stored = [job for job in self.jobs if self.directory.has(job.name)]
        if is_first():
            write_records(self.folder / RECORDS, (record for job in stored for record in self._stored_records(job)))
        barrier("what is stored")
        done, steps = 0, [steps_of(job, self.dataset.train_labels) for job in self.jobs]
        for job, own in zip(self.jobs, steps, strict=True):
            if job not in stored:
                self._train(job, _JobReporter(job, self, done, own, sum(map(sum, steps))))
            done += sum(own)
        return len(self.jobs) - len(stored)

    def conclude(self, made_with: Mapping[str, Any]) -> None:
        """Write what is made of all jobs together; the summary last, since it marks the run as finished."""
        records = [record for job in self.jobs for record in self._stored_records(job)]
        write_records(self.folder / RECORDS, records)
        checkpoints = self.folder / "checkpoints"
        with explained(self.folder):
            self._write_predictions()
            if self.policy.keep_last:
                images = self.dataset.train_inputs
                write_scale(checkpoints, images.shape[1:], channel_scale(images))
            write_atomically(self.folder / "provenance.json", json.dumps(made_with, indent=2).encode())
            write_atomically(self.folder / "summary.csv", summary_csv(records).encode())
        shutil.rmtree(checkpoints / SHARED if self.policy.keep_last else checkpoints, ignore_errors=True)

    def _train(self, job: Job, reporter: _JobReporter) -> None:
        seconds, keep_last, warn = self.policy
        folder = self.folder / "checkpoints" / job.name
        with closing(Checkpoints(folder, warn, seconds=seconds, keep_last=keep_last)) as checkpoints:
            with _memory_explained(job), self._shared_by(job) as shared:
                trained = train_job(job, self.dataset, checkpoints, reporter.on_epoch, reporter.on_steps, shared)
                if self.keep_features:
                    self._write_features(trained)
                more = reliability_records(trained, self.dataset)
                more += self.experiment.evaluate(trained, self.dataset) if self.experiment.evaluate else []
            records = [*epoch_records(job, trained.history, range(job.epochs), self.dataset.num_classes), *more]
            if is_first():
                self.sittings.record()
                self.directory.write(job.name, {"records": np.array(json.dumps(records)), "logits": trained.logits})
                append_records(self.folder / RECORDS, more)
        barrier(f"{job.name} is stored")
        if is_first() and not keep_last:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _shared_by(self, job: Job) -> Iterator[Checkpoints | None]:
        """Open the checkpoints of the first phase that the jobs of the same beginning share, if there are others."""
        alike = [other for other in self.jobs if len(other.phases) > 1 and other.beginning == job.beginning]
        if len(alike) < 2:
            yield None
            return
        folder = self.folder / "checkpoints" / SHARED / alike[0].name
        with closing(Checkpoints(folder, self.policy.warn, seconds=0)) as shared:
            yield shared

    def _stored_records(self, job: Job) -> Records:
        records = records_of(self.directory.read(job.name))
        if records is None:
            raise self._strange(job)
        return records

    def _write_features(self, trained: TrainedJob) -> None:
        """Write what the last layer of each net is given of the test images, as `sims real_fits` reads it."""
        features = to_host(trained.program.features(trained.nets, self.dataset.test_inputs))
        if is_first():
            for index, member in trained.finished:
                self._write_net("features", trained.job, member, features=features[index])

    def _write_predictions(self) -> None:
        for job in self.jobs:
            stored = self.directory.read(job.name).get("logits", np.array(0))
            if stored.shape != (len(job.members), len(self.dataset.test_labels), self.dataset.num_classes):
                raise self._strange(job)
            for member, logits in zip(job.members, stored, strict=True):
                if not np.isnan(logits).any():  # of a net that did not diverge
                    self._write_net("predictions", job, member, logits=logits)

    def _write_net(self, part: str, job: Job, member: Member, **arrays: Any) -> None:
        """Write arrays of a net, and the labels of the test images, into a folder of the run."""
        folder = self.folder / part
        folder.mkdir(exist_ok=True)
        temporary = folder / f".tmp-{part}.npz"
        np.savez(temporary, **arrays, labels=self.dataset.test_labels)
        temporary.replace(folder / f"{job.recipe.net.name}-{member.arm.slug}-seed{member.seed}.npz")

    def _strange(self, job: Job) -> RunError:
        return RunError(f"the shard of {job.name} in {self.directory.path} is not the result of a job; delete it")


def steps_of(job: Job, labels: np.ndarray) -> list[int]:
    """Return the number of steps of each epoch of a job."""
    sizes = {"first": first_part_size(job, labels), "all": len(labels)}
    return [steps_per_epoch(sizes[job.phases[phase].rows], job.recipe.batch_size) for phase in job.schedule]


class _JobReporter:
    """Reports a job while it is trained: to the records, and to the progress bar."""

    def __init__(self, job: Job, runner: JobRunner, before: int, steps: list[int], total: int):
        self.job, self.runner, self.steps, self.total = job, runner, steps, total
        self.done, self.text = before, job.name
        self.epoch: int | None = None

    def on_epoch(self, history: History, epoch: int) -> None:
        """Report the epochs since the last call; the first call is with what a checkpoint holds."""
        if is_first():
            new, classes = range(self.epoch or 0, epoch), self.runner.dataset.num_classes
            records = list(epoch_records(self.job, history, new, classes))
            append_records(self.runner.folder / RECORDS, records)
            for record in records:
                if record["evaluation"] == DIVERGED:
                    self.runner.policy.warn(f"diverged: {divergence(record)}; other nets go on")
        if self.epoch is None:
            self.done += sum(self.steps[:epoch])
        self.epoch = epoch
        if epoch:
            accuracy = history["accuracy"][epoch - 1][~has_diverged(history)]
            mean = f"{accuracy.mean():.3f}" if accuracy.size else "of none"
            self.text = f"epoch {epoch}/{self.job.epochs}, accuracy {mean}, {self.job.name}"
        self.on_steps(0)

    def on_steps(self, number: int) -> None:
        """Report steps, every few hundred."""
        self.done += number
        if is_first():
            self.runner.sittings.record(at_once=False)
        if self.runner.progress is not None:
            self.runner.progress(self.done, self.total, self.text)


@contextmanager
def _memory_explained(job: Job) -> Iterator[None]:
    """Turn a lack of memory, of the device or of the machine, into one sentence."""
    try:
        yield
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        if not wants_memory(error):
            raise
        raise RunError(
            f"out of memory in {job.name}, {len(job.members)} nets side by side; finished work is kept; in another "
            "folder, use fewer seeds, a smaller batch_size or a smaller net"
        ) from None
