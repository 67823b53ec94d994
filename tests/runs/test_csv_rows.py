"""Tables as rows of cells, and damaged ones, which are refused by file and line."""

import pytest

from mixjax.runs import RunError
from mixjax.runs.csv_rows import read_rows

TABLE = b"n,kind,ece,ece_se\n10,a,0.5,0.1\n20,b,inf,\n"


def test_rows(tmp_path):
    (tmp_path / "table.csv").write_bytes(TABLE)
    rows = [["n", "kind", "ece", "ece_se"], ["10", "a", "0.5", "0.1"], ["20", "b", "inf", ""]]
    assert read_rows(tmp_path / "table.csv") == rows
    with pytest.raises(FileNotFoundError):
        read_rows(tmp_path / "other.csv")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "line 1: no names of columns"),
        (b"\n", "line 1: no names of columns"),
        (TABLE.replace(b"inf", b"inf,7"), "line 3: 5 cells, where the table has 4 columns"),
        (TABLE.replace(b"10,a,0.5,0.1", b"10,a"), "line 2: 2 cells, where"),
        (TABLE.replace(b"0.5", b"\xff\xfe\x00"), "line 2: not text in UTF-8"),
        (TABLE + b"10,a,0.5,0.1\n", "line 4: the same as line 2"),
        (TABLE.replace(b"kind", b"n"), "line 1: two columns are named n"),
        (TABLE.replace(b"a,0.5", b'"a,0.5'), "is not a table: unexpected end of data"),
    ],
)
def test_a_damaged_table(content, says, tmp_path):
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(RunError) as found:
        read_rows(tmp_path / "table.csv")
    assert str(found.value).startswith(f"{tmp_path / 'table.csv'}")
    assert says in str(found.value)
