"""The studies, by the name that the command line knows."""

from dataclasses import fields, is_dataclass

from ..study import GridStudy, PiecewiseStudy, Study
from . import (
    beyond,
    capacity,
    estimator_bias,
    fits,
    generative,
    interpolation_peak,
    logistic_diagram,
    out_of_domain,
    phase_diagram,
    pseudo_label,
    pseudo_label_shift,
    real_fits,
    real_images,
    regularizers,
    slices,
    temperature,
    theorems,
)

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        phase_diagram.STUDY,
        logistic_diagram.STUDY,
        interpolation_peak.STUDY,
        regularizers.STUDY,
        slices.LOW_DIMENSION,
        slices.HIGH_DIMENSION,
        capacity.STUDY,
        theorems.STUDY,
        out_of_domain.STUDY,
        pseudo_label.STUDY,
        pseudo_label_shift.STUDY,
        temperature.STUDY,
        estimator_bias.STUDY,
        generative.STUDY,
        beyond.STUDY,
        fits.STUDY,
        real_images.STUDY,
        real_fits.STUDY,
    )
}
_OURS = frozenset(STUDIES)


def register(study: Study) -> None:
    """Add a study of your own to those that `sims.run` and the command line find by name.

    Registering a name again replaces your earlier study, so that a notebook cell may run twice. A run records which
    code of mixjax made it, not yours: choose another folder after you change what your study computes.

    Raises:
      TypeError: for anything but a `GridStudy` or a `PiecewiseStudy` whose `config` is a dataclass.
      ValueError: for the name of one of mixjax's studies, or one that is no word of letters, digits and underscores;
        for a configuration that lacks `seed` (of a grid `replicates` too); for presets without "default", or with a
        field that the configuration lacks.
    """
    if not isinstance(study, GridStudy | PiecewiseStudy) or not is_dataclass(study.config):
        raise TypeError(f"register takes a GridStudy or a PiecewiseStudy whose config is a dataclass, got {study!r}")
    if study.name in _OURS:
        raise ValueError(f"mixjax has a study {study.name!r} already; choose another name")
    if not study.name.isidentifier():
        raise ValueError(f"the name of a study must be a word of letters, digits and underscores, got {study.name!r}")
    known = {field.name for field in fields(study.config)}
    needed = {"seed", "replicates"} if isinstance(study, GridStudy) else {"seed"}
    if needed - known:
        raise ValueError(f"the configuration of {study.name} lacks {', '.join(sorted(needed - known))}")
    if "default" not in study.presets:
        raise ValueError(f"the presets of {study.name} lack 'default'; add presets={{'default': {{}}}}")
    for preset, values in study.presets.items():
        if unknown := values.keys() - known:
            raise ValueError(f"preset {preset!r} of {study.name} sets {min(unknown)}, which its configuration lacks")
    STUDIES[study.name] = study
