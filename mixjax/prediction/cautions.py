"""Warnings where the rows differ from the assumptions of the prediction, known before anything is fitted.

The prediction takes two Gaussian classes of equal size and one covariance, which it knows. The thresholds are where, in
fits to simulated rows with n = 80, p = 30 and |theta| = 1 (docs/predict.md), predicted signed gaps were off by 0.01 to
0.03, and for easy classes where, on pairs of digits, the NLL was off by as much as it was.
"""

from __future__ import annotations

import numpy as np

from mixjax.prediction.table import Prediction

_COVARIANCE = 0.3  # of `covariance_difference`, beyond noise
_ACCURACY = 0.98
_KURTOSIS = 1.0  # of the score
_SHARE = 0.75  # of the larger class
_ROWS_PER_FIT = 3.0  # rows at hand for each row of a fit
_ROWS_PER_FEATURE = 10.0
_DIMENSIONS, _ROWS = 3.0, 10  # effective dimensions, rows of a fit: by eye; ten pairs of images have 6 to 18 dimensions
_NO_VARIANCE = 1e-9  # of the largest


def cautions(prediction: Prediction) -> list[str]:
    """Return a sentence for each way in which these classes differ from the model; none for rows like the model's."""
    found = (
        _small(prediction),
        _separated(prediction),
        _covariances(prediction),
        _tails(prediction),
        _easy(prediction),
        _few_rows(prediction),
        _fewer_than_fit(prediction),
        _unequal(prediction),
        _ends(prediction),
        _unsolved(prediction),
    )
    return [sentence for sentence in found if sentence]


def noise_of_difference(eigenvalues: np.ndarray, rows: tuple[int, int]) -> float:
    """Return the `covariance_difference` that equal covariances have from noise alone.

    With S the mean of two covariances of Gaussian rows, E |S+ - S-|^2 = (|Sigma|^2 + (tr Sigma)^2)(1/n+ + 1/n-).
    """
    square = float(np.sum(eigenvalues**2))
    return float(np.sqrt((square + eigenvalues.sum() ** 2) * (1 / rows[0] + 1 / rows[1]) / square)) / 2


def _small(prediction: Prediction) -> str:
    s, n = np.asarray(prediction.moments.eigenvalues), prediction.settings.n
    effective = float(s.sum() ** 2 / np.sum(s**2))
    if effective >= _DIMENSIONS and n >= _ROWS:
        return ""
    return (
        f"The fit is small (n = {n}, and {effective:.1f} dimensions hold most of the variance); the prediction is a "
        "limit of many rows and many dimensions, and may be far off."
    )


def _separated(prediction: Prediction) -> str:
    s, theta_squared = np.asarray(prediction.moments.eigenvalues), np.asarray(prediction.moments.theta_squared)
    if sum(prediction.rows) <= len(s):  # then some combination always is
        return ""
    if not np.sum(theta_squared[s <= _NO_VARIANCE * s.max()]) > _NO_VARIANCE * theta_squared.sum():
        return ""
    return (
        "Some combination of features is constant within each class and differs between them: it tells the classes "
        "apart without error. Is it the label itself?"
    )


def _covariances(prediction: Prediction) -> str:
    moments = prediction.moments
    difference = float(moments.covariance_difference)
    noise = noise_of_difference(np.asarray(moments.eigenvalues), prediction.rows)
    if difference**2 <= _COVARIANCE**2 + noise**2:
        return ""
    first, second = prediction.variances
    return (
        f"The covariances of the classes differ: {difference:.2f} on a scale from 0 (equal) to 1, where {noise:.2f} "
        f"would be noise; the total variances are {first:.3g} and {second:.3g}. The prediction uses their mean."
    )


def _tails(prediction: Prediction) -> str:
    kurtosis = np.asarray(prediction.moments.excess_kurtosis)[::-1]  # of the first class, whose label is -1, first
    noise = 3.0 * np.sqrt(24.0 / np.array(prediction.rows))
    if not np.any(kurtosis > np.maximum(_KURTOSIS, noise)):
        return ""
    first, second = (f"{value:.1f}" for value in kurtosis)
    return (
        f"The score has heavier tails than a Gaussian: excess kurtosis {first} and {second} in the two classes "
        "(0 for a Gaussian); a fit is then more accurate and less overconfident than predicted."
    )


def _easy(prediction: Prediction) -> str:
    best = float(np.nanmax(prediction.numbers.accuracy))
    if best <= _ACCURACY:
        return ""
    return (
        f"The classes are easy to tell apart (accuracy {best:.3f}): the NLL, especially after a temperature, is that "
        "of a few rows in the far tail of the score, where a Gaussian is a guess."
    )


def _few_rows(prediction: Prediction) -> str:
    rows, p = sum(prediction.rows), prediction.num_features
    if rows > _ROWS_PER_FEATURE * p:
        return ""
    fewer = "fewer rows than features" if rows < p else "few rows for the number of features"
    return (
        f"There are {fewer} ({rows} and {p}), so the covariance is poorly known: a fit does worse than predicted, "
        "especially with small penalties."
    )


def _fewer_than_fit(prediction: Prediction) -> str:
    rows, n = sum(prediction.rows), prediction.settings.n
    if rows >= _ROWS_PER_FIT * n:
        return ""
    what = "above" if n > rows else "near"
    return (
        f"n = {n} is {what} the {rows} rows that the covariance is estimated from: the estimate is as noisy as the fit."
    )


def _unequal(prediction: Prediction) -> str:
    share = max(prediction.rows) / sum(prediction.rows)
    if share <= _SHARE:
        return ""
    return (
        f"The classes have {prediction.rows[0]} and {prediction.rows[1]} rows; the prediction is for equal classes and "
        "a fit without an intercept."
    )


def _ends(prediction: Prediction) -> str:
    """Return a sentence if the best penalty is the first or the last."""
    ends = {0: "smallest", len(prediction.penalties) - 1: "largest"}
    arm, penalty = prediction.best("nll")
    if penalty not in ends or len(prediction.penalties) == 1:
        return ""
    return (
        f"By NLL the {ends[penalty]} penalty, {prediction.penalties[penalty]:g}, is the best for "
        f"{prediction.arms[arm].name}; --penalties goes further."
    )


def _unsolved(prediction: Prediction) -> str:
    count = int(np.isnan(prediction.numbers.nll).sum())
    if not count:
        return ""
    return f"{count} of the {prediction.numbers.nll.size} predictions were not found numerically, and are left out."
