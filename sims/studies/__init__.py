"""The studies, by the name that the command line knows."""

from ..study import Study
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
      ValueError: for the name of one of mixjax's studies, or one that is no word of letters, digits and underscores.
    """
    if study.name in _OURS:
        raise ValueError(f"mixjax has a study {study.name!r} already; choose another name")
    if not study.name.isidentifier():
        raise ValueError(f"the name of a study must be a word of letters, digits and underscores, got {study.name!r}")
    STUDIES[study.name] = study
