"""Records as event files for TensorBoard, made from records.jsonl."""

from __future__ import annotations

from pathlib import Path

from mixjax.runs import RunError, explained
from mixjax.runs.untrusted import printable, refuse_links

from ..loop.metrics import METRICS
from .records import read_records

__all__ = ["write_events"]


def write_events(run: Path) -> Path:
    """Write RUN/tensorboard, a folder for each net, from the epochs recorded so far; return the folder.

    Event files that were written before are replaced: TensorBoard would show each point twice.

    Raises:
      RunError: if tensorboardX is not installed, no epoch is recorded, a name cannot be a folder, or the folder cannot
        be written.
    """
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise RunError("TensorBoard needs tensorboardX: pip install tensorboardX") from None
    refuse_links(run)
    folder = run / "tensorboard"
    writers: dict[str, SummaryWriter] = {}
    records = [record for record in read_records(run / "records.jsonl") if record["evaluation"] == "test"]
    if not records:
        raise RunError(f"{run} has no epoch to show yet")
    names = [f"{_folder(one['net'])}/{_folder(one['arm'])}/seed{one['seed']}" for one in records]
    with explained(folder):
        for old in folder.rglob("events.out.tfevents.*"):
            old.unlink()
        for name, record in zip(names, records, strict=True):
            if name not in writers:
                writers[name] = SummaryWriter(str(folder / name))
            for metric in (*METRICS, "train_mix_loss"):
                if metric in record:
                    writers[name].add_scalar(metric, record[metric], record["epoch"])
        for writer in writers.values():
            writer.close()
    return folder


def _folder(name: str) -> str:
    """Return the name of a folder, or refuse one that leads elsewhere."""
    if name in ("", "..") or Path(name).name != name or not name.isprintable():
        raise RunError(f"{printable(name)!r} cannot be the name of a folder of event files")
    return name
