"""The configurations at which the theorems are measured: rates of p and of unlabeled points, and |theta| down to 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mixjax.gaussian.claims import Rate
from mixjax.typing import Real

Value = Real | Rate
Configuration = Mapping[str, Value]

N = Rate(1, 1)
ROOT = Rate(1, 0.5)


def _cells(names: str, *rows: Iterable[Value]) -> tuple[Configuration, ...]:
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


def _proportional(*rows: tuple[Real, Value]) -> tuple[Configuration, ...]:
    return _cells("p theta_norm", *((Rate(ratio, 1), theta) for ratio, theta in rows))


_SHRINKING = (Rate(1, -0.25), Rate(1, -0.5))  # |theta| < C lets it fall with n

_COMPARABLE = _proportional(
    *((0.1, 1), (0.5, 1), (0.5, 0), (1, 0.5), (0.5, 2), (5, 2)), *((0.5, theta) for theta in _SHRINKING)
)

_LOW_DIMENSION = _cells(
    "p theta_norm alpha",
    *((Rate(5), theta, 1) for theta in (1, 0.5, 2)),
    (Rate(5), 1, 0.2),
    *((Rate(1, power), 1, 1) for power in (0.5, 0.75, 0.9)),
    *((Rate(5), theta, 1) for theta in (0.1, 0.01, *_SHRINKING, 0)),
)

_FEW_LABELS = ((400, 0.1), (5, 0.4), (5, 1), (5, 2.5), (20, 0.4), (20, 1), (100, 0.4), (100, 0.5))

CONFIGURATIONS: dict[str, tuple[Configuration, ...]] = {
    "3.1": _COMPARABLE,
    "3.2": _LOW_DIMENSION,
    "3.3": _cells(
        "theta_norm c_max",
        *((2, 1), (2, 8), (3, 20), (3, 60), (5, 1), (5, 200)),
        *((1, 1), (1.5, 1), (2, 20), (3, 200)),  # theta is not large enough
    ),
    "3.4": _cells(
        "p theta_norm test_norm cosine",
        *((p, 1, 1, 1) for p in (Rate(1000), ROOT, Rate(1, 0.75), N)),
        *((N, *means) for means in ((1, 1.4, 1), (1, 1, 0.5), (0, 1, 0.5), (2, 1, -0.5))),
        (Rate(5), 1, 1, 0.5),
    ),
    "3.5": _COMPARABLE,
    "4.1": _cells(
        "ratio relative_norm n_u",
        *((ratio, relative, Rate(200, 1)) for ratio, relative in _FEW_LABELS),
        *((ratio, relative, Rate(10, 1)) for ratio, relative in ((400, 0.1), (20, 0.4))),
        *((ratio, relative, N) for ratio, relative in ((400, 0.2), (20, 0.4), (20, 1))),
        *((ratio, relative, ROOT) for ratio, relative in ((400, 0.2), (100, 0.4), (100, 0.5), (20, 1))),
        *((400, 0.1, N), (100, 0.2, ROOT)),  # |theta| = 2 is not large enough
    ),
    "4.2": _cells(
        "p theta_norm n_u",
        *((Rate(5), 1, Rate(1, power)) for power in (0.25, 0.5, 0.75, 1)),
        *((Rate(5), theta, Rate(10, 1)) for theta in (0, 0.5, 1, 2, *_SHRINKING)),
        *((Rate(1), theta, Rate(10, 1)) for theta in (0, 1)),
    ),
    "4.3": _cells(
        "p theta_norm n_u",
        *((Rate(12, 1), 2, Rate(per_label, 1)) for per_label in (3, 10, 20, 30, 40, 60, 100)),
        *((Rate(12, 1), 1.2, Rate(per_label, 1)) for per_label in (10, 100, 1000)),
        (N, 1, Rate(10, 1)),
        *((p, 1, n_u) for p, n_u in ((ROOT, ROOT), (Rate(1, 0.75), ROOT), (ROOT, Rate(1, 0.75)))),
    ),
    "5.1": _proportional(
        *((0.1, 1), (1, 0.5), (5, 2)),
        *((0.5, theta) for theta in (1, 0.3, 0.1, 0.03, 0.01, *_SHRINKING, 0)),
    ),
    "5.2": _LOW_DIMENSION,
    "5.3": _cells("theta_norm c_max", (0.3, 0.1), (1, 1), (2, 8), (3, 40), (5, 200)),
}

_NAMES = {"theta_norm": "|theta|", "test_norm": "|theta'|", "relative_norm": "|theta| / sqrt(p/n_l)", "ratio": "p/n_l"}


def cell_text(cell: Configuration) -> str:
    """Write a configuration as name = value, ..."""
    return ", ".join(f"{_NAMES.get(name, name)} = {_text(value)}" for name, value in cell.items())


def _text(value: Value) -> str:
    return str(value) if isinstance(value, Rate) else f"{value:g}"
