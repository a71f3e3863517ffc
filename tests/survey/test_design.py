"""The columns of a design, and what they cannot be."""

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from shared.engines import PLACES, SOME

import ldpstats as ldp

SHEET = ldp.Questionnaire({"ill": ldp.Warner(epsilon=1.0), "sex": ldp.Observed(("f", "m"))})

TABLE = pd.DataFrame(
    {
        "ill": ["no", "yes", "no", "yes", "no", "yes"],
        "sex": list("fmfmfm"),
        "w": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "region": list("aaabbb"),
        "school": [1, 1, 2, 1, 1, 2],
        "room": [1, 2, 3, 4, 4, 5],
        "N": [10, 10, 10, 20, 20, 20],
        "M": [5.0, 5.0, 5.0, 6.0, 6.0, 6.0],
    }
)

DESIGN: dict[str, Any] = {"weights": "w", "strata": "region", "clusters": "school", "fpc": "N"}
DESIGN["nested"] = True  # schools are numbered in each region


def built(change: dict[str, Any], data: dict[str, Any] | None = None) -> Any:
    """An analysis of the survey of a design, of which arguments are changed."""
    held = {"data": TABLE} if data is None else data
    survey = ldp.Survey(**held, questionnaire=SHEET, **(DESIGN | change))
    return survey.frequencies("ill")


ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "a number": ({"weights": 3}, "weights=3: must be text"),
    "no column": ({"weights": "W"}, "weights='W': no such column; .*did you mean 'w'"),
    "private weights": ({"weights": "ill"}, "weights='ill': holds what a question reported"),
    "weights of a question": ({"weights": "sex"}, "weights='sex': holds what a question"),
    "private strata": ({"strata": "ill"}, "strata='ill': .*needs a public column"),
    "strata of a set": ({"strata": {"region"}}, "strata=.*a list of names, one for each stage"),
    "twice": ({"strata": "school"}, "clusters='school': is the column that strata= names"),
    "no unit": ({"clusters": ["", "school"]}, "every stage needs a column of units"),
    "an empty name": ({"clusters": ""}, "clusters='': every stage needs a column of units"),
    "no name of fpc": ({"fpc": ""}, "fpc='': must be the name of a column"),
    "a stage without fpc": ({"fpc": ["", "N"]}, "has none for stage 1, .*without effect"),
    "too many fpc": ({"fpc": ["N", "M", "room"]}, "has 3 stages, but clusters= has 1"),
    "too many strata": ({"strata": ["region", "sex"]}, "has 2 stages, but units were sampled in 1"),
    "no weights": (
        {"weights": None, "fpc": None},
        "weights=None: name the column of weights, of ones .*give fpc= for every stage",
    ),
    "nested": ({"nested": "yes"}, "nested='yes': must be True or False"),
    "single_unit": ({"single_unit": "center"}, "did you mean 'centered'"),
    "replicates": ({"replicate_weights": 3}, "replicate_weights=3"),
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_arguments(kind):
    change, words = ARGUMENTS[kind]
    with pytest.raises(ldp.LDPError, match=words):
        built(change)


# columns that are changed; the error in memory; how many rows an engine counts
NO, HALF = None, 0.5

VALUES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "negative": (
        {"w": [1, -2.0, 3, 4, -5, 6]}, {},
        r"weights 'w', row 2=-2.0: must be a positive number.*\(2 such rows\): correct it",
        r"weights 'w'=-[25].0: must be a positive number.*\(in 2 rows\)",
    ),
    "missing": (
        {"w": [1, None, 3, 4, 5, 6]}, {}, "weights 'w', row 2=None", r"'w'=None.*\(in 1 row\)"
    ),
    "infinite": (
        {"w": [1, np.inf, 3, 4, 5, 6]}, {}, "weights 'w', row 2=inf", r"'w'=inf.*\(in 1 row\)"
    ),
    "vanishing": ({"w": [1e-300] * 6}, {}, "from 1e-50", r"'w'=1e-300: .*\(in 6 rows\)"),
    "text": ({"w": list("123456")}, {}, "weights='w': holds values that are not numbers", "String"),
    "no stratum": (
        {"region": [" ", *"aabbb"]}, {}, "strata 'region', row 1=None: is missing",
        r"strata 'region'=None: is missing \(in 1 row\)",
    ),
    "no cluster": (
        {"school": [1, 1, 2, NO, NO, 2]}, {},
        r"clusters 'school', row 4=None: is missing \(2 such rows\): every",
        r"clusters 'school'=None: is missing \(in 2 rows\)",
    ),
    "decimals": (
        {"school": [HALF] * 6}, {}, "clusters='school': holds numbers with decimals: units", "units"
    ),
    "two strata": (
        {}, {"nested": False},
        r"clusters='school': unit 1 is in 'a' and in 'b' \(2 such units\).*nested=True", "unit 1",
    ),
    "varying fpc": (
        {"N": [10, 11, 10, 20, 20, 20]}, {},
        "fpc='N': holds 1[01] and 1[01] in stratum 'a' of stage 1: it must be one", "holds 1",
    ),
    "too few units": (
        {"N": [10, 10, 10, 1.5, 1.5, 1.5]}, {},
        "fpc='N': stratum 'b' of stage 1 has 1.5 units in the population, but 2 in the sample",
        "but 2 in the sample",
    ),
    "no fpc": (
        {"N": [10, NO, 10, 20, 20, 20]}, {}, "fpc 'N', row 2=None: is missing", r"\(in 1 row\)"
    ),
    "negative fpc": (
        {"N": [-10] * 3 + [20] * 3}, {}, r"fpc 'N', row 1=-10.0: must be the number.*\(3 such rows",
        r"fpc 'N'=-10.0: must be.*\(in 3 rows\)",
    ),
    "mixed fpc": (
        {"N": [HALF] * 3 + [20] * 3}, {}, "fpc 'N', row 1=0.5: is a fraction, but other rows",
        r"is a fraction.*\(in 3 rows\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_values_in_memory(kind):
    columns, change, words, _ = VALUES[kind]
    with pytest.raises(ldp.InvalidArgument, match=words):
        ldp.Survey(TABLE.assign(**columns), SHEET, **(DESIGN | change))


def on_engine(kind: str, place: str, folder: Path) -> None:
    columns, change, _, words = VALUES[kind]
    made = pa.Table.from_pandas(TABLE.assign(**columns), preserve_index=False)
    with pytest.raises(ldp.InvalidArgument, match=words):
        built(change, PLACES[place](made, folder))


@pytest.mark.parametrize("kind", VALUES)
def test_values_on_engines(kind, tmp_path):
    on_engine(kind, "polars", tmp_path)
    if kind in ("negative", "no cluster"):
        on_engine(kind, "relation", tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["negative", "missing", "no stratum"])
def test_values_on_spark(kind, spark, tmp_path):
    on_engine(kind, "spark", tmp_path)


def test_units_of_one_label_in_several_strata_are_asked_about():
    with pytest.warns(ldp.LDPWarning, match=r"unit 1 is in 'a' and in 'b' \(2 such.*nested=True"):
        found = ldp.Survey(TABLE, SHEET, **(DESIGN | {"nested": None})).frequencies("sex")
    assert found.bse.equals(ldp.Survey(TABLE, SHEET, **DESIGN).frequencies("sex").bse)


def test_a_design_describes_itself():
    survey = ldp.Survey(TABLE, SHEET, **DESIGN)
    assert str(survey.design) == (
        "SampleDesign(weights: w; strata: region; clusters: school; fpc: N)"
    )
    assert "clusters: school; fpc: N" in repr(survey)
    stages = {"clusters": ["school", "room"], "strata": ["", "region", ""], "fpc": None}
    two = ldp.Survey(TABLE, SHEET, **(DESIGN | stages)).design
    assert two is not None and two.strata == (None, "region")
    assert str(two) == "SampleDesign(weights: w; strata: none, region; clusters: school, room)"
    from_fpc = {"weights": None, "clusters": None}
    assert "weights: from fpc" in str(ldp.Survey(TABLE, SHEET, **(DESIGN | from_fpc)).design)
    assert ldp.Survey(TABLE, SHEET).design is None
    assert ldp.Survey(TABLE, SHEET, nested=False).where("sex == 'f'").design is None


def test_a_fraction_of_one_is_everybody():
    """Such a stratum adds no variance, as if its population were its sample."""
    data = TABLE.assign(one=[1.0] * 3 + [0.5] * 3, all=[2] * 3 + [4] * 3)
    fraction, population = (built({"fpc": name}, {"data": data}) for name in ("one", "all"))
    np.testing.assert_array_equal(fraction.cov_params(), population.cov_params())


def test_analyses_that_would_ignore_the_design():
    survey = ldp.Survey(TABLE, SHEET, **DESIGN)
    plain = ldp.Survey(TABLE.assign(who=range(6)), SHEET)
    for call in (
        lambda: survey.matched(plain, id="w"),
        lambda: plain.matched(survey, id="w"),
    ):
        with pytest.raises(ldp.NotAvailable, match="with a design has no weighted form"):
            call()
    assert survey.reports("ill").tally().vector().tolist() == [3, 3]
    assert survey.joint_counts("ill", "sex").nobs == 6


def lonely(clusters: tuple[int, ...] = (3, 2, 1)) -> tuple[pd.DataFrame, np.ndarray]:
    """Strata of so many clusters of 12, whose last stratum has one; and their decoded reports."""
    rng = np.random.default_rng(6)
    rows = [(s, f"{s}.{c}") for s, n in enumerate(clusters) for c in range(n) for _ in range(12)]
    table = pd.DataFrame(rows, columns=["s", "c"])
    table = table.assign(ill=rng.choice(["no", "yes"], len(table)), w=rng.uniform(1, 3, len(table)))
    table = table.assign(rest=table.s < len(clusters) - 1, end=table.s >= len(clusters) - 2)
    q = 1.0 / (1.0 + np.exp(2.0))
    return table, ((table["ill"] == "yes") - q) / (1.0 - 2.0 * q)


def averaged(table: pd.DataFrame, phi: Any, inside: Any) -> float:
    """R's standard error of a domain's mean: its strata over those of them of several clusters."""
    w = table["w"].where(inside, 0.0)
    z = w * (phi - (w @ phi) / w.sum()) / w.sum()
    totals = z.groupby([table["s"], table["c"]]).sum()
    own = [totals[s] for s in table["s"][inside].unique()]
    several = [t for t in own if len(t) > 1]
    return float(np.sqrt(sum(len(t) * t.var() for t in several) * len(own) / len(several)))


@pytest.mark.filterwarnings("ignore:the domain rest=False is in one sampling unit")
@pytest.mark.parametrize(
    ("clusters", "method"), [((3, 2, 1), "inversion"), ((4, 2, 3, 2, 1), "mle")]
)
def test_the_average_of_single_units_is_that_of_the_domain(clusters, method):
    table, phi = lonely(clusters)
    how = {"weights": "w", "strata": "s", "clusters": "c", "single_unit": "average"}
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, **how)
    everyone = averaged(table, phi, table["w"] > 0)
    assert math.isclose(survey.frequencies("ill", method=method).bse["yes"], everyone, rel_tol=1e-6)
    for column in ("rest", "end"):
        found = survey.frequencies("ill", by=column, method=method).bse
        for inside in (False, True):
            if column == "rest" and not inside:
                assert math.isnan(found[inside, "yes"])  # of the single unit nothing is known
                continue
            own = averaged(table, phi, table[column] == inside)
            assert math.isclose(found[inside, "yes"], own, rel_tol=1e-6)
            alone = survey.where(f"{column} == {str(inside).lower()}")
            assert math.isclose(alone.frequencies("ill").bse["yes"], own, rel_tol=1e-9)


def test_a_regression_in_strata_of_single_units_has_no_average():
    table, _ = lonely()
    how = {"weights": "w", "strata": "s", "clusters": "c", "single_unit": "average"}
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=2.0)}, **how)
    with pytest.raises(ldp.InvalidArgument, match="choose 'certainty' or 'centered'"):
        survey.where("s == 2").regression("ill ~ 1").fit()


# Estimates of a design are the same from a table in memory and from any engine.

SHEET_ENGINES = {"ill": ldp.KRR(("a", "b", "c"), 1.0), "sex": ldp.Observed(("f", "m"))}

DESIGNS: tuple[dict[str, Any], ...] = (
    {"weights": "w"},
    {"weights": "w", "strata": ["region"], "clusters": ["school"], "fpc": "N", "nested": True},
    {"weights": "w", "strata": "sex", "clusters": "school", "nested": True},
    {"strata": "region", "fpc": "persons"},
    {"weights": "w", "strata": ["region", "shift"], "clusters": ["school", "room"],
     "fpc": ["N", "rooms", "share"], "nested": True},
    {"strata": "region", "clusters": ["school", "room"], "fpc": ["N", "each"], "nested": True},
    {"weights": "w", "clusters": "unit", "nested": False},
)  # fmt: skip


def table(n: int = 160) -> pd.DataFrame:
    """A small sample with gaps in reports and groups, and blanks around labels."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "ill": rng.choice(["a", "b", "c", None], n),
            "sex": rng.choice(["f", "m"], n),
            "w": rng.gamma(2.0, size=n),
            "region": rng.choice(["n", "s", " s"], n),
            "school": rng.integers(0, 3, n),
            "shift": rng.random(n) < 0.5,
            "room": rng.integers(0, 2, n).astype(float),
            "group": rng.choice(["x", "y", None], n),
            "age": rng.integers(18, 80, n),
        }
    )
    region = frame["region"].str.strip()
    frame["unit"] = region + frame["school"].astype(str)
    frame["N"] = np.where(region == "n", 5, 7)
    frame["persons"] = np.where(region == "n", 500.5, 300.0)
    frame["rooms"] = np.where(frame["shift"], 2, 3)
    frame["each"] = 2 + frame["school"]
    frame["share"] = np.where(frame["room"] > 0, 0.25, 1.0)
    return frame


def same(one: Any, two: Any) -> None:
    assert (one.nobs, one.params.index.tolist()) == (two.nobs, two.params.index.tolist())
    np.testing.assert_allclose(one.params, two.params, rtol=1e-10)
    np.testing.assert_allclose(one.cov_params(), two.cov_params(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.df, two.df)


@pytest.mark.parametrize("place", SOME)
def test_engines_make_the_same_sample(place, request, tmp_path):
    """Of all, in domains, whose units without respondents count, and by groups."""
    if place == "spark":
        request.getfixturevalue("spark")
    frame = table()
    held = PLACES[place](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    chosen = {"relation": DESIGNS[::2], "polars": DESIGNS[1::2]}.get(place, DESIGNS[4:5])
    for design in chosen:
        memory = ldp.Survey(frame, SHEET_ENGINES, **design)
        engine = ldp.Survey(**held, questionnaire=SHEET_ENGINES, **design)
        same(engine.frequencies("ill"), memory.frequencies("ill"))
        for condition in ("age < 60 and group == 'x'", "region == 'n'"):
            pair = [one.where(condition) for one in (engine, memory)]
            same(*(one.frequencies("ill") for one in pair))
        same(*(one.frequencies("ill", by="group") for one in (engine, memory)))


def test_rows_of_an_engine_that_a_mask_chooses(tmp_path):
    frame = table()
    held = PLACES["files"](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    how = {"weights": "w", "strata": "region"}
    survey, mask = (
        ldp.Survey(**held, questionnaire=SHEET_ENGINES, **how),
        (frame["age"] < 40).to_numpy(),
    )
    memory = ldp.Survey(frame, SHEET_ENGINES, **how)[mask]
    same(survey[mask].frequencies("ill"), memory.frequencies("ill"))
    young = survey.where("age < 40")
    with pytest.raises(ldp.NotAvailable, match=r"by where\(condition\) alone"):
        young[np.ones(len(young), dtype=bool)]


@pytest.mark.parametrize("combined", [True, False])
def test_columns_of_replicates_are_added_up(combined, tmp_path):
    frame, rng = table(), np.random.default_rng(7)
    frame[["r1", "r2", "r3"]] = rng.choice([0.5, 1.5], (len(frame), 3))
    if combined:
        frame[["r1", "r2", "r3"]] = frame[["r1", "r2", "r3"]].mul(frame["w"], axis=0)
    columns = ldp.ReplicateWeights(("r1", "r2", "r3"), "BRR", combined=combined, df=3)
    held = PLACES["relation"](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    memory, engine = (
        ldp.Survey(**data, questionnaire=SHEET_ENGINES, weights="w", replicate_weights=columns)
        for data in ({"data": frame}, held)
    )
    same(*(one.where("age < 50").frequencies("ill") for one in (engine, memory)))


# -- An analysis that ldpstats does not have, of weighted, grouped data, wherever they are ---------
# It is written here in full: no file of the package was touched for it.
def share_of_groups(survey: ldp.Survey, question: str, answer: str, group: str) -> pd.DataFrame:
    """How those of one private answer are spread over public groups, P(group | answer).

    With p the joint shares, R_g = p_ag / p_a has the gradient (1[g = h] - R_g) / p_a in p_ah, so
    that its linearised standard error follows from the covariance of the design.
    """
    found = survey.association(question, group)
    joint, cov = found.linear_params, found.linear_cov
    cells = (joint.index.get_level_values(question) == answer).astype(float)
    shares = joint.xs(answer, level=question)
    every = joint.index.get_level_values(group).to_numpy()
    ratio = shares / shares.sum()
    gradient = (every == ratio.index.to_numpy()[:, None]) - ratio.to_numpy()[:, None]
    gradient = gradient * cells / shares.sum()
    se = np.sqrt(np.diag(gradient @ np.asarray(cov) @ gradient.T))
    return pd.DataFrame({"share": ratio, "se": se})


@pytest.mark.parametrize("place", SOME)
def test_a_new_analysis_needs_no_new_code_for_engines(place, request, tmp_path):
    """The same from memory; without noise, the ratio and its Taylor linearisation by hand."""
    if place == "spark":
        request.getfixturevalue("spark")
    frame = table(600)
    held = PLACES[place](pa.Table.from_pandas(frame, preserve_index=False), tmp_path)
    design: Any = {"weights": "w", "strata": "region", "clusters": "school", "nested": True}
    for sheet in (SHEET_ENGINES, SHEET_ENGINES | {"ill": ldp.Observed(("a", "b", "c"))}):
        memory, engine = (
            share_of_groups(ldp.Survey(**data, questionnaire=sheet, **design), "ill", "b", "group")
            for data in ({"data": frame}, held)
        )
        pd.testing.assert_frame_equal(engine, memory, rtol=1e-8)
    known = frame[["ill", "group"]].notna().all(axis=1)
    weight = frame["w"] * (known & (frame["ill"] == "b"))
    of_x = (frame["group"] == "x").astype(float)
    ratio = (weight * of_x).sum() / weight.sum()
    scores = (weight * (of_x - ratio) / weight.sum()).groupby(
        [frame["region"].str.strip(), frame["school"]]
    )
    units = scores.sum().groupby(level=0)
    variance = (units.count() * units.var(ddof=1)).sum()
    np.testing.assert_allclose(engine.loc["x"], [ratio, np.sqrt(variance)], rtol=1e-9)
    # in disguise, the answers are as they were reported: the se is larger with the noise undone
    noisy = share_of_groups(ldp.Survey(frame, SHEET_ENGINES, **design), "ill", "b", "group")
    assert noisy.loc["x", "se"] > 1.2 * engine.loc["x", "se"]


# Groups of moments, whole numbers and decimals that are close to each other lose nobody.


def _lazy(table: pa.Table) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").from_arrow(table).lazy()


PLACES_NEAR: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "relation": lambda table: duckdb.connect().from_arrow(table),
    "lazy": _lazy,
}

LARGE = Decimal(10**20)

NOON = dt.datetime(2024, 1, 1, 12)

COLUMNS = {
    "parts of a second": (
        pa.array([NOON, NOON + dt.timedelta(microseconds=100)] * 30),
        ["2024-01-01 12:00:00.000000", "2024-01-01 12:00:00.000100"],
    ),
    "parts of a microsecond": (pa.array([1, 2] * 30, pa.timestamp("ns")), ["1970-01-01"]),
    "large decimals": (
        pa.array([LARGE, LARGE + 1] * 30, pa.decimal128(25, 0)),
        [10**20, 10**20 + 1],
    ),
    "decimals": (
        pa.array([Decimal(2**53), Decimal(2**53 + 1)] * 30, pa.decimal128(20, 2)),
        [2**53, 2**53 + 1],
    ),
    "unsigned": (pa.array([2**64 - 2, 2**64 - 1] * 30, pa.uint64()), [2**64 - 2, 2**64 - 1]),
}


@pytest.mark.parametrize("place", PLACES_NEAR)
@pytest.mark.parametrize("name", COLUMNS)
def test_every_respondent_is_in_a_group(name, place):
    column, labels = COLUMNS[name]
    table = pa.table({"ill": ["no", "yes", "yes"] * 20, "x": column})
    survey = ldp.Survey(PLACES_NEAR[place](table), {"ill": ldp.Warner(epsilon=1.0)})
    found = survey.frequencies("ill", by="x")
    assert found.nobs == 60
    assert [label for (label,) in found.labels] == labels


@pytest.mark.parametrize("place", PLACES_NEAR)
def test_large_decimals_are_compared_exactly(place):
    table = pa.table({"ill": ["no", "yes", "yes"] * 20, "x": COLUMNS["large decimals"][0]})
    survey = ldp.Survey(PLACES_NEAR[place](table), {"ill": ldp.Warner(epsilon=1.0)})
    for condition, n in ((f"x == {10**20}", 30), (f"x > {10**20}", 30), (f"x < {10**38}", 60)):
        assert len(survey.where(condition)) == n


def test_ordered_categories_keep_their_order():
    moments = pd.to_datetime([5_000, 3_001, 3_002, 9_000], unit="ns")
    kind = pd.CategoricalDtype(moments, ordered=True)
    table = pd.DataFrame({"x": pd.Series(moments[[2, 1, 0, 3]], dtype=kind), "ill": "no"})
    survey = ldp.Survey(table, {"ill": ldp.Warner(epsilon=1.0)})
    found = survey.association("ill", "x").table
    assert [str(label)[-2:] for label in found.columns] == ["05", "03", "09"]
    assert survey.reports("x").y.tolist() == [1, 1, 0, 2]
