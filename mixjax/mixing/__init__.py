r"""Mixup of a batch: convex combinations of rows and of their targets.

Paper: Section 2, the definition of Mixup: :math:`\tilde x = \lambda x_i + (1 - \lambda) x_j` and the same of the
targets, :math:`\lambda \sim \mathrm{Beta}(\alpha, \beta)`. The defaults are those of the reference code of H. Zhang,
M. Cisse, Y. N. Dauphin, D. Lopez-Paz, "mixup: beyond empirical risk minimization" (ICLR 2018): one lambda a batch, not
folded, partners by a random permutation. (The theory's estimator is the expectation over all pairs:
`gaussian.mixup_estimator`.)

CutMix and RegMixup are two relatives that the paper leaves to future work. (Manifold Mixup is `mixup` of hidden values,
which the nets of `train` support.)
"""

from mixjax.mixing.boxes import CutMixDraw, cutmix, draw_cutmix
from mixjax.mixing.convex import MixupDraw, draw_mixup, mixup, regmixup
from mixjax.mixing.convex import Pairing as Pairing
from mixjax.mixing.convex import Weight as Weight

__all__ = ["CutMixDraw", "MixupDraw", "cutmix", "draw_cutmix", "draw_mixup", "mixup", "regmixup"]
