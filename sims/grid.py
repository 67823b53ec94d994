"""The cells of a study: axes as a command line writes them, checked and laid out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from mixjax.gaussian import mixup_weight
from mixjax.runs import RunError
from mixjax.runs.memory import memory
from mixjax.typing import Real

LARGEST = 1e10  # value of an axis, as of n and p in `mixjax.gaussian.sample_scores`
MOST = 2**24  # cells times settings of a grid
LONGEST = 2**19  # values of an axis, which the manifest of a run lists
BYTES = 300  # of memory for each, in which the table of a run is made

AxisValue = str | float | int | Sequence[float] | np.ndarray


def axis(
    name: str, value: AxisValue, *, whole: bool = False, least: Real = 0.0, above: bool = False, distinct: bool = True
) -> np.ndarray:
    """Return the values of an axis, from "start:stop:count[:log]", "a,b,c", a number, or a sequence of numbers.

    Args:
      name: for messages.
      value: as above; a range includes both ends.
      whole: whether values must be whole numbers that single precision has, as every one up to 2^24 is; those of a
        range are rounded to such numbers, and repeats dropped.
      least: the smallest value allowed; `above` excludes it.
      distinct: whether a repeated value is refused. Values that are equal in single precision, in which cells are
        computed, are the same cell.

    Raises:
      RunError: for a wrong value.
    """
    if isinstance(value, str) and ":" in value:
        values = _range(name, value)
        values = np.unique(_single(np.rint(values))) if whole else values
    else:
        values = _numbers(name, value)
    wrong = ~((values >= least) & (values <= LARGEST) & ~(above & (values == least)))
    if wrong.any():
        rule = f"above {least:g}" if above else f"{least:g} or more"
        raise RunError(f"{name} must be {rule}, and at most {LARGEST:g}, got {values[wrong][0]:g}")
    if whole and (values != np.floor(values)).any():
        raise RunError(f"{name} must be whole numbers, got {values[values != np.floor(values)][0]:g}")
    if whole and (values != _single(values)).any():
        wanted = values[values != _single(values)][0]
        raise RunError(
            f"{name} must be numbers that single precision can represent, got {wanted:.0f}; "
            f"near it is {_single(wanted):.0f}"
        )
    if distinct and len(np.unique(values)) < len(values):
        raise RunError(f"{name} must not repeat a value, got {_shown(value)}")
    if distinct and len(np.unique(_single(values))) < len(values):
        raise RunError(f"{name} must not have values that are equal in single precision, got {_pair(values)}")
    return values


def _shown(value: Any) -> str:
    """Write a value as it was given, shortened to fit a sentence."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _single(values: np.ndarray) -> np.ndarray:
    """Round to the values that the engine computes with."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64)


def _pair(values: np.ndarray) -> str:
    """Name the first two values, in order, that are equal in single precision."""
    values = np.sort(values)
    first = np.flatnonzero(np.diff(_single(values)) == 0)[0]
    return f"{float(values[first])!r} and {float(values[first + 1])!r}"


def _numbers(name: str, value: AxisValue | list[str]) -> np.ndarray:
    parts = value.split(",") if isinstance(value, str) else value
    try:
        if np.dtype(getattr(parts, "dtype", float)).kind in "cmM":
            raise TypeError("complex numbers or dates")
        values = np.atleast_1d(np.asarray(parts, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise RunError(f"{name} must be numbers, as in 0.5 or 0.2,1,5 or 0.05:8:64:log, got {_shown(value)}") from None
    if values.ndim != 1 or values.size == 0:
        raise RunError(f"{name} must be a non-empty list of numbers, got {_shown(value)}")
    if values.size > LONGEST:
        raise RunError(f"{name} must have at most {LONGEST:,} points, got {values.size:,}")
    return values


def _range(name: str, text: str) -> np.ndarray:
    parts = text.split(":")
    spacing = parts[3] if len(parts) == 4 else "lin"
    if len(parts) not in (3, 4) or spacing not in ("log", "lin"):
        raise RunError(f"{name} must be a range start:stop:count or start:stop:count:log, got {_shown(text)}")
    start, stop, count = _numbers(name, parts[:3])
    if not (-np.inf < start < stop < np.inf) or count < 2 or count != np.floor(count):
        raise RunError(
            f"{name} must be a range from a smaller to a larger number with 2 or more points, got {_shown(text)}"
        )
    if count > LONGEST:
        raise RunError(f"{name} must have at most {LONGEST:,} points, got {count:g}")
    if spacing == "log" and start <= 0:
        raise RunError(f"{name} must start above 0 in a logarithmic range, got {_shown(text)}")
    return (np.geomspace if spacing == "log" else np.linspace)(start, stop, int(count))


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number from `least` to 2^31 - 1; raise a RunError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least or value >= 2**31:
        raise RunError(f"{name} must be a whole number from {least} to 2^31 - 1, got {_shown(value)}")
    return int(value)


def check_whole(config: Any, **least: int) -> None:
    """Refuse a configuration unless these fields are whole numbers, each from its least one on."""
    for name, smallest in least.items():
        whole(name, getattr(config, name), smallest)


def mixup_settings(alpha: AxisValue, beta: AxisValue) -> dict[str, np.ndarray]:
    """Return alpha, beta and the weight t of each pair; beta is "same", one number, or as many as alpha."""
    alphas = axis("alpha", alpha, distinct=False)
    if isinstance(beta, str) and beta == "same":
        betas = alphas
    else:
        betas = axis("beta", beta, above=True, distinct=False)
        if betas.size not in (1, alphas.size):
            raise RunError(
                f'beta must be "same", one number, or one for each of the {alphas.size} alphas, got {betas.size}'
            )
        betas = np.broadcast_to(betas, alphas.shape)
    if len(np.unique(_single(np.stack([alphas, betas])), axis=1).T) < alphas.size:
        raise RunError(
            f"alpha and beta must not repeat a pair (in single precision), got alpha {alpha} and beta {beta}"
        )
    none = alphas == 0
    with jax.enable_x64(True):
        weights = np.asarray(mixup_weight(np.where(none, 1.0, alphas), np.where(none, 1.0, betas)))
    return {"alpha": alphas, "beta": betas, "t": np.where(none, 0.0, weights)}


@dataclass(frozen=True)
class Grid:
    """Cells and settings: a cell is a training distribution, and every setting has the same training sets.

    Attributes:
      axes: name and values of each axis of cells, in order.
      cells: for each argument of the sampler, one value a cell, in C order of the axes.
      settings: for each property of a setting, one value a setting; `t` is the Mixup weight.
      options: choices that are no numbers, by name.
    """

    axes: Mapping[str, np.ndarray]
    cells: Mapping[str, np.ndarray]
    settings: Mapping[str, np.ndarray]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())

    @property
    def num_cells(self) -> int:
        return int(np.prod(self.shape))

    def spec(self) -> dict[str, Any]:
        """Return everything that determines the numbers, as JSON."""
        numbers = {name: list(map(float, values)) for name, values in {**self.axes, **self.settings}.items()}
        return {**numbers, **self.options}


def gaussian_grid(*, n: AxisValue, ratio: AxisValue | None, p: AxisValue | None, theta_norm: AxisValue,
                  alpha: AxisValue, beta: AxisValue) -> Grid:  # fmt: skip
    """Return the cells (n, p/n or p, |theta|) of the Gaussian model, with Mixup settings (alpha, beta)."""
    ns = axis("n", n, whole=True, least=1)
    thetas = axis("theta_norm", theta_norm)
    if (ratio is None) == (p is None):
        raise RunError("give either ratio (p/n) or p, not both")
    if p is None:
        dimension = {"ratio": axis("ratio", ratio if ratio is not None else 1.0, above=True)}
    else:
        dimension = {"p": axis("p", p, whole=True, least=1)}
    axes = {"n": ns, **dimension, "theta_norm": thetas}
    settings = mixup_settings(alpha, beta)
    _check_size(axes, settings)
    mesh_n, mesh, theta = np.meshgrid(*axes.values(), indexing="ij")
    mesh_p = np.maximum(1.0, _single(np.rint(mesh * mesh_n))) if p is None else mesh
    if mesh_p.max() > LARGEST:
        raise RunError(f"p = ratio n must be at most {LARGEST:g}, got {mesh_p.max():g}")
    return Grid(axes, {"n": mesh_n.ravel(), "p": mesh_p.ravel(), "theta_norm": theta.ravel()}, settings)


def grid_of(config: Any) -> Grid:
    """Return the grid of a configuration that has the fields of `gaussian_grid`, `ratio` or `p` or both."""
    dimension = {name: getattr(config, name, None) for name in ("ratio", "p")}
    return gaussian_grid(n=config.n, **dimension, theta_norm=config.theta_norm, alpha=config.alpha, beta=config.beta)


def positive_axis(config: Any, name: str) -> np.ndarray:
    """Return the values above 0 of an axis of a configuration."""
    return axis(name, getattr(config, name), above=True)


def with_axes(grid: Grid, **more: np.ndarray) -> Grid:
    """Repeat each cell at every combination of values of further axes, which are also arguments of the sampler."""
    axes = {**grid.axes, **more}
    _check_size(axes, grid.settings)
    inner = np.meshgrid(*more.values(), indexing="ij")
    cells = {name: np.repeat(values, inner[0].size) for name, values in grid.cells.items()}
    added = {name: np.tile(values.ravel(), grid.num_cells) for name, values in zip(more, inner, strict=True)}
    return replace(grid, axes=axes, cells=cells | added)


def _check_size(axes: Mapping[str, np.ndarray], settings: Mapping[str, np.ndarray]) -> None:
    lengths = {name: len(values) for name, values in axes.items()} | {"settings": len(settings["t"])}
    number = math.prod(lengths.values())
    sizes = " x ".join(f"{length:,} {name}" for name, length in lengths.items())
    if number > MOST:
        raise RunError(f"a run may have at most {MOST:,} values (cells times Mixup settings), got {sizes} = {number:,};"
                       " cut it into several runs")  # fmt: skip
    if number * BYTES > memory():
        raise RunError(
            f"the table of {sizes} = {number:,} values takes {number * BYTES / 2**30:.2g} GiB of memory, and "
            f"this machine has {memory() / 2**30:.2g}; cut it into several runs"
        )
