"""The experiments: the jobs that their options mean, and where each option goes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from mixjax.train.experiments import EXPERIMENTS
from mixjax.train.figures.paper import PANELS
from mixjax.train.loop.job import Phase
from mixjax.train.running import configured

OTHER = {  # another value of each option, and the part of a job that it is to reach
    "seeds": (5, "seeds"),
    "first_seed": (5, "seeds"),
    "epochs": (31, "epochs"),
    "batch_size": (65, "batch_size"),
    "learning_rate": (0.02, "learning_rate"),
    "momentum": (0.8, "momentum"),
    "weight_decay": (0.1, "weight_decay"),
    "alpha": (0.3, "alphas"),
    "regmixup_alpha": (10.0, "alphas"),
    "smoothing": (0.2, "smoothing"),
    "decay": (0.3, "weight_decay"),
    "weight": ("sample", "weight"),
    "pairing": ("roll", "pairing"),
    "fold": (True, "fold"),
    "augment": ("crop", "augment"),
    "dtype": ("bfloat16", "dtype"),
    "norm": ("batch", "norm"),
    "init": ("lecun", "init"),
    "final_norm": (True, "final_norm"),
}
CASES = [
    (name, field.name)
    for name, experiment in EXPERIMENTS.items()
    for field in dataclasses.fields(experiment.config)
    if field.name in OTHER
]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, tuple) and value and isinstance(value[0], dict | tuple):
        for number, part in enumerate(value):
            yield from leaves(part, (*path, str(number)))
    else:
        yield path, value


def jobs_of(name: str, **options: Any) -> dict[tuple[str, ...], Any]:
    jobs = EXPERIMENTS[name].jobs(configured(name, "quick", **options))
    return dict(leaves(tuple(dataclasses.asdict(job) for job in jobs)))


@pytest.mark.parametrize(("name", "option"), CASES)
def test_each_option_reaches_what_it_names_and_nothing_else(name, option):
    value, target = OTHER[option]
    before, after = jobs_of(name), jobs_of(name, **{option: value})
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed
    assert {path[-1] for path in changed} == {target}
    if option in ("regmixup_alpha", "smoothing", "decay"):  # of one arm
        assert len(changed) == 1


def test_presets_are_configurations():
    for name, experiment in EXPERIMENTS.items():
        usual = {preset for preset in experiment.presets if not preset.startswith("paper-")}
        assert usual == {"quick", "digits", "fashion", "paper"}
        for preset in experiment.presets:
            assert EXPERIMENTS[name].jobs(configured(name, preset))


def test_arms_differ_in_alpha_alone():
    """Without and with Mixup in one job: the same recipe, seeds, rows and order."""
    for job in EXPERIMENTS["width"].jobs(configured("width", alpha=0.4)):
        assert {arm.name: arm.alphas for arm in job.arms} == {"erm": (0.0,), "mixup": (0.4,)}


@pytest.mark.parametrize(("name", "preset"), PANELS)
def test_presets_of_the_paper_are_what_it_says(name, preset):
    """Its text and captions, written down anew: SGD, widths and depths, augmentation, the epoch of pseudo-labels."""
    config, panels = configured(name, preset), PANELS[name, preset]
    assert (config.batch_size, config.learning_rate, config.momentum, config.alpha) == (64, 0.01, 0.9, 1.0)
    assert config.weight_decay == 0 and config.train_rows == 0 and config.weight == "batch"
    if name == "pseudo_label":
        data = {"3a": "kmnist", "3b": "fashion_mnist", "3c": "cifar10", "3d": "cifar100"}[panels[0]]
        inserted = {"3a": 100, "3b": 100, "3c": 200, "3d": 100}[panels[0]]
        first, *_ = EXPERIMENTS[name].jobs(config)
        assert (config.dataset, config.augment, config.width_multiplier) == (data, "none", 1.0)
        assert first.phases == (Phase(inserted), Phase(inserted))
        return
    augmented = panels[0] not in ("2a", "2b", "2e", "2f")
    assert config.dataset == ("cifar10" if panels[0] in ("1a", "1b", "2a", "2b") else "cifar100")
    assert config.augment == ("crop+flip" if augmented else "none")
    if name == "width":
        assert config.depth == (8,) and (min(config.width), max(config.width)) == (10, 3000)
    else:
        assert config.width == (400 if augmented else 80,) and (min(config.depth), max(config.depth)) == (1, 24)


@pytest.mark.parametrize("epochs", [2, 5, 10])
def test_pseudo_labels_come_at_the_midpoint(epochs):
    """Mixup in the second half only; an odd epoch goes before the labels."""
    supervised, inserted, mixed = EXPERIMENTS["pseudo_label"].jobs(configured("pseudo_label", epochs=epochs, alpha=0.7))
    before, after = epochs - epochs // 2, epochs // 2
    assert supervised.phases == (Phase(before), Phase(after))
    assert inserted.phases == mixed.phases == (Phase(before), Phase(after, "all"))
    assert [job.arms[0].alphas for job in (supervised, inserted, mixed)] == [(0.0, 0.0), (0.0, 0.0), (0.0, 0.7)]
    assert {job.division for job in (supervised, inserted, mixed)} == {"halves"}
    assert supervised.beginning == inserted.beginning == mixed.beginning
