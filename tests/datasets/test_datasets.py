"""The tables that ship with the package: totals, labels, and what they are derived from."""

import numpy as np
import pandas as pd
import pytest

from ldpstats.datasets import expand, load_fair, load_gss, load_military
from ldpstats.errors import InvalidArgument


def people(table: pd.DataFrame, column: str) -> dict[str, int]:
    return table.groupby(column, observed=False)["count"].sum().to_dict()


@pytest.mark.parametrize(
    ("load", "shape", "total"),
    [(load_gss, (639, 7), 61_448), (load_military, (1646, 7), 1_414_593)],
)
def test_count_tables(load, shape, total):
    table = load()
    assert table.shape == shape
    assert table["count"].dtype == np.int64
    assert (table["count"] > 0).all()  # only non-empty cells are listed
    assert table["count"].sum() == total
    assert not table.isna().any().any()
    cells = table.drop(columns=["count", "sensitive"], errors="ignore")
    assert not cells.duplicated().any()
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in cells.dtypes)


def test_gss_labels():
    gss = load_gss()
    assert gss["age8"].cat.ordered
    assert (gss["age8"].min(), gss["age8"].max()) == ("18-24", "70+")
    assert people(gss, "marital5")["divorced"] == 8_221
    assert list(gss["income5"].cat.categories) == ["missing", "<10k", "<20k", "<35k", "35k+"]
    assert people(gss, "sex") == {"male": 27_023, "female": 34_425}
    assert people(gss, "unemployed") == {"no": 59_359, "yes": 2_089}


def test_gss_sensitive_is_divorced_or_unemployed():
    gss = load_gss()
    assert gss["sensitive"].dtype == bool
    derived = (gss["marital5"] == "divorced") | (gss["unemployed"] == "yes")
    assert (gss["sensitive"] == derived).all()
    assert round(gss.loc[gss["sensitive"], "count"].sum() / 61_448, 3) == 0.162


def test_gss_sex_is_read_the_right_way_round():
    # what is known of the survey: more women than men, and widows far outnumber widowers
    gss = load_gss()
    widowed = people(gss[gss["marital5"] == "widowed"], "sex")
    assert widowed["female"] > 4 * widowed["male"]
    earners = people(gss[gss["income5"] == "35k+"], "sex")
    assert earners["male"] > 3 * earners["female"]


def test_military_labels():
    military = load_military()
    assert list(military["grade"].cat.categories) == ["enlisted", "warrant officer", "officer"]
    assert people(military, "hisp") == {"no": 1_265_480, "yes": 149_113}
    assert people(military, "race")["american indian or alaskan native"] == 23_984


def test_military_ranks_are_pay_grades():
    # The department's own table of army officers, male, white, not Hispanic, O-1 to O-10.
    published = [4829, 6502, 15368, 10694, 6786, 3313, 124, 91, 50, 9]
    table = load_military()
    cell = {"branch": "army", "grade": "officer", "gender": "male", "race": "white", "hisp": "no"}
    for column, label in cell.items():
        table = table[table[column] == label]
    counts = people(table, "rank")
    assert [counts[str(i)] for i in range(1, 11)] == published
    # enlisted people end at E-9 and warrant officers at W-5
    for grade, top in (("enlisted", 9), ("warrant officer", 5)):
        counts = people(load_military()[lambda t, g=grade: t["grade"] == g], "rank")
        assert [i for i in range(1, 11) if counts[str(i)] > 0] == list(range(1, top + 1))


def test_fair():
    fair = load_fair()
    assert fair.shape == (6366, 10)
    assert not fair.isna().any().any()
    assert ((fair["any_affair"] == "yes") == (fair["affairs"] > 0)).all()
    assert list(fair["any_affair"].cat.categories) == ["no", "yes"]
    assert fair["occupation"].value_counts(sort=False).tolist() == [41, 859, 2783, 1834, 740, 109]
    assert fair["rate_marriage"].cat.ordered and fair["religious"].cat.ordered
    assert (fair["rate_marriage"] >= "good").sum() == 2242 + 2684


def test_expand_has_one_row_a_person():
    gss = load_gss()
    persons = expand(gss)
    assert len(persons) == 61_448
    assert list(persons.columns) == [c for c in gss.columns if c != "count"]
    assert persons.dtypes.equals(gss.dtypes.drop("count"))
    counted = persons.groupby(["marital5", "sex"], observed=True).size()
    assert counted.equals(gss.groupby(["marital5", "sex"], observed=True)["count"].sum())


def test_expand_of_empty_cells():
    table = pd.DataFrame({"x": ["a", "b"], "n": [0, 2]}, index=[7, 7])
    assert expand(table, "n")["x"].tolist() == ["b", "b"]


@pytest.mark.parametrize("counts", [[1, -1], [1, 0.5], [1, np.nan], ["1", "2"]])
def test_expand_refuses_what_is_no_count(counts):
    with pytest.raises(InvalidArgument, match="whole counts"):
        expand(pd.DataFrame({"x": ["a", "b"], "count": counts}))


def test_expand_names_the_missing_column():
    with pytest.raises(InvalidArgument, match="count='n'"):
        expand(pd.DataFrame({"x": ["a"], "count": [1]}), "n")
