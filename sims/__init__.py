"""Simulation studies: `mixjax sims STUDY`, or `sims.run(study, ...)` and `sims.load(folder)` from Python.

`sims.reproduce(folder, out)` runs a published study again, and compares the tables.

In a clone the folder is also `import sims` and `python -m sims`; both names are one package (`mixjax.aliases`).
"""

if __name__ == "sims":
    from mixjax.aliases import import_as_part_of_mixjax

    import_as_part_of_mixjax(__name__)
else:  # both are imported when they are first used, so that `python -m sims` can explain a package that is missing
    from typing import TYPE_CHECKING, Any

    from mixjax.commands import import_program

    if TYPE_CHECKING:
        from .loading import load
        from .reproducing import reproduce
        from .running import run

    __all__ = ["load", "reproduce", "run"]
    _MODULES = {"load": ".loading", "reproduce": ".reproducing", "run": ".running"}

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_program(f"{__name__}{_MODULES[name]}", "sims", __name__), name)
