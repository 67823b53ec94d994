"""Make the folders `sims` and `train` of a clone the packages `mixjax.sims` and `mixjax.train`.

An installed mixjax holds the two folders. In a clone they are found where they are, and `sims` and `train`, which
`python -m sims` and `import sims` need, are second names of the same modules: nothing exists twice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

_ROOT = Path(__file__).parent.parent
_BESIDE = ("sims", "train")


def find_folders_of_clone() -> None:
    """Let `mixjax.sims` and `mixjax.train` be found in a clone; an installed mixjax has them already."""
    if not (_ROOT / "mixjax" / "sims").exists():
        sys.meta_path.append(_Beside())


def import_as_part_of_mixjax(name: str) -> None:
    """Make `name` and all modules below it second names of those of `mixjax.name`, while `name` is being imported."""
    sys.modules[name] = import_module(f"mixjax.{name}")
    sys.meta_path.insert(0, _Alias(name))


class _Beside(MetaPathFinder):
    """A finder of mixjax.NAME in the folder NAME beside that of mixjax."""

    def find_spec(
        self, fullname: str, path: Iterable[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix("mixjax.")
        if fullname != f"mixjax.{name}" or name not in _BESIDE:
            return None
        folder = _ROOT / name
        return spec_from_file_location(fullname, folder / "__init__.py", submodule_search_locations=[str(folder)])


class _Alias(MetaPathFinder, Loader):
    """A finder of NAME.x as the module mixjax.NAME.x, but for NAME.__main__, whose code `python -m NAME` needs."""

    def __init__(self, name: str):
        self._prefix = f"{name}."

    def find_spec(
        self, fullname: str, path: Iterable[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self._prefix) or fullname == f"{self._prefix}__main__":
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"mixjax.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back: the import system has set that of the second name."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state
