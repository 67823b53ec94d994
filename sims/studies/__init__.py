"""The studies, by the name that the command line knows."""

from sims.studies import capacity, estimator_bias, generative, phase_diagram, slices, temperature, theorems
from sims.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        phase_diagram.STUDY,
        slices.LOW_DIMENSION,
        slices.HIGH_DIMENSION,
        capacity.STUDY,
        theorems.STUDY,
        temperature.STUDY,
        estimator_bias.STUDY,
        generative.STUDY,
    )
}
