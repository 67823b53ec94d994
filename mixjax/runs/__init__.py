"""Runs: a folder on a disk or in an object store. No crash can harm its finished work.

`directory` the run and its pieces; `manifest` what a run is, `origin` what made it, `sittings` in what time; `shards`
arrays with a checksum; `storage` disks and object stores, `lock` and `lease` one writer a folder, `writing` whole
files; `untrusted`, `npz` and `files` reading without trust; `errors` what a user can put right; `memory` how much of it
there is.
"""

from mixjax.runs.directory import RunDirectory
from mixjax.runs.errors import RunError, Tell, explained
from mixjax.runs.inventory import Inventory, counted
from mixjax.runs.manifest import differences, read_manifest
from mixjax.runs.origin import ENVIRONMENT, cpu_name, provenance
from mixjax.runs.sittings import Sittings
from mixjax.runs.storage import Location, PathOrUrl, each, local, located, modified
from mixjax.runs.writing import write_atomically

__all__ = [
    "ENVIRONMENT",
    "Inventory",
    "Location",
    "PathOrUrl",
    "RunDirectory",
    "RunError",
    "Sittings",
    "Tell",
    "counted",
    "cpu_name",
    "differences",
    "each",
    "explained",
    "local",
    "located",
    "modified",
    "provenance",
    "read_manifest",
    "write_atomically",
]
