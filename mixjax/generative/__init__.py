"""Model the paper's x = g(z) with generators, their inverses, and classifiers on features h(x).

`network` and `coupling` are the maps, each with its inverse; `families` draws them; `lipschitz` measures how far they
stretch; `simulation` draws scores literally, and `calibration` reduces them to the population ECE and to the error of
Assumption 3.1; `learned` learns an inverse from data by the paper's criterion, with the distance of `wasserstein`, from
`start`. The case of an unknown sigma is exact: `gaussian.sample_scores`.
"""

from mixjax.generative.calibration import DensityError, density_error, simulated_ece
from mixjax.generative.coupling import CouplingFlow, coupling_generator
from mixjax.generative.families import sample_coupling, sample_leaky_relu, sample_linear
from mixjax.generative.learned import learn_inverse
from mixjax.generative.lipschitz import max_lipschitz_ratio
from mixjax.generative.network import LeakyReluNetwork, leaky_relu_generator, linear_generator
from mixjax.generative.simulation import ScoreBins, simulate_scores

__all__ = [
    "CouplingFlow", "DensityError", "LeakyReluNetwork", "ScoreBins", "coupling_generator", "density_error",
    "leaky_relu_generator", "learn_inverse", "linear_generator", "max_lipschitz_ratio", "sample_coupling",
    "sample_leaky_relu", "sample_linear", "simulate_scores", "simulated_ece",
]  # fmt: skip
