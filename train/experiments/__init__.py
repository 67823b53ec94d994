"""The experiments, by name."""

from train.experiments.capacity import DEPTH, WIDTH
from train.experiments.experiment import Experiment
from train.experiments.pseudo_label import PSEUDO_LABEL
from train.experiments.shift import SHIFT
from train.experiments.temperature import TEMPERATURE
from train.experiments.variants import VARIANTS

__all__ = ["EXPERIMENTS", "Experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (WIDTH, DEPTH, PSEUDO_LABEL, TEMPERATURE, VARIANTS, SHIFT)
}
