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
