"""Simulation studies: `mixjax sims STUDY`, or `sims.run(study, ...)` and `sims.load(folder)` from Python.

In a clone the folder is also `import sims` and `python -m sims`; both names are one package (`mixjax.aliases`).
"""

if __name__ == "sims":
    from mixjax.aliases import import_as_part_of_mixjax

    import_as_part_of_mixjax(__name__)
else:
    from .loading import load
    from .running import run

    __all__ = ["load", "run"]
