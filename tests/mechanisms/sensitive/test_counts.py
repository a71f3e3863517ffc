"""Counts of URR and URAP: sums, text, frames, pickles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from grid import distribution
from shared.sensitive_surveys import URAPS, survey

import ldpstats as ldp
from ldpstats.io import read_counts


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
def test_counts_do_not_depend_on_order_or_chunks(urap: ldp.URAP) -> None:
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
def test_counts_from_text_and_frames(urap: ldp.URAP, tmp_path: Any) -> None:
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


def test_reports_left_whole_have_the_same_likelihood() -> None:
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
def test_number_of_a_revealed_answer_takes_the_bytes_it_needs(others: int) -> None:
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
