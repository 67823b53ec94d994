"""Options as a configuration, and as the words of a command line."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mixjax.commands import display_path, named, preset_with
from mixjax.runs import RunError, read_manifest
from mixjax.runs.untrusted import printable

from ..config import Config
from ..experiments import EXPERIMENTS

__all__ = ["command_line", "configured", "option_words", "resume_hint", "stored_options"]

_LONGEST = 1000


def configured(experiment: str, preset: str = "digits", **options: Any) -> Config:
    """Return the configuration of an experiment: a preset with some options replaced.

    Raises:
      RunError: for an unknown experiment, preset or option, and for options that are out of range.
    """
    chosen = named("experiment", experiment, EXPERIMENTS)
    values = preset_with(chosen, preset, options)
    try:
        return chosen.config(**values)
    except (TypeError, ValueError) as error:
        raise RunError(str(error)) from None


def stored_options(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in the spec of a manifest, whose lists were tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in spec["options"].items()}


def command_line(experiment: str, out: str, options: Mapping[str, Any], prog: str = "python -m mixjax train") -> str:
    """Return the command, as it may be published."""
    return shlex.join([*prog.split(), experiment, "--out", out, *option_words(options)])


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Return options as words of a command line; a file by its path below the working directory, or its name."""
    words = []
    for option, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        text = display_path(Path(text)) if option == "dataset" else text  # a file, maybe
        words += [f"--{option.replace('_', '-')}", *([] if value is True else [text])]
    return words


def resume_hint(run: Path) -> str:
    """Return how to resume a run, from the options in its manifest, which names no path: no file's, no `--data-dir`.

    Raises:
      RunError: if the folder holds no run.
    """
    spec = read_manifest(run)["spec"]
    try:
        name = spec["experiment"]
        usual = dataclasses.asdict(configured(name))
        changed = {option: value for option, value in stored_options(spec).items() if value != usual[option]}
        configured(name, "digits", **changed)
    except (LookupError, TypeError, AttributeError, RunError):
        return "run the same command again to resume"
    return f"resume with: {printable(command_line(name, str(run), changed), _LONGEST)}"
