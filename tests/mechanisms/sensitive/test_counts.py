"""Counts of URR and URAP: sums, text, frames, pickles."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import distribution
from shared.sensitive_surveys import JOBS, MECHANISMS, URAPS, survey

import ldpstats as ldp
from ldpstats.io import read_counts
from ldpstats.mechanisms import lump


def same_counts(one: ldp.Counts, two: ldp.Counts) -> None:
    """Equal as multisets: wide patterns are kept in the order in which they came."""

    def table(counts: ldp.Counts) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for y, n in zip(counts.y, counts.n.tolist(), strict=True):
            found[y.tobytes()] = found.get(y.tobytes(), 0) + n
        return found

    assert table(one) == table(two)
    assert one.n_missing == two.n_missing
    np.testing.assert_array_equal(one.noise, two.noise)


WIDE = ldp.URAP(90, range(5, 80), epsilon=1.0)


@pytest.mark.parametrize("urap", [*URAPS.values(), WIDE], ids=[*URAPS, "wide"])
def test_counts_do_not_depend_on_order_or_chunks(urap):
    reports = survey(urap, 900, seed=2)
    whole, sums = reports.tally(), reports.tally(bits=True)
    bits = urap.format.unpack(reports.y)
    assert whole.nobs == sums.nobs == 900
    np.testing.assert_array_equal(sums.ones[0], bits.sum(axis=0))
    np.testing.assert_array_equal(whole.bit_counts().ones, sums.ones)
    rng = np.random.default_rng(3)
    order = rng.permutation(900)
    parts = [ldp.Reports(reports.y[order[i::7]], urap) for i in range(7)]
    same_counts(sum((part.tally() for part in parts), start=urap.no_counts()), whole)
    same_counts(sum(part.tally() for part in parts[::-1]), whole)
    together = sum(part.tally(bits=True) for part in parts)
    np.testing.assert_array_equal(together.ones, sums.ones)
    same_counts(urap.no_counts() + whole + urap.no_counts(), whole)
    # an empty Counts is the start of either sum
    np.testing.assert_array_equal((urap.no_counts() + sums).ones, sums.ones)
    told = urap.format.revealed(whole.y) > 0
    assert not whole.y[told, : urap.format._width].any(), "what is counted has no noise"
    assert len(np.unique(urap.format.revealed(whole.y)[told])) == told.sum(), (
        "a row per revealed answer"
    )


@pytest.mark.parametrize("urap", [*URAPS.values(), WIDE], ids=[*URAPS, "wide"])
def test_counts_from_text_and_frames(urap, tmp_path):
    reports = survey(urap, 300, seed=3)
    text = urap.report_labels(reports)
    assert all(len(t) == urap.k and set(t) <= {"0", "1"} for t in text)
    bits = urap.format.unpack(reports.y)
    assert ["".join("01"[b] for b in row) for row in bits.astype(int)] == text.tolist()
    np.testing.assert_array_equal(urap.parse("report", text).y, reports.y)
    frame = pd.DataFrame({"report": text})
    whole = reports.tally()
    same_counts(ldp.Counts.from_frame(frame, urap), whole)
    grouped = frame.value_counts("report").rename("count").reset_index()
    same_counts(ldp.Counts.from_frame(grouped, urap, count="count"), whole)
    gaps = pd.concat([frame, pd.DataFrame({"report": [None, None]})])
    found = ldp.Counts.from_frame(gaps, urap, missing="count")
    assert found.n_missing == 2
    np.testing.assert_array_equal(found.bit_counts().ones, whole.bit_counts().ones)
    frame.to_csv(tmp_path / "reports.csv", index=False)
    same_counts(read_counts(tmp_path / "reports.csv", urap, chunk_rows=37), whole)
    summed = read_counts(tmp_path / "reports.csv", urap, chunk_rows=37, bits=True)
    np.testing.assert_array_equal(summed.ones, whole.bit_counts().ones)
    client = urap.client(allow_no_privacy=not len(urap.sensitive))
    assert len(urap.parse("report", [client.report(urap.categories[-1])])) == 1


def test_reports_left_whole_have_the_same_likelihood():
    urap = URAPS["some"]
    reports = survey(urap, 500, seed=4)
    y, n = np.unique(reports.y, axis=0, return_counts=True)
    whole, condensed = ldp.Counts(y, n, urap), reports.tally()
    assert len(y) > len(condensed.y)
    one, two = urap.likelihood(whole), urap.likelihood(condensed)
    for p in (distribution(5), distribution(5)[::-1]):
        assert one.loglike(p) == pytest.approx(two.loglike(p), rel=1e-13)
        np.testing.assert_allclose(one.score(p), two.score(p), rtol=1e-12)
    np.testing.assert_array_equal(whole.bit_counts().ones, condensed.bit_counts().ones)
    same_counts(urap.no_counts() + whole, condensed)


@pytest.mark.parametrize("others", [1, 255, 256, 65535, 65536])
def test_number_of_a_revealed_answer_takes_the_bytes_it_needs(others):
    k = others + 3
    urap = ldp.URAP(k, (0, 1, k - 1), epsilon=2.0)
    width = 1 + (1 if others < 256 else 2 if others < 65536 else 4)
    values = np.array([k - 2, 2, 2 + others // 2, 0, k - 1] * 40)
    reports = urap.privatize(values, np.random.default_rng(1))
    assert reports.y.shape == (200, width) and urap.format.packed_bits == 8 * width
    revealed = urap.format.revealed(reports.y)
    told = revealed > 0
    np.testing.assert_array_equal(revealed[told] + 1, values[told])
    assert told.any() and not told[np.isin(values, (0, 1, k - 1))].any()
    counts = reports.tally()
    ones = counts.bit_counts().ones[0]
    np.testing.assert_array_equal(ones, reports.tally(bits=True).ones[0])
    np.testing.assert_array_equal(
        ones[2 : k - 1], np.bincount(values[told], minlength=k)[2 : k - 1]
    )
    if others < 65535:
        text = urap.report_labels(reports)
        np.testing.assert_array_equal(urap.parse("report", text).y, reports.y)
    beyond = reports.y.copy()
    beyond[0, 1:] = 255
    if others < 255 or others not in (255, 65535):
        with pytest.raises(ldp.InvalidArgument, match=f"beyond the {others} that are not"):
            ldp.Reports(beyond, urap)
    padded = reports.y.copy()
    padded[0, 0] |= 8
    with pytest.raises(ldp.InvalidArgument, match="padding must be zero"):
        ldp.Reports(padded, urap)


# Bad reports, counts and answers of URR and URAP: what is wrong with them, and what to do.

five: Callable[..., Any] = lambda *a, **k: ldp.URR(5, *a, **k)  # noqa: E731

bits: Callable[..., Any] = lambda *a, **k: ldp.URAP(5, *a, **k)  # noqa: E731

BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "sums too large": (lambda: bits((0,), 1.0).counts([6, 0, 0, 0, 0], 5), r"ones\[0, 0\]=6: "),
    "sums without n": (lambda: bits((0,), 1.0).counts([1, 0, 0, 0, 0]), r"nobs=None: is needed"),
    "too many revealed": (
        lambda: bits((0,), 1.0).counts([0, 3, 3, 0, 0], 5),
        r"say that 5 reports reveal 6 answers: each reveals one at most",
    ),
    "too few revealed": (
        lambda: bits((), 1.0).counts([1, 3, 0, 0, 0], 5),
        r"say that 4 of 5 reports reveal an answer: all do here",
    ),
    "two revealed": (
        lambda: bits((0,), 1.0).parse("report", ["10000", "01100"]),
        r"report\[1\]='01100': has two bits that are not sensitive",
    ),
    "none revealed": (
        lambda: bits((), 1.0).parse("report", ["10000", "00000"]),
        r"report\[1\]='00000': has no bit: none is sensitive",
    ),
    "none revealed, packed": (
        lambda: ldp.Reports(np.zeros((1, 1), np.uint8), bits((), 1.0)),
        r"y=.*reveals no category, although none is sensitive",
    ),
    "short report": (
        lambda: bits((0,), 1.0).parse("r", ["0101"]),
        r"r\[0\]='0101': .*5 characters",
    ),
    "report of a wrong width": (
        lambda: ldp.Reports(np.zeros((1, 1), np.uint8), bits((0,), 1.0)),
        r"y=.*packed reports of 16 bits",
    ),
    "noise too large": (
        lambda: ldp.Counts(np.zeros((1, 2), np.uint8), [3], bits((0,), 1.0), noise=[4, 0, 0, 0, 0]),
        r"noise=.*from 0 to the number of reports",
    ),
    "noise of labels": (
        lambda: ldp.Counts(
            np.zeros(1, np.int64), [3], five((0,), 1.0), noise=np.zeros(5, np.int64)
        ),
        r"noise=.*must be None",
    ),
    "candidates": (lambda: bits((0,), 1.0).channel(["a"]), r"candidates= is for open alphabets"),
    "too many patterns": (
        lambda: ldp.URAP(40, range(30), 1.0).channel().matrix(),
        r"2\^30 patterns: use channel\(\)\.likelihood",
    ),
}


@pytest.mark.parametrize(("call", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input_says_what_to_do(call, words):
    with pytest.raises(ldp.LDPError, match=words):
        call()


# Specifications of URR and URAP keep labels and are checked.


@pytest.mark.parametrize("make", [ldp.URR, ldp.URAP])
@pytest.mark.parametrize(
    ("categories", "sensitive"),
    [
        (4, {3, 1}),
        (4, ()),
        (4, range(4)),
        (("b", "a", "c"), ["a"]),
        ((2.5, 1.5), (1.5,)),
        ((False, True), [True]),
        ((1, "x", 2.5), ["x", 2.5]),
        ((10, 20, 30), np.array([30, 10])),
        (pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"]), pd.Series(["mid"])),
    ],
)
def test_specification_keeps_labels(make, categories, sensitive):
    mechanism = make(categories, sensitive, 1.25)
    again = ldp.mechanism_from_dict(json.loads(json.dumps(mechanism.to_dict())))
    assert again == mechanism and type(again) is type(mechanism)
    assert again.sensitive.tolist() == mechanism.sensitive.tolist()
    assert [type(v) for v in again.sensitive] == [type(v) for v in mechanism.sensitive]
    positions = mechanism.categories.get_indexer(mechanism.sensitive)
    assert list(positions) == sorted(positions), "in category order"
    assert mechanism.audit().agrees


def test_a_specification_by_hand_is_checked():
    document = ldp.URR(3, epsilon={0: 1.0, 1: 2.0}).to_dict()
    for change in ({"levels": [1.0]}, {"epsilon": 1.0}, {"sensitive": [0, 5]}, {"sensitive": "01"}):
        with pytest.raises(ldp.InvalidArgument):
            ldp.mechanism_from_dict(document | change)
    with pytest.raises(ldp.InvalidArgument, match="has the fields"):
        ldp.URR.from_dict({k: v for k, v in document.items() if k != "levels"})


# Reports of sensitive answers, lumped.


@pytest.mark.parametrize("keep", [["nurse"], ["teacher"], ["cook", "driver"], ["clerk", "nurse"]])
@pytest.mark.parametrize("name", ["urr", "urr-levels"])
def test_lumped_reports_of_urr(name, keep):
    urr = MECHANISMS[name]
    reports = survey(urr, 200, seed=13)
    lumped = lump(reports, keep)
    Q = urr.channel().matrix()
    kept = [JOBS.index(v) for v in keep]
    rest = [x for x in range(5) if x not in kept]
    merged = np.column_stack([Q[:, kept], Q[:, rest].sum(axis=1)])
    for x in rest:  # all of Other are alike: that is what makes it exact
        np.testing.assert_allclose(merged[x], merged[rest[0]], atol=1e-15)
    want = np.vstack([merged[kept], merged[rest[0]]])
    np.testing.assert_allclose(lumped.mechanism.channel().matrix(), want, atol=1e-15)
    position = {v: i for i, v in enumerate(keep)}
    labels = [position.get(v, len(keep)) for v in urr.report_labels(reports)]
    np.testing.assert_array_equal(lumped.y, labels)


def test_reports_of_urap_are_not_lumped():
    # what is sensitive and what is not differ within Other: a clear refusal
    with pytest.raises(ldp.NotAvailable, match=r"URAP.*lump"):
        lump(survey(MECHANISMS["urap"], 50, seed=14), ["nurse"])
