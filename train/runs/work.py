"""The jobs of a run, one after another, and what is written of each (`train.running` has the list of files)."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from mixjax.datasets import Dataset
from mixjax.runs import RunDirectory, RunError, explained, local, write_atomically
from mixjax.runs.memory import wants_memory

from ..data.pipeline import steps_per_epoch
from ..experiments.experiment import Experiment, Records
from ..loop.checkpoints import Checkpoints
from ..loop.history import History, epoch_records
from ..loop.job import Job
from ..loop.members import first_part_size
from ..loop.placement import barrier, is_first
from ..loop.training import train_job
from .records import append_records, records_of, write_records
from .reliability import reliability_records
from .summary import summary_csv

__all__ = ["Keeping", "Progress", "Work"]

SHARED = "shared"  # no job has this name: theirs begin with that of a net

Progress = Callable[[int, int, str], None]  # steps done, of all, and what is being trained


class Keeping(NamedTuple):
    """How checkpoints are kept: how often, whether the last stays when a job is done, and who is told of damage."""

    seconds: float
    stay: bool
    warn: Callable[[str], None]


class Work:
    """The jobs of a run, and what is written of them."""

    def __init__(
        self,
        experiment: Experiment,
        dataset: Dataset,
        directory: RunDirectory,
        jobs: tuple[Job, ...],
        keeping: Keeping,
        progress: Progress | None,
    ):
        self.experiment, self.dataset, self.directory, self.jobs = experiment, dataset, directory, jobs
        self.keeping, self.progress = keeping, progress
        self.folder = local(directory.path)
        self.records_path = self.folder / "records.jsonl"
        self.steps = [self._steps_of(job) for job in jobs]
        self.alike = Counter(job.beginning for job in jobs if len(job.phases) > 1)
        self.done = 0

    def finish_jobs(self) -> int:
        """Train what is not stored yet; returns how many jobs that were."""
        stored = [job for job in self.jobs if self.directory.has(job.name)]
        if is_first():
            write_records(self.records_path, (record for job in stored for record in self._stored_records(job)))
        barrier("what is stored")
        for job, steps in zip(self.jobs, self.steps, strict=True):
            before = self.done
            if job not in stored:
                self._train(job)
            self.done = before + steps
        return len(self.jobs) - len(stored)

    def conclude(self, made_with: Mapping[str, Any]) -> None:
        """Write what is made of all jobs together; the summary last, since it says that the run is finished."""
        records = [record for job in self.jobs for record in self._stored_records(job)]
        write_records(self.records_path, records)
        with explained(self.folder):
            self._write_predictions()
            write_atomically(self.folder / "provenance.json", json.dumps(made_with, indent=2).encode())
            write_atomically(self.folder / "summary.csv", summary_csv(records).encode())
        made = self.folder / "checkpoints"
        shutil.rmtree(made / SHARED if self.keeping.stay else made, ignore_errors=True)

    def _train(self, job: Job) -> None:
        told = _Told(job, self)
        folder, (seconds, stay, warn) = self.folder / "checkpoints" / job.name, self.keeping
        checkpoints = Checkpoints(folder, warn, seconds=seconds, stay=stay)
        try:
            with _memory_explained(job), self._shared_by(job) as shared:
                finished = train_job(job, self.dataset, checkpoints, told.epochs_done, told.steps_done, shared)
                more = reliability_records(finished, self.dataset)
                more += self.experiment.evaluate(finished, self.dataset) if self.experiment.evaluate else []
            records = [*epoch_records(job, finished.history, range(job.epochs), self.dataset.num_classes), *more]
            if is_first():
                text = np.array(json.dumps(records))
                self.directory.write(job.name, {"records": text, "logits": finished.logits})
                append_records(self.records_path, more)
        except BaseException:
            checkpoints.close(delete=False)
            raise
        barrier(f"{job.name} is stored")
        checkpoints.close(delete=not stay)

    @contextmanager
    def _shared_by(self, job: Job) -> Iterator[Checkpoints | None]:
        """What the jobs that begin as this one does keep of their first phase, if there are others."""
        if self.alike[job.beginning] < 2:
            yield None
            return
        first = next(other for other in self.jobs if other.beginning == job.beginning)
        shared = Checkpoints(self.folder / "checkpoints" / SHARED / first.name, self.keeping.warn, seconds=0)
        try:
            yield shared
        finally:
            shared.close(delete=False)

    def _stored_records(self, job: Job) -> Records:
        records = records_of(self.directory.read(job.name))
        if records is None:
            raise self._strange(job)
        return records

    def _write_predictions(self) -> None:
        folder = self.folder / "predictions"
        folder.mkdir(exist_ok=True)
        for job in self.jobs:
            stored = self.directory.read(job.name).get("logits", np.array(0))
            if stored.shape != (len(job.lanes), len(self.dataset.test_labels), self.dataset.num_classes):
                raise self._strange(job)
            for lane, logits in zip(job.lanes, stored, strict=True):
                temporary = folder / ".tmp-predictions.npz"
                np.savez(temporary, logits=logits, labels=self.dataset.test_labels)
                temporary.replace(folder / f"{job.recipe.net.name}-{lane.arm.slug}-seed{lane.seed}.npz")

    def _strange(self, job: Job) -> RunError:
        return RunError(f"the shard of {job.name} in {self.directory.path} does not hold what a job leaves; delete it")

    def _steps_of(self, job: Job) -> int:
        first, rows = first_part_size(job, self.dataset.train_labels), len(self.dataset.train_labels)
        sizes = {"first": first, "all": rows}
        return sum(phase.epochs * steps_per_epoch(sizes[phase.rows], job.recipe.batch_size) for phase in job.phases)


class _Told:
    """What a job says while it is trained: to the records, and to the progress bar."""

    def __init__(self, job: Job, work: Work):
        self.job, self.work, self.text = job, work, job.name
        self.epoch: int | None = None

    def epochs_done(self, history: History, epoch: int) -> None:
        """Called after each epoch, and first with what a checkpoint holds."""
        new = range(self.epoch or 0, epoch)
        if is_first():
            append_records(self.work.records_path, epoch_records(self.job, history, new, self.work.dataset.num_classes))
        if self.epoch is None:
            self.work.done += self._steps_before(epoch)
        self.epoch = epoch
        if epoch:
            accuracy = history["accuracy"][epoch - 1]
            self.text = f"epoch {epoch}/{self.job.epochs}, accuracy {accuracy.mean():.3f}, {self.job.name}"
        self.steps_done(0)

    def steps_done(self, number: int) -> None:
        """Called every few hundred steps."""
        self.work.done += number
        if self.work.progress is not None:
            self.work.progress(self.work.done, sum(self.work.steps), self.text)

    def _steps_before(self, epoch: int) -> int:
        share = epoch / self.job.epochs
        return round(share * self.work.steps[self.work.jobs.index(self.job)])


@contextmanager
def _memory_explained(job: Job) -> Iterator[None]:
    """Turn a lack of memory, of the device or of the machine, into one sentence."""
    try:
        yield
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        if not wants_memory(error):
            raise
        raise RunError(
            f"out of memory in {job.name}, {len(job.lanes)} nets side by side; what is finished is kept; fewer seeds, "
            "a smaller batch_size or a smaller net, in another folder, take less"
        ) from None
