"""Plant realistic faults one at a time and record which test finds each: a measure of the suite's power.

Run `python -m tests.planted [--only NAME ...] [--suite EXPRESSION|all] [--up-to near|room|all] [--out FILE]` from the
root of the tree. The faults are in planted.txt. Each is planted in a copy of the tracked files; the tests nearest to it
run first, then those of its room, then all. Results are added to FILE, where those of other faults stay. All copies
share the compiled programs of this tree.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.paths import program_cache

ROOT = Path.cwd()
TABLE = Path(__file__).with_suffix(".txt")  # says at its head how it is read
PRODUCT = ("mixjax", "sims", "train")


class Fault(NamedTuple):
    """A mistake of one line, and where to look for it first."""

    name: str
    kind: str
    tests: tuple[str, ...]
    old: str
    new: str


def faults() -> list[Fault]:
    """Read the table of faults."""
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    heads = [line.split(" | ") for line in lines[::2]]
    bodies = [line.replace(r"\n", "\n").split(" => ") for line in lines[1::2]]
    return [Fault(*head[:2], tuple(head[2].split()), *body) for head, body in zip(heads, bodies, strict=True)]


def place_of(fault: Fault) -> Path:
    """Return the one product file that holds a fault's snippet."""
    found = {path: path.read_text().count(fault.old) for part in PRODUCT for path in (ROOT / part).rglob("*.py")}
    if sum(found.values()) != 1:
        raise LookupError(f"{fault.name}: {fault.old!r} occurs {sum(found.values())} times in the product")
    return next(path for path, times in found.items() if times).relative_to(ROOT)


def copy_tree(copy: Path) -> None:
    """Copy the tracked files."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, text=True, check=True, capture_output=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)


def plant(fault: Fault, copy: Path) -> None:
    """Copy the tracked files, and put the fault in."""
    copy_tree(copy)
    place = copy / place_of(fault)
    place.write_text(place.read_text().replace(fault.old, fault.new))


def stages(fault: Fault, copy: Path, up_to: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what to run one after another: the nearest tests, the rest of their room, the rest of all."""
    tests = copy / "tests"
    near = list(dict.fromkeys(str(path) for name in fault.tests for path in tests.glob(f"{name}.py")))
    yield "near", near
    room = tests / fault.tests[0].split("/")[0]
    if up_to != "near" and room.is_dir():
        yield "room", [str(room), *(f"--ignore={path}" for path in near)]
    if up_to == "all":
        yield "all", [str(tests), f"--ignore={room}", *(f"--ignore={path}" for path in near)]


def search(fault: Fault, suite: str, up_to: str) -> dict[str, object]:
    """Return which test finds a fault, in which stage and after how many seconds."""
    marked = [] if suite == "all" else ["-m", suite]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        copy = Path(folder).resolve()
        plant(fault, copy)
        for stage, paths in stages(fault, copy, up_to):
            test, reason = first_failure([*marked, *paths], copy)
            found = {"found": bool(test), "by": test, "stage": stage, "reason": reason[:200]}
            if test:
                break
    return {"kind": fault.kind, **found, "suite": suite, "seconds": round(time.monotonic() - started, 1)}


def first_failure(arguments: list[str], copy: Path) -> tuple[str, str]:
    """Run pytest in a copy and return the first test that fails and why, or two empty strings."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:cacheprovider", *arguments]
    environment = {"JAX_COMPILATION_CACHE_DIR": str(program_cache()), **os.environ}
    done = subprocess.run(command, cwd=copy, env=environment, text=True, capture_output=True)
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - (.*))?$", done.stdout, re.MULTILINE)
    if "while loading conftest" in done.stderr:
        return "conftest.py", done.stderr.splitlines()[-1]
    if done.returncode not in (0, 5) and not failed:
        raise RuntimeError(f"pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return (failed[1], failed[2] or "") if failed else ("", "")


def main() -> None:
    """Plant the faults that the command line names, and record what finds them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME", nargs="+", help="some faults instead of all")
    parser.add_argument("--suite", default="not slow and not medium", help='a marker expression, or "all"')
    parser.add_argument("--up-to", default="all", choices=["near", "room", "all"], help="where the search ends")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON that the results are added to")
    options = parser.parse_args()
    for fault in faults():
        if not options.only or fault.name in options.only:
            result = search(fault, options.suite, options.up_to)
            print(fault.name, json.dumps(result), flush=True)
            if options.out:
                kept = json.loads(options.out.read_text()) if options.out.exists() else {}
                options.out.write_text(json.dumps(kept | {fault.name: result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
