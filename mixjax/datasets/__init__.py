"""Data sets as arrays: from a name to images and labels.

Nothing is downloaded, and nothing that is read can execute code. Start at `mixjax.datasets.loading`; each kind of file
has a module of its own. `prepare` turns the files of a data set's authors into a folder for tensorflow-datasets.
"""

from mixjax.datasets.dataset import Dataset, MissingDataError
from mixjax.datasets.loading import NAMES, load
from mixjax.datasets.preparing import prepare

__all__ = ["NAMES", "Dataset", "MissingDataError", "load", "prepare"]
