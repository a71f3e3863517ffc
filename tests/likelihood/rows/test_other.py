"""The category "Other" of hashed reports: the product of bits."""

from __future__ import annotations

import numpy as np
import pytest
from grid import all_reports

import ldpstats as ldp
from ldpstats.estimators import MLE
from ldpstats.likelihood.rows import Likelihood, WithOther, _LeftOver, other_rows

CATEGORIES = ("nurse", "teacher", "driver", "cook", "guard")


KRR = ldp.Reports(np.array([0, 4]), ldp.KRR(CATEGORIES, epsilon=1.3))


WORDS = tuple(f"word {i}" for i in range(40))
LAW = 0.85 ** np.arange(40) / (0.85 ** np.arange(40)).sum()
BLOOM = ldp.RAPPOR(32, 2, 4, f=0.0, p=0.25, q=0.75)


def bloom_reports(n: int, seed: int) -> ldp.Reports:
    rng = np.random.default_rng(seed)
    return BLOOM.privatize(rng.choice(np.array(WORDS), p=LAW, size=n), rng)


@pytest.mark.parametrize("tallied", [False, True])
def test_other_rows_are_the_product_over_bits(tallied: bool) -> None:
    reports = bloom_reports(2_000, 1)
    data = reports.tally() if tallied else reports
    candidates, p = list(WORDS[:3]), LAW[:3]
    column = other_rows(data, candidates, p)
    bits = np.unpackbits(reports.y, axis=1, count=32, bitorder="little").astype(float)
    every = {w: BLOOM.cells([w])[:, 0] for w in candidates}
    rest, even = 1.0 - p.sum(), 1.0 - (31 / 32) ** 2

    def share(ones: float, N: int, c: int, s: int) -> float:
        """Of the answers in Other that own the bit, by subtraction."""
        T = N * sum(q for w, q in zip(candidates, p, strict=True) if s in every[w][c])
        left = (ones - 0.75 * T - 0.25 * (N * p.sum() - T)) / (N * rest)
        return (left - 0.25) / 0.5

    total = np.array([bits[reports.cohort == c].sum(axis=0) for c in range(4)])
    size = np.bincount(reports.cohort, minlength=4)
    shares, noises = np.empty((4, 32)), np.empty((4, 32))
    for c, s in np.ndindex(4, 32):
        shares[c, s] = share(total[c, s], size[c], c, s)
        owned = sum(q for w, q in zip(candidates, p, strict=True) if s in every[w][c])
        level = 0.25 + 0.5 * (owned + rest * even)
        noises[c, s] = level * (1 - level) / size[c] / (0.5 * rest) ** 2
    variance = np.average((shares - even) ** 2 - noises, weights=1 / noises)
    weight = variance / (variance + noises)
    assert 0.3 < weight.min() < weight.max() < 0.6
    law = np.clip(0.25 + 0.5 * (even + weight * (shares - even)), 0.25, 0.75)
    np.testing.assert_allclose(
        _LeftOver.of(data, candidates, p, "product").law(), law, rtol=0, atol=1e-12
    )
    # a report's likelihood is that under the law of all others
    own = np.unpackbits(data.y, axis=1, count=32, bitorder="little").astype(float)
    chance = np.ones(len(own))
    for (i, s), one in np.ndenumerate(own):
        c = data.cohort[i]
        without = share(total[c, s] - one, size[c] - 1, c, s)
        q = np.clip(0.25 + 0.5 * (even + weight[c, s] * (without - even)), 0.25, 0.75)
        chance[i] *= q if one else 1 - q
    noise = np.where(own == 1, 0.25, 0.75).prod(axis=1)
    np.testing.assert_allclose(column, chance / noise, rtol=1e-10)
    if isinstance(data, ldp.Counts):  # the scale is that of the candidates' rows
        rows = BLOOM.likelihood(data, candidates).W
        np.testing.assert_allclose(np.exp(rows.log_scale), noise, rtol=1e-12)


def test_the_law_of_other_is_recovered_from_expected_counts() -> None:
    # one hash and labels: bits and labels of Other are then what its words own
    for mechanism in (ldp.ORAPPOR(8, 1, 3, epsilon=2.0), ldp.ORR(8, 3, epsilon=2.0)):
        counts = expected_counts_of(mechanism, 1e10)
        found = _LeftOver.of(counts, list(WORDS[:5]), LAW[:5], "product").law()
        rest = mechanism.channel(list(WORDS[5:])).forward(LAW[5:] / LAW[5:].sum()) * 3
        if mechanism.n_bits:
            patterns = (np.arange(256)[:, None] >> np.arange(8)) & 1
            rest = rest.reshape(3, -1) @ patterns
        # in ten billion reports noise is 1e-8 of the variance
        np.testing.assert_allclose(found, rest.reshape(3, 8), rtol=0, atol=1e-7)


def expected_counts_of(mechanism: ldp.Mechanism, nobs: float) -> ldp.Counts:
    """Counts that equal their expectation under LAW, to rounding."""
    n = np.rint(nobs * mechanism.channel(list(WORDS)).forward(LAW)).astype(np.int64)
    reports = all_reports(mechanism)
    return ldp.Counts(reports.y, n, mechanism, cohort=reports.cohort)


@pytest.mark.parametrize("n_cohorts", [4, 64, 1024])
def test_other_does_not_draw_reports_from_the_candidates(n_cohorts: int) -> None:
    """Many rare others hash nearly evenly, however few reports a cohort has."""
    mechanism, shares = ldp.ORR(21, n_cohorts, epsilon=3.0), []
    for seed in range(12):
        rng = np.random.default_rng([seed, n_cohorts])
        words = [f"{w} {seed}" for w in WORDS[:3]]
        answers = np.array([*words, *(f"rare {i} {seed}" for i in range(200))])
        p = np.concatenate([[0.3, 0.2, 0.1], np.full(200, 0.002)])
        counts = mechanism.privatize(rng.choice(answers, 8_000, p=p), rng).tally()
        rows = mechanism.likelihood(counts, words).W
        fit = MLE().solve(Likelihood(WithOther(rows, other_rows(counts, words, p[:3])), counts.n))
        shares.append(fit.p[-1])
    # four standard errors of the mean of twelve; taken as it is, what is left over would give Other
    # .40, .48 and .76
    assert abs(np.mean(shares) - 0.4) < 4.0 * np.std(shares, ddof=1) / np.sqrt(12.0)


def share_of_other(form: str) -> tuple[float, np.ndarray]:
    """Share that the likelihood gives to Other, and the frequencies of three candidates."""
    reports = bloom_reports(40_000, 3)
    candidates, counts = list(WORDS[:3]), reports.tally()
    rows = BLOOM.likelihood(counts, candidates).W
    column = other_rows(counts, candidates, LAW[:3], form)
    p = MLE().solve(Likelihood(WithOther(rows, column), counts.n)).p
    return float(p[-1]), p[:-1]


def test_the_product_of_bits_gives_other_its_share_and_the_printed_form_none() -> None:
    # standard errors are below .006; that bits within Other hang together costs as much
    share, p = share_of_other("product")
    assert abs(share - LAW[3:].sum()) < 0.03
    assert np.abs(p - LAW[:3]).max() < 0.03
    # negative control: as printed, Other is ignored and the candidates share all of it
    share, p = share_of_other("fpe16")
    assert share < 1e-3
    assert np.all(p > LAW[:3] + 0.1)


def test_what_other_rows_refuse() -> None:
    reports = bloom_reports(100, 5)
    with pytest.raises(ldp.InvalidArgument, match="whole reports"):
        other_rows(3, ["a"], [0.5])  # type: ignore[arg-type]
    with pytest.raises(ldp.NotAvailable, match="nothing is left"):
        other_rows(reports, list(WORDS[:2]), [0.5, 0.5])
    with pytest.raises(ldp.InvalidArgument, match="at most one"):
        other_rows(reports, list(WORDS[:2]), [0.9, 0.5])
    with pytest.raises(ldp.InvalidArgument, match="at most one"):
        other_rows(reports, list(WORDS[:2]), [-0.1, 0.5])
    with pytest.raises(ldp.InvalidArgument, match="form"):
        other_rows(reports, list(WORDS[:2]), [0.1, 0.5], form="printed")
    with pytest.raises(ldp.InvalidArgument, match="whole reports"):
        other_rows(reports.tally(bits=True), list(WORDS[:2]), [0.1, 0.5])  # type: ignore[arg-type]
    with pytest.raises(ldp.NotAvailable, match="open alphabet"):
        other_rows(reports, None, [0.1, 0.5])
    with pytest.raises(ldp.NotAvailable, match="lump"):
        other_rows(KRR, ["nurse"], [0.5])
    orr = ldp.ORR(6, 5, epsilon=1.0)
    labels = orr.privatize(WORDS, np.random.default_rng(2))
    with pytest.raises(ldp.NotAvailable, match="product of bits"):
        other_rows(labels, list(WORDS[:2]), [0.1, 0.5], form="fpe16")
    certain = ldp.RAPPOR(8, 1, 1, f=0.0, p=0.2, q=1.0)
    answers = certain.privatize(WORDS, np.random.default_rng(2))
    with pytest.raises(ldp.NotAvailable, match="noise"):
        other_rows(answers, list(WORDS[:2]), [0.1, 0.5])
