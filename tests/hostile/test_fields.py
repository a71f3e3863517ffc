"""Each field with each value that cannot be meant: the error names the field."""

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hostile.values import BadArray, BadEq, BadFloat, BadHash, BadIter, Liar

import ldpstats as ldp
from ldpstats import datasets, io, planning, privacy
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.estimators import EM
from ldpstats.estimators import constraints as cons

JOBS = ("nurse", "teacher", "driver")
KRR = ldp.KRR(JOBS, epsilon=1.0)
YES = ldp.KRR(("no", "yes"), epsilon=1.0)
COUNTS = KRR.counts([40, 33, 27])
RESULTS = ldp.FrequencyModel(COUNTS).fit()
JOINT = ldp.JointCounts.from_table([[30, 10], [20, 20], [10, 30]], (KRR, YES))
TABLE = ldp.AssociationModel(JOINT, names=("job", "late")).fit()
SURVEY = ldp.DictionarySurvey(4, 2, "abc", epsilon=6.0)
STRINGS = SURVEY.privatize(["abca", "cc"] * 30, np.random.default_rng(1))

# what is no scalar, or none that could be meant
NO_SCALARS: dict[str, Any] = {
    "array": np.array([0.5, 0.5]),
    "array of one": np.array([1]),
    "0-d": np.array(1),
    "Series": pd.Series([1]),
    "Series of NA": pd.Series([pd.NA], dtype="Int64"),
    "frame": pd.DataFrame({"a": [1]}),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "masked": np.ma.masked,
    "duration": np.timedelta64(1, "D"),
    "date": np.datetime64("2024-01-01"),
    "complex": np.complex128(1.0),
    "bytes": b"1",
    "list": [1],
    "class": int,
    "object": BadFloat(),
    "not equal": BadEq(),
}
SCALAR_FIELDS: dict[str, Callable[[Any], Any]] = {
    "epsilon": lambda v: ldp.KRR(3, v),
    "size": lambda v: ldp.SubsetSelection(3, 1.0, v),
    "hashing": lambda v: ldp.RAPPOR(8, 1, 2, f=0.0, p=0.25, q=0.75, hashing=v),
    "missing": lambda v: KRR.privatize(["nurse"], np.random.default_rng(1), missing=v),
    "n": lambda v: KRR.draw([0.5, 0.3, 0.2], v, np.random.default_rng(1)),
    "n_missing": lambda v: ldp.Reports([0], KRR, v),
    "bits": lambda v: KRR.privatize(["nurse"], np.random.default_rng(1)).tally(v),
    "v": lambda v: JOINT.variable(v),
    "number": lambda v: STRINGS.at_pair(v),
    "alpha": lambda v: RESULTS.conf_int(v),
    "clip": lambda v: RESULTS.conf_int(clip=v),
    "max_rows": lambda v: RESULTS.summary(max_rows=v),
    "details": lambda v: RESULTS.summary(details=v),
    "method": lambda v: TABLE.test_independence(v),
    "simultaneous": lambda v: RESULTS.conf_int(simultaneous=[v]),
    "first": lambda v: RESULTS.difference(v, "nurse"),
    "second": lambda v: RESULTS.ratio("nurse", v),
    "column": lambda v: TABLE.risk_ratio(("nurse", "driver"), v),
    "tol": lambda v: EM(tol=v),
    "threshold": lambda v: ldp.DictionaryModel(STRINGS).fit(threshold=v),
    "total": lambda v: privacy.split_budget(v, [1, 2]),
    "mode": lambda v: cons.unimodal(v),
    "n_hashes": lambda v: planning.collision_probability(8, 4, v),
    "count": lambda v: datasets.expand(pd.DataFrame({"a": [1], "n": [2]}), v),
}


@pytest.mark.parametrize("bad", NO_SCALARS)
@pytest.mark.parametrize("name", SCALAR_FIELDS)
def test_no_scalar(name, bad):
    with pytest.raises(LDPError, match=name.split(" ")[0]) as caught:
        SCALAR_FIELDS[name](NO_SCALARS[bad])
    assert len(str(caught.value)) < 400


# what is no list of numbers
NO_NUMBERS: dict[str, Any] = {
    "fails as an array": BadArray(),
    "fails in a list": [BadArray()] * 3,
    "fails as numbers": [BadFloat()] * 3,
    "fails in a loop": BadIter(),
    "text": ["0.5", "0.3", "0.2"],
    "complex": np.array([0.5, 0.3, 0.2], dtype=complex),
    "dates": np.array(["2024-01-01"] * 3, dtype="datetime64[D]"),
    "durations": np.array([1, 2, 3], dtype="timedelta64[s]"),
    "NA": pd.Series([pd.NA, 1, 2], dtype="Int64"),
    "masked": np.ma.masked_equal([1.0, 2.0, 3.0], 2.0),
    "ragged": [[1, 2], [3]],
    "structured": np.zeros(3, dtype=[("a", int), ("b", float)]),
    "beyond floats": [10**400, 1, 1],
    "several": pd.Series(["a", "b", "c"], index=pd.MultiIndex.from_product([[1], [1, 2, 3]])),
    "mechanism": KRR,
    "None": None,
}
NUMBER_FIELDS: dict[str, Callable[[Any], Any]] = {
    "p": lambda v: KRR.draw(v, 10, np.random.default_rng(1)),
    "n": lambda v: KRR.counts(v),
    "n of bits": lambda v: ldp.KRAPPOR(3, 1.0).counts(v, nobs=100),
    "Q": lambda v: ldp.CustomMechanism(v),
    "R": lambda v: privacy.post_process(np.eye(3), v, sensitive=[]),
    "table": lambda v: ldp.JointCounts.from_table(v, (KRR, YES)),
    "hypothesis": lambda v: RESULTS.t_test(v),
    "truth": lambda v: RESULTS.plot(truth=v if v is not None else []),
    "row_scores": lambda v: TABLE.test_trend(v if v is not None else []),
    "low": lambda v: cons.bounds(v),
    "p0": lambda v: ldp.FrequencyModel(COUNTS).test_distribution(v),
    "y": lambda v: ldp.Reports(v, KRR),
    "pair": lambda v: ldp.DictionaryReports(
        SURVEY, v, STRINGS.first, STRINGS.second, STRINGS.string
    ),
    "pi": lambda v: planning.personalized_bound([0.5, 0.5], [0.5, 0.5], [[1.0]], v),
}


@pytest.mark.parametrize("bad", NO_NUMBERS)
@pytest.mark.parametrize("name", NUMBER_FIELDS)
def test_no_numbers(name, bad):
    with pytest.raises(LDPError, match=name.split(" ")[0]):
        NUMBER_FIELDS[name](NO_NUMBERS[bad])
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


# what is no list, or no list of what belongs there
NO_LISTS: dict[str, Any] = {
    "number": 3,
    "text": "ab",
    "set": {"a", "b"},
    "class": dict,
    "fails in a loop": BadIter(),
    "0-d": np.array("a"),
    "objects": [BadEq(), BadEq()],
    "without a hash": [BadHash(), BadHash()],
    "mechanisms": (ldp.KRR, ldp.KRR),
    "dates": pd.Series(pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"]))),
    "None within": [None, None],
}
LIST_FIELDS: dict[str, Callable[[Any], Any]] = {
    "categories": lambda v: ldp.KRR(-3 if isinstance(v, int) else v, 1.0),
    "sensitive": lambda v: ldp.URR(JOBS, v, 1.0),
    "names": lambda v: ldp.AssociationModel(JOINT, names=v),
    "mechanisms": lambda v: ldp.JointCounts.from_table([[1, 2], [3, 4]], v),
    "reports": lambda v: ldp.JointCounts(v),
    "ids": lambda v: ldp.JointCounts(JOINT.reports, ids=v),
    "candidates": lambda v: ldp.ORR(8, 2, epsilon=1.0).labels(v),
    "rows": lambda v: TABLE.odds_ratio(v, ("no", "yes")),
    "epsilons": lambda v: privacy.compose(v),
    "mechanisms to compare": lambda v: planning.recommend_design(10, 1000, 1.0, mechanisms=v),
    "tags": lambda v: ldp.PUM(ldp.URR(JOBS, {"nurse"}, 1.0), None if isinstance(v, int) else v),
}


@pytest.mark.parametrize("bad", NO_LISTS)
@pytest.mark.parametrize("name", LIST_FIELDS)
def test_no_list(name, bad):
    value = NO_LISTS[bad]
    with pytest.raises(LDPError, match=name.split(" ")[0]):
        LIST_FIELDS[name](value)


# what is no object of the package where one belongs
NO_OBJECTS: dict[str, Any] = {
    "None": None,
    "number": 3,
    "array": np.eye(2),
    "text": "KRR",
    "class": ldp.KRR,
    "claims everything": Liar(),
    "frame": pd.DataFrame({"report": ["nurse"]}),
    "channel": KRR.channel(),
    "list": [KRR],
}
OBJECT_FIELDS: dict[str, Callable[[Any], Any]] = {
    "mechanism": lambda v: ldp.Reports([0], v),
    "mechanism of sums": lambda v: ldp.BitCounts([[1]], [1], v),
    "mechanism of a table": lambda v: ldp.Counts.from_frame(pd.DataFrame({"report": ["a"]}), v),
    "mechanisms": lambda v: ldp.JointCounts.from_table([[1, 2], [3, 4]], (v, KRR)),
    "counts": lambda v: KRR.likelihood(v),
    "counts of equations": lambda v: KRR.moments(v),
    "survey": lambda v: ldp.DictionaryReports(
        v, [0], STRINGS.first, STRINGS.second, STRINGS.string
    ),
    "pum": lambda v: ldp.PersonalizedModel(COUNTS, v),
    "data": lambda v: ldp.FrequencyModel(v),
    "table": lambda v: datasets.expand(v if not isinstance(v, pd.DataFrame) else None),
}


@pytest.mark.parametrize("bad", NO_OBJECTS)
@pytest.mark.parametrize("name", OBJECT_FIELDS)
def test_no_object(name, bad):
    with pytest.raises(LDPError, match=name.split(" ")[0]):
        OBJECT_FIELDS[name](NO_OBJECTS[bad])


def test_answers_in_place_of_their_column_are_not_shown(examples):
    for column in (["nurse"], pd.Series(["nurse", None]), np.array(["nurse", "driver"]), None):
        with pytest.raises(InvalidArgument, match="column=") as caught:
            io.privatize_file(examples.answers, "out.csv", column, KRR.collector())
        assert "nurse" not in str(caught.value)


@pytest.mark.parametrize("version", [True, 1.0, "1", [1], None, 2, np.array(1)])
def test_another_version(version):
    for document in (KRR.to_dict(), ldp.URR(3, {0}, 1.0).to_dict()):
        with pytest.raises(InvalidArgument, match="version"):
            ldp.mechanism_from_dict(document | {"version": version})


@pytest.mark.parametrize("name", [None, 1, ("a",)])
def test_a_field_whose_name_is_no_text(name):
    with pytest.raises(InvalidArgument, match="specification"):
        ldp.mechanism_from_dict(KRR.to_dict() | {name: 1})


DAMAGED = {"names": [None, "late"], "labels": []}


@pytest.mark.parametrize("field", DAMAGED)
def test_a_damaged_table(field):
    with pytest.raises(InvalidArgument, match=r"document|labels|names"):
        type(TABLE).from_dict(TABLE.to_dict() | {field: DAMAGED[field]})


def test_results_without_a_mechanism():
    with pytest.raises(InvalidArgument, match="document"):
        type(RESULTS).from_dict(RESULTS.to_dict() | {"mechanisms": [], "sources": []})


@pytest.mark.parametrize("label", [np.inf, -np.inf, np.nan, np.float32(np.inf)])
def test_a_label_that_json_cannot_hold(label):
    with pytest.raises(InvalidArgument, match="categories"):
        ldp.KRR((0.5, label), 1.0)


def test_what_looks_hostile_but_is_not():
    """Numbers of other types, and labels in other containers, mean what they say."""
    same = ldp.KRR(JOBS, epsilon=1.0)
    for epsilon in (1, np.float32(1.0), np.int8(1), np.longdouble(1), Decimal(1)):
        assert ldp.KRR(JOBS, epsilon) == same
    for labels in (
        list(JOBS),
        np.array(JOBS),
        np.array(JOBS, dtype=object),
        pd.Series(JOBS, index=[1, 1, 1]),
        pd.Index(JOBS),
        dict.fromkeys(JOBS).keys(),
        (label for label in JOBS),
        pd.Series(JOBS, dtype="string"),
        pd.Series(pd.Categorical(JOBS, categories=JOBS)),
        [np.str_(label) for label in JOBS],
    ):
        assert ldp.KRR(labels, 1.0) == same
    for n in ([40, 33, 27], np.float16([40, 33, 27]), np.ma.array([40, 33, 27])):
        np.testing.assert_array_equal(KRR.counts(n).n, COUNTS.n)
    big = np.array([40, 33, 27], dtype=">i8")
    np.testing.assert_array_equal(KRR.counts(big).n, COUNTS.n)
    by_label = pd.Series([27, 40], index=["driver", "nurse"])
    for n in (by_label, by_label.astype("Int64"), by_label.convert_dtypes(dtype_backend="pyarrow")):
        np.testing.assert_array_equal(KRR.counts(n).vector(), [40, 0, 27])
    swapped = np.arange(len(JOINT.reports[0]), dtype=">i8")
    assert ldp.JointCounts(JOINT.reports, ids=(swapped, swapped)).nobs == len(swapped)
