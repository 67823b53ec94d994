"""The numbers of the first part of docs/real_images.md, about results/real_images."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from tests.pages.tables import at, table

STUDY = "real_images"
PAIRS = {
    "control.1": "control 1",
    "control.2": "control 2",
    "shirt": "T-shirt, shirt",
    "coat": "pullover, coat",
    "sandal": "sandal, sneaker",
    "boot": "sneaker, boot",
    "dress": "trouser, dress",
    "trouser": "T-shirt, trouser",
    "3.8": "digits: 3, 8",
    "1.8": "digits: 1, 8",
    "4.9": "digits: 4, 9",
    "odd": "digits: even, odd",
}
GROUPS = {
    "controls": ("control.1", "control.2"),
    "fashion": ("shirt", "coat", "sandal", "boot", "dress", "trouser"),
    "hard": ("shirt", "coat"),
    "easy": ("sandal", "boot", "dress", "trouser"),
    "easiest": ("boot", "dress", "trouser"),
    "digits": ("3.8", "1.8", "4.9", "odd"),
}
SIDES = ("helps", "hurts")
KINDS = ("cells", "clear", "agree")
BETA_1 = 1  # the place of Beta(1, 1) in the column mixup


def numbers() -> dict[str, float]:
    return signs() | changes() | controls() | boundaries() | shapes() | plain()


def cells() -> pd.DataFrame:
    """Return the cells that are measured, with the exact difference and whether the interval is without 0."""
    found = table(f"{STUDY}/pair-rows-ratio-mixup.csv", "square_difference == square_difference")
    found = found.merge(table(f"{STUDY}/pair-ratio-mixup.csv")).merge(table(f"{STUDY}/pair.csv"))
    half = found.half_width * found.square_difference_se
    sign = np.sign(found.square_difference) == np.sign(found.square_difference_exact)
    away = np.abs(found.square_difference - found.square_difference_exact)
    clear = np.abs(found.square_difference) > half
    return found.assign(clear=clear, agree=clear & sign, away=away, holds=away < half)


def signs() -> dict[str, float]:
    every, values = cells(), {}
    lists = {key: (key,) for key in PAIRS} | GROUPS
    for rows, prefix in (("images", ""), ("Gaussian rows", "gaussian.")):
        for name, keys in lists.items():
            kept = every[(every["rows"] == rows) & every["pair"].isin([PAIRS[key] for key in keys])]
            for word, side in zip(SIDES, (-1, 1), strict=True):
                part = kept[np.sign(kept.square_difference_exact) == side]
                for kind, count in (("cells", len(part)), ("clear", part.clear.sum()), ("agree", part.agree.sum())):
                    values[f"{prefix}{name}.{word}.{kind}"] = count
    assert values["easy.hurts.agree"] == 0
    for name, side in itertools.product(("fashion", "digits"), SIDES):
        assert values[f"gaussian.{name}.{side}.agree"] == values[f"gaussian.{name}.{side}.clear"]
    values["easy.hurts.against"] = values["easy.hurts.clear"]
    return {name: value for name, value in values.items() if name in STATED}


def changes() -> dict[str, float]:
    """Return 1,000 times the mean change over the p/n where Beta(1, 1) is said to hurt, with half its interval."""
    found = {}
    for key in GROUPS["fashion"]:
        pair = PAIRS[key]
        half = at(f"{STUDY}/pair.csv", pair=pair).half_width
        found[f"{key}.theta"] = at(f"{STUDY}/pair.csv", pair=pair).theta_norm
        exact = at(f"{STUDY}/pair-side-mixup.csv", pair=pair, side="hurts", mixup=BETA_1)
        found[f"{key}.exact"] = 1e3 * exact.square_side_exact
        for rows, name in (("images", "images"), ("Gaussian rows", "gaussian")):
            row = at(f"{STUDY}/pair-side-rows-mixup.csv", pair=pair, side="hurts", rows=rows, mixup=BETA_1)
            found |= {f"{key}.{name}": 1e3 * row.square_side, f"{key}.{name}.half": 1e3 * half * row.square_side_se}
    return found


def controls() -> dict[str, float]:
    """Return how near the controls are to the exact law, in standard errors and relative to it."""
    every, found = cells(), {}
    for key in GROUPS["controls"]:
        part = every[(every["pair"] == PAIRS[key]) & (every["rows"] == "images")]
        found |= {f"{key}.hold": part.holds.sum(), f"{key}.all": len(part)}
        found[f"{key}.claimed"] = at(f"{STUDY}/pair.csv", pair=PAIRS[key]).square_claimed
        found[f"{key}.from"] = part[~part.holds].ratio.min()
        low = part[part.ratio < 0.9]
        found[f"{key}.low"] = (low.away / low.square_difference_se).max()
    missed = every[(every["pair"] == PAIRS["control.2"]) & (every["rows"] == "images") & ~every.holds]
    assert np.abs(missed.square_difference).lt(np.abs(missed.square_difference_exact)).all()
    assert (missed.away / np.abs(missed.square_difference_exact)).between(0.025, 0.135).all()
    pairs = table(f"{STUDY}/pair.csv")
    images = pairs[pairs.row_sets == 1].divisions
    found |= {"row.sets": pairs.row_sets.max(), "divisions.least": images.min(), "divisions.most": images.max()}
    return {name: found[name] for name in found if name not in ("control.1.from", "control.1.all", "control.2.low")}


def boundaries() -> dict[str, float]:
    found = {}
    for key in GROUPS["hard"]:
        pair = PAIRS[key]
        half = at(f"{STUDY}/pair.csv", pair=pair).half_width
        row = at(f"{STUDY}/pair-rows-mixup.csv", pair=pair, rows="images", mixup=2)
        width = np.exp(half * row.square_critical_se / row.square_critical)
        exact = at(f"{STUDY}/pair-mixup.csv", pair=pair, mixup=2).square_critical_exact
        found |= {f"{key}.boundary": row.square_critical, f"{key}.boundary.exact": exact}
        found |= {f"{key}.boundary.low": row.square_critical / width}
        found |= {f"{key}.boundary.high": row.square_critical * width}
        found[f"{key}.weak.exact"] = at(f"{STUDY}/pair-mixup.csv", pair=pair, mixup=0).square_critical_exact
    exact = table(f"{STUDY}/pair-mixup.csv")
    easiest = exact[exact["pair"].isin([PAIRS[key] for key in GROUPS["easiest"]])]
    return found | {"easiest.boundary": easiest.square_critical_exact.max()}


def shapes() -> dict[str, float]:
    every = table(f"{STUDY}/pair-class.csv")
    fashion = every[every["pair"].isin([PAIRS[key] for key in GROUPS["fashion"]])]
    images = every[~every["pair"].isin([PAIRS[key] for key in GROUPS["controls"]])]
    drawn = every[every["pair"].isin([PAIRS[key] for key in GROUPS["controls"]])]
    assert (np.abs(drawn.skewness) < 0.02).all()
    return {
        "variance.least": fashion.variance.min(),
        "variance.most": fashion.variance.max(),
        "skewness.least": images.skewness.max(),
        "skewness.most": images.skewness.min(),
    }


def plain() -> dict[str, float]:
    """Return the ECE_2 of the plain classifier at the smallest p/n, measured and exact."""
    found = {}
    for key in ("shirt", "coat", "boot", "trouser"):
        row = table(f"{STUDY}/pair-rows-ratio.csv", pair=PAIRS[key], rows="images").nsmallest(1, "ratio")
        exact = table(f"{STUDY}/pair-ratio.csv", pair=PAIRS[key]).nsmallest(1, "ratio")
        found |= {f"{key}.plain": row.square.item() ** 0.5, f"{key}.plain.exact": exact.square_exact.item() ** 0.5}
    return found


STATED = {
    *(f"{name}.{word}.{kind}" for name in ("controls", "fashion", "digits") for word in SIDES for kind in KINDS),
    *(f"gaussian.fashion.{word}.{kind}" for word in SIDES for kind in KINDS),
    *(f"{name}.hurts.{kind}" for name in GROUPS["fashion"] for kind in KINDS),
    "hard.hurts.clear",
    "hard.hurts.agree",
    "easy.hurts.against",
    "easiest.hurts.clear",
    "gaussian.digits.hurts.clear",
}
