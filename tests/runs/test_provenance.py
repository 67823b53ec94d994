"""Provenance: what it says of this machine and commit, and what it keeps to itself."""

import json
import os
import re

from mixjax.runs import provenance
from tests.paths import ROOT


def test_provenance_says_what_a_result_was_made_with():
    made = provenance()
    assert made["jax"]
    assert made["platform"] == "cpu"
    assert made["devices"] >= 1
    assert made["cores"] >= 1
    if (ROOT / ".git").exists():
        assert re.fullmatch(r"[0-9a-f]{12}(-modified)?", str(made["commit"]))


def test_provenance_names_no_place_or_person():
    text = json.dumps(provenance())
    for secret in (os.path.expanduser("~"), os.uname().nodename, os.getcwd()):
        assert len(secret) < 4 or secret not in text
