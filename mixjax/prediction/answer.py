"""The prediction in words: what is best, what Mixup gains over the best weight decay alone, what a temperature leaves.

To lower or raise the NLL is to change it by one percent and by 0.001 nats, or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from mixjax.numerics.crossings import crossings
from mixjax.prediction.measuring import Check, Measured
from mixjax.prediction.table import Cell, Prediction
from mixjax.report.numbers import rounded

Word = Literal["lower", "hardly change", "raise"]
_HARDLY, _LEAST = 0.01, 0.001  # of the NLL, and nats
_SHOWN = (("nll", "NLL"), ("ece", "ECE"), ("signed_gap", "signed gap"), ("accuracy", "accuracy"))


def gain(prediction: Prediction, kind: str, number: str = "nll") -> float:
    """Return by how much the best arm of a kind lowers a number below the best weight decay alone."""
    best, decay = prediction.best(number, (kind,)), prediction.best(number, ("decay",))
    return prediction.at(number, decay) - prediction.at(number, best)


def verdict(prediction: Prediction, number: str = "nll") -> Word:
    """Return what the best Mixup does to the NLL of the best weight decay alone, `nll` or `scaled_nll`."""
    change = gain(prediction, "mixup", number)
    least = max(_LEAST, _HARDLY * prediction.at(number, prediction.best(number, ("decay",))))
    return "hardly change" if abs(change) < least else ("lower" if change > 0 else "raise")


def sentences(prediction: Prediction, check: Check | None) -> list[str]:
    """Return the answer for one pair of classes, in sentences."""
    found = [_answer(prediction)] if prediction.has("mixup") else []
    found += [_best(prediction, "nll", "NLL"), _best(prediction, "ece", "ECE"), _crossing(prediction)]
    for kind, name in (("mixup", "Mixup"), ("smoothing", "Label smoothing")):
        if prediction.has(kind):
            found.append(_bought(prediction, kind, name, check))
    return [sentence for sentence in found if sentence]


def summary(predictions: Sequence[Prediction], checks: Sequence[Check | None]) -> list[str]:
    """Return the answer for several pairs, in sentences."""
    found = []
    if predictions[0].has("mixup"):
        for number, when in (("nll", ""), ("scaled_nll", ", once each has its best temperature,")):
            words = [verdict(each, number) for each in predictions]
            median = np.median([gain(each, "mixup", number) for each in predictions])
            found.append(
                f"Over the best weight decay alone{when} Mixup lowers the NLL in {words.count('lower')} of "
                f"{len(words)} pairs, hardly changes it in {words.count('hardly change')} and "
                f"raises it in {words.count('raise')}; in the median pair it changes it by {_change(-median)}."
            )
            found += _all_measured(predictions, checks, number)
    for number, name in (("nll", "NLL"), ("ece", "ECE")):
        kinds = [each.arms[each.best(number)[0]].kind for each in predictions]
        found.append(
            f"Best by {name}: weight decay alone in {kinds.count('decay')} pairs, Mixup in {kinds.count('mixup')}, "
            f"label smoothing in {kinds.count('smoothing')}."
        )
    return found


def crossing(prediction: Prediction, arm: int = 0) -> tuple[float, bool] | None:
    """Return where the signed gap of an arm changes its sign, and whether it is positive below that penalty.

    The penalty is interpolated between two of the grid, on a logarithmic axis; None if no sign changes. Of several the
    largest is returned.
    """
    gap, penalty = prediction.numbers.signed_gap[arm], np.log(prediction.penalties)
    found, falls = crossings(penalty, gap)
    return (float(np.exp(found[-1])), bool(falls[-1])) if len(found) else None


def _answer(prediction: Prediction) -> str:
    plain, scaled = verdict(prediction), verdict(prediction, "scaled_nll")
    arm, penalty = prediction.best("nll", ("decay", "smoothing"))
    other = f"{prediction.arms[arm].name} (penalty {prediction.penalties[penalty]:g})"
    if plain == "lower":
        advice = "Mixup helps" if scaled == "lower" else "Mixup helps, but no more than temperature scaling"
        if prediction.best("nll") == (arm, penalty):
            advice += f", and {other} helps more"
    elif scaled == "lower":
        advice = f"Mixup helps only with temperature scaling; without it, use {other}"
    else:
        advice = f"Mixup does not help; use {other}"
    return (
        f"{advice}: Mixup is predicted to {plain} the NLL of the best weight decay alone, and to {scaled} it once each "
        "has its best temperature."
    )


def _best(prediction: Prediction, number: str, name: str) -> str:
    cell = prediction.best(number)
    arm, penalty = prediction.arms[cell[0]], prediction.penalties[cell[1]]
    others = ", ".join(f"{label} {rounded(prediction.at(field, cell))}" for field, label in _SHOWN if field != number)
    return f"Best by {name}: {arm.name}, penalty {penalty:g}: {name} {rounded(prediction.at(number, cell))} ({others})."


def _crossing(prediction: Prediction) -> str:
    found = crossing(prediction)
    if found is None:
        return ""
    below, above = ("over", "under") if found[1] else ("under", "over")
    return (
        f"Weight decay alone is {below}confident below penalty {found[0]:.2g} and {above}confident above it; at "
        "this penalty its predicted ECE is 0."
    )


def _bought(prediction: Prediction, kind: str, name: str, check: Check | None) -> str:
    parts = []
    for number, what in (("nll", "NLL"), ("scaled_nll", "after the best temperature")):
        best, decay = prediction.best(number, (kind,)), prediction.best(number, ("decay",))
        first, second = (rounded(prediction.at(number, cell)) for cell in (decay, best))
        measured = _measured(check, number, best, decay, gain(prediction, kind, number)) if check else ""
        parts.append(f"{what} {second} against {first}{measured}")
    return f"{name} instead of the best weight decay alone: {parts[0]}; {parts[1]}."


def _all_measured(predictions: Sequence[Prediction], checks: Sequence[Check | None], number: str) -> list[str]:
    """Count the pairs whose measured change has the predicted sign."""
    remarks = []
    for each, check in zip(predictions, checks, strict=True):
        if check is not None:
            change = check.difference(number, each.best(number, ("mixup",)), each.best(number, ("decay",)))
            remarks.append(_remark(change, gain(each, "mixup", number)))
    if not remarks:
        return []
    counts = ", ".join(f"{words} in {remarks.count(words)}" for words in _REMARKS)
    return [f"The measured change is {counts}."]


_REMARKS = ("of the predicted sign", "of the other sign", "not clear of 0")


def _remark(found: Measured, predicted: float) -> str:
    """Return which sign the whole interval of a change has, where `predicted` is what it was to be lowered by."""
    signs = (found.high < 0, found.low > 0) if predicted > 0 else (found.low > 0, found.high < 0)
    return _REMARKS[0 if signs[0] else 1 if signs[1] else 2]


def _measured(check: Check, number: str, best: Cell, decay: Cell, predicted: float) -> str:
    """Describe the measured change, and its sign unless it is the predicted one."""
    found = check.difference(number, best, decay)
    words = _remark(found, predicted)
    remark = "" if words == _REMARKS[0] else f", {words}"
    return f" (measured change {_change(found.mean)} [{rounded(found.low)}, {rounded(found.high)}]{remark})"


def _change(value: float) -> str:
    text = rounded(float(value))
    return f"+{text}" if value > 0 else text
