"""Columns called n, as the numbers of cells are."""

from __future__ import annotations

import duckdb
import pandas as pd

import ldpstats as ldp


def test_a_question_or_group_may_be_called_n() -> None:
    frame = pd.DataFrame({"n": ["yes", "no", "no", None] * 9, "region": ["a", "b", "n"] * 12})
    relation = duckdb.connect().from_df(frame)
    for sheet, name in (
        ({"n": ldp.Warner(epsilon=1.0)}, "n"),
        ({"region": ldp.KRR(tuple("abn"), 1.0)}, "region"),
    ):
        places = (frame, relation)
        here, there = (ldp.Survey(x, ldp.Questionnaire(sheet)) for x in places)
        other = "region" if name == "n" else "n"
        assert here.frequencies(name).to_json() == there.frequencies(name).to_json()
        by = [s.frequencies(name, by=other).to_json() for s in (here, there)]
        assert by[0] == by[1]
