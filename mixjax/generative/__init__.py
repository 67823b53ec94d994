"""The Gaussian generative model of the paper, x = g(z): generators, their inverses, and classifiers on features h(x).

`network` and `coupling` are the maps, each with its inverse; `families` draws them; `lipschitz` measures how far they
stretch; `simulation` draws scores literally, and `calibration` says what they are worth: the population ECE, and
Assumption 3.1; `learned` learns an inverse from data by the paper's criterion, with the distance of `wasserstein`, from
`start`. The case of an unknown sigma is exact: `gaussian.sample_scores`.
"""

from mixjax.generative.calibration import DensityError as DensityError
from mixjax.generative.calibration import density_error as density_error
from mixjax.generative.calibration import simulated_ece as simulated_ece
from mixjax.generative.coupling import CouplingFlow as CouplingFlow
from mixjax.generative.coupling import coupling_generator as coupling_generator
from mixjax.generative.families import sample_coupling as sample_coupling
from mixjax.generative.families import sample_leaky_relu as sample_leaky_relu
from mixjax.generative.families import sample_linear as sample_linear
from mixjax.generative.learned import learn_inverse as learn_inverse
from mixjax.generative.lipschitz import largest_stretch as largest_stretch
from mixjax.generative.network import LeakyReluNetwork as LeakyReluNetwork
from mixjax.generative.network import leaky_relu_generator as leaky_relu_generator
from mixjax.generative.network import linear_generator as linear_generator
from mixjax.generative.simulation import ScoreBins as ScoreBins
from mixjax.generative.simulation import simulate_scores as simulate_scores
