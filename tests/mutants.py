"""Change random operators and whole numbers of the product, and record whether small or medium tests notice.

Run `python -m tests.mutants [--count N] [--seed S] [--out FILE]` from the root of the tree. Nobody chooses these
changes, unlike the faults of planted.txt, which decide which tests stay small. Each is made in a copy of the tracked
files. The small tests of its file run first, then those of its room, then the medium tests of its room. Some changes
change nothing that a test could see, so no suite finds all.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.planted import PRODUCT, ROOT, copy_tree, first_failure

SIZES = {"small": "not slow and not medium", "medium": "medium and not slow"}
OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And, ast.USub: ast.UAdd,
}  # fmt: skip


class Mutant(NamedTuple):
    """Part of a line of the product, and what is put in its place."""

    path: Path
    node: ast.expr
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.node.lineno}: {ast.unparse(self.node)} => {self.new}"

    def plant(self, copy: Path) -> None:
        """Put it into a copy of the tree."""
        lines = (copy / self.path).read_bytes().splitlines(keepends=True)
        first, last = self.node.lineno - 1, (self.node.end_lineno or self.node.lineno) - 1
        before, after = lines[first][: self.node.col_offset], lines[last][self.node.end_col_offset :]
        lines[first : last + 1] = [before + f"({self.new})".encode() + after]
        (copy / self.path).write_bytes(b"".join(lines))


def mutants() -> list[Mutant]:
    """List all of the product, in order."""
    paths = sorted(path for part in PRODUCT for path in (ROOT / part).rglob("*.py"))
    found = [(path.relative_to(ROOT), changes(ast.parse(path.read_text()))) for path in paths]
    return [Mutant(path, node, new) for path, of_file in found for node, new in of_file]


def changes(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield each operator and whole number of a module with the text of another."""
    skipped = {id(inner) for part in ast.walk(tree) for outer in not_values(part) for inner in ast.walk(outer)}
    for node in ast.walk(tree):
        if id(node) not in skipped and isinstance(node, ast.expr) and (new := changed(node)):
            yield node, ast.unparse(new)


def changed(node: ast.expr) -> ast.expr | None:
    """Return an expression with another operator, or a whole number and one, or None."""
    match node:
        case ast.Compare(left, [op, *ops], values) if type(op) in OTHER:
            return ast.Compare(left, [OTHER[type(op)](), *ops], values)
        case ast.BinOp(left, op, right) if type(op) in OTHER:
            return ast.BinOp(left, OTHER[type(op)](), right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(OTHER[type(op)](), values)
        case ast.UnaryOp(op, operand) if type(op) in OTHER:
            return ast.UnaryOp(OTHER[type(op)](), operand)
        case ast.Constant(value) if type(value) is int:
            return ast.Constant(value + 1)
    return None


def not_values(node: ast.AST) -> Iterator[ast.AST]:
    """Yield parts that hold annotations or texts with braces, whose numbers compute nothing."""
    if isinstance(node, ast.JoinedStr):
        yield node
    for name in ("annotation", "returns"):
        if isinstance(part := getattr(node, name, None), ast.AST):
            yield part


def stages(mutant: Mutant, copy: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield sizes of tests and where they are: near the file, and in its room, which is a folder of tests/."""
    folders = [part for part in mutant.path.parts[:-1] if part != "mixjax"]
    room = copy / "tests" / (folders[0] if folders else "")
    every = [str(room)] if folders else sorted(map(str, room.glob("test_*.py")))
    yield "small", sorted(map(str, room.rglob(f"test_{mutant.path.stem}*.py")))
    yield "small", every
    yield "medium", every


def search(mutant: Mutant) -> dict[str, str]:
    """Return which test notices a mutant, and its size, or empty strings."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        copy = Path(folder).resolve()
        copy_tree(copy)
        mutant.plant(copy)
        for size, paths in stages(mutant, copy):
            test, reason = first_failure(["-m", SIZES[size], *paths], copy) if paths else ("", "")
            if test:
                return {"found": size, "by": test.removeprefix("tests/"), "reason": reason[:200]}
    return {"found": "", "by": "", "reason": ""}


def main() -> None:
    """Draw mutants and record what finds them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, metavar="N", help="how many are drawn")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the draw")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON that the results are added to")
    options = parser.parse_args()
    for mutant in random.Random(options.seed).sample(mutants(), options.count):
        kept = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
        if str(mutant) not in kept:
            kept[str(mutant)] = search(mutant)
            if options.out:
                options.out.write_text(json.dumps(kept, indent=1) + "\n")
        print(mutant, json.dumps(kept[str(mutant)]), flush=True)


if __name__ == "__main__":
    main()
