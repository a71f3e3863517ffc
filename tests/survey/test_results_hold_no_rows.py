"""Results of a survey hold counts of reports, never the reports of one respondent."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

SHEET = ldp.Questionnaire(
    {
        "a": ldp.KRR(("x", "y"), 1.0),
        "b": ldp.KRR(("x", "y"), 2.0),
        "bits": ldp.KRAPPOR(("h", "i", "j"), 1.0),
        "seen": ldp.Observed(("u", "v")),
    }
)


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(14)
    answers = {name: rng.choice(SHEET[name].categories, n) for name in SHEET}
    made: pd.DataFrame = SHEET.privatize(pd.DataFrame(answers), rng)
    made.loc[::7, "a"] = None
    return made


@pytest.mark.parametrize("names", [("a", "b"), ("a", "bits"), ("a", "seen"), ("a", "b", "seen")])
def test_documents_depend_on_neither_the_order_nor_the_number_of_rows(
    names: tuple[str, ...],
) -> None:
    rows = table(4000)
    text = ldp.Survey(rows, SHEET).association(*names).to_json()
    shuffled = rows.sample(frac=1.0, random_state=1)
    assert ldp.Survey(shuffled, SHEET).association(*names).to_json() == text
    groups = ldp.Survey(table(16_000), SHEET).association(*names).to_dict()["tallies"]["groups"]
    assert sum(len(group["n"]) for group in groups) <= 2 ** sum(2 + (n == "bits") for n in names)


def test_changes_and_pairs_do_not_grow_with_the_number_of_rows() -> None:
    sizes = []
    for n in (4000, 16_000):
        survey = ldp.Survey(table(n), SHEET)
        change, pairs = survey.change("a", "b"), survey.associations(["a", "bits", "seen"])
        sizes.append(len(change.to_json()) + len(pairs.to_json()))
    assert sizes[1] < 1.2 * sizes[0]
