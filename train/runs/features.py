"""The features of each final net: what its last layer is given of the test images, which it was not trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mixjax.datasets import Dataset

from ..loop.placement import is_first, to_host
from ..loop.training import TrainedJob

__all__ = ["write_features"]


def write_features(trained: TrainedJob, dataset: Dataset, folder: Path) -> None:
    """Write an .npz file a net, with `features` [rows, width] and `labels` [rows], as `sims real_fits` reads them."""
    features = to_host(trained.program.features(trained.nets, dataset.test_inputs))
    if not is_first():
        return
    folder.mkdir(exist_ok=True)
    for index, member in trained.finished:
        temporary = folder / ".tmp-features.npz"
        np.savez(temporary, features=features[index], labels=dataset.test_labels)
        temporary.replace(folder / f"{trained.job.recipe.net.name}-{member.arm.slug}-seed{member.seed}.npz")
