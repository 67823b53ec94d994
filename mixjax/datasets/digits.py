"""Scikit-learn's digits: 1797 images of 8x8 pixels that come with the package, the default that needs no file.

They are the test part of the UCI set "Optical Recognition of Handwritten Digits"; a pixel counts the inked cells of a
4x4 block, 0 to 16. The set has no split of its own. The one here is fixed: of each class, in the order of the file,
every fifth image is for testing (355 of them), the others for training (1442). Both parts therefore have the same
classes and, since images of a writer lie together, the same writers: accuracy is that on writers who have been seen.
"""

from __future__ import annotations

import numpy as np

from mixjax.datasets.dataset import Dataset, MissingDataError

_EVERY = 5
_LARGEST = 16


def read_digits() -> Dataset:
    """Read the digits, and split them."""
    try:
        import sklearn
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingDataError("digits come with scikit-learn: pip install scikit-learn") from None
    stored = load_digits()
    inputs, labels = stored.images.astype(np.uint8)[..., None], stored.target.astype(np.int32)
    test = (_rank_in_class(labels) + 1) % _EVERY == 0
    names = tuple("0123456789")
    source = f"scikit-learn {sklearn.__version__}"
    return Dataset("digits", source, inputs[~test], labels[~test], inputs[test], labels[test], names, _LARGEST)


def _rank_in_class(labels: np.ndarray) -> np.ndarray:
    """Count the rows before each that have its label."""
    one_hot = labels[:, None] == np.unique(labels)[None]
    return (one_hot.cumsum(axis=0) - 1)[one_hot]
