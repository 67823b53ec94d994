"""Rooms: who imports whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.paths import ROOT

TOPS = ("mixjax", "sims", "train", "benchmarks")
FILES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
         for top in TOPS for path in (ROOT / top).rglob("*.py")}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
FORBIDDEN = {"mixjax": ("sims", "train"), "sims": ("train",), "train": ("sims",)}


def imported(name: str) -> Iterator[tuple[str, str]]:
    """(module, name in it) of every import in a module, wherever it stands."""
    package = name if FILES[name].stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(FILES[name].read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            base = base.removeprefix("mixjax.") if base.startswith(("mixjax.sims", "mixjax.train")) else base
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield (inner, "") if inner in FILES else (base, alias.name)


IMPORTS = {name: sorted(set(imported(name))) for name in FILES}


def test_no_module_imports_itself_through_others():
    graph = {name: {module for module, _ in IMPORTS[name] if module in FILES and module != name} for name in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_packages_import_whom_they_may():
    wrong = [(name, module) for name in FILES for module, _ in IMPORTS[name]
             if module.partition(".")[0] in FORBIDDEN.get(name.partition(".")[0], ())]  # fmt: skip
    assert wrong == []


def test_no_private_name_of_another_package_is_imported():
    def private(text: str) -> bool:
        return any(part.startswith("_") and not part.startswith("__") for part in text.split("."))

    wrong = [(name, module, inner) for name in FILES for module, inner in IMPORTS[name]
             if module.partition(".")[0] in TOPS and module.partition(".")[0] != name.partition(".")[0]
             and (private(module) or private(inner))]  # fmt: skip
    assert wrong == []


@pytest.mark.medium
def test_files_and_functions_are_short():
    """At most 250 lines a file of the product, and 40 a function, docstrings aside."""
    for name, path in FILES.items():
        text = path.read_text()
        nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED)]
        documented = sum(node.body[0].end_lineno - node.body[0].lineno + 1 for node in nodes if ast.get_docstring(node))
        assert len(text.splitlines()) - documented <= 250, name
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= 40, f"{name}.{node.name} has {lines} lines"


def test_the_checks_see_the_whole_tree():
    assert {"mixjax.gaussian.population", "sims.engine.units", "train.nets.mlp", "benchmarks.timing"} <= FILES.keys()
    assert ("sims.grid", "Grid") in IMPORTS["sims.engine.compute"]
