"""The phase diagram of ECE(mix) - ECE over p/n and |theta|.

Paper: Theorems 3.1 and 3.2 (5.1 and 5.2 for the MCE): where does Mixup help? The map shows it for chosen
(alpha, beta) at finite n, beside the boundary of the limit, `critical_ratio`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mixjax.commands import option

from ..figures.maps import phase_diagram_figures
from ..grid import AxisValue, grid_of
from ..study import GridStudy
from .comparison import EXPERIMENT, comparison_dataset


@dataclass(frozen=True)
class PhaseDiagram:
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("1000", "Training sample sizes")
    ratio: AxisValue | None = option("0.05:8:64:log", "p/n; p is max(1, round(ratio n))")
    p: AxisValue | None = option(None, "Dimensions, instead of p/n")
    theta_norm: AxisValue = option("0.25:4:64:log", "Signal |theta| / sigma")
    alpha: AxisValue = option("0.2,0.5,1,5", "alpha of lambda ~ Beta(alpha, beta); 0 is no Mixup")
    beta: AxisValue = option("same", "beta, one for each alpha or one for all; 'same' is alpha")
    replicates: int = option(1000, "Training sets a cell")
    seed: int = option(0, "Of every draw")


STUDY = GridStudy(
    name="phase_diagram",
    summary="where Mixup lowers the ECE, the ECE_2 and the MCE, over p/n and |theta|",
    config=PhaseDiagram,
    presets={
        "quick": {"ratio": "0.05:8:20:log", "theta_norm": "0.25:4:20:log"},
        "default": {},
        "full": {
            "ratio": "0.02:16:256:log",
            "theta_norm": "0.125:6:256:log",
            "alpha": "0.05,0.1,0.15,0.2,0.3,0.4,0.5,0.6,0.8,1,1.5,2,3,5,10,20",
            "replicates": 10_000,
        },
    },
    grid=grid_of,
    experiment=EXPERIMENT,
    table=lambda config, grid, moments: comparison_dataset(grid, moments),
    figures=phase_diagram_figures(),
)
