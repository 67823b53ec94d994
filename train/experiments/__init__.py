"""The experiments, by name."""

from .capacity import DEPTH, WIDTH
from .experiment import Experiment
from .pseudo_label import PSEUDO_LABEL
from .shift import SHIFT
from .temperature import TEMPERATURE
from .variants import VARIANTS

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (WIDTH, DEPTH, PSEUDO_LABEL, TEMPERATURE, VARIANTS, SHIFT)
}
