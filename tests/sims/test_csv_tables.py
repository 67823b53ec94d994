"""Published tables, and damaged ones, which are refused by file and line."""

import pytest

from mixjax.runs import RunError
from mixjax.sims.csv_tables import read_tables
from tests.paths import ROOT

TABLE = b"n,kind,ece,ece_se\n10,a,0.5,0.1\n20,b,inf,\n"


@pytest.mark.medium
def test_every_published_table_is_one():
    assert sum(len(read_tables(folder)) for folder in (ROOT / "results").iterdir() if folder.is_dir()) > 30


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (TABLE.replace(b"0.5", b"much"), "line 2: ece is 'much', which is not a number"),
        (TABLE.replace(b"0.1", b"\x1b[31m"), r"line 2: ece_se is '\\x1b[31m', which is not a number"),
        (b"", "line 1: no names of columns"),
    ],
)
def test_a_damaged_table(content, says, tmp_path):
    (tmp_path / "table.csv").write_bytes(TABLE)
    assert read_tables(tmp_path) == {"table.csv": TABLE.decode()}
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(RunError) as found:
        read_tables(tmp_path)
    assert str(found.value).startswith(f"{tmp_path / 'table.csv'}")
    assert says in str(found.value)
