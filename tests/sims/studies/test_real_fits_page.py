"""What docs/real_images.md says of predicted fits is what results/real_fits holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mixjax.sims.reports.real_fits import confident_sides, misses, share_and_error, share_near, signs
from tests.paths import DOCS, ROOT

TEXT = " ".join((DOCS / "real_images.md").read_text().split("## The same without training")[1].split())


def published(name):
    """The published tables of a run, as the study's own."""
    axes = (("pair", "n", "penalty", "fit"), ("pair", "n", "fit"), ("pair",))
    files = [ROOT / "results" / name / f"{'-'.join(names)}.csv" for names in axes]
    parts = [pd.read_csv(file).set_index(list(names)).to_xarray() for file, names in zip(files, axes, strict=True)]
    whole = xr.merge([part.drop_vars(["data_set", "alpha"], errors="ignore") for part in parts], join="outer")
    return whole.assign_coords(alpha=("fit", [float(str(fit).startswith("Mixup")) for fit in whole["fit"].values]))


@pytest.fixture(scope="module")
def table():
    return published("real_fits")


def by_pair(table, count):
    return [count(table.sel(pair=[pair])) for pair in table["pair"].values]


def said(counts):
    """A count as the page writes it: with its standard error over pairs, if any cell is wrong."""
    right, number = np.sum(counts, axis=0)
    share, error = share_and_error(counts)
    return f"{right:,} of {number:,} ({100 * share:.1f}" + (f" ± {100 * error:.1f} %)" if error > 0 else " %)")


@pytest.mark.medium
def test_the_counts(table):
    assert f"| signed gap within .03 | {said(by_pair(table, share_near))}" in TEXT
    assert f"| over- or under-confident | {said(by_pair(table, confident_sides))}" in TEXT
    for name, words in (("signed", "signed gap"), ("ece", "ECE")):
        theories = ("predicted", "whitened", "unwhitened")
        cells = (said(by_pair(table, lambda one: signs(one, name, theory))) for theory in theories)  # noqa: B023
        assert f"| sign of the change of the {words} by Mixup | {' | '.join(cells)} |" in TEXT


def test_every_fit_has_its_prediction(table):
    assert not (table["signed"].notnull() & table["signed_predicted"].isnull()).any()


def test_the_misses(table):
    miss = misses(table)
    mean = float((table["signed_predicted"] - table["signed"]).mean())
    assert f"median miss is {float(miss.median()):.3f}, the largest {float(miss.max()):.3f}".replace("0.", ".") in TEXT
    assert f"is {-mean:.3f} too low on average".replace("0.", ".") in TEXT


@pytest.mark.parametrize("name", ["real_fits_net", "real_fits_net_mixup"])
def test_the_counts_of_a_net(name):
    table = published(name)
    assert said(by_pair(table, share_near)).replace(" (", " signed gaps are within .03 (") in TEXT
    right, number = signs(table, "ece", "predicted")
    share = said(by_pair(table, lambda one: signs(one, "ece", "predicted"))).split(" (")[1].removesuffix(")")
    averaging, _ = signs(table, "ece", "whitened")
    counted = f"{right} of {number} signs of the change of the ECE are right ({share}; averaging, whitened rows: "
    assert f"{counted}{averaging})" in TEXT
