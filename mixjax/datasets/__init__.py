"""Data sets as arrays: a name in, images and labels out.

Nothing is downloaded, and nothing that is read can execute code. Start at `mixjax.datasets.loading`; each kind of file
has a module of its own.
"""

from mixjax.datasets.dataset import Dataset, MissingDataError
from mixjax.datasets.loading import NAMES, load

__all__ = ["NAMES", "Dataset", "MissingDataError", "load"]
