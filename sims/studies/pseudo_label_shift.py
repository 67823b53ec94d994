"""Pseudo-labels of another domain: what unlabeled data of mean theta_u do to calibration on data of mean theta.

The paper leaves this question open (its Section 6). The laws, their limits and all that is measured are those of
`pseudo_label`, over the length of theta_u and its angle to theta.
"""

from __future__ import annotations

from dataclasses import dataclass

from mixjax.commands import option
from mixjax.runs import RunError

from ..figures.pseudo_label_shift import pseudo_label_shift_figures
from ..grid import AxisValue, Grid, axis, with_axes
from ..study import GridStudy
from .out_of_domain import angles
from .pseudo_label import PseudoLabelConfig, experiment_of, pseudo_label_grid, pseudo_label_table


@dataclass(frozen=True, kw_only=True)
class PseudoLabelShiftConfig(PseudoLabelConfig):
    """Axes are start:stop:count, start:stop:count:log, or values separated by commas."""

    n: AxisValue = option("50", "Labeled training points")
    ratio: AxisValue = option("1,5", "p/n; p is max(1, round(ratio n)), 2 at least")
    theta_norm: AxisValue = option("1.5", "Signal |theta| / sigma")
    unlabeled_per_label: AxisValue = option("20", "Unlabeled points / n")
    unlabeled_norm: AxisValue = option("0.2:6:20:log", "|theta_u| / sigma of the unlabeled data")
    angle: AxisValue = option("0:180:19", "Degrees between theta_u and theta, 0 to 180")


def _grid(config: PseudoLabelShiftConfig) -> Grid:
    model = pseudo_label_grid(config)
    if model.cells["p"].min() < 2:
        raise RunError("p = ratio n must be at least 2, for theta_u of another direction than theta")
    norms = axis("unlabeled_norm", config.unlabeled_norm)
    return with_axes(model, unlabeled_norm=norms, angle=angles(config.angle))


STUDY = GridStudy(
    name="pseudo_label_shift",
    summary="pseudo-labels of unlabeled data of another domain, over the length and angle of its mean",
    config=PseudoLabelShiftConfig,
    presets={
        "quick": {"ratio": "5", "unlabeled_norm": "0.2:6:8:log", "angle": "0:180:7", "replicates": 300},
        "default": {},
        "full": {
            "ratio": "0.2,1,5",
            "theta_norm": "0.5,1.5,3",
            "unlabeled_per_label": "5,20,100",
            "unlabeled_norm": "0.1:10:48:log",
            "angle": "0:180:37",
            "replicates": 10_000,
        },
    },
    grid=_grid,
    experiment=experiment_of,
    table=pseudo_label_table,
    figures=pseudo_label_shift_figures(),
)
