"""The final nets of a run, from the checkpoints that `--keep-checkpoints` leaves.

    DIR/checkpoints/JOB/          the last checkpoint of each job, which Orbax reads: nets, labels and history
    DIR/checkpoints/images.json   the shape of an image, and the mean and sd by which its channels are normalized

The data set is not needed. A checkpoint whose files are not those that were written is never parsed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding
from jaxtyping import Array, Float, Float32, UInt8

from mixjax.runs import RunError, local, read_manifest, write_atomically
from mixjax.runs.untrusted import read_json

from .data.pipeline import Scale
from .experiments import EXPERIMENTS
from .loop.checkpoints import read_last
from .loop.history import empty_history, has_diverged
from .loop.job import Job
from .loop.step import Nets, StepSpec, initial_nets, logits_of, net_of
from .runs.options import configured, stored_options

__all__ = ["TrainedNet", "load_nets", "stored_jobs", "write_scale"]

_SCALE = "images.json"


@dataclass(frozen=True, eq=False)
class TrainedNet:
    """A net after its last epoch.

    Attributes:
      net, arm, seed: which net it is, as in records.jsonl.
      params, statistics: its parameters, and the running statistics of normalization, as `flax.nnx` states.
      scale: mean and sd of each channel, in units of a stored pixel.
    """

    net: str
    arm: str
    seed: int
    params: Any
    statistics: Any
    scale: Scale
    _spec: StepSpec

    def logits(
        self, images: UInt8[np.ndarray, "M H W C"] | Float32[Array | np.ndarray, "M H W C"]
    ) -> Float[Array, "M K"]:
        """Return the logits of images as they are stored: raw pixels, which are normalized here.

        Raises:
          ValueError: for images of another shape than those of the run, and for none.
        """
        if images.ndim != 4 or images.shape[1:] != self._spec.image_shape or not len(images):
            raise ValueError(f"images must have shape [M, {', '.join(map(str, self._spec.image_shape))}], M > 0, "
                             f"got {images.shape}")  # fmt: skip
        return _logits(self._spec, self.scale, Nets(self.params, self.statistics, None), images)

    def module(self) -> Any:
        """Return the `nnx.Module` in evaluation mode; it takes images that are normalized, (pixels - mean) / sd."""
        return net_of(self._spec, Nets(self.params, self.statistics, None))


def load_nets(folder: str | PathLike[str]) -> dict[tuple[str, str, int], TrainedNet]:
    """Load the final nets of a finished run that was made with `keep_checkpoints`.

    Args:
      folder: of the run.

    Returns:
      The nets that did not diverge, by (net, arm, seed). Their logits are those in `predictions`, up to rounding.

    Raises:
      RunError: if there is no such run, it is of another release, or a checkpoint is missing or damaged.

    Example:
      >>> import tempfile
      >>> from mixjax.datasets import load
      >>> from mixjax.train.running import run
      >>> folder = tempfile.mkdtemp()
      >>> small = {"width": (8,), "depth": (1,), "norm": "batch", "learning_rate": 0.05, "batch_size": 16}
      >>> small |= {"epochs": 2, "seeds": 1, "train_rows": 710}
      >>> records = run("width", folder, keep_checkpoints=True, **small)
      >>> nets = load_nets(folder)
      >>> list(nets)
      [('mlp-8x1', 'erm', 0), ('mlp-8x1', 'mixup', 0)]
      >>> nets["mlp-8x1", "mixup", 0].logits(load("digits").test_inputs).shape
      (355, 10)
    """
    path = local(folder)
    spec = read_manifest(path)["spec"]
    if not (path / "summary.csv").exists():
        raise RunError(f"the run in {path} is not finished; run the same command again")
    shape, scale = _read_scale(path / "checkpoints" / _SCALE)
    nets: dict[tuple[str, str, int], TrainedNet] = {}
    for job in _jobs(path, spec):
        step = StepSpec(job.recipe, shape, int(spec["dataset"]["classes"]))
        for net in _nets_of(path, job, step, int(spec["dataset"]["rows"][0]), scale):
            nets[net.net, net.arm, net.seed] = net
    return nets


def stored_jobs(jobs: tuple[Job, ...]) -> list[dict[str, Any]]:
    """Return jobs as the manifest has them."""
    return [asdict(job) | {"kind": type(job.recipe.net).__name__} for job in jobs]


def write_scale(folder: Path, shape: tuple[int, ...], scale: Scale) -> None:
    """Write the shape and the scale of images beside the checkpoints of a run."""
    mean, sd = (np.asarray(part).tolist() for part in scale)
    content = json.dumps({"shape": list(shape), "mean": mean, "sd": sd})
    folder.mkdir(exist_ok=True)
    write_atomically(folder / _SCALE, content.encode())


def _read_scale(path: Path) -> tuple[tuple[int, int, int], Scale]:
    try:
        stored = read_json(path)
        height, width, channels = (int(length) for length in stored["shape"])
        mean, sd = (np.array(stored[name], np.float32) for name in ("mean", "sd"))
        if mean.shape != (channels,) or sd.shape != (channels,) or min(height, width, channels) < 1:
            raise ValueError(f"it is of {mean.shape} and {sd.shape}")
    except FileNotFoundError:
        raise RunError(f"there is no {path}; train in another folder with --keep-checkpoints") from None
    except (OSError, ValueError, TypeError, LookupError):
        raise RunError(f"{path} is damaged; train in another folder with --keep-checkpoints") from None
    return (height, width, channels), Scale(jnp.asarray(mean), jnp.asarray(sd))


def _jobs(path: Path, spec: Mapping[str, Any]) -> tuple[Job, ...]:
    """Return the jobs of a run, made again from its options."""
    try:
        config = configured(spec["experiment"], "digits", **stored_options(spec))
        jobs = EXPERIMENTS[spec["experiment"]].jobs(config)
        jobs = tuple(part for job in jobs for part in job.split_by_member())
        same = json.loads(json.dumps(stored_jobs(jobs))) == spec["jobs"]
        int(spec["dataset"]["classes"]), int(spec["dataset"]["rows"][0])
    except (LookupError, TypeError, ValueError, AttributeError, RunError):
        same = False
    if not same:
        raise RunError(f"the nets of {path} are not of this release; load them with the one that provenance.json names")
    return jobs


def _nets_of(path: Path, job: Job, step: StepSpec, rows: int, scale: Scale) -> Iterator[TrainedNet]:
    """Yield the nets of a job that did not diverge."""
    folder = path / "checkpoints" / job.name
    if not folder.is_dir():
        raise RunError(f"there is no checkpoint in {folder}; train in another folder with --keep-checkpoints")
    kept = read_last(folder, _like(job, step, rows))
    lost = np.zeros(len(job.members), bool) if kept is None else has_diverged(kept[1]["history"])
    if kept is None or (kept[0] < job.epochs and not lost.all()):
        raise RunError(f"the last checkpoint in {folder} is damaged, missing or of other nets; train in another folder")
    for index, member in enumerate(job.members):
        if not lost[index]:
            params, statistics = (jax.tree.map(itemgetter(index), part) for part in kept[1]["nets"][:2])
            yield TrainedNet(job.recipe.net.name, member.arm.name, member.seed, params, statistics, scale, step)


def _like(job: Job, step: StepSpec, rows: int) -> dict[str, Any]:
    """Return the shapes of a checkpoint, on one device."""
    place, members = SingleDeviceSharding(jax.devices()[0]), len(job.members)

    def stacked(leaf: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((members, *leaf.shape), leaf.dtype, sharding=place)

    one = jax.eval_shape(partial(initial_nets, step, 0))
    labels = jax.ShapeDtypeStruct((members, rows), jnp.int32, sharding=place)
    return {"nets": jax.tree.map(stacked, one), "labels": labels, "history": empty_history(job)}


_logits = jax.jit(logits_of, static_argnums=0)
