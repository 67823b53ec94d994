"""One figure a theorem, each with its finding as the title, and the step of the proof of Theorem 5.3."""

from __future__ import annotations

import json
from functools import partial

import xarray as xr

from mixjax.plots import Figure

from .captions import made_with
from .theorem_limits import draw_few_labels, draw_mce_derivative, draw_step, draw_turning_ratio
from .theorem_shares import (
    draw_low_dimension,
    draw_many_labels,
    draw_margin,
    draw_mixup_repairs,
    draw_out_of_domain,
    draw_proportional,
    draw_unknown_sigma,
    draw_without_signal,
)

_DASHED = "Dashed, hollow: the hypothesis holds and what must be added to it does not."
_SHARES = "Share of training sets of which the statement is true, against n. Bands: 95 % intervals; dotted: 99 %."

_DRAWN = {
    "3.1": (
        draw_proportional,
        "Mean of ECE(mix) - ECE over training sets, with the weight chosen before the data; bars: 95 % intervals, "
        "mostly smaller than the marks. Dotted: limits. Not drawn: |theta| that falls with n, whose limit is that of "
        "theta = 0.",
    ),
    "3.2": (
        draw_low_dimension,
        f"{_SHARES} Mixup with alpha = beta = 1. Left: p = n^a at |theta| = 1. Right: |theta| down to 0 at p = 5; at "
        f"theta = 0 and |theta| = 1/sqrt(n) the statement is true of almost no training set, at any n. {_DASHED}",
    ),
    "3.3": (
        draw_turning_ratio,
        "Line: the p/n up to which the derivative of the ECE falls, in the limit; c_max must be below it (shaded), "
        "which every c_max is for |theta| large enough. Points: what is measured at the largest n, filled where the "
        "derivative is negative and falls over four levels of p/n up to c_max for 99 % of training sets. Hollow points "
        "are outside of the hypothesis: there theta is not sufficiently large. The axis of c_max is logarithmic.",
    ),
    "3.4": (
        draw_out_of_domain,
        f"{_SHARES} theta' = theta, |theta| = 1, with the weight that calibrates at p/n, chosen before the data. "
        f"{_DASHED}",
    ),
    "3.5": (
        draw_unknown_sigma,
        f"{_SHARES} With the paper's estimate of sigma; dotted lines in the same color: with sigma known (Theorem "
        "3.1).",
    ),
    "4.1": (
        draw_few_labels,
        "Lines: the |theta| from which on pseudo-labels lower the ECE, in the limit, for the n_u of the same color; "
        "it must be exceeded at |theta| = C1 sqrt(p/n_l), where C1 is the left end of what is allowed, and up to C2. "
        "Marks: configurations that are measured, filled where pseudo-labels help in 99 % of data sets at the largest "
        "n_l. Hollow ones are below their line: outside of the hypothesis, since theta is not sufficiently large. "
        "Marks that differ in n_u alone are side by side, so that all can be seen. Both axes are logarithmic.",
    ),
    "4.2": (
        draw_many_labels,
        f"{_SHARES} p = 5, |theta| = 1. {_DASHED}",
    ),
    "4.3": (
        draw_mixup_repairs,
        "Share of data sets of which the statement is true, against the unlabeled points a label, at p = 12 n_l; "
        "bars: 95 % intervals. Left of the dashed line (for |theta| = 2; everywhere for 1.2) the weight is that which "
        "calibrates in the limit, chosen before the data; right of it the limit is under-confident, and a data set "
        "counts if any of eight weights from .01 to .499 helps.",
    ),
    "5.1": (
        draw_without_signal,
        "Share of training sets of which the statement is true, against |theta|, at p = n/2; bars: 95 % intervals. "
        "theta = 0 is put at the left end of the logarithmic axis: there the MCE is 1/2 for every weight.",
    ),
    "5.2": (
        draw_margin,
        "Share of training sets of which the statement is true, of every configuration and n, against p/n over the "
        "critical ratio of |theta| and t, below which Mixup hurts in the limit; it is proportional to |theta|^2 for "
        "small |theta|. Bars: 95 % intervals, mostly smaller than the marks. theta = 0 is left out: there its "
        "critical ratio is 0 and the share is 0.",
    ),
    "5.3": (
        draw_mce_derivative,
        "Limit of the derivative of the MCE in alpha at 0+, beta = 1. Marks: the four levels of p/n up to c_max at "
        "which it is measured; it falls throughout for none of the training sets at the largest n. Arrow: the "
        "direction that the theorem claims.",
    ),
}


def theorem_figures() -> tuple[Figure, ...]:
    figures = (
        Figure(f"theorem_{name}", draw, partial(_caption, theorem=name, text=text))
        for name, (draw, text) in _DRAWN.items()
    )
    return (*figures, Figure("theorem_5.3_step", draw_step, _step_caption))


def _caption(table: xr.Dataset, theorem: str, text: str) -> str:
    entry = next(e for e in json.loads(table.attrs["verdicts"]) if e["theorem"] == theorem)
    config = json.loads(table.attrs["config"])
    claimed = f'Theorem {theorem}: "{entry["claimed"]}" Verdict: {entry["verdict"]}.'
    settings = f"{config['replicates']:,} training sets a point, seed {config['seed']}, sigma = 1. Without units."
    return " ".join(filter(None, (claimed, text, entry["approximation"], "Settings:", settings, made_with(table))))


def _step_caption(table: xr.Dataset) -> str:
    return (
        "The step of the proof of Theorem 5.3 that fails. At alpha = 0+ and beta = 1 the derivative of the MCE is -1/2 "
        "of x/cosh^2 x at the v* of the largest gap. The proof needs the function to rise over the v* that occur, and "
        "the paper's Figure 5 shows the function alone. Its peak is at .7717, and v* is above .7717 for every rho < 1: "
        f"it grows as rho falls, that is with p/n. rho = |theta|^2/(|theta|^2 + p/n) in the limit. Without units. "
        f"{made_with(table)}"
    )
