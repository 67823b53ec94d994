"""The tools that plant faults: each fault has one place, and a mutant changes what it says."""

from __future__ import annotations

import ast

import pytest

from tests.mutants import Mutant, changes
from tests.paths import ROOT
from tests.planted import PRODUCT, faults


def test_each_fault_has_one_place():
    product = "\n".join(path.read_text() for part in PRODUCT for path in (ROOT / part).rglob("*.py"))
    assert [fault.name for fault in faults() if product.count(fault.old) != 1] == []


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("f(a < b, c)", ["f((a <= b), c)"]),
        ("-x ** y", ["(+x ** y)", "-(x * y)"]),
        ("one and (\n    two)", ["(one or two)"]),
        ("é = i + 1", ["é = (i - 1)", "é = i + (2)"]),
        ('def g(a: "x < y" = True) -> f"{1 + 1}": ...', []),
    ],
)
def test_mutants_of_a_line(line, mutants, tmp_path):
    made = []
    for node, new in changes(ast.parse(line)):
        (tmp_path / "m.py").write_text(line)
        Mutant(tmp_path / "m.py", node, new).plant(tmp_path)
        made.append((tmp_path / "m.py").read_text())
    assert made == mutants
