"""The parts that the command lines of `mixjax`, `sims`, `train` and `benchmarks` share; `progress` needs rich."""

from mixjax.commands.exit import exit_status
from mixjax.commands.options import Configurable, exactly, named, option, preset_with, whole
from mixjax.commands.parser import CommandLine, FolderCommand, Parser, display_path
from mixjax.commands.programs import import_program, missing_package, run_program

__all__ = [
    "CommandLine",
    "Configurable",
    "FolderCommand",
    "Parser",
    "display_path",
    "exactly",
    "exit_status",
    "import_program",
    "missing_package",
    "named",
    "option",
    "preset_with",
    "run_program",
    "whole",
]
