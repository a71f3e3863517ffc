"""Tables of true answers made into tables of reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.sheets import MECHANISMS, PUM, cells, every_kind, people
from shared.tracebacks import shown

import ldpstats as ldp

TAGS = {"place": {"home": "home"}}


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def honest(labels: Any) -> ldp.KRR:
    """Tells the truth but for one answer in e^40 / k, so that tests see which answer went where."""
    return ldp.KRR(labels, epsilon=40.0)


@pytest.mark.parametrize("kind", ["polars", "arrow", "batch"])
@pytest.mark.parametrize("ask", [3])
def test_every_kind_of_frame_gets_the_same_reports(kind: str, ask: int | None) -> None:
    frame, sheet = people(300, missing=0.2), every_kind(ask)
    made: Any = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    if kind == "polars":
        pl = pytest.importorskip("polars", reason="polars is not installed")
        made = pl.from_arrow(made)
    elif kind == "arrow":
        made = pa.Table.from_batches([made])
    out = sheet.privatize(made, rng(), TAGS)
    assert type(out) is type(made)
    assert cells(out) == cells(sheet.privatize(frame, rng(), TAGS))


def test_reports_have_the_type_of_their_labels() -> None:
    out = every_kind().privatize(people(300), rng())
    assert out["children"].dtype == np.int64 and out["late"].dtype == bool
    assert out["size"].dtype == np.float64
    assert set(out["job"]) == {"cook", "nurse", "refused"}
    assert set(out["bits"]) <= {"00", "01", "10", "11"}
    assert out["host"].str.fullmatch(r"[0-3]:[0-7]").all()
    assert out["filter"].str.fullmatch("[0-7]:[01]{16}").all()
    assert set(out["place"]) <= {"park", "centre", "mill", "home"}
    some = every_kind(ask=2).privatize(people(300), rng())
    assert some["children"].dtype == "Int64" and some["late"].dtype == "boolean"
    mixed = ldp.Questionnaire({"a": honest(("x", 1, 2.5))})
    frame = pd.DataFrame({"a": ["x", 1, 2.5]})
    assert mixed.privatize(frame, rng())["a"].tolist() == ["x", 1, 2.5]
    assert mixed.privatize(pa.table({"a": ["x", "1", "2.5"]}), rng())["a"].to_pylist() == [
        *("x", "1", "2.5")
    ]


def test_answers_are_matched_as_people_write_them() -> None:
    frame = pd.DataFrame(
        {"n": [" 1", "2.0", "3 "], "job": pd.Categorical(["cook ", "nurse", None])}
    )
    sheet = ldp.Questionnaire({"n": honest(4), "job": honest(("cook", "nurse"))})
    assert cells(sheet.privatize(frame, rng())) == {
        "n": [1, 2, 3],
        "job": ["cook", "nurse", None],
    }


def test_missing_answers_are_empty_or_a_category() -> None:
    frame = pd.DataFrame({"a": ["x", None, " "], "b": ["x", "y", None], "h": ["u", "", None]})
    made = {
        "a": honest(("x", "y", "none")),
        "b": honest(("x", "y")),
        "h": ldp.ORR(8, 2, epsilon=1.0),
    }
    out = ldp.Questionnaire(made, refused={"a": "none"}).privatize(frame, rng())
    assert cells(out[["a", "b"]]) == {"a": ["x", "none", "none"], "b": ["x", "y", None]}
    assert out["h"].isna().tolist() == [False, True, True]
    filled = ldp.Questionnaire(made, refused={"h": "(none)"}).privatize(frame, rng())
    assert not filled["h"].isna().any()


def test_own_categories_of_respondents() -> None:
    """Who is at home always reports a protected category, whatever home is."""
    sheet, n = ldp.Questionnaire({"place": PUM}), 4_000
    frame = pd.DataFrame({"place": ["park"] * n, "own": ["park", "centre"] * (n // 2)})
    out = sheet.privatize(frame, rng(), {"place": {"home": "own"}})
    at_home = np.arange(n) % 2 == 0
    assert list(out) == ["place"] and not (out["place"][at_home] == "park").any()
    assert (out["place"][~at_home] == "park").any()
    array = sheet.privatize(frame, rng(), {"place": {"home": frame["own"].to_numpy()}})
    assert cells(array[["place"]]) == cells(out) and list(array) == ["place", "own"]
    asked = ldp.Questionnaire({"place": PUM, "ill": ldp.Warner(epsilon=1.0)}, ask=1)
    some = asked.privatize(frame.assign(ill="no"), rng(), {"place": {"home": "own"}})
    assert not (some["place"][at_home] == "park").any()


@pytest.mark.parametrize(
    ("kind", "levels"), [("pandas", ["job"]), ("arrow", ["region", "url"]), ("batch", ["home"])]
)
def test_an_index_of_true_answers_is_refused(kind: str, levels: list[str]) -> None:
    """It would stay beside the reports, whatever becomes of the column of that name."""
    frame = people(20).set_index(levels, drop=False)
    made = {"arrow": pa.Table.from_pandas, "batch": pa.RecordBatch.from_pandas}
    given: Any = frame if kind == "pandas" else made[kind](frame)
    words = rf"^frame='{levels[-1]}': is the name of the index too.*reset_index\(drop=True\)"
    with pytest.raises(ldp.InvalidArgument, match=words):
        every_kind().privatize(given, rng(), TAGS)


def test_an_index_of_public_columns_stays() -> None:
    frame = people(20).set_index("region", drop=False)
    assert every_kind().privatize(frame, rng(), TAGS).index.equals(frame.index)
    out = every_kind().privatize(pa.Table.from_pandas(frame), rng(), TAGS)
    assert out.to_pandas().index.equals(frame.index)
    with pytest.raises(ldp.InvalidArgument, match=r"question='job': is the index, .*reset_index"):
        every_kind().privatize(people(20).set_index("job"), rng())
    arrow = pa.Table.from_pandas(people(20).set_index("job"))  # there it is a column like others
    assert set(every_kind().privatize(arrow, rng())["job"].to_pylist()) <= {
        *MECHANISMS["job"].labels()
    }


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_notes_on_a_table_are_left_out(kind: str) -> None:
    """They may hold answers."""
    frame = people(20)
    frame.attrs = {"first": SECRET}
    if kind == "pandas":
        assert every_kind().privatize(frame, rng()).attrs == {}
        return
    made = {"arrow": pa.Table.from_pandas, "batch": pa.RecordBatch.from_pandas}[kind](frame)
    assert SECRET.encode() in made.schema.metadata[b"pandas"]
    noted = made.replace_schema_metadata({**made.schema.metadata, b"own": SECRET.encode()})
    out = every_kind().privatize(noted, rng()).schema.metadata
    assert SECRET not in repr(out) and list(out) == [b"pandas"]
    bare = made.replace_schema_metadata({b"own": SECRET.encode()})
    assert every_kind().privatize(bare, rng()).schema.metadata is None


SECRET = "hepatitis-4711"


def _with(name: str, value: Any, row: int = 4) -> Callable[[], Any]:
    """Privatise a table in which one answer cannot be."""
    frame = people(20)
    frame[name] = frame[name].astype(object)
    frame.at[row, name] = value
    return lambda: every_kind().privatize(frame, rng(), TAGS)


def _call(frame: Any = None, tags: Any = None, how: Any = 3) -> Callable[[], Any]:
    given = people(20) if frame is None else frame
    return lambda: every_kind().privatize(given, np.random.default_rng(how), tags)


def _headed(*names: Any) -> pd.DataFrame:
    """A file without a header: the first respondent's answers are the names."""
    return pd.DataFrame([["nurse", "no"]], columns=list(names))


def _own(categories: Any) -> Callable[[], Any]:
    return _call(tags={"place": {"home": categories}})


HOMES = people(20)["home"].to_numpy()
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "unknown": (_with("job", SECRET), r"^job, row 5=\(not shown\): is not among the 3 labels"),
    "the last row": (_with("ill", SECRET, 19), r"^ill, row 20=\(not shown\): is not among"),
    "observed": (_with("region", SECRET), r"^region, row 5=\(not shown\)"),
    "a string": (_with("url", SECRET), r"^url, row 5=\(not shown\): has characters outside"),
    "own category": (_with("home", SECRET), r"^tags\['place'\]\['home'\], row 5=\(not shown\)"),
    "no column": (_call(people(5).drop(columns="job")), "question='job': no such column"),
    "misspelled": (_call(people(5).rename(columns={"job": SECRET})), "has 13 columns: check"),
    "a header of answers": (_call(_headed(SECRET, "job")), r"='ill': no such.*has 2 columns"),
    "clash": (_call(people(5).assign(url_string="x")), "frame='url_string': is a column that"),
    "dict": (_call({"job": [SECRET]}), "frame='dict': must be"),
    "tags of no question": (_call(tags={SECRET: {"home": HOMES}}), r"tags=\(not shown\).*'place'"),
    "no such tag": (
        _call(tags={"place": {SECRET: HOMES}}),
        r"^tags\['place'\]=\(not shown\).*no tag",
    ),
    "tags of a column": (_call(tags={"place": {"home": SECRET}}), r"=\(not shown\): is no column"),
    "tags in a question": (_call(tags={"place": {"home": "job"}}), "tags.*="),
    "tags of one": (_call(tags={"place": "home"}), r"tags\['place'\]='str'"),
    "sets of own categories": (_own([{SECRET}] * 20), r"^tags\['place'\]\['home'\].*\(not shown\)"),
    "one set": (_own({SECRET}), r"\(not shown\): must be one category a row"),
    "a column as a Series": (_own(people(20)["home"]), r"='Series': has the name of a column"),
    "too few tags": (_call(tags={"place": {"home": HOMES[:9]}}), "=9: must be 20 categories"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, words = BAD[name]
    with pytest.raises(ldp.InvalidArgument, match=words) as found:
        call()
    error = found.value
    assert error.__cause__ is None and error.__context__ is None
    assert SECRET not in shown(error) and "4711" not in shown(error)


def test_an_answer_that_cannot_be_uses_no_randomness() -> None:
    generator, frame = rng(), people(20)
    frame.loc[3, "late"] = SECRET
    before = generator.bit_generator.state
    with pytest.raises(ldp.UnknownCategory, match="late, row 4"):
        every_kind().privatize(frame, generator)
    assert generator.bit_generator.state == before
    with pytest.raises(ldp.InvalidArgument, match="rng"):
        every_kind().privatize(people(5), 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("mark", ["questionnaire_fingerprint", "ill_fingerprint", "stored"])
def test_reports_are_not_privatised_again(mark: str) -> None:
    sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=1.0), "sex": ldp.Observed(("f", "m"))})
    table = pa.table({"ill": ["no", "yes"], "sex": ["f", "m"]})
    if mark == "stored":
        field = pa.field("ill", pa.string(), metadata={b"ldpstats.questionnaire": b"0123456789ab"})
        table = table.set_column(0, field, table.column("ill"))
    else:
        table = table.append_column(mark, pa.array([sheet.fingerprint] * 2))
    frames = [table] if mark == "stored" else [table, table.to_pandas()]
    for frame in frames:
        for privatize in (lambda f: sheet.privatize(f, rng()), sheet.collector().privatize):
            with pytest.raises(ldp.InvalidArgument, match="reports already, not true answers"):
                privatize(frame)
    # those of a public question, or of another column, are no reports of this sheet
    others = pd.DataFrame(
        {"ill": ["no"], "sex": ["f"], "sex_fingerprint": ["a"], "x_fingerprint": 1}
    )
    assert len(sheet.privatize(others, rng())) == 1
