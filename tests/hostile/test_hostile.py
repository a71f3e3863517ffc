"""Hostile calls and command lines: a clear error each, or an answer; nothing else.

The quick share runs always; the full one is slow. ``LDPSTATS_SLOW_SHARE`` scales it.
"""

from __future__ import annotations

import contextlib
import io as text_io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hostile import calls as hostile
from hostile import commands as hostile_commands
from hostile.calls import Call, Examples, Fresh, Site, call_of, fault_of
from hostile.commands import COMMANDS, Kitchen, Run, fault_of_run, run_and_judge

import ldpstats as ldp
from ldpstats import datasets, io, planning, privacy
from ldpstats.arguments.checks import (
    as_array,
    boolean,
    counts_vector,
    level,
    listed,
    numbers,
    one_of,
)
from ldpstats.cli.program import main
from ldpstats.errors import InvalidArgument, LDPError
from ldpstats.estimators import EM
from ldpstats.estimators import constraints as cons

CALLS, QUICK_CALLS = 20_000, 1_000
RUNS, QUICK_RUNS = 10_000, 500


# -- calls -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Examples]:
    """Objects to call, and a working directory for what a hostile name may create."""
    folder, here = tmp_path_factory.mktemp("hostile"), Path.cwd()
    os.chdir(folder)
    yield Examples(folder)
    os.chdir(here)


def faults(numbers: range, examples: Examples, every: list[Site]) -> list[str]:
    found = []
    for number in numbers:
        call = call_of(number, examples, every)
        if fault := fault_of(call):
            found.append(f"{call}: {fault}")
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
    return found


def test_the_examples_work(examples: Examples) -> None:
    """The negative control: what is spoiled was good."""
    for site in hostile.sites(examples):
        given = {n: v.make() if isinstance(v, Fresh) else v for n, v in site.arguments.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            site.call(**given)
    sys.modules["matplotlib.pyplot"].close("all")


def test_every_public_callable_is_called(examples: Examples) -> None:
    called = {site.name.split(".")[0].split(" ")[0] for site in hostile.sites(examples)}
    called |= {site.name.split(".")[-1].split(" ")[0] for site in hostile.sites(examples)}
    unasked = {*ldp.errors.__all__, "errors", "privacy"}  # messages and modules
    made = {
        "Bits", "Channel", "Client", "Collector", "DictionaryClient", "Effect", "Mapped",
        "Mechanism", "PUMClient", "RAPPORClient", "Uniformised", "mechanism_from_dict",
    }  # fmt: skip  # which other callables make, or which are no functions of what users type
    assert set(ldp.__all__) - called - unasked - made == set()
    assert set(io.__all__) - called <= {"replacing", "replacing_all"}
    kinds = {name for name in planning.__all__ if isinstance(getattr(planning, name), type)}
    assert set(planning.__all__) - called - kinds == set()


def test_hostile_calls(examples: Examples) -> None:
    every = [site for site in hostile.sites(examples) if not site.files]
    assert faults(range(QUICK_CALLS), examples, every) == []


def test_hostile_calls_on_files(examples: Examples) -> None:
    every = [site for site in hostile.sites(examples) if site.files]
    assert faults(range(QUICK_CALLS // 5), examples, every) == []


@pytest.mark.slow
def test_many_hostile_calls(examples: Examples, replications: Callable[[int], int]) -> None:
    every = hostile.sites(examples)
    first = QUICK_CALLS
    assert faults(range(first, first + replications(CALLS)), examples, every) == []


def test_a_fault_is_seen(examples: Examples) -> None:
    """The negative control: bare errors, warnings, long messages and messages without a name."""

    def judged(call: Callable[[Any], Any]) -> str:
        return fault_of(Call(0, Site("f", call, {"value": 1}), {"value": 2}, {"value": "2"}))

    def refuse(error: Exception) -> Callable[[Any], Any]:
        def call(value: Any) -> Any:
            raise error

        return call

    def warn(value: Any) -> Any:
        return np.log(np.zeros(1))

    assert judged(lambda value: value) == ""
    assert judged(refuse(InvalidArgument("value", 2, "must be 1"))) == ""
    assert judged(refuse(LDPError("no method for it"))) == ""
    assert "ValueError" in judged(refuse(ValueError("bare")))
    assert "KeyError" in judged(refuse(KeyError("bare")))
    assert "RuntimeWarning" in judged(warn)
    assert "no argument is named" in judged(refuse(InvalidArgument("x", 2, "must be 1")))


def test_what_hangs_is_ended() -> None:
    def forever() -> None:
        while True:
            pass

    with pytest.raises(hostile.Hung), hostile.bounded(0.05):
        forever()


# -- command lines ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Kitchen:
    return Kitchen(tmp_path_factory.mktemp("kitchen"))


def run_faults(numbers: range, kitchen: Kitchen) -> list[str]:
    judged = (run_and_judge(number, kitchen) for number in numbers)
    return [f"{run}: {fault}" for run, fault in judged if fault]


@pytest.mark.parametrize("argv", COMMANDS, ids=[" ".join(c[:2]) + f" {len(c)}" for c in COMMANDS])
def test_the_commands_work(argv: tuple[str, ...], kitchen: Kitchen) -> None:
    """The negative control: what is spoiled was good."""
    folder, here, err = kitchen.fresh(), Path.cwd(), text_io.StringIO()
    assert fault_of_run(Run(0, argv, ()), folder) == ""
    folder = kitchen.fresh()
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(text_io.StringIO()):
            assert main(list(argv)) == 0
    finally:
        os.chdir(here)
    assert err.getvalue() == ""


def test_hostile_command_lines(kitchen: Kitchen) -> None:
    assert run_faults(range(QUICK_RUNS), kitchen) == []


@pytest.mark.slow
def test_many_hostile_command_lines(kitchen: Kitchen, replications: Callable[[int], int]) -> None:
    assert run_faults(range(QUICK_RUNS, QUICK_RUNS + replications(RUNS)), kitchen) == []


def test_a_fault_of_a_run_is_seen(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: tracebacks, two lines, leftovers and changed input."""

    def judged(does: Callable[[], int]) -> str:
        monkeypatch.setattr(hostile_commands, "main", lambda argv: does())
        return fault_of_run(Run(0, ("audit", "spec.json"), ()), kitchen.fresh())

    def complain(*lines: str) -> int:
        print(*lines, sep="\n", file=sys.stderr)
        return 2

    def leave(name: str) -> int:
        Path(name).write_text("x")
        return complain("ldpstats: error: no")

    def fail() -> int:
        raise KeyError("bare")

    assert judged(lambda: complain("ldpstats: error: no")) == ""
    assert judged(lambda: 0) == ""
    assert "2 lines" in judged(lambda: complain("ldpstats: error: no", "and no"))
    assert "0 lines" in judged(lambda: 2)
    assert "status 3" in judged(lambda: 3)
    assert "defect" in judged(lambda: complain("ldpstats: error: a defect of ldpstats, please"))
    assert "KeyError" in judged(fail)
    assert "left" in judged(lambda: leave(".out.csv.1234"))
    assert "changed" in judged(lambda: leave("spec.json"))


# -- each class of fault, field by field -----------------------------------------------------------

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
    "object": hostile.BadFloat(),
    "not equal": hostile.BadEq(),
}
SCALAR_FIELDS: dict[str, Callable[[Any], Any]] = {
    "epsilon": lambda v: ldp.KRR(3, v),
    "theta": lambda v: ldp.KRAPPOR(3, 1.0, v),
    "p_truth": lambda v: ldp.ForcedResponse(v, 0.2),
    "n_outputs": lambda v: ldp.ORR(v, 2, 1.0),
    "hashing": lambda v: ldp.RAPPOR(8, 1, 2, 0.0, 0.25, 0.75, hashing=v),
    "missing": lambda v: KRR.privatize(["nurse"], np.random.default_rng(1), missing=v),
    "n": lambda v: KRR.draw([0.5, 0.3, 0.2], v, np.random.default_rng(1)),
    "n_missing": lambda v: ldp.Reports([0], KRR, v),
    "bits": lambda v: KRR.privatize(["nurse"], np.random.default_rng(1)).tally(v),
    "v": lambda v: JOINT.variable(v),
    "number": lambda v: STRINGS.at_pair(v),
    "alpha": lambda v: RESULTS.conf_int(v),
    "alpha of a summary": lambda v: TABLE.summary(v),
    "clip": lambda v: RESULTS.conf_int(clip=v),
    "clip of a table": lambda v: TABLE.conf_int(clip=v),
    "max_rows": lambda v: RESULTS.summary(max_rows=v),
    "method": lambda v: TABLE.test_independence(v),
    "simultaneous": lambda v: RESULTS.conf_int(simultaneous=[v]),
    "first": lambda v: RESULTS.difference(v, "nurse"),
    "second": lambda v: RESULTS.ratio("nurse", v),
    "column": lambda v: TABLE.risk_ratio(("nurse", "driver"), v),
    "tol": lambda v: EM(tol=v),
    "max_iter": lambda v: EM(max_iter=v),
    "threshold": lambda v: ldp.DictionaryModel(STRINGS).fit(threshold=v),
    "total": lambda v: privacy.split_budget(v, [1, 2]),
    "mode": lambda v: cons.unimodal(v),
    "n_hashes": lambda v: planning.collision_probability(8, 4, v),
    "count": lambda v: datasets.expand(pd.DataFrame({"a": [1], "n": [2]}), v),
}


@pytest.mark.parametrize("bad", NO_SCALARS)
@pytest.mark.parametrize("name", SCALAR_FIELDS)
def test_no_scalar(name: str, bad: str) -> None:
    with pytest.raises(LDPError, match=name.split(" ")[0]) as caught:
        SCALAR_FIELDS[name](NO_SCALARS[bad])
    assert len(str(caught.value)) < 400


# what is no list of numbers
NO_NUMBERS: dict[str, Any] = {
    "fails as an array": hostile.BadArray(),
    "fails in a list": [hostile.BadArray()] * 3,
    "fails as numbers": [hostile.BadFloat()] * 3,
    "fails in a loop": hostile.BadIter(),
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
def test_no_numbers(name: str, bad: str) -> None:
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
    "fails in a loop": hostile.BadIter(),
    "0-d": np.array("a"),
    "objects": [hostile.BadEq(), hostile.BadEq()],
    "without a hash": [hostile.BadHash(), hostile.BadHash()],
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
    "candidates": lambda v: ldp.ORR(8, 2, 1.0).labels(v),
    "rows": lambda v: TABLE.odds_ratio(v, ("no", "yes")),
    "epsilons": lambda v: privacy.compose(v),
    "mechanisms to compare": lambda v: planning.recommend_design(10, 1000, 1.0, mechanisms=v),
    "tags": lambda v: ldp.PUM(ldp.URR(JOBS, {"nurse"}, 1.0), None if isinstance(v, int) else v),
}


@pytest.mark.parametrize("bad", NO_LISTS)
@pytest.mark.parametrize("name", LIST_FIELDS)
def test_no_list(name: str, bad: str) -> None:
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
    "claims everything": hostile.Liar(),
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
def test_no_object(name: str, bad: str) -> None:
    with pytest.raises(LDPError, match=name.split(" ")[0]):
        OBJECT_FIELDS[name](NO_OBJECTS[bad])


def test_answers_in_place_of_their_column_are_not_shown(examples: Examples) -> None:
    for column in (["nurse"], pd.Series(["nurse", None]), np.array(["nurse", "driver"]), None):
        with pytest.raises(InvalidArgument, match="column=") as caught:
            io.privatize_file(examples.answers, "out.csv", column, KRR.collector())
        assert "nurse" not in str(caught.value)


@pytest.mark.parametrize("version", [True, 1.0, "1", [1], None, 2, np.array(1)])
def test_another_version(version: Any) -> None:
    for document in (KRR.to_dict(), ldp.URR(3, {0}, 1.0).to_dict()):
        with pytest.raises(InvalidArgument, match="version"):
            ldp.mechanism_from_dict(document | {"version": version})


@pytest.mark.parametrize("name", [None, 1, ("a",)])
def test_a_field_whose_name_is_no_text(name: Any) -> None:
    with pytest.raises(InvalidArgument, match="specification"):
        ldp.mechanism_from_dict(KRR.to_dict() | {name: 1})


DAMAGED = {"names": [None, "late"], "labels": []}


@pytest.mark.parametrize("field", DAMAGED)
def test_a_damaged_table(field: str) -> None:
    with pytest.raises(InvalidArgument, match=r"document|labels"):
        type(TABLE).from_dict(TABLE.to_dict() | {field: DAMAGED[field]})


def test_results_without_a_mechanism() -> None:
    with pytest.raises(InvalidArgument, match="document"):
        type(RESULTS).from_dict(RESULTS.to_dict() | {"mechanisms": [], "sources": []})


@pytest.mark.parametrize("label", [np.inf, -np.inf, np.nan, np.float32(np.inf)])
def test_a_label_that_json_cannot_hold(label: float) -> None:
    with pytest.raises(InvalidArgument, match="categories"):
        ldp.KRR((0.5, label), 1.0)


def test_what_looks_hostile_but_is_not() -> None:
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


def test_the_checks_themselves() -> None:
    assert one_of("x", np.str_("a"), ("a", "b")) == "a"
    assert type(one_of("x", np.str_("a"), ("a", "b"))) is str
    assert boolean("x", np.True_) is True
    assert level(np.float32(0.5)) == 0.5
    assert listed("x", iter([1, 2]), "") == [1, 2]
    assert as_array("x", [1, 2], "").tolist() == [1, 2]
    assert numbers("x", [1, Decimal("0.5")], "").tolist() == [1.0, 0.5]
    assert counts_vector("x", np.float16([1, 2]), (2,)).tolist() == [1, 2]
    for call in (
        lambda: level(5e-324),
        lambda: level(1.0),
        lambda: one_of("x", hostile.BadStr("c"), ("a", "b")),
        lambda: listed("x", hostile.BadIter(), "must be a list"),
        lambda: as_array("x", np.ma.masked_equal([1, 2], 2), "must be numbers"),
        lambda: numbers("x", ["1"], "must be numbers"),
    ):
        with pytest.raises(InvalidArgument):
            call()
    assert one_of("x", hostile.BadStr("a"), ("a", "b")) == "a"
