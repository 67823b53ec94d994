"""Simulation studies: `mixjax sims STUDY`, or `sims.run(study, ...)` and `sims.load(folder)` from Python.

`sims.reproduce(folder, out)` runs a published study again, and compares the tables. `sims.register(study)` adds a study
of your own: a `GridStudy` of an `Experiment`, or a `PiecewiseStudy`.

In a clone the folder is also `import sims` and `python -m sims`; both names are one package (`mixjax.aliases`).
"""

if __name__ == "sims":
    from mixjax.aliases import import_as_part_of_mixjax

    import_as_part_of_mixjax(__name__)
else:  # both are imported when they are first used, so that `python -m sims` can explain a package that is missing
    from typing import TYPE_CHECKING, Any

    from mixjax.commands import import_program

    if TYPE_CHECKING:
        from .engine.program import Experiment
        from .grid import grid_of
        from .loading import load
        from .reproducing import reproduce
        from .running import run
        from .studies import register
        from .studies.comparison import grid_dataset, mean_variables
        from .study import GridStudy, PiecewiseStudy

    __all__ = [
        "Experiment",
        "GridStudy",
        "PiecewiseStudy",
        "grid_dataset",
        "grid_of",
        "load",
        "mean_variables",
        "register",
        "reproduce",
        "run",
    ]
    _MODULES = {
        "Experiment": ".engine.program",
        "GridStudy": ".study",
        "PiecewiseStudy": ".study",
        "grid_dataset": ".studies.comparison",
        "grid_of": ".grid",
        "load": ".loading",
        "mean_variables": ".studies.comparison",
        "register": ".studies",
        "reproduce": ".reproducing",
        "run": ".running",
    }

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_program(f"{__name__}{_MODULES[name]}", "sims", __name__), name)
