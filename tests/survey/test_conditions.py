"""Conditions on rows: against pandas where nothing is missing, by hand where something is."""

import datetime as dt
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument


def combined(
    rng: np.random.Generator, depth: int, test: Callable[[np.random.Generator], str]
) -> str:
    """Tests joined by and, or and not, in brackets within each other up to `depth` times."""
    if depth == 0:
        return test(rng)
    parts = [combined(rng, depth - 1, test) for _ in range(rng.integers(1, 4))]
    joined = str(rng.choice([" and ", " or "])).join(parts)
    return str(rng.choice([joined, f"({joined})", f"not ({joined})"]))


def rows(frame: pd.DataFrame, condition: Any) -> list[int]:
    """The rows that a condition selects, which may be none."""
    table = frame.assign(ill="no", row=np.arange(len(frame)))
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
    try:
        found: list[int] = survey.where(condition).reports("ill", id="row").ids.tolist()
    except InvalidArgument as error:
        if "is true for nobody" not in str(error):
            raise
        return []
    return found


# -- against pandas --------------------------------------------------------------------------------
REGIONS = ["n", "s", "it's", "or"]


def random_frame(rng: np.random.Generator) -> pd.DataFrame:
    n = 40
    return pd.DataFrame(
        {
            "age": rng.integers(-3, 4, n),
            "income": rng.integers(-4, 5, n) / 2,
            "region": [*REGIONS, *rng.choice(REGIONS, n - 4)],  # each occurs
            "urban": rng.random(n) < 0.5,
            "hours a week": rng.integers(0, 5, n),
        }
    )


def random_test(rng: np.random.Generator) -> str:
    number = rng.choice(["age", "income", "`hours a week`"])
    sign = rng.choice(["==", "!=", "<", "<=", ">", ">="])
    value = rng.choice(["-2", "0", "1.5", "3", "-.5", "1e0"])
    texts = ['"n"', "'s'", '"it\'s"', "'or'"]
    return str(
        rng.choice(
            [
                f"{number} {sign} {value}",
                f"{value}{sign}{number}",
                f"-1 <= {number} {sign} {value}",
                f"{number} {sign} {rng.choice(['age', 'income'])}",
                f"{number} in [0, {value}]",
                f"{number} not in ({value}, 2,)",
                f"region {rng.choice(['==', '!='])} {rng.choice(texts)}",
                f"region {rng.choice(['in', 'not in'])} [{', '.join(rng.choice(texts, 2))}]",
                "urban",
                "urban == True",
            ]
        )
    )


def test_not_binds_tighter_than_and_and_and_tighter_than_or():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    assert rows(frame, "a == 1 or a == 0 and b == 1") == [1, 2, 3]
    assert rows(frame, "not a == 1 and b == 1") == [1]
    assert rows(frame, "not not a == 1 and b == 1") == [3]


# -- against SQL, with missing cells ---------------------------------------------------------------
def sql_rows(frame: pd.DataFrame, condition: str) -> list[int]:
    """What SQLite selects: a condition in its spelling."""
    spelled = re.sub(r'"([^"]*)"', lambda m: "'" + m[1].replace("'", "''") + "'", condition)
    spelled = re.sub(r"-1 <= (`.*?`|\w+) (\S+) ([^\s()]+)", r"(-1 <= \1 and \1 \2 \3)", spelled)
    spelled = spelled.replace("is missing", "is null").replace(",)", ")")
    spelled = spelled.replace("[", "(").replace("]", ")")
    with closing(sqlite3.connect(":memory:")) as database:
        frame.to_sql("people", database, index_label="row")
        found = database.execute(f"select row from people where {spelled} order by row")
        return [row for (row,) in found.fetchall()]


def test_random_conditions_on_missing_cells_select_what_sql_selects():
    rng = np.random.default_rng(17)
    unknown = 0
    for _ in range(50):
        frame = random_frame(rng).astype({"age": "Int64", "urban": "boolean"})
        frame = frame.mask(rng.random(frame.shape) < 0.3)
        frame.loc[:3, "region"] = REGIONS
        condition = combined(rng, int(rng.integers(0, 4)), random_test)
        if rng.random() < 0.3:
            condition = f"not ({condition}) or {rng.choice(['age', 'region'])} is missing"
        found = rows(frame, condition)
        assert found == sql_rows(frame, condition), condition
        unknown += len(frame) - len(found) - len(rows(frame, f"not ({condition})"))
    assert unknown > 300  # cells: neither the condition nor its contrary


# -- missing cells ---------------------------------------------------------------------------------
GAPS = pd.DataFrame(
    {
        "age": [10.0, np.nan, 30.0, np.nan],
        "region": ["n", "n", None, ""],
        "urban": [True, None, False, None],
    }
)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("age > 20", [2]),
        ("not age > 20", [0]),  # unknown stays unknown
        ("age > 20 or not age > 20", [0, 2]),
        ("age != 10", [2]),
        ("age == age", [0, 2]),
        ("region == 'n'", [0, 1]),
        ("region != 'n'", []),
        ("region not in ['n']", []),
        ("age > 20 or region == 'n'", [0, 1, 2]),  # unknown or true is true
        ("age > 20 and region != 'n'", []),
        ("not (age > 20 and region != 'n')", [0, 1]),  # unknown and false is false
        ("age is missing", [1, 3]),
        ("age is not missing", [0, 2]),
        ("region is missing", [2, 3]),  # empty text is missing
        ("not region is missing", [0, 1]),
        ("urban", [0]),
        ("not urban", [2]),
        ("urban == false or urban is missing", [1, 2, 3]),
    ],
)
def test_missing_cells_are_neither_true_nor_false(condition, expected):
    assert rows(GAPS, condition) == expected


# -- kinds of columns ------------------------------------------------------------------------------
def test_ordered_categories_compare_by_their_order():
    wide = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    frame = pd.DataFrame({"a": pd.Series(["high", "low", None, "low"], dtype=wide)})
    frame["b"] = pd.Series(["low", "low", "low", "high"], dtype=wide)
    assert rows(frame, "a >= 'middle'") == [0]
    assert rows(frame, "'high' > a") == [1, 3]
    assert rows(frame, "a > b") == [0]
    assert rows(frame, "a <= b and a == 'low'") == [1, 3]
    assert rows(frame, "a == 'middle'") == []  # a category, though nobody has it
    with pytest.raises(ldp.UnknownCategory, match="is no value of 'a'"):
        rows(frame, "a == 'enormous'")


@pytest.mark.parametrize("condition", ["r == 'Sout'", "r != 'Sout'", "r in ['North', 'Sout']"])
def test_a_misspelled_value_is_refused_and_the_nearest_named(condition):
    frame = pd.DataFrame({"r": ["South", "North", None], "x": [1, 2, 3]})
    with pytest.raises(ldp.UnknownCategory, match=r"'Sout'.*'r'; the nearest is 'South'"):
        rows(frame, condition)
    assert rows(frame, "x == 7 or x in [1, 9]") == [0]  # numbers are not a list of categories
    survey = ldp.Survey(frame.assign(ill=["no", "yes", "no"]), {"ill": ldp.Warner(epsilon=1.0)})
    assert len(survey.where("x < 3").where("r in ['North', 'South']")) == 2
    one = survey.where("r == 'North'")
    assert len(one.where("r != 'South'")) == 1  # of the whole table, not of these rows


def test_blanks_around_public_text_are_not_seen(tmp_path):
    frame = pd.DataFrame({"r": ["n", " n", "s ", "  ", None], "x": [" 1", "2 ", " ", None, "3"]})
    assert rows(frame, "r == 'n'") == [0, 1]
    assert rows(frame, "r is missing") == [3, 4]
    sheet = {"ill": ldp.Warner(epsilon=1.0)}
    table = frame.assign(ill=["no", "yes", "no", "no", "yes"])
    table.to_csv(tmp_path / "t.csv", index=False)
    survey = ldp.Survey(tmp_path / "t.csv", sheet)
    assert survey.frequencies("ill", by="r").groups.tolist() == ["n", "s"]
    assert len(survey.where("x >= 2")) == 2


def test_text_of_dates_is_dates_in_every_table(tmp_path):
    frame = pd.DataFrame({"day": ["2024-01-31", "2024-02-01", None, "2024-02-01"]})
    table = frame.assign(ill=["no", "yes", "no", "no"])
    table.to_csv(tmp_path / "t.csv", index=False)
    for data in (table, table.assign(day=pd.to_datetime(table["day"])), tmp_path / "t.csv"):
        survey = ldp.Survey(data, {"ill": ldp.Warner(epsilon=1.0)})
        assert len(survey.where("day >= '2024-02-01'")) == 2
        groups = survey.frequencies("ill", by="day").groups
        assert groups.tolist() == ["2024-01-31", "2024-02-01"]
    assert rows(frame.replace("2024-02-01", "2024-02-31"), "day == '2024-02-31'") == [1, 3]  # text


# -- refusals --------------------------------------------------------------------------------------
FRAME = pd.DataFrame(
    {
        "age": [17, 18],
        "region": ["n", "s"],
        "urban": [True, False],
        "day": pd.to_datetime(["2024-01-01", "2025-01-01"]),
        "size": pd.Categorical(["s", "l"], ["s", "l"], ordered=True),
        "colour": pd.Categorical(["red", "blue"]),
    }
)

BAD = {
    "age = 18": "write == to compare",
    "age <> 18": "write !=",
    "age !> 18": "write 'not'",
    "age > 1 & urban": "write 'and'",
    "~urban": "write 'not'",
    "age > 1 AND urban": "'and' in lower case",
    "age + 1 > 2": "arithmetic",
    "age.mean() > 1": "attributes",
    "region == 'n' 's'": "should end",
    "@x > 1": "variables",
    "age > 1; urban": "one condition",
    "region == 'n": "not closed",
    "region == ''": "is missing",
    "age between 1 and 2": "18 <= age <= 64",
    "age > 018": "leading zero",
    "age > 18a": "is a blank missing",
    "age > 1e999": "too large",
    f"age > {'1' * 50}": "too large",
    "age in []": "list is empty",
    "age in [1, age]": "a value is missing",
    "age > 1)": "should end",
    "1 == 1": "one side must be a column",
    "age": "compare it with a value",
    "": "must be text",
    "age > '18'": "without quotes",
    "region == 1": "in quotes",
    "age == true": "without quotes",
    "urban == 1": "true or false",
    "region < 's'": "without an order",
    "size < 'xl'": "no category",
    "age == region": "compare like with like",
    "day > 'now'": "is no date",
    "day > 2024": "in quotes",
    "(" * 60 + "urban" + ")" * 60: "levels",
    "urban and " * 2000 + "urban": "characters",
}


@pytest.mark.parametrize("condition", BAD)
def test_anything_else_is_refused_with_a_remedy(condition):
    with pytest.raises(InvalidArgument, match="where=") as caught:
        rows(FRAME, condition)
    assert BAD[condition] in str(caught.value)


def test_the_place_of_a_mistake_is_counted_from_one():
    with pytest.raises(InvalidArgument, match="at character 5, '= 18'"):
        rows(FRAME, "age = 18")
    with pytest.raises(InvalidArgument, match="at its end"):
        rows(FRAME, "age ==")


@pytest.mark.parametrize("condition", [None, 3, b"age > 1", {"age": 1}, object()])
def test_what_is_no_condition_is_refused(condition):
    with pytest.raises(InvalidArgument, match="masks go into"):
        rows(FRAME, condition)


CODE = r"""
__import__('os').system('true') | ().__class__ | age.__class__ | (lambda: 1)() | lambda x: x
age() | [x for x in age] | (x for x in age) | {1: 2} | {age} | f'{age}' | f'{exit()}' == region
(x := 1) | age ** 9 == 1 | 9**9**9 == age | age[0] | age[::2] == 1 | exec('1') | eval('1') == age
print(age) | age if urban else 1 | *urban | **urban | age, urban | age; urban | `age`.mean() > 1
'%s' % age == region | '{}'.format(age) | b'n' == region | r'n' == region | u'n' == region
age'n' | 0x10 == age | 1_000 == age | 1j == age | 0b1 == age | age @ urban | -age > 1 | +age > 1
age // 2 > 1 | age << 2 > 1 | yield age | await age | age is None | ... == age | Ellipsis == age
import os | $age | globals() | __builtins__ | __debug__ | `__class__` == 1 | type(age) == int
age == 1 # x | \x61ge == 1 | age in age | age in {1} | age in 'abc' | age in range(9)
age in [[1]] | age in [1 == 1] | age == [1] | age == (1, 2) | (age, 1) | [age] | not | ()
age := 1 | age: int | age -> 1 | del age | region 'n'
"""

ATTEMPTS = [*CODE.strip().replace("\n", " | ").split(" | "), "\0", "age == 1\0", "urban\nurban"]

ATTEMPTS += ["age == 1 | urban", "age == 1 || urban", "[" * 90, "(" * 9000, "age in [" * 900]

ATTEMPTS += ["(" * n + "urban" + ")" * n for n in (50, 200, 4000)]


@pytest.mark.parametrize("condition", ATTEMPTS)
def test_no_condition_runs_code(condition):
    with pytest.raises(InvalidArgument):
        rows(FRAME, condition)


def test_text_and_names_of_a_condition_are_never_python():
    ran: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("exec", "compile", "os.system", "subprocess.Popen"):
            ran.append(f"{event} {arguments[0]!r}")

    hostile = "__import__('os').system('true')"
    table = pd.DataFrame({hostile: ["a", hostile], "ill": "no", "row": [0, 1]})
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
    quoted = hostile.replace("'", "''")
    condition = f"`{hostile}` == '{quoted}' or `{hostile}` in ['{quoted}']"
    assert len(survey.where(condition)) == 1  # what is imported for it runs before
    sys.addaudithook(watch)
    assert survey.where(condition).reports("ill", id="row").ids.tolist() == [1]
    watching = False
    assert len(ran) == 1 and ran[0].startswith("compile") and "import" not in ran[0]


# -- expressions of Narwhals, and masks ------------------------------------------------------------
def test_expressions_select_the_same_rows_of_every_table(tmp_path):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = pd.DataFrame({"ill": ["no", "yes", "no", "no"], "age": [17, 40, 81, None]})
    frame["region"] = ["n", "s", None, "n"]
    frame["urban"] = pd.array([True, None, False, True], "boolean")
    frame["row"] = range(4)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    age, region, yes = nw.col("age"), nw.col("region"), ldp.Warner(epsilon=1.0)
    expressions = [
        (age > 18, [1, 2]),
        (~(age > 18), [0]),
        (nw.col("urban"), [0, 3]),
        ((region == "n") & age.is_null(), [3]),
        (age > age.mean(), [2]),
    ]
    files = tmp_path / "t.csv", tmp_path / "t.parquet"
    for data in (frame, pl.from_pandas(frame), pl.from_pandas(frame).lazy(), *files):
        survey = ldp.Survey(data, {"ill": ldp.Warner(epsilon=1.0)})
        for expression, expected in expressions:
            chosen = survey.where(expression)
            assert chosen.reports("ill", id="row").ids.tolist() == expected
        assert ldp.count(data, yes, "ill", where=age > 18).vector().tolist() == [1, 1]
    with pytest.raises(InvalidArgument, match="no public column"):
        ldp.Survey(frame[["ill"]], {"ill": yes}).where(nw.lit(True))
    for data in (frame, *files):
        for mask in ([True, False, True, False], np.array(frame["row"] % 2 == 0)):
            survey = ldp.Survey(data, {"ill": yes})
            assert len(survey.where(mask)) == len(survey[mask]) == 2
            assert ldp.count(data, yes, "ill", where=mask).vector().tolist() == [2, 0]
    assert ldp.count(frame, yes, "ill", where=frame["age"] > 18).vector().tolist() == [1, 1]
    with pytest.raises(ldp.NotAvailable, match="have no order"):
        ldp.count(pl.from_pandas(frame).lazy(), yes, "ill", where=[True] * 4)


def test_whole_numbers_of_any_length_are_exact(tmp_path):
    first, yes = 2**60, ldp.Warner(epsilon=1.0)
    frame = pd.DataFrame({"ill": "no", "row": range(3)})
    frame["id"] = pd.array([first, first + 1, None], "Int64")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for data in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        survey = ldp.Survey(data, {"ill": yes})
        for condition in (f"id == {first + 1}", nw.col("id") == first + 1):
            assert survey.where(condition).reports("ill", id="row").ids.tolist() == [1]
    frame["id"] = [2**64, 2**64 + 1, 2**64 + 2]
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (frame, tmp_path / "t.csv"):
        survey = ldp.Survey(data, {"ill": yes})
        assert survey.where(f"id > {2**64}").reports("ill", id="row").ids.tolist() == [1, 2]
        with pytest.raises(InvalidArgument, match="beyond 64 bits"):
            survey.regression("ill ~ id")
    frame["id"] = [10**400, np.int64(1), np.uint64(2)]
    survey = ldp.Survey(frame, {"ill": yes})
    groups = survey.frequencies("ill", by="id").params.index.unique(level=0)
    assert groups.tolist() == [1, 2, 10**400]
    with pytest.raises(InvalidArgument, match=r"numbers of 64 bits.*may name 'row'"):
        survey.where(nw.col("id") > 1)
    frame["id"] = [10**400, 0.5, 1.0]
    with pytest.raises(InvalidArgument, match="more than 308 digits"):
        ldp.Survey(frame, {"ill": yes}).where("id > 1")


def test_an_expression_that_cannot_be_evaluated_is_named():
    frame = pd.DataFrame({"ill": ["no", "yes"], "age": [17, 40]})
    survey = ldp.Survey(frame, {"ill": ldp.Warner(epsilon=1.0)})
    for expression in (nw.col("age") == "old", nw.col("age") > 2**70):
        with pytest.raises(InvalidArgument, match=r"where=.*age.*stopped"):
            survey.where(expression)


def test_long_conditions_need_no_recursion():
    frame = pd.DataFrame({"a": np.arange(1000)})
    assert len(rows(frame, " or ".join(f"a=={i}" for i in range(900)))) == 900
    assert rows(frame, "not " * 2000 + "a < 2") == [0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [1, True],
        ["a", 1],
        [[1], [2]],
        [1j],
        [b"a"],
        pd.to_timedelta([1]),
        pd.Categorical(["a", 1]),
        pd.to_datetime(["2024-01-01"], utc=True),
    ],
)
def test_columns_of_other_values_are_refused(values):
    with pytest.raises(InvalidArgument, match="column='c'"):
        rows(pd.DataFrame({"c": values}), "c is missing")


# Conditions on an engine select the rows that they select in memory, or fail in the same words.
SHEET = {"ill": ldp.Warner(epsilon=1.0), "seen": ldp.Observed((2, 1, 3))}

KINDS: dict[str, Any] = {
    "small": pa.int8(),
    "large": pa.int64(),
    "huge": pa.uint64(),
    "short": pa.float32(),
    "real": pa.float64(),
    "price": pa.decimal128(12, 2),
    "day": pa.date32(),
    "time": pa.timestamp("us"),
    "fine": pa.timestamp("ns"),
    "text": pa.string(),
    "also": pa.string(),
    "dated": pa.string(),
    "flag": pa.bool_(),
    "nothing": pa.float64(),
}

NUMBERS = ("small", "large", "huge", "short", "real", "price", "seen")

DATES = ("day", "time", "fine", "dated")

DAYS = ("2024-02-28", "2024-02-29", "2024-03-01")


def table(rng: np.random.Generator, n: int = 60) -> pa.Table:
    """Columns of every kind, a fourth of whose cells are missing."""
    whole = rng.integers(-3, 4, n)
    moments = [dt.datetime(2024, 2, 28) + dt.timedelta(hours=12) * int(i) for i in whole + 3]
    values: dict[str, Any] = {
        "small": whole,
        "large": rng.choice([0, 3, -1, 2**53, 2**53 + 1, -(2**63)], n),
        "huge": rng.choice(np.array([0, 3, 2**53 + 1, 2**64 - 1], dtype=np.uint64), n),
        "short": rng.choice(np.float32([0.1, 0.5, -2, np.nan, np.inf, -0.0]), n),
        "real": rng.choice([0.1, 0.5, 3, np.nan, -np.inf, -0.0], n),
        "price": pa.array([f"{v}.50" for v in whole]).cast(pa.decimal128(12, 2)).to_pylist(),
        "day": [moment.date() for moment in moments],
        "time": moments,
        "fine": np.array(moments, dtype="datetime64[ns]") + np.timedelta64(1, "ns"),
        "text": rng.choice(["n", " n", "s", "it's", "", " "], n),
        "also": rng.choice(["n", "s ", "it's"], n),
        "dated": rng.choice([*DAYS, "2024-02-29 12:00"], n),
        "flag": rng.random(n) < 0.5,
        "nothing": np.full(n, np.nan),
    }
    gaps = rng.random((n, len(values))) < 0.25
    made = {}
    for i, (name, cells) in enumerate(values.items()):
        cells = cells if isinstance(cells, list) else cells.tolist()
        if name == "fine":
            made[name] = pa.array(values[name], KINDS[name], mask=gaps[:, i])
            continue
        kept = [None if gap else cell for cell, gap in zip(cells, gaps[:, i], strict=True)]
        made[name] = pa.array(kept, KINDS[name])
    made["ill"] = pa.array(rng.choice(["no", "yes"], n))
    made["seen"] = pa.array(rng.choice(["1", "2", "3.0", None], n))
    made["id"] = pa.array(np.arange(n))
    return pa.table(made)


def random_test_pushed(rng: np.random.Generator) -> str:
    sign = str(rng.choice(["==", "!=", "<", "<=", ">", ">="]))
    number, date = str(rng.choice(NUMBERS)), str(rng.choice(DATES))
    value = str(
        rng.choice(["0", "-1", "3", ".5", "0.1", "-300", str(2**53 + 1), "1e30", str(2**70)])
    )
    day = str(rng.choice([*DAYS, "2024-02-29 12:00", "2024-02-29 00:00:01"]))
    text = str(rng.choice(['"n"', "'s'", '"it\'s"']))
    return str(
        rng.choice(
            [
                f"{number} {sign} {value}",
                f"{number} in [{value}, 2, -1.5]",
                f"{number} {sign} {rng.choice(NUMBERS)}",
                f"{date} {sign} '{day}'",
                f"'{DAYS[0]}' < {date} {sign} '{day}'",
                f"{date} not in ['{day}', '{DAYS[1]}']",
                f"{date} {sign} {rng.choice(DATES)}",
                f"text {rng.choice(['==', '!='])} {text}",
                f"text {rng.choice(['in', 'not in'])} [{text}, 'n']",
                f"text {rng.choice(['==', '!='])} also",
                "flag",
                "flag == false",
                f"nothing {sign} {rng.choice([value, text])}",
                f"{rng.choice(list(KINDS))} is missing",
            ]
        )
    )


def outcome(survey: ldp.Survey, condition: str) -> Any:
    """Who is selected, or what is said instead."""
    try:
        return sorted(survey.where(condition).reports("ill", id="id").ids.tolist())
    except ldp.InvalidArgument as error:
        return str(error)


def relation(made: pa.Table, folder: Path) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("made", made)
    return connection.execute("CREATE TABLE t AS SELECT * FROM made").table("t")


def polars(made: pa.Table, folder: Path) -> Any:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    return pl.from_arrow(made).lazy()


def eager(made: pa.Table, folder: Path) -> Any:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    return pl.from_arrow(made)


def pandas(made: pa.Table, folder: Path) -> Any:
    return made.to_pandas(types_mapper=pd.ArrowDtype)


def csv(made: pa.Table, folder: Path) -> Any:
    made.to_pandas().to_csv(folder / "made.csv", index=False)
    return folder / "made.csv"


# numbers of which CSV has other digits than a column of their type
IN_CSV = re.compile(r"\b(short|large|huge|fine)\b")


def compared(place: Any, folder: Path, seed: int, times: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    while len(found) < times:
        made = table(rng)
        here, there = ldp.Survey(made, SHEET), ldp.Survey(place(made, folder), SHEET)
        for _ in range(20):
            condition = combined(rng, int(rng.integers(0, 3)), random_test_pushed)
            if place is csv and IN_CSV.search(condition):
                continue
            expected = outcome(here, condition)
            assert outcome(there, condition) == expected, condition
            found.append(expected)
    return found


@pytest.mark.parametrize("place", [relation, eager, pandas, csv])
def test_random_conditions_select_the_same_rows(place, tmp_path):
    found = compared(place, tmp_path, 21, 20)
    assert len({str(one) for one in found}) > 12 and any(isinstance(one, str) for one in found)


@pytest.mark.parametrize("place", [relation, polars, eager, pandas])
def test_dates_beyond_those_of_a_type_are_before_or_after_all(place, tmp_path):
    made = table(np.random.default_rng(23))
    survey = ldp.Survey(place(made, tmp_path), SHEET)
    for name in ("day", "time", "fine"):
        known = made.num_rows - made.column(name).null_count
        for test in ("< '9999-12-31'", ">= '1500-01-01'", "> '0000-01-01'", "!= '1500-01-01'"):
            assert len(survey.where(f"{name} {test}")) == known


@pytest.mark.slow
@pytest.mark.parametrize("place", [relation, polars, eager, pandas, csv])
def test_many_random_conditions_select_the_same_rows(place, tmp_path):
    compared(place, tmp_path, 22, 100)


@pytest.mark.parametrize(
    "engine",
    [
        "duckdb",
        "relation",
        "polars",
        pytest.param("spark", marks=pytest.mark.spark),
    ],
)
def test_bounds_in_files_say_nothing_of_nan(engine, tmp_path, request):
    """The least and greatest value that a Parquet file names leave NaN out."""
    if engine == "spark":
        request.getfixturevalue("spark")
    rest = [2.0] * 3000
    table = pa.table({"ill": ["no"] * (len(rest) + 1), "x": [*rest, np.nan]})
    data: Any = tmp_path / "x.parquet"
    pq.write_table(table, data)
    if engine == "relation":
        data, engine = duckdb.connect().from_parquet(str(data)), ""
    survey = ldp.Survey(data, {"ill": ldp.Warner(epsilon=1.0)}, engine=engine or None)
    for condition, n in (
        ("x is missing", 1),
        ("x is not missing", len(rest)),
        ("x != 5", len(rest)),
        ("x == 2", len(rest)),
        ("not x > 2", len(rest)),
        ("x <= 3", len(rest)),
    ):
        assert len(survey.where(condition)) == n
    with pytest.raises(ldp.InvalidArgument, match="holds nan"):
        ldp.count(data, ldp.Warner(epsilon=1.0), "ill", count="x", engine=engine or None)
