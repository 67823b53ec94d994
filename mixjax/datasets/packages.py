"""Packages that only some kinds of file need, imported when such a file is read."""

from __future__ import annotations

import importlib
from typing import Any

from mixjax.datasets.dataset import MissingDataError

_PACKAGES = {
    "PIL.Image": "pillow",
    "array_record.python.array_record_module": "array_record",
    "google.protobuf.message": "protobuf",
    "google_crc32c": "google-crc32c",
    "tensorflow_datasets": "tensorflow-datasets",
    "tensorflow_datasets.proto.tf_example_generated_pb2": "tensorflow-datasets",
}
_ALL = "tensorflow-datasets importlib_resources pillow google-crc32c"  # TensorFlow is not among them


def import_optional(module: str, what: str) -> Any:
    """Import an optional module; if it is missing, raise an error that says that `what` needs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingDataError(f"{what} needs {_PACKAGES[module]}: pip install {_ALL}") from None
