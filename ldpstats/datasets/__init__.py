"""Small real tables with a sensitive variable, each with its source and rights.

`load_gss` and `load_military` are tables of counts, one row a non-empty cell; `expand` turns such a
table into one row a person. `load_fair` has one row a person already.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import counts_vector
from ldpstats.errors import InvalidArgument
from ldpstats.labels import check_column

__all__ = ["expand", "load_fair", "load_gss", "load_military"]

_NO_YES = ("no", "yes")

_OCCUPATIONS = (
    "student",
    "farming or unskilled",
    "white-collar",
    "teacher, nurse, artist or skilled",
    "managerial or business",
    "professional",
)
_MARRIAGE = ("very poor", "poor", "fair", "good", "very good")
_RELIGIOUS = ("not", "mildly", "fairly", "strongly")

_AGES = ("18-24", "25-29", "30-34", "35-39", "40-49", "50-59", "60-69", "70+")
_INCOMES = ("missing", "<10k", "<20k", "<35k", "35k+")
_MARITAL = ("married", "widowed", "divorced", "separated", "never")

_GRADES = ("enlisted", "warrant officer", "officer")
_RACES = {
    "ami_aln": "american indian or alaskan native",
    "asian": "asian",
    "black": "black",
    "multi": "multi-ethnic",
    "pac_isl": "pacific islander",
    "unk": "unknown",
    "white": "white",
}
# The published codes 1..11 number the pay grades in the order of their names as text, in which "10"
# follows "1": nobody enlisted has code 3, and the officers of code 3 are the generals of O-10.
_RANK_OF_CODE = ("unknown", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9")
_RANKS = ("unknown", *(str(i) for i in range(1, 11)))


def load_fair() -> pd.DataFrame:
    """Extramarital affairs of 6366 married women (Redbook survey of 1974).

    Returns
    -------
    DataFrame, shape (6366, 10)
        One row a respondent. ``occupation`` and ``occupation_husb`` (6 labels), ``rate_marriage``
        (5 ordered labels, from "very poor" to "very good") and ``religious`` (4 ordered labels,
        from "not" to "strongly") are Categoricals. ``age`` and ``yrs_married`` (years),
        ``children``, ``educ`` (years of schooling) and ``affairs`` (a measure of time spent in
        affairs) are numbers as published, most of them midpoints of intervals. ``any_affair``,
        ("no", "yes"), is the sensitive variable derived here: whether ``affairs`` is above 0.

    Notes
    -----
    Source: R. C. Fair (1978), "A Theory of Extramarital Affairs", Journal of Political Economy 86,
    45-61. Read from the copy that statsmodels distributes with the author's permission; ldpstats
    ships none of it.

    Examples
    --------
    >>> fair = load_fair()
    >>> fair["any_affair"].value_counts().to_dict()
    {'no': 4313, 'yes': 2053}
    >>> fair["occupation"].value_counts().loc["student"]
    np.int64(41)
    """
    from statsmodels.datasets import fair

    table: pd.DataFrame = fair.load_pandas().data
    found: dict[str, Any] = {
        "occupation": _labelled(table["occupation"] - 1, _OCCUPATIONS),
        "occupation_husb": _labelled(table["occupation_husb"] - 1, _OCCUPATIONS),
        "rate_marriage": _labelled(table["rate_marriage"] - 1, _MARRIAGE, ordered=True),
        "religious": _labelled(table["religious"] - 1, _RELIGIOUS, ordered=True),
    }
    found |= {name: table[name] for name in ("age", "yrs_married", "children", "educ", "affairs")}
    return pd.DataFrame(found | {"any_affair": _labelled(table["affairs"] > 0, _NO_YES)})


def load_gss() -> pd.DataFrame:
    """Age, income, marital status, sex and unemployment of 61,448 respondents of the GSS.

    Returns
    -------
    DataFrame, shape (639, 7)
        One row a non-empty cell of the 800. Categoricals ``age8`` (8 ordered age groups),
        ``income5`` (own income in 1986 dollars, "missing" first), ``marital5``, ``sex`` ("male",
        "female") and ``unemployed`` ("no", "yes": unemployed or laid off); ``count`` (int64, number
        of respondents); ``sensitive`` (bool: divorced or unemployed, 16.2 % of the respondents).

    Notes
    -----
    Source: General Social Survey 1974-2018, NORC at the University of Chicago, free to use with
    citation; counted from the table gss_wages of the R package stevedata. The counts are
    unweighted. The table codes sex as 0 and 1 without naming them; 1 is read as female, because it
    holds 56 % of the respondents, as women do in the GSS, 81 % of the widowed, and the lower
    incomes.

    Examples
    --------
    >>> gss = load_gss()
    >>> int(gss["count"].sum())
    61448
    >>> gss.groupby("marital5", observed=True)["count"].sum().to_dict()
    {'married': 31802, 'widowed': 5893, 'divorced': 8221, 'separated': 2139, 'never': 13393}
    """
    table = _read("gss_1974_2018_counts.csv")
    return pd.DataFrame(
        {
            "age8": _labelled(table["age8"], _AGES, ordered=True),
            "income5": _labelled(table["income5"], _INCOMES),
            "marital5": _labelled(table["marital5"], _MARITAL),
            "sex": _labelled(table["sex"], ("male", "female")),
            "unemployed": _labelled(table["unemployed"], _NO_YES),
            "count": table["count"].astype(np.int64),
            "sensitive": table["sensitive"].astype(bool),
        }
    )


def load_military() -> pd.DataFrame:
    """Branch, grade, rank, gender and ethnicity of 1,414,593 members of the US forces (2012).

    Returns
    -------
    DataFrame, shape (1646, 7)
        One row a non-empty cell. Categoricals ``branch`` (4), ``grade`` ("enlisted", "warrant
        officer", "officer"), ``rank`` (the number of the pay grade, ordered from "1" to "10", so
        that an officer of rank "10" is paid O-10; "unknown", placed first, for 9 people),
        ``gender``, ``race`` (7) and ``hisp`` ("no", "yes"); ``count`` (int64, number of people).

    Notes
    -----
    Source: US Department of Defense, "Personnel Trends by Gender/Race", catalog.data.gov, retrieved
    2012-02-20, a work of the US government; counted from the table military of the R package
    openintro. The Coast Guard is not included. The codes of ``rank`` in that table are not in the
    order of the ranks; they are translated here to the pay grades of the published table.

    Examples
    --------
    >>> military = load_military()
    >>> int(military["count"].sum())
    1414593
    >>> generals = military[(military["grade"] == "officer") & (military["rank"] == "10")]
    >>> int(generals["count"].sum())
    38
    """
    table = _read("us_military_2012_joint_counts.csv")
    rank = np.array(_RANK_OF_CODE)[table["rank"] - 1]
    return pd.DataFrame(
        {
            "branch": pd.Categorical(table["branch"]),
            "grade": pd.Categorical(table["grade"], categories=_GRADES),
            "rank": pd.Categorical(rank, categories=_RANKS, ordered=True),
            "gender": pd.Categorical(table["gender"]),
            "race": pd.Categorical(table["race"].map(_RACES), categories=list(_RACES.values())),
            "hisp": _labelled(table["hisp"], _NO_YES),
            "count": table["count"].astype(np.int64),
        }
    )


def expand(table: pd.DataFrame, count: str = "count") -> pd.DataFrame:
    """One row a person from a table of counts.

    Parameters
    ----------
    table : DataFrame
        One row a cell.
    count : str
        Column with the number of people in each cell.

    Returns
    -------
    DataFrame
        The other columns, each row repeated `count` times, numbered from 0.

    Raises
    ------
    InvalidArgument
        If there is no such column, or it does not hold non-negative whole counts.

    Examples
    --------
    >>> expand(pd.DataFrame({"answer": ["no", "yes"], "count": [1, 2]}))
      answer
    0     no
    1    yes
    2    yes
    """
    if not isinstance(table, pd.DataFrame):
        raise InvalidArgument("table", table, "must be a pandas DataFrame, one row a cell")
    check_column("count", count, table)
    repeats = counts_vector(f"table[{count!r}]", table[count], (len(table),))
    rows = np.repeat(np.arange(len(table)), repeats)
    return table.drop(columns=count).iloc[rows].reset_index(drop=True)


def _read(name: str) -> pd.DataFrame:
    with files(__name__).joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file)


def _labelled(
    codes: pd.Series[Any], labels: tuple[str, ...], ordered: bool = False
) -> pd.Categorical[str]:
    """Labels of codes 0 .. len(labels) - 1; any other code is an error, never a missing value."""
    whole = counts_vector(str(codes.name), codes.astype(np.float64), codes.shape)
    return pd.Categorical.from_codes(whole, categories=pd.Index(labels), ordered=ordered)
