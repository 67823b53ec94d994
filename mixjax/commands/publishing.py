"""Published results: a folder whose README names the command and the machine that made them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mixjax.runs.errors import RunError
from mixjax.runs.origin import PACKAGES
from mixjax.runs.storage import Location
from mixjax.runs.untrusted import printable, read_text
from mixjax.runs.writing import write_atomically


def refuse_other_files(folder: Location, program: str, title: str) -> None:
    """Refuse a folder that holds anything but published results of this program ("sims", "train") and title."""
    if not folder.exists() or not any(folder.iterdir()):
        return
    published = _program_and_title(folder)
    if published is None:
        raise RunError(f"{folder} holds files that are not published results; choose another folder")
    if published != (program, title):
        what = printable(" ".join(published), 40)
        raise RunError(f"{folder} holds published results of {what}; choose another folder")


def remove_other_pictures(folder: Location, pictures: Sequence[Location], names: Iterable[str]) -> None:
    """Remove from a folder the figures of these names, and their captions, that are not among the pictures."""
    for name in set(names) - {picture.stem for picture in pictures}:
        for ending in ("png", "txt"):
            (folder / f"{name}.{ending}").unlink(missing_ok=True)


def origin_table(made: Mapping[str, Any], computing: str, rows: Mapping[str, str]) -> str:
    """Make the table that a published README begins with.

    Args:
      made: the provenance of the run; of `PACKAGES` the versions that it has.
      computing: text to add to its time, which is that of all sittings where provenance counts them.
      rows: further rows, by their heading, after the command.
    """
    sittings = f", over {made['sittings']} sittings" if made.get("sittings", 1) != 1 else ""
    packages = "".join(f"{name} {made[name]}, " for name in PACKAGES if name in made)
    origin = {
        "command": f"`{made['command']}`",
        **rows,
        "computing": f"{made['seconds']} s{sittings}, compilation included{computing}",
        "machine": f"{made['device']}, {made['cores']} cores, {made['memory_gib']} GiB; "
        f"devices: {made['devices']} {made['platform']}",
        "versions": f"mixjax {made['mixjax']} ({made['commit']}), jax {made['jax']}, jaxlib {made['jaxlib']}, "
        f"{packages}Python {made['python']}",
    }
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in origin.items())])


def read_published(text: str) -> dict[str, str]:
    """Return the rows of `origin_table` in the text of a README, by their heading; empty if it has none."""
    return {name: content.strip("`") for name, content in re.findall(r"^\| (\w+) \| (.*) \|$", text, re.MULTILINE)}


def picture_section(picture: Location) -> str:
    """Return the Markdown of a picture with its caption, which is stored next to it."""
    caption = read_text(picture.with_suffix(".txt")).strip()
    return f"![{picture.stem}](figures/{picture.name})\n\n{caption}"


def write_readme(folder: Location, sections: Sequence[str]) -> Location:
    """Write README.md into a folder; returns it."""
    write_atomically(folder / "README.md", ("\n\n".join(sections) + "\n").encode())
    return folder / "README.md"


def _program_and_title(folder: Location) -> tuple[str, str] | None:
    """Return what made the results that a README of `write_readme` describes, or None for any other file."""
    try:
        text = read_text(folder / "README.md")
    except (OSError, ValueError):
        return None
    program = re.search(r"\b(?:sims|train)\b", read_published(text).get("command", ""))
    return (program[0], text.partition("\n")[0].removeprefix("# ")) if program else None
