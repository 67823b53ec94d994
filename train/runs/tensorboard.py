"""Records as event files for TensorBoard, made from records.jsonl."""

from __future__ import annotations

from pathlib import Path

from mixjax.runs import RunError, explained

from ..loop.metrics import METRICS
from .records import read_records

__all__ = ["write_events"]


def write_events(run: Path) -> Path:
    """Write RUN/tensorboard, a folder for each net, from the epochs recorded so far; return the folder.

    Event files that were written before are replaced: TensorBoard would show each point twice.

    Raises:
      RunError: if tensorboardX is not installed, there are no records, or the folder cannot be written.
    """
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise RunError("python -m train tensorboard needs tensorboardX: pip install tensorboardX") from None
    folder = run / "tensorboard"
    writers: dict[str, SummaryWriter] = {}
    records = [record for record in read_records(run / "records.jsonl") if record["evaluation"] == "test"]
    with explained(folder):
        for old in folder.rglob("events.out.tfevents.*"):
            old.unlink()
        for record in records:
            name = f"{record['net']}/{record['arm']}/seed{record['seed']}"
            if name not in writers:
                writers[name] = SummaryWriter(str(folder / name))
            for metric in (*METRICS, "train_mix_loss"):
                if metric in record:
                    writers[name].add_scalar(metric, record[metric], record["epoch"])
        for writer in writers.values():
            writer.close()
    return folder
