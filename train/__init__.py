"""Experiments with nets: `mixjax train EXPERIMENT`, or `mixjax.train.running.run(experiment, out)` from Python.

In a clone the folder is also `import train` and `python -m train`; both names are one package (`mixjax.aliases`).
"""

if __name__ == "train":
    from mixjax.aliases import import_as_part_of_mixjax

    import_as_part_of_mixjax(__name__)
