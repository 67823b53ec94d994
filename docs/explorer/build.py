"""Make index.html, the explorer in one file, from the sources beside it.

    python docs/explorer/build.py

The sources are ES modules, which a browser does not load from a disk: their imports and exports are taken out, and they
follow one another in one script. The verdicts come from results/theorems/theorems.json.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
THEOREMS = HERE.parents[1] / "results" / "theorems" / "theorems.json"
CORE = ("population", "limits", "training_sets", "logistic", "state", "commands", "theorems")  # needs no page
PAGE = ("charts", "panels", "words", "page")


def script(modules: tuple[str, ...]) -> str:
    """Return modules as one script, each after those that it imports, without comments."""
    text = "\n".join((HERE / f"{name}.mjs").read_text() for name in modules)
    return re.sub(r"^(import \{.*|//.*)\n", "", text, flags=re.M).replace("\nexport ", "\n")


def data() -> str:
    """Return the table of the trained classifier and the verdicts on the theorems, as a script."""
    table = (HERE / "logistic_table.json").read_text().strip()
    verdicts = {row["theorem"]: row["verdict"] for row in json.loads(THEOREMS.read_text())}
    return f"const TABLE = {table};\nconst VERDICTS = {json.dumps(verdicts)};\n"


def page() -> str:
    """Return the page."""
    parts = {"style": (HERE / "page.css").read_text(), "script": data() + script(CORE + PAGE)}
    return re.sub(r"@(style|script)@", lambda match: parts[match[1]], (HERE / "page.html").read_text())


if __name__ == "__main__":
    (HERE / "index.html").write_text(page())
