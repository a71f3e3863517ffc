"""Columns of tables: reports keep their name, and columns in the wrong place are told the way."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ldpstats as ldp

JOBS = ("nurse", "cook", "driver")
KRR = ldp.KRR(JOBS, 1.0)
JOB = pd.Series(["nurse", "cook", "driver", "cook"] * 25, name="job")
LATE = pd.Series(["no", "yes"] * 50, name="late")
FRAME = pd.DataFrame({"job": JOB, "late": LATE})

MECHANISMS: dict[str, ldp.Mechanism] = {
    "krr": KRR,
    "krappor": ldp.KRAPPOR(JOBS, 1.0),
    "observed": ldp.Observed(JOBS),
    "custom": ldp.CustomMechanism(np.eye(3), JOBS),
    "urr": ldp.URR(JOBS, ["nurse"], 1.0),
    "urap": ldp.URAP(JOBS, ["nurse"], 1.0),
    "orr": ldp.ORR(4, 2, epsilon=2.0),
    "orr closed": ldp.ORR(4, 2, epsilon=2.0, alphabet=JOBS),
    "orappor": ldp.ORAPPOR(8, 2, 2, epsilon=2.0),
    "rappor": ldp.RAPPOR(6, 2, 3, f=0.0, p=0.25, q=0.75),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_keep_the_name_of_their_column(name):
    mechanism = MECHANISMS[name]
    drawn = mechanism.privatize(JOB, rng())
    collected = mechanism.collector(allow_no_privacy=True).privatize(JOB)
    text = pd.Series(mechanism.report_labels(drawn), name="work")
    read = mechanism.parse("column", text)
    assert (drawn.name, collected.name, read.name) == ("job", "job", "work")
    assert np.array_equal(read.y, drawn.y)
    assert mechanism.privatize(JOB.tolist(), rng()).name == ""
    assert mechanism.privatize(JOB.rename(3), rng()).name == ""


def test_so_do_reports_made_of_them():
    ids = np.arange(100)
    urr = MECHANISMS["urr"].privatize(JOB, rng())
    for reports in (KRR.privatize(JOB, rng()), MECHANISMS["krappor"].privatize(JOB, rng())):
        known = ldp.Reports(reports.y, reports.mechanism, name=reports.name, ids=ids)
        lumped = ldp.mechanisms.lump(known, ["cook"])
        assert lumped.name == "job" and np.array_equal(lumped.ids, ids)
    assert ldp.mechanisms.withhold(urr).name == ldp.mechanisms.paired(urr, urr).name == "job"
    pum = ldp.PUM(ldp.URR(JOBS, {"nurse"}, 1.0), ("home",))
    assert pum.privatize(JOB, rng(), tags={"home": JOB}).name == "job"
    assert pum.privatize(JOB, rng(), tags={"home": JOB}, missing="count").name == "job"
    survey = ldp.DictionarySurvey(6, 2, "abcdefghijklmnopqrstuvwxyz", epsilon=6.0)
    reports = survey.privatize(JOB, rng())
    assert (reports + reports).select(ids[:5]).string.name == "job"


# -- reports as people write them ------------------------------------------------------------------


def test_parse_reads_a_column_of_ones_own():
    column = [" nurse", "cook ", "driver"]
    for values in (column, pd.Series(column, dtype="category"), pa.array(column), np.array(column)):
        assert KRR.parse("job", values).y.tolist() == [0, 1, 2]
    warner = ldp.Warner(epsilon=1.0, categories=(False, True))
    assert warner.parse("late", ["TRUE", "false", True]).y.tolist() == [1, 0, 1]
    numbers = ldp.KRR((1, 2, 3), 1.0)
    assert numbers.parse("n", pd.Series([1.0, 3.0])).y.tolist() == [0, 2]
    assert KRR.parse("job", []).y.size == 0


@pytest.mark.parametrize(
    ("values", "begins"),
    [
        (["nurse", "Cook", "Cook"], "job, row 2='Cook': is not among the 3 labels"),
        (["nurse", None], "job, row 2=None: is missing (1 of 2 are)"),
        (["nurse", ""], "job, row 2=None: is missing"),
        ([0, 1], "job, row 1=0: is not among"),
        ([True], "job, row 1=True: is not among"),
        (FRAME, "job="),
    ],
)
def test_what_parse_refuses(values, begins):
    with pytest.raises(ldp.InvalidArgument) as failure:
        KRR.parse("job", values)
    assert str(failure.value).startswith(begins)
    if begins.startswith("job, row 2='Cook'"):
        assert "the nearest is 'cook' (2 such values)" in str(failure.value)


# -- columns in the wrong place --------------------------------------------------------------------

REPORTS = KRR.privatize(JOB, rng())
LOST: dict[str, Callable[[], Any]] = {
    "frequency": lambda: ldp.FrequencyModel(JOB),
    "frequency of an index": lambda: ldp.FrequencyModel(pd.Index(JOB)),
    "groups": lambda: ldp.FrequencyModel([REPORTS, JOB]),
    "association": lambda: ldp.AssociationModel(JOB, LATE),
    "association of one": lambda: ldp.AssociationModel(REPORTS, JOB),
    "joint counts": lambda: ldp.JointCounts((JOB, LATE)),
    "two samples": lambda: ldp.two_sample_test(JOB, REPORTS),
    "second sample": lambda: ldp.two_sample_test(REPORTS, JOB),
}


@pytest.mark.parametrize("name", LOST)
def test_a_column_is_told_the_way_in(name):
    with pytest.raises(ldp.InvalidArgument) as failure:
        LOST[name]()
    text = str(failure.value)
    assert "mechanism.parse('job', column)" in text
    assert "ldp.Survey(table, ldp.Questionnaire({'job': mechanism}))" in text
    assert "nurse" not in text  # which may be an answer


def test_so_are_tables_and_other_columns():
    for data in (FRAME, JOB.tolist(), JOB.to_numpy(object), "nurse", pa.table({"job": JOB})):
        with pytest.raises(ldp.InvalidArgument, match=r"ldp\.Survey\(table"):
            ldp.FrequencyModel(data)
        with pytest.raises(ldp.InvalidArgument, match=r"ldp\.Survey\(table"):
            ldp.AssociationModel(REPORTS, data if not isinstance(data, list) else JOB)
    for data in (3, None, KRR, {"nurse": 3}):
        with pytest.raises(ldp.InvalidArgument) as failure:
            ldp.FrequencyModel(data)
        assert "Survey" not in str(failure.value)


@pytest.mark.parametrize("y", ["nurse", ["nurse"], np.array(["cook"]), JOB, ["01"]])
def test_labels_in_the_place_of_codes(y):
    for mechanism in (KRR, MECHANISMS["krappor"]):
        with pytest.raises(ldp.InvalidArgument, match=r"mechanism\.parse\(name, column\)"):
            ldp.Reports(y, mechanism)


@pytest.mark.parametrize(
    "column",
    [
        JOB,
        JOB.to_numpy(object),
        pd.Index(JOB),
        JOB.tolist(),
        pd.Series(["nurse", None, "cook"]),
        pd.Series([1.0, 2.0, np.nan]),
        pd.Series([1, 2, 1]),
        np.array([0, 1, 1]),
    ],
)
def test_a_column_of_answers_is_no_list_of_categories(column):
    for make in (ldp.KRR, ldp.KRAPPOR):
        with pytest.raises(ldp.InvalidArgument, match="is a column of answers") as failure:
            make(column, 1.0)
        assert "nurse" not in str(failure.value)
    with pytest.raises(ldp.InvalidArgument, match="is a column of answers"):
        ldp.ORR(4, 2, epsilon=1.0, alphabet=column)


def test_lists_of_categories_with_a_slip_are_not_called_columns():
    for labels in (["a", "a"], ["a", "b", "a"], [1, "1"], ["a", None], [["a"], ["a"]]):
        with pytest.raises(ldp.InvalidArgument, match="categories") as failure:
            ldp.KRR(labels, 1.0)
        assert "column of answers" not in str(failure.value)
    assert ldp.KRR(JOB.astype("category"), 1.0).categories.tolist() == ["cook", "driver", "nurse"]
    assert ldp.KRR(pd.Series(JOBS), 1.0).categories.tolist() == list(JOBS)
    with pytest.raises(ldp.InvalidArgument, match="pass the list of possible labels"):
        ldp.KRR(FRAME, 1.0)


@pytest.mark.parametrize("report", [Decimal("NaN"), Decimal("sNaN"), [Decimal("sNaN")]])
@pytest.mark.parametrize("mechanism", [ldp.URAP(("a", "b"), {"a"}, 1.0), ldp.KRR(3, 1.0)])
def test_nans_of_decimals_are_no_reports(mechanism, report):
    with pytest.raises(ldp.InvalidArgument, match="labels"):
        mechanism.parse("labels", report)
