"""Reports, counts and bit counts."""

import json

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

KRR = ldp.KRR(("a", "b", "c"), epsilon=1.0)

ORR = ldp.ORR(n_outputs=2, n_cohorts=4, epsilon=1.0)

UNARY = ldp.KRAPPOR(("a", "b", "c"), epsilon=1.0)


def test_tally_counts_every_report_once():
    reports = KRR.privatize(["a", "b"] * 500, np.random.default_rng(1))
    counts = reports.tally()
    assert counts.nobs == len(reports) == 1_000
    np.testing.assert_array_equal(counts.vector(), np.bincount(reports.y, minlength=3))


def test_unary_reports_are_packed_and_tally_by_pattern():
    wide = ldp.KRAPPOR(100, epsilon=1.0)
    reports = wide.privatize(np.arange(50), np.random.default_rng(1))
    assert reports.y.shape == (50, 13) and reports.y.dtype == np.uint8
    narrow = UNARY.privatize(["a", "b"] * 500, np.random.default_rng(1))
    counts = narrow.tally()
    assert counts.y.shape[0] <= 8 and counts.nobs == 1_000
    bits = np.unpackbits(narrow.y, axis=1, count=3, bitorder="little")
    np.testing.assert_array_equal(narrow.tally(bits=True).ones[0], bits.sum(axis=0))


def test_patterns_of_medium_width_collapse_exactly():
    mechanism = ldp.KRAPPOR(12, epsilon=4.0)
    reports = mechanism.privatize(np.zeros(5_000, int), np.random.default_rng(2))
    counts = reports.tally()
    text, n = np.unique(mechanism.report_labels(reports), return_counts=True)
    again = dict(
        zip(mechanism.report_labels(ldp.Reports(counts.y, mechanism)), counts.n, strict=True)
    )
    assert again == dict(zip(text, n, strict=True))


def test_missing_answers_travel_with_the_counts():
    rng = np.random.default_rng(1)
    first = KRR.privatize(["a", None], rng, missing="count").tally()
    second = KRR.privatize(["b", np.nan, None], rng, missing="count").tally()
    total = first + second
    assert (total.nobs, total.n_missing) == (2, 3)
    bits = UNARY.privatize(["b", None], rng, missing="count").tally(bits=True)
    assert (UNARY.no_counts() + bits).n_missing == 1


def test_counts_of_different_mechanisms_do_not_mix():
    other = ldp.KRR(("a", "b", "c"), epsilon=1.1)
    with pytest.raises(ldp.MechanismMismatch, match="fingerprint"):
        KRR.counts([1, 2, 3]) + other.counts([1, 2, 3])
    with pytest.raises(ldp.InvalidArgument, match="were not made by"):
        other.moments(KRR.counts([1, 2, 3]))


def test_counts_from_frames():
    table = pd.DataFrame({"report": ["b", "a", "b"], "people": [2, 3, 4]})
    np.testing.assert_array_equal(ldp.Counts.from_frame(table, KRR).vector(), [1, 2, 0])
    weighted = ldp.Counts.from_frame(table, KRR, count="people")
    np.testing.assert_array_equal(weighted.vector(), [3, 6, 0])
    bits = pd.DataFrame({"answer": ["010", "110", "010"]})
    counts = ldp.Counts.from_frame(bits, UNARY, report="answer")
    np.testing.assert_array_equal(counts.bit_counts().ones, [[1, 3, 0]])


def test_numbers_become_counts():
    assert KRR.counts([5, 0, 7]).nobs == 12
    counts = UNARY.counts([5, 0, 7], nobs=9)
    assert isinstance(counts, ldp.BitCounts) and counts.nobs == 9
    np.testing.assert_array_equal(UNARY.counts([[5, 0, 7]], nobs=[9]).ones, counts.ones)


def test_collector_takes_its_randomness_from_the_system():
    # two clients never repeat each other: 1000 reports agree with probability below 3^-300
    values = np.array(["a", "b"])[np.arange(1_000) % 2]
    first, second = KRR.collector().privatize(values), KRR.collector().privatize(values)
    assert np.any(first.y != second.y)


def test_injected_entropy_decides_the_reports():
    values = ["a", "b", "c"] * 20
    reports = [
        KRR.collector(entropy=np.random.default_rng(5).bytes).privatize(values).y for _ in range(2)
    ]
    np.testing.assert_array_equal(*reports)


def test_sums_need_no_start():
    parts = [KRR.counts([1, 2, 3]), KRR.counts([1, 0, 0])]
    np.testing.assert_array_equal(sum(parts).vector(), [2, 2, 3])
    bits = [UNARY.counts([1, 2, 3], nobs=4), UNARY.counts([1, 0, 0], nobs=2)]
    np.testing.assert_array_equal(sum(bits).ones, [[2, 2, 3]])


def test_series_of_counts_are_matched_by_label():
    values = pd.Series(["c", "a", "c", "c"])
    np.testing.assert_array_equal(KRR.counts(values.value_counts()).vector(), [1, 0, 3])
    with pytest.raises(ldp.InvalidArgument, match="indexed by the labels"):
        KRR.counts(pd.Series([1, 2, 3]))


def test_lists_become_arrays():
    counts = ldp.Counts([0, 2], [5, 7], KRR)
    assert (counts.nobs, counts.vector().tolist()) == (12, [5, 0, 7])
    hashed = ldp.Reports([1, 0], ORR, cohort=[3, 0])
    np.testing.assert_array_equal(hashed.tally().vector()[[3, 0]], [[0, 1], [1, 0]])
    bits = ldp.BitCounts([[1, 2, 3]], [4], UNARY)
    assert (bits.nobs, (bits + bits).ones.tolist()) == (4, [[2, 4, 6]])
    assert ldp.Counts([], [], KRR).nobs == ldp.Reports([], KRR).tally().nobs == 0


@pytest.mark.parametrize("kind", [np.uint8, np.uint64, np.int32])
def test_integers_of_any_width_are_counted(kind):
    y, cohort = np.array([1, 0, 1], dtype=kind), np.array([3, 0, 3], dtype=kind)
    reports = ldp.Reports(y, ORR, cohort=cohort)
    total = reports.tally() + ldp.Counts(y, np.array([200, 200, 200], kind), ORR, cohort=cohort)
    assert total.n.dtype == total.y.dtype == total.cohort.dtype == np.int64
    assert total.vector()[3].tolist() == [0, 402] and total.vector()[0].tolist() == [201, 0]


BAD = {
    "y of floats": (lambda: ldp.Reports([0.0, 1.0], KRR), "y="),
    "y of truth values": (lambda: ldp.Reports([True, False], KRR), "y="),
    "y of text": (lambda: ldp.Reports(["a", "b"], KRR), "y="),
    "y ragged": (lambda: ldp.Reports([[0], [1, 2]], KRR), "y="),
    "y missing": (lambda: ldp.Reports(None, KRR), "y="),
    "y masked": (lambda: ldp.Reports(np.ma.masked_equal([0, 1], 1), KRR), "y="),
    "y out of range": (lambda: ldp.Reports([3], KRR), "y="),
    "bits in a list": (lambda: ldp.Reports([[1], [2]], UNARY), "packed"),
    "cohorts of floats": (lambda: ldp.Reports([0, 1], ORR, cohort=[0.0, 1.0]), "cohort="),
    "no cohorts": (lambda: ldp.Reports([0, 1], ORR), "cohort=None"),
    "too few cohorts": (lambda: ldp.Reports([0, 1], ORR, cohort=[0]), "cohort="),
    "cohorts that are not there": (lambda: ldp.Reports([0], ORR, cohort=[4]), "cohort="),
    "cohorts of none": (lambda: ldp.Reports([0], KRR, cohort=[0]), "no cohorts"),
    "no mechanism": (lambda: ldp.Reports([0], None), "mechanism="),
    "a class": (lambda: ldp.Counts([0], [1], ldp.KRR), "mechanism="),
    "missing, negative": (lambda: ldp.Reports([0], KRR, n_missing=-1), "n_missing"),
    "missing, a float": (lambda: ldp.Counts([0], [1], KRR, n_missing=1.5), "n_missing"),
    "n of floats": (lambda: ldp.Counts([0, 1], [1.0, 2.0], KRR), "n="),
    "n too short": (lambda: ldp.Counts([0, 1], [1], KRR), "n="),
    "n ragged": (lambda: ldp.Counts([0, 1], [1, [2]], KRR), "n="),
    "n negative": (lambda: ldp.Counts([0], [-1], KRR), "n="),
    "n beyond exact sums": (lambda: ldp.Counts([0], [2**53], KRR), "n="),
    "sums of nan": (lambda: ldp.BitCounts(np.full((1, 3), np.nan), np.ones(1, int), UNARY), "ones"),
    "sums of floats": (lambda: ldp.BitCounts([[1.0, 2.0, 3.0]], [4], UNARY), "ones"),
    "reports of floats": (lambda: ldp.BitCounts([[1, 2, 3]], [4.0], UNARY), "reports="),
    "reports, a number": (lambda: ldp.BitCounts([[1, 2, 3]], 4, UNARY), "reports="),
    "sums ragged": (lambda: ldp.BitCounts([[1, 2, 3], [1]], [4], UNARY), "ones"),
    "sums above reports": (lambda: ldp.BitCounts([[1, 5, 3]], [4], UNARY), r"ones\[0, 1\]=5"),
    "sums of labels": (lambda: ldp.BitCounts([[1, 2, 3]], [4], KRR), "mechanism="),
    "sums of nothing": (lambda: ldp.BitCounts([[1, 2, 3]], [4], None), "mechanism="),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_reports_is_refused(name):
    call, says = BAD[name]
    with pytest.raises(ldp.InvalidArgument, match=says):
        call()


def test_reports_are_tallied_before_they_add_up():
    reports = KRR.privatize(["a", "b"], np.random.default_rng(1))
    counts, bits = KRR.counts([1, 2, 3]), UNARY.counts([1, 2, 3], nobs=4)
    for add in (
        lambda: counts + reports,
        lambda: reports + counts,
        lambda: reports + reports,
        lambda: bits + reports,
        lambda: sum([reports, reports]),
    ):
        with pytest.raises(ldp.NotAvailable, match=r"tally\(\)"):
            add()
    with pytest.raises(TypeError):
        counts + 1
    assert (counts + reports.tally()).nobs == 8


def test_rows_without_a_report_are_counted():
    table = pd.DataFrame({"report": ["b", None, "a", np.nan], "people": [2, 3, 4, 5]})
    with pytest.raises(ldp.InvalidArgument, match=r"'report', row 2=.*2 of 4"):
        ldp.Counts.from_frame(table, KRR)
    counts = ldp.Counts.from_frame(table, KRR, missing="count")
    assert (counts.vector().tolist(), counts.n_missing) == ([1, 1, 0], 2)
    weighted = ldp.Counts.from_frame(table, KRR, count="people", missing="count")
    assert (weighted.vector().tolist(), weighted.n_missing) == ([4, 2, 0], 8)
    bits = pd.DataFrame({"report": ["010", None, "110"]})
    found = ldp.Counts.from_frame(bits, UNARY, missing="count")
    assert (found.bit_counts().ones.tolist(), found.n_missing) == ([[1, 2, 0]], 1)
    none = ldp.Counts.from_frame(table.iloc[:0], KRR, missing="count")
    assert (none.nobs, none.n_missing) == (0, 0)
    lost = ldp.Counts.from_frame(table.iloc[[1, 3]], KRR, missing="count")
    assert (lost.nobs, lost.n_missing) == (0, 2)
    complete = ldp.Counts.from_frame(table.iloc[[0, 2]], KRR, missing="count")
    assert (complete.nobs, complete.n_missing) == (2, 0)
    table.loc[2, "report"] = "z"
    with pytest.raises(ldp.UnknownCategory, match=r"'report'\.dropna\(\), row 2='z'"):
        ldp.Counts.from_frame(table, KRR, missing="count")


def test_patterns_and_sums_of_bits_do_not_mix():
    patterns = UNARY.privatize(["a", "b"], np.random.default_rng(1)).tally()
    sums = UNARY.counts([1, 2, 3], nobs=4)
    for left, right in ((patterns, sums), (sums, patterns)):
        with pytest.raises(ldp.NotAvailable, match=r"bit_counts\(\)"):
            left + right
    assert (patterns.bit_counts() + sums).nobs == (sums + patterns.bit_counts()).nobs == 6
    assert (UNARY.no_counts() + sums).nobs == (sums + UNARY.no_counts()).nobs == 4


@pytest.mark.parametrize("rows", [slice("a", "b"), slice(0.5, 3), slice(0, 3, 0)])
def test_slices_of_other_than_whole_numbers_are_refused(rows):
    reports = ldp.Reports(np.array([0, 1, 1]), ldp.Warner(epsilon=1.0))
    with pytest.raises(ldp.InvalidArgument, match=r"^rows=slice.*of whole numbers"):
        reports[rows]


NO_COUNTS: dict[str, list[object]] = {
    "n": [[1, 2], ["1", "2", "3"], [True, False, True], [[1, 2, 3]], [1, [2], 3]],
    "n[0]": [pd.Series([np.nan], ["a"])],
    "n[1]": [[1, 2.5, 3], [1, np.nan, 3], [1, np.inf, 3], [1, 2**62, 3]],
    "n[2]": [[1, 2, -3]],
}

NO_BITS: dict[str, list[tuple[object, object]]] = {  # sums, and of how many reports
    "nobs": [([1, 2, 3], None), ([0, 0, 0], -1), ([1, 2, 3], 10.5), ([1, 2, 3], [10, 10])],
    "ones[0, 2]": [([1, 2, 11], 10)],
}


def test_numbers_that_are_no_counts_are_refused():
    for name, several in NO_COUNTS.items():
        for n in several:
            with pytest.raises(ldp.InvalidArgument) as caught:
                KRR.counts(n)
            assert caught.value.name == name
    for name, pairs in NO_BITS.items():
        for ones, nobs in pairs:
            with pytest.raises(ldp.InvalidArgument) as caught:
                UNARY.counts(ones, nobs=nobs)
            assert str(caught.value).startswith(name)
    with pytest.raises(ldp.InvalidArgument, match="nobs"):
        KRR.counts([1, 2, 3], nobs=6)
    with pytest.raises(ldp.NotAvailable, match="bits"):
        KRR.privatize(["a"], np.random.default_rng(1)).tally(bits=True)
    with pytest.raises(ldp.NotAvailable, match=r"bit_counts\(\)"):
        UNARY.privatize(["a"], np.random.default_rng(1)).tally().vector()


@pytest.mark.parametrize(
    ("reports", "how", "words"),
    [
        ([], {"report": "x"}, "report='x'"),
        ([], {"count": "x"}, "count='x'"),
        (["z"], {}, "'report', row 1="),
        (["a"], {"missing": "drop"}, "missing='drop'"),
        ([-1], {"count": "report"}, "named twice"),
        (["01"], {"mechanism": UNARY}, r"'report'\[0\]"),
        ([110], {"mechanism": UNARY}, r"'report'\[0\]"),
        (["012"], {"mechanism": UNARY}, r"'report'\[0\]"),
    ],
)
def test_tables_that_hold_no_reports(reports, how, words):
    frame = pd.DataFrame({"report": pd.Series(reports, dtype=object)})
    with pytest.raises(ldp.LDPError, match=words):
        ldp.Counts.from_frame(frame, **({"mechanism": KRR} | how))
    for count in (-1, 0.5):
        table = pd.DataFrame({"report": ["a"], "count": [count]})
        with pytest.raises(ldp.InvalidArgument, match=r"'count'\[0\]"):
            ldp.Counts.from_frame(table, KRR, count="count")


# Specifications are checked by their fingerprint.

KRR_FINGERPRINTS = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)

SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)

PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


@pytest.mark.parametrize(
    ("document", "read"),
    [
        (KRR_FINGERPRINTS.to_dict(), ldp.mechanism_from_dict),
        (PUM.to_dict(), ldp.PUM.from_dict),
        (SURVEY.to_dict(), ldp.DictionarySurvey.from_dict),
    ],
    ids=["mechanism", "pum", "survey"],
)
def test_a_specification_is_checked_by_its_fingerprint(document, read):
    assert read(json.loads(json.dumps(document))).to_dict() == document
    bare = {name: value for name, value in document.items() if name != "fingerprint"}
    with pytest.raises(ldp.InvalidArgument, match=f'add "fingerprint": "{document["fingerprint"]}'):
        read(bare)
    assert read(bare | {"fingerprint": document["fingerprint"]}).to_dict() == document
    for wrong in ("0" * 12, None, 3, np.arange(3), document["fingerprint"].upper() + "0"):
        with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
            read(document | {"fingerprint": wrong})
    for version in (True, 1.0, "1", 2, None, np.array([1, 1])):
        with pytest.raises(ldp.InvalidArgument, match="version"):
            read(document | {"version": version})


def test_a_negative_zero_is_zero():
    plain = ldp.RAPPOR(8, 1, 2, f=0.0, p=0.0, q=0.5)
    assert ldp.RAPPOR(8, 1, 2, f=-0.0, p=-0.0, q=0.5).fingerprint == plain.fingerprint
    signed = ldp.CustomMechanism([[1.0, -0.0], [0.5, 0.5]])
    assert signed.fingerprint == ldp.CustomMechanism([[1.0, 0.0], [0.5, 0.5]]).fingerprint


def test_a_changed_epsilon_is_noticed():
    with pytest.raises(ldp.InvalidArgument, match="changed or damaged"):
        ldp.mechanism_from_dict(KRR_FINGERPRINTS.to_dict() | {"epsilon": 10.0})
    inner = PUM.to_dict()
    inner["mechanism"] = ldp.URR(("a", "b", "c"), {"a"}, epsilon=9.0).to_dict()
    with pytest.raises(ldp.InvalidArgument, match="changed or damaged"):
        ldp.PUM.from_dict(inner)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ldp.mechanism_from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_dict({"format": np.zeros(3)}),
        lambda: ldp.FrequencyResults.from_json(None),
    ],
)
def test_documents_that_are_none_are_refused(call):
    with pytest.raises(ldp.LDPError, match=r"must|is not JSON"):
        call()
