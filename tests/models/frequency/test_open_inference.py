"""Inference over candidates where other answers exist: tests, warnings, few reports, many names."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ldpstats as ldp

WORDS = [f"c{i}" for i in range(10)]
OTHERS = [f"o{i}" for i in range(300)]
ORR = ldp.ORR(16, 32, epsilon=2.0)
RAPPOR = ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75)


def halved(n: int, seed: int) -> ldp.Counts:
    """Reports of a population half of which gives answers that are not among the candidates."""
    p = np.concatenate([np.full(10, 0.05), np.full(300, 0.5 / 300)])
    return ORR.draw(p, n, np.random.default_rng(seed), WORDS + OTHERS)


def complete(n: int, seed: int) -> ldp.Counts:
    return ORR.draw(np.full(10, 0.1), n, np.random.default_rng(seed), WORDS)


def test_frequencies_are_tested_and_not_only_their_contrasts() -> None:
    # all candidates halve: their ratios are the same, their frequencies are not
    full, half = complete(50_000, 1), halved(50_000, 2)
    test = ldp.two_sample_test(full, half, candidates=WORDS)
    assert test.df == 10 and test.pvalue < 1e-6
    model = ldp.FrequencyModel(half, candidates=WORDS)
    assert model.test_distribution(np.full(10, 0.1)).pvalue < 1e-6
    assert model.test_distribution(np.full(10, 0.05)).pvalue > 1e-3
    assert ldp.two_sample_test(full, half, candidates=WORDS[:1]).df == 1
    with pytest.raises(ldp.InvalidArgument, match="at most one"):
        model.test_distribution(np.full(10, 0.2))


@pytest.mark.slow
@pytest.mark.parametrize("other", [ldp.ORR(8, 32, epsilon=2.0), RAPPOR], ids=str)
def test_two_samples_with_a_frequent_unlisted_answer(other: ldp.Mechanism, replications) -> None:  # type: ignore[no-untyped-def]
    # size at .05 within 3 standard errors, above it only: where designs differ it is cautious
    R, rejected = replications(500, least=200), 0
    rng = np.random.default_rng(3)
    p = np.append(np.full(10, 0.04), 0.6)
    for r in range(R):
        every = [*WORDS, f"unlisted{r}"]
        groups = [m.draw(p, 20_000, rng, every) for m in (ORR, other)]
        test = ldp.homogeneity_test(groups, candidates=WORDS)  # of two samples, without their fits
        if r == 0:
            assert ldp.two_sample_test(*groups, candidates=WORDS).pvalue == test.pvalue
        rejected += test.pvalue < 0.05
    assert rejected / R < 0.05 + 3 * np.sqrt(0.05 * 0.95 / R)


@pytest.mark.parametrize("method", ["mle", "projected", "cvxpy"])
def test_an_estimate_that_assumes_a_complete_list_says_so(method: str) -> None:
    full = ldp.FrequencyModel(complete(5_000, 4), candidates=WORDS).fit(method)
    assert full.assumes_complete and not full.is_incomplete
    assert "sums to one" in str(full.summary()) and "WARNING" not in str(full.summary())
    with pytest.warns(ldp.MisfitWarning, match="other answers are held"):
        half = ldp.FrequencyModel(halved(50_000, 5), candidates=WORDS).fit(method)
    assert half.is_incomplete and "WARNING: the reports indicate" in str(half.summary())
    assert "sums to one" not in str(
        ldp.FrequencyModel(halved(50_000, 5), candidates=WORDS).fit().summary()
    )


def test_standard_errors_of_a_list_that_is_known_to_be_incomplete_always_grow() -> None:
    # few others: the test does not find them, and standard errors stay as they are
    seen = {}
    for seed in range(20):
        usual = ldp.FrequencyModel(complete(5_000, seed), candidates=WORDS)
        known = ldp.FrequencyModel(complete(5_000, seed), candidates=WORDS, incomplete=True)
        a, b = usual.fit("inversion"), known.fit("inversion")
        if a.dispersion == 1.0:
            seen[seed] = b.dispersion
            # cohorts differ in size by chance: their weights move, and the estimates hardly
            np.testing.assert_allclose(a.params, b.params, atol=0.2 * a.bse.min())
            np.testing.assert_allclose(b.bse / a.bse, np.sqrt(b.dispersion), rtol=5e-3)
    assert min(seen.values()) == 1.0 and len(set(seen.values())) > 5  # never below one
    assert np.mean(list(seen.values())) < 1.1


def test_incomplete_goes_with_candidates() -> None:
    closed = ldp.KRR(WORDS, 1.0).draw(np.full(10, 0.1), 100, np.random.default_rng(1))
    for data, value in ((closed, True), (complete(100, 1), 1)):
        candidates = WORDS if value == 1 and data is not closed else None
        with pytest.raises(ldp.InvalidArgument) as caught:
            ldp.FrequencyModel(data, candidates, incomplete=value)  # type: ignore[arg-type]
        assert caught.value.name == "incomplete"


def test_intervals_that_assume_a_complete_list_warn() -> None:
    model = ldp.FrequencyModel(halved(50_000, 6), candidates=WORDS[:3])
    with pytest.warns(ldp.MisfitWarning):
        results = model.fit("mle")
    with pytest.warns(ldp.IncompleteListWarning):
        results.conf_int(method="wald-mle")
    with pytest.warns(ldp.IncompleteListWarning):
        results.conf_int(method="profile", model=model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.conf_int()


def test_bootstrap_over_candidates() -> None:
    rng = np.random.default_rng(7)
    for reports in (complete(4_000, 8), RAPPOR.privatize(rng.choice(WORDS, 4_000), rng)):
        model = ldp.FrequencyModel(reports, candidates=WORDS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.LDPWarning)  # at the boundary
            results = model.fit("projected")
            bounds = results.conf_int(method="bootstrap", model=model, rng=rng, n_boot=99)
        # about 2 x 1.96 standard errors wide; 99 replicates leave a fifth of that uncertain
        width = (bounds["upper"] - bounds["lower"]).mean()
        assert 0.5 < width / (2 * 1.96 * results.linear_bse.mean()) < 1.4
        with pytest.raises(ldp.NotAvailable, match="not among them"):
            model.fit().conf_int(method="bootstrap", model=model, rng=rng)
        with pytest.raises(ldp.NotAvailable, match="selection"):
            model.fit("lasso").conf_int(method="profile", model=model)
    closed = ldp.ORAPPOR(8, 2, 4, epsilon=4.0, alphabet=("a", "b", "c"))
    model = ldp.FrequencyModel(closed.privatize(["a", "b"] * 500, rng))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldp.LDPWarning)
        model.fit().conf_int(method="bootstrap", model=model, rng=rng, n_boot=39)


@pytest.mark.parametrize("n", [1, 3])
def test_a_handful_of_reports(n: int) -> None:
    rng = np.random.default_rng(n)
    for mechanism in (ORR, RAPPOR):
        for _ in range(10):
            reports = mechanism.privatize(["c0"] * n, rng)
            results = ldp.FrequencyModel(reports, candidates=["c0"]).fit()
            assert np.isfinite(results.params).all() and np.isfinite(results.bse).all()
            assert str(results.summary())


def test_more_candidates_than_standard_errors_are_computed_for() -> None:
    many = [f"z{i}" for i in range(8_193)]
    mechanism = ldp.ORR(256, 64, epsilon=3.0)
    counts = mechanism.privatize(many[:5] * 2_000, np.random.default_rng(1)).tally()
    results = ldp.FrequencyModel(counts, candidates=many).fit()
    assert set(results.params.nlargest(5).index) == set(many[:5])
    assert "lasso" in str(results.summary())
    for name in ("bse", "linear_bse"):
        with pytest.warns(ldp.LDPWarning, match="so many frequencies at once were not computed$"):
            assert getattr(results, name).isna().all()
    results.plot()
    for ask in (results.detected, results.conf_int, results.unexplained.conf_int):
        with pytest.raises(ldp.NotAvailable):
            ask()


def test_dependent_candidates_are_named() -> None:
    counts = ldp.ORR(4, 4, epsilon=1.0).counts(np.full((4, 4), 9))
    with pytest.raises(ldp.NotIdentified, match="linearly dependent: 'x0', 'x4', 'x9', 'x10'"):
        ldp.FrequencyModel(counts, candidates=[f"x{i}" for i in range(11)]).fit()


def test_sources_that_disagree_are_not_blamed_on_the_list_alone() -> None:
    first = ORR.draw([0.9, 0.1], 50_000, np.random.default_rng(1), WORDS[:2])
    second = RAPPOR.draw([0.1, 0.9], 50_000, np.random.default_rng(2), WORDS[:2])
    with pytest.warns(ldp.MisfitWarning, match="all sources have the same distribution"):
        both = ldp.FrequencyModel([first, second], candidates=WORDS[:2]).fit()
    assert both.goodness_of_fit.pvalue < 1e-6
    assert "all sources have the same distribution" in both.goodness_of_fit.null
