"""The numbers of docs/beyond.md about fitted classifiers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.pages.tables import at, table

CHANGES = "fits/ratio-theta_norm-fit-alpha.csv"
PLAIN = "fits/ratio-theta_norm-fit.csv"
LIMIT = "fits/theta_norm-fit-alpha-fine_ratio.csv"
BOUNDARY = "fits/theta_norm-alpha.csv"
FITS = {"average": "average", "heavy": "ridge 1", "light": "ridge 0.1"}


def fits_numbers() -> dict[str, float]:
    return edges() | ridges() | logistic() | helped() | collapse()


def last_crossing(x: pd.Series, values: pd.Series) -> float:
    """Return where values go below 0 for good, interpolated in log x."""
    place = np.flatnonzero(values.values[:-1] >= 0)[-1]
    start, end = values.values[place], values.values[place + 1]
    share = start / (start - end)
    return float(np.exp((1 - share) * np.log(x.values[place]) + share * np.log(x.values[place + 1])))


def edges() -> dict[str, float]:
    values = {}
    for theta in (1, 2):
        for alpha in (0.2, 1):
            values[f"{theta}.{alpha}.average"] = at(BOUNDARY, theta_norm=theta, alpha=alpha).boundary
            for name in ("heavy", "light"):
                curve = table(LIMIT, theta_norm=theta, alpha=alpha, fit=FITS[name])
                edge = last_crossing(curve.fine_ratio, curve.change_limit)
                values[f"{theta}.{alpha}.{name}"] = edge
    return values


def with_boundary(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.merge(table(BOUNDARY), on=["theta_norm", "alpha"])


def ridges() -> dict[str, float]:
    """Return the ECE at p/n = 3.2 of the average and of ridges, where no cell above the boundary is hurt."""
    rows = with_boundary(table(CHANGES, "fit in ('ridge 1', 'ridge 0.1')"))
    assert not (rows[rows.ratio > rows.boundary].eval("change > 3 * change_se")).any()
    values = {}
    for name, fit in FITS.items():
        values[f"{name}.plain"] = at(PLAIN, ratio=3.2, theta_norm=2, fit=fit).ece_plain
        values[f"{name}.mix"] = at(CHANGES, ratio=3.2, theta_norm=2, fit=fit, alpha=1).ece_mix
    return values


def off_limit(row: pd.Series) -> float:
    curve = table(LIMIT, theta_norm=row.theta_norm, alpha=row.alpha, fit=row.fit)
    return float(abs(row.change - np.interp(np.log(row.ratio), np.log(curve.fine_ratio), curve.change_limit)))


def logistic() -> dict[str, float]:
    rows = table(CHANGES, "fit in ('logistic 0.01', 'logistic 0.001')")
    far = rows[rows.theta_norm == 2]
    gains, hurt = far[far.change < 0], far.change > 3 * far.change_se
    plain = table(PLAIN, "fit in ('logistic 0.01', 'logistic 0.001')", theta_norm=2)
    heavy, light = (plain[plain.fit == f"logistic {penalty}"].signed_plain for penalty in (0.01, 0.001))
    assert (heavy < 0).all()
    (gain,) = gains.itertuples()
    assert (gain.fit, gain.ratio, gain.alpha) == ("logistic 0.001", 0.4, 0.2)
    return {
        "logistic.off": max(off_limit(row) for _, row in rows.iterrows()),
        "hurt": hurt.sum(),
        "hurt.of": len(far),
        "gain": gain.change,
        "gain.error": gain.change_se,
        "plain.ece": plain.ece_plain.max(),
        "plain.over": light.max(),
    }


def helped() -> dict[str, float]:
    rows = table(CHANGES, theta_norm=1, fit="logistic 0.01")
    clear = rows.change < -2 * rows.change_se
    (unclear,) = rows[~clear].itertuples()
    assert (unclear.ratio, unclear.alpha) == (0.1, 1)
    return {
        "helped": clear.sum(),
        "helped.of": len(rows),
        "unclear": unclear.change,
        "unclear.error": unclear.change_se,
    }


def collapse() -> dict[str, float]:
    values = {}
    for ratio in (0.4, 0.7, 1, 1.5):
        plain = at(PLAIN, ratio=ratio, theta_norm=1, fit="logistic 0.001")
        mixed = at(CHANGES, ratio=ratio, theta_norm=1, fit="logistic 0.001", alpha=1)
        if ratio != 0.4:
            values |= {f"{ratio}.accuracy.plain": plain.accuracy_plain, f"{ratio}.accuracy.mix": mixed.accuracy_mix}
        if ratio in (0.4, 1):
            values |= {f"{ratio}.ece.plain": plain.ece_plain, f"{ratio}.ece.mix": mixed.ece_mix}
        if ratio == 1:
            lost = plain.accuracy_plain - mixed.accuracy_mix
            assert 0 < lost + plain.signed_plain - mixed.signed_mix < lost  # confidence falls, and by less
            values |= {"1.change": mixed.change, "1.change.error": mixed.change_se}
    return values
