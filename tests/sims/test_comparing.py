"""Two tables: where they agree, and the words for where they do not."""

import pytest

from mixjax.sims.comparing import compare

HEAD = "n,kind,ece,ece_se,change\n"
ROWS = ["10,a,0.5,0.1,1\n", "10,b,0.25,0.1,-1e-9\n", "20,a,,0.1,3\n"]
THEN = HEAD + "".join(ROWS)


@pytest.mark.parametrize(
    ("now", "agrees", "text"),
    [
        (THEN, True, "equal"),
        (THEN.replace("0.5,", "0.5001,"), True, "equal to 3 digits, least in line 2 (n = 10, kind = a): ece is"),
        (THEN.replace("0.25,", "0.265,"), True, "1 more differ"),
        (THEN.replace("0.25,", "0.28,"), False, "different in 1 of 15 numbers, most in line 3 (n = 10, kind = b)"),
        (THEN.replace("-1e-9", "1e-9"), True, "1 more differ"),
        (THEN.replace(",,", ",0.1,"), False, "ece is nan then and 0.1 now"),
        (THEN.replace("20,a", "20,b"), False, "kind is a then and b now"),
        (THEN.replace("change", "gain"), False, "different columns: change, gain only then or now"),
        ("n,kind,ece,ece_se\n10,a,0.5,0.1\n10,b,0.25,0.1\n20,a,,0.1\n", False, "then; the others are equal"),
        ("other\n1\n", False, "ece_se, kind, n, other only then or now"),
        (THEN.replace("0.25,0.1,", "0.25,0.1005,"), True, "1 more differ"),
        (THEN.replace("0.25,0.1,", "0.25,0.103,"), False, "ece_se is 0.1 then and 0.103 now"),
        (THEN + "30,a,1,1,1\n", False, "different rows: 3 then and 4 now; the 3 in both are equal"),
        (THEN.replace("20,a,,0.1,3\n", "").replace("0.5", "0.9"), False, "the 2 in both are different in 1 of 10"),
        (THEN.replace("20,a,,0.1,3\n", "20,a,,0.1,3\n" * 2), False, "different rows: 3 then and 4 now"),
        (HEAD + ROWS[1] + ROWS[2] + ROWS[0], True, "equal; the rows are in another order"),
        (HEAD + ROWS[1] + ROWS[0].replace("0.5", "0.9") + ROWS[2], False, "in line 2 (n = 10, kind = a): ece is 0.5"),
        (HEAD + ROWS[0] + ROWS[2].replace("3", "4"), False, "the 2 in both are different in 1 of 10 numbers, most in"),
        (THEN.replace("0.25,0.1,", "0.28,0.1,").replace("10,", "10.0,"), False, "different in 1 of 15 numbers"),
        (THEN.replace("0.25", "high"), False, "ece is 0.25 then and high now"),
        (HEAD, False, "different rows: 3 then and 0 now"),
    ],
)  # fmt: skip
def test_tables(now, agrees, text):
    found = compare("table.csv", THEN, now)
    assert (found.agrees, found.identical) == (agrees, now == THEN)
    assert text in found.text


@pytest.mark.parametrize(
    ("then", "now", "agrees"),
    [
        ("inf", "inf", True),
        ("-inf", "inf", False),
        ("inf", "1", False),
        ("1", "inf", False),
        ("", "inf", False),
    ],
)
def test_an_infinity_is_equal_to_itself_alone(then, now, agrees):
    """Nor does it, or one huge number, excuse what else is in its column."""
    old = f"n,e\n1,{then}\n2,0.7\n3,0.5\n"
    assert compare("a", old, f"n,e\n1,{now}\n2,0.7\n3,0.50001\n").agrees == agrees
    assert not compare("a", old, f"n,e\n1,{now}\n2,7777\n3,0.5\n").agrees


@pytest.mark.parametrize("huge", ["1e9", "-1e9", "inf", "1e308"])
def test_a_huge_number_excuses_nothing(huge):
    assert not compare("a", f"n,e\n1,{huge}\n2,.7\n", f"n,e\n1,{huge}\n2,-99\n").agrees


@pytest.mark.parametrize("error", ["inf", "-inf", "nan"])
def test_a_standard_error_that_is_no_finite_number_excuses_nothing(error):
    old = "n,e,e_se\n1,0.7,0.1\n2,0.5,0.1\n"
    new, wrong = old.replace("0.7,0.1", f"0.7,{error}"), old.replace("0.7,0.1", f"7,{error}")
    assert not compare("a", new, old).agrees
    assert not compare("a", old, new).agrees
    assert not compare("a", new, wrong).agrees


def test_tables_without_rows():
    assert compare("a", "n,e\n", "e,n\n").agrees
