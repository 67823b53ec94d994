"""Command lines: a parser whose errors are one sentence, help, and commands on folders of stored runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import mixjax
from mixjax.commands.options import Configurable, did_you_mean
from mixjax.runs.errors import RunError
from mixjax.runs.storage import Location
from mixjax.runs.untrusted import printable

FORMATS = ("png", "pdf", "svg")  # of pictures


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence, and which takes options by their whole names only."""

    def __init__(self, prog: str, **options: Any):
        super().__init__(prog, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise a RunError."""
        unknown = message.removeprefix("unrecognized arguments: ").split()[0]
        nearest = did_you_mean(unknown, self._option_string_actions) if unknown.startswith("--") else ""
        raise RunError(f"{message}{nearest}; {self.prog} --help lists the options")


@dataclass(frozen=True)
class FolderCommand:
    """A command that takes one or more folders.

    Attributes:
      function: called with the folders, and for `figures` with `formats` if given; returns the exit status.
      example: folders, as many as the command takes.
    """

    function: Callable[..., int]
    example: tuple[str, ...]


@dataclass(frozen=True)
class CommandLine:
    """A program that runs studies or experiments, and has commands on stored runs.

    Attributes:
      prog: the words that call it, such as "python -m sims".
      usage: text with `{prog}` and `{known}` in it.
      known: the studies or experiments, a line of help each.
      run: called with a name in `known`, or another, and the arguments after it.
      folder_commands: by name.
      parsed_commands: other commands, by name; each is called with the arguments after it.
    """

    prog: str
    usage: str
    known: Mapping[str, Configurable]
    run: Callable[[str, list[str]], int]
    folder_commands: Mapping[str, FolderCommand]
    parsed_commands: Mapping[str, Callable[[list[str]], int]]

    def __call__(self, arguments: Sequence[str]) -> int:
        """Run the command that the arguments name; returns the exit status."""
        if not arguments or arguments[0] in ("-h", "--help"):
            print(self.help())
            return 0 if arguments else 2
        command, *rest = arguments
        if command in self.folder_commands and {"-h", "--help"} & set(rest):
            print(self.help_on(command))
            return 0
        if command == "--version":
            print(f"mixjax {mixjax.__version__}")
            return 0
        if command in self.parsed_commands:
            return self.parsed_commands[command](rest)
        if command not in self.folder_commands:
            return self.run(command, rest)
        entry = self.folder_commands[command]
        options: dict[str, tuple[str, ...]] = {}
        if command == "figures":
            options, rest = self._formats(rest)
        if len(rest) != len(entry.example):
            folders = f"{len(entry.example)} folder{'s' * (len(entry.example) > 1)}"
            raise RunError(f"{command} takes {folders}, as in: {self.prog} {command} {' '.join(entry.example)}")
        return entry.function(*rest, **options)

    def _formats(self, words: list[str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
        """Split --format png,pdf from other words, if it is there."""
        parser = Parser(f"{self.prog} figures", add_help=False)
        parser.add_argument("--format", type=_formats, dest="formats", default=argparse.SUPPRESS)
        options, others = parser.parse_known_args(words)
        return vars(options), others

    def help_on(self, command: str) -> str:
        """Return the line of the usage about a command."""
        (line,) = (line for line in self.usage.splitlines() if f"{{prog}} {command} " in line)
        return f"usage: {line.strip().format(prog=self.prog)}"

    def help(self) -> str:
        """Return the usage, with a line for each study or experiment."""
        width = max(map(len, self.known))
        lines = (f"  {name:{width}}  {entry.summary}" for name, entry in self.known.items())
        return self.usage.format(prog=self.prog, known="\n".join(lines))


def _formats(text: str) -> tuple[str, ...]:
    formats = tuple(text.split(","))
    if wrong := [name for name in formats if name not in FORMATS]:
        raise argparse.ArgumentTypeError(f"must be some of {','.join(FORMATS)}, got {wrong[0]!r}")
    return formats


def display_path(folder: Location) -> str:
    """Return a path as it may be published: relative to the working directory, or its name alone, printable."""
    if not isinstance(folder, Path):
        return folder.name
    here, there = Path.cwd(), folder.resolve()
    return printable(there.relative_to(here) if there.is_relative_to(here) else folder.name, 4096)
