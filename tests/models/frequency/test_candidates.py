"""Frequencies of candidates: identification, standard errors, tests."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.estimators import Lasso

WORDS = tuple(f"w{i}" for i in range(40))

RAPPOR = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)

ORR = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=2.0)


def law(k: int) -> np.ndarray:
    p = 0.8 ** np.arange(k)
    return p / p.sum()


# -- candidates ------------------------------------------------------------------------------
@pytest.mark.parametrize("mechanism", [RAPPOR, ORR], ids=["rappor", "orr"])
def test_the_default_over_candidates_is_inversion(mechanism):
    counts = mechanism.draw(law(10), 50_000, np.random.default_rng(1), WORDS[:10])
    results = ldp.FrequencyModel(counts, candidates=WORDS).fit()
    assert results.method == "inversion"
    assert list(results.params.index) == list(WORDS)
    assert results.unexplained is not None
    assert float(results.unexplained) == pytest.approx(1 - results.params.sum(), abs=1e-12)
    V = results.linear_cov.to_numpy()
    assert results.unexplained.bse == pytest.approx(np.sqrt(V.sum()), rel=1e-9)
    again = ldp.FrequencyResults.from_json(results.to_json())
    assert again.unexplained == results.unexplained or (
        again.unexplained.to_dict() == results.unexplained.to_dict()
    )
    assert str(again.summary()) == str(results.summary())


def test_the_order_of_cohorts_and_candidates_does_not_matter():
    rng = np.random.default_rng(2)
    reports = RAPPOR.privatize(rng.choice(WORDS[:9], size=4_000), rng)
    first = ldp.FrequencyModel(reports, candidates=WORDS).fit()
    order = rng.permutation(len(reports))
    shuffled = ldp.Reports(reports.y[order], RAPPOR, cohort=reports.cohort[order])
    again = ldp.FrequencyModel(shuffled, candidates=WORDS[::-1]).fit()
    np.testing.assert_allclose(again.params[list(WORDS)], first.params, rtol=0, atol=1e-12)
    for method in ("mle", "em"):
        small = WORDS[:9]
        a = ldp.FrequencyModel(reports, candidates=small).fit(method)
        b = ldp.FrequencyModel(shuffled, candidates=small).fit(method)
        np.testing.assert_allclose(a.params, b.params, rtol=0, atol=1e-6)


def test_linear_covariance_is_the_plug_in_of_the_reports():
    # G V(p) G' with V written out from matrix(), cohort by cohort
    words = WORDS[:5]
    rappor = ldp.RAPPOR(n_bits=5, n_hashes=2, n_cohorts=3, f=0.0, p=0.25, q=0.75)
    orr, single = ldp.ORR(4, 3, epsilon=1.5), ldp.ORAPPOR(5, 1, 3, epsilon=1.5)
    for mechanism in (rappor, orr, single):
        counts = mechanism.draw(law(5), 3_000, np.random.default_rng(3), words)
        problem = mechanism.moments(counts, words)
        p = problem.plug_in
        p = p / p.sum()  # nothing unexplained, so that matrix() tells all
        source = problem.sources[0]
        G = problem.inverse @ (source.design.matrix().T * source.weights)
        V = np.zeros((source.weights.size,) * 2)
        m = source.design.n_cells
        for c, Q in enumerate(mechanism.channel(words).channels):
            values = np.eye(m)
            if mechanism.n_bits:
                values = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(float)
            report = p @ Q.matrix()
            mean = report @ values
            here = slice(c * m, (c + 1) * m)
            V[here, here] = (values.T * report) @ values - np.outer(mean, mean)
            V[here, here] /= source.reports[c]
        np.testing.assert_allclose(
            problem.covariance(p).matrix(), G @ V @ G.T, rtol=1e-9, atol=1e-14
        )
        residual = (np.eye(len(V)) - source.design.matrix() @ G) @ V
        assert problem.misfit() is not None
        full, variance = source.misfit(p)
        assert full == pytest.approx(source.weights @ np.diag(V), rel=1e-12)
        assert variance > 0.0 and residual.shape == V.shape


def test_misfit_moments_are_exact():
    # mean and variance of the squared residuals about the true means, over every possible sample of
    # two reports in one cohort
    words = WORDS[:3]
    for mechanism in (
        ldp.ORR(3, 1, epsilon=1.0),
        ldp.RAPPOR(n_bits=3, n_hashes=2, n_cohorts=1, f=0.0, p=0.2, q=0.7),
        ldp.RAPPOR(n_bits=3, n_hashes=1, n_cohorts=1, f=0.0, p=0.2, q=0.7),
    ):
        p = np.array([0.5, 0.3, 0.2])
        m = mechanism.n_cells
        Q = mechanism.channel(words).matrix()
        values = np.eye(m)
        if mechanism.n_bits:
            values = ((np.arange(2**m)[:, None] >> np.arange(m)) & 1).astype(float)
        report = p @ Q
        counts = mechanism.draw(p, 2, np.random.default_rng(1), words)
        source = mechanism.moments(counts, words).sources[0]
        mean = source.cell_means(p)[0]
        np.testing.assert_allclose(mean, report @ values, atol=1e-14)
        pairs = [(i, j) for i in range(len(report)) for j in range(len(report))]
        weight = np.array([report[i] * report[j] for i, j in pairs])
        R = np.array(
            [
                2 * source.precision * (((values[i] + values[j]) / 2 - mean) ** 2).sum()
                for i, j in pairs
            ]
        )
        first, second = source.misfit(p)
        assert first == pytest.approx(weight @ R, rel=1e-12)
        assert second == pytest.approx(weight @ R**2 - (weight @ R) ** 2, rel=1e-12)


def test_unlisted_answers_are_not_spread_over_the_candidates():
    # a fifth of the answers is on 200 unlisted strings: estimates and the unexplained share are
    # within 4 standard errors of the truth, and the naive offset, which ignores them, is far off
    rng = np.random.default_rng(5)
    every = (*WORDS[:10], *(f"unlisted{i}" for i in range(200)))
    p = np.concatenate([0.8 * law(10), np.full(200, 0.001)])
    for mechanism in (RAPPOR, ldp.ORR(16, 32, epsilon=3.0), ldp.ORAPPOR(32, 1, 16, epsilon=3.0)):
        counts = mechanism.draw(p, 400_000, rng, every)
        results = ldp.FrequencyModel(counts, candidates=WORDS).fit()
        truth = np.zeros(40)
        truth[:10] = p[:10]
        assert np.abs((results.params - truth) / results.bse).max() < 4.0
        share = results.unexplained
        assert abs(share.estimate - 0.2) < 4.0 * share.bse
        low, high = share.conf_int(alpha=0.05)
        assert low < share.estimate < high
        assert "Not among them" in str(results.summary())


def test_an_incomplete_list_is_called_doubtful():
    counts = RAPPOR.draw(law(10), 100_000, np.random.default_rng(6), WORDS[:10])
    complete = ldp.FrequencyModel(counts, candidates=WORDS).fit()
    assert complete.goodness_of_fit.pvalue > 0.01 and complete.dispersion == 1.0
    lacking = ldp.FrequencyModel(counts, candidates=WORDS[1:]).fit()
    assert lacking.goodness_of_fit.pvalue < 1e-6 and lacking.dispersion > 1.5
    assert "WARNING: the reports contradict" in str(lacking.summary())
    assert set(lacking.detected()) <= set(WORDS[:10])


# -- identification --------------------------------------------------------------------------
def test_the_rank_bound_is_said():
    # kC = 12 equations, of rank C (k - 1) = 8 beside the unexplained share
    orr = ldp.ORR(3, 4, epsilon=1.0)
    words = [f"w{i}" for i in range(9)]
    counts = orr.draw(law(9), 10_000, np.random.default_rng(1), words)
    with pytest.raises(ldp.NotIdentified, match="determine at most 8"):
        ldp.FrequencyModel(counts, candidates=words).fit()
    closed = ldp.ORR(3, 4, epsilon=1.0, alphabet=10)
    with pytest.raises(ldp.NotIdentified, match="at most 9"):
        ldp.FrequencyModel(closed.draw(law(10), 10_000, np.random.default_rng(1))).fit("inversion")


def test_more_candidates_than_bits_are_refused_at_once():
    words = tuple(f"w{i}" for i in range(40))
    rappor = ldp.RAPPOR(n_bits=8, n_hashes=2, n_cohorts=4, f=0.0, p=0.25, q=0.75)
    counts = rappor.privatize(words * 5, np.random.default_rng(0)).tally(bits=True)
    with pytest.raises(ldp.NotIdentified, match="4 cohorts with reports, of 8 bits each"):
        ldp.FrequencyModel(counts, candidates=words).fit("inversion")


# -- the Lasso ---------------------------------------------------------------------------------
def bad(call) -> str:
    with pytest.raises(ldp.LDPError) as raised:
        call()
    return str(raised.value)


def test_lasso_estimates_the_selected_and_tests_all():
    words = [f"w{i}" for i in range(3_000)]  # more than the 16 x 32 equations
    counts = RAPPOR.draw(law(8), 50_000, np.random.default_rng(1), words[:8])
    model = ldp.FrequencyModel(counts, candidates=words)
    with pytest.raises(ldp.NotIdentified):
        model.fit()
    results = model.fit("lasso")
    at = results.linear.at
    assert results.converged and 5 <= at.size < 60
    assert results.params[results.params != 0].index.isin(results.categories[at]).all()
    # the level is divided by all candidates: p-values of the others are 1, and they count
    p = results.presence_pvalues()
    assert (np.delete(p.to_numpy(), at) == 1.0).all()
    rejected = p.index[p.to_numpy() <= 0.05 / len(words)]
    assert list(results.detected(alpha=0.05)) == list(rejected)
    assert set(rejected) <= set(words[:8]) and len(rejected) >= 5
    # the selected have the estimates and, but for the dispersion, the covariance of a fit of theirs
    alone = ldp.FrequencyModel(counts, candidates=list(results.categories[at])).fit()
    np.testing.assert_allclose(results.params.iloc[at], alone.params, rtol=0, atol=1e-12)
    V = results.linear_cov / results.dispersion
    np.testing.assert_allclose(V, alone.linear_cov / alone.dispersion, rtol=1e-9)
    assert "had been chosen in advance" in str(results.summary())
    assert np.isnan(np.delete(results.conf_int().to_numpy(), at, axis=0)).all()
    assert results.t_test("w0 = w1").pvalue < 0.05
    with pytest.raises(ldp.NotAvailable, match="not selected"):
        results.t_test(np.eye(3_000)[[int(np.setdiff1d(np.arange(3_000), at)[0])]])
    again = ldp.FrequencyResults.from_json(results.to_json())
    assert str(again.summary()) == str(results.summary())
    results.plot()


def test_lasso_may_select_nothing():
    many = [f"x{i}" for i in range(500)]
    counts = RAPPOR.draw(np.full(500, 1 / 500), 20_000, np.random.default_rng(3), many)
    nothing = ldp.FrequencyModel(counts, candidates=WORDS).fit(Lasso(false_selections=1e-9))
    assert nothing.linear.at.size == 0 and not len(nothing.detected())
    assert float(nothing.unexplained) == 1.0
    again = ldp.FrequencyResults.from_json(nothing.to_json())
    assert str(again.summary()) == str(nothing.summary())


def test_bad_lasso():
    assert "penalty" in bad(lambda: Lasso(penalty="bic"))
    assert "false_selections" in bad(lambda: Lasso(false_selections=0.0))
    krr = ldp.KRR(3, 1.0).counts([5, 3, 2])
    assert "hash" in bad(lambda: ldp.FrequencyModel(krr).fit("lasso"))
    one = RAPPOR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    two = ORR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    several = ldp.FrequencyModel([one, two], candidates=WORDS)
    assert "one mechanism" in bad(lambda: several.fit("lasso"))
    assert "cov_type" in bad(
        lambda: ldp.FrequencyModel(one, candidates=WORDS).fit("lasso", cov_type="fpe16")
    )


# -- what may be a list of candidates ----------------------------------------------------------
HASHED = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=4.0)

HELD = HASHED.privatize(["b", "a", "b"] * 200, np.random.default_rng(1)).tally()

GOOD: dict[str, Callable[[], Any]] = {
    "a list": lambda: ["b", "a"],
    "an array": lambda: np.array(["b", "a"]),
    "a Series": lambda: pd.Series(["b", "a"], index=[7, 3]),
    "keys of a dict": lambda: {"b": 1, "a": 2}.keys(),
    "a Categorical": lambda: pd.Categorical(["b", "a"], categories=["a", "b", "c"]),
    "a Series of categories": lambda: pd.Series(["b", "a"], dtype="category"),
    "a map": lambda: ldp.CandidateMap(["b", "a"], HASHED.cells(["b", "a"])),
}


@pytest.mark.parametrize("name", GOOD)
def test_values_count_in_their_order(name):
    results = ldp.FrequencyModel(HELD, candidates=GOOD[name]()).fit()
    assert results.categories.tolist() == ["b", "a"]
    expected = ldp.FrequencyModel(HELD, candidates=["b", "a"]).fit()
    np.testing.assert_allclose(results.params, expected.params, rtol=1e-12)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "a table": (lambda: pd.DataFrame({"b": [1], "a": [2]}), "table"),
    "twice": (lambda: ["b", "a", "b"], "twice"),
    "twice in a Categorical": (lambda: pd.Categorical(["b", "a", "b"]), "twice"),
    "missing in a Categorical": (lambda: pd.Categorical(["b", None]), "missing"),
    "a type of categories": (lambda: pd.CategoricalDtype(["b", "a"]), "list of strings"),
    "a generator": (lambda: (name for name in "ba"), r"list\("),
    "a dict": (lambda: {"b": 1, "a": 2}, "list"),
    "a set": (lambda: {"b", "a"}, "order"),
    "bytes": (lambda: b"ba", "list"),
    "bytes in a list": (lambda: [b"b", b"a"], "strings"),
    "text": (lambda: "ba", "list"),
    "lines of a table": (lambda: np.array([["b"], ["a"]]), "strings"),
    "a number": (lambda: 2, "list of strings"),
    "numbers": (lambda: [0, 1], "string"),
    "none of them": (lambda: [], "at least 1"),
    "missing": (lambda: ["b", None], "missing"),
    "masked": (lambda: np.ma.array(["b", "a"], mask=[False, True]), "missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_other_lists_are_refused(name):
    make, says = BAD[name]
    for use in (
        lambda: ldp.FrequencyModel(HELD, candidates=make()).fit(),
        lambda: HASHED.cells(make()),
        lambda: ldp.CandidateMap(make(), np.zeros((16, 2, 1), dtype=int)),
    ):
        with pytest.raises(ldp.InvalidArgument, match=says) as caught:
            use()
        assert str(caught.value).startswith("candidates")


CELLS: dict[str, Any] = {
    "ragged": [[[0], [1]], [[0, 1], [1]]],
    "of floats": np.zeros((16, 2, 1)),
    "flat": np.zeros((16, 2), dtype=int),
    "of one candidate": np.zeros((16, 1, 1), dtype=int),
    "none": None,
}


@pytest.mark.parametrize("name", CELLS)
def test_other_cells_are_refused(name):
    with pytest.raises(ldp.InvalidArgument, match="cells="):
        ldp.CandidateMap(("b", "a"), CELLS[name])


@pytest.mark.parametrize("value", ["x", None, [1], np.inf, np.nan, 0.0, True, 10**400])
def test_false_selections_are_a_number(value):
    with pytest.raises(ldp.InvalidArgument, match="false_selections"):
        ldp.estimators.Lasso(false_selections=value)


def test_false_selections_of_any_type_of_number():
    for value in (2, 2.0, np.float32(2.0), np.int64(2)):
        assert ldp.estimators.Lasso(false_selections=value) == ldp.estimators.Lasso("quantile", 2.0)


# Inference over candidates where other answers exist: tests, warnings, few reports, many names.

WORDS_OPEN = [f"c{i}" for i in range(10)]

OTHERS = [f"o{i}" for i in range(300)]

ORR_OPEN = ldp.ORR(16, 32, epsilon=2.0)

RAPPOR_OPEN = ldp.RAPPOR(16, 2, 8, f=0.0, p=0.25, q=0.75)


def halved(n: int, seed: int) -> ldp.Counts:
    """Reports of a population half of which gives answers that are not among the candidates."""
    p = np.concatenate([np.full(10, 0.05), np.full(300, 0.5 / 300)])
    return ORR_OPEN.draw(p, n, np.random.default_rng(seed), WORDS_OPEN + OTHERS)


def complete(n: int, seed: int) -> ldp.Counts:
    return ORR_OPEN.draw(np.full(10, 0.1), n, np.random.default_rng(seed), WORDS_OPEN)


def test_frequencies_are_tested_and_not_only_their_contrasts():
    # all candidates halve: their ratios are the same, their frequencies are not
    full, half = complete(50_000, 1), halved(50_000, 2)
    test = ldp.two_sample_test(full, half, candidates=WORDS_OPEN)
    assert test.df == 10 and test.pvalue < 1e-6
    model = ldp.FrequencyModel(half, candidates=WORDS_OPEN)
    assert model.test_distribution(np.full(10, 0.1)).pvalue < 1e-6
    assert model.test_distribution(np.full(10, 0.05)).pvalue > 1e-3
    assert ldp.two_sample_test(full, half, candidates=WORDS_OPEN[:1]).df == 1
    with pytest.raises(ldp.InvalidArgument, match="at most one"):
        model.test_distribution(np.full(10, 0.2))


@pytest.mark.slow
@pytest.mark.parametrize("other", [ldp.ORR(8, 32, epsilon=2.0), RAPPOR_OPEN], ids=str)
def test_two_samples_with_a_frequent_unlisted_answer(other, replications):
    # size at .05 within 3 standard errors, above it only: where designs differ it is cautious
    R, rejected = replications(500, least=200), 0
    rng = np.random.default_rng(3)
    p = np.append(np.full(10, 0.04), 0.6)
    for r in range(R):
        every = [*WORDS_OPEN, f"unlisted{r}"]
        groups = [m.draw(p, 20_000, rng, every) for m in (ORR_OPEN, other)]
        test = ldp.homogeneity_test(
            groups, candidates=WORDS_OPEN
        )  # of two samples, without their fits
        if r == 0:
            assert ldp.two_sample_test(*groups, candidates=WORDS_OPEN).pvalue == test.pvalue
        rejected += test.pvalue < 0.05
    assert rejected / R < 0.05 + 3 * np.sqrt(0.05 * 0.95 / R)


@pytest.mark.parametrize("method", ["mle", "projected", "cvxpy"])
def test_an_estimate_that_assumes_a_complete_list_says_so(method):
    full = ldp.FrequencyModel(complete(5_000, 4), candidates=WORDS_OPEN).fit(method)
    assert full.assumes_complete and not full.is_incomplete
    text = " ".join(str(full.summary()).split())
    assert "sums to one" in text and "WARNING" not in text
    with pytest.warns(ldp.MisfitWarning, match="other answers are held"):
        half = ldp.FrequencyModel(halved(50_000, 5), candidates=WORDS_OPEN).fit(method)
    assert half.is_incomplete and "WARNING: the reports indicate" in str(half.summary())
    assert "sums to one" not in str(
        ldp.FrequencyModel(halved(50_000, 5), candidates=WORDS_OPEN).fit().summary()
    )


def test_standard_errors_of_a_list_that_is_known_to_be_incomplete_always_grow():
    # few others: the test does not find them, and standard errors stay as they are
    seen = {}
    for seed in range(20):
        usual = ldp.FrequencyModel(complete(5_000, seed), candidates=WORDS_OPEN)
        known = ldp.FrequencyModel(complete(5_000, seed), candidates=WORDS_OPEN, incomplete=True)
        a, b = usual.fit("inversion"), known.fit("inversion")
        if a.dispersion == 1.0:
            seen[seed] = b.dispersion
            # cohorts differ in size by chance: their weights move, and the estimates hardly
            np.testing.assert_allclose(a.params, b.params, atol=0.2 * a.bse.min())
            np.testing.assert_allclose(b.bse / a.bse, np.sqrt(b.dispersion), rtol=5e-3)
    assert min(seen.values()) == 1.0 and len(set(seen.values())) > 5  # never below one
    assert np.mean(list(seen.values())) < 1.1


def test_incomplete_goes_with_candidates():
    closed = ldp.KRR(WORDS_OPEN, 1.0).draw(np.full(10, 0.1), 100, np.random.default_rng(1))
    for data, value in ((closed, True), (complete(100, 1), 1)):
        candidates = WORDS_OPEN if value == 1 and data is not closed else None
        with pytest.raises(ldp.InvalidArgument) as caught:
            ldp.FrequencyModel(data, candidates, incomplete=value)
        assert caught.value.name == "incomplete"


def test_intervals_that_assume_a_complete_list_warn():
    model = ldp.FrequencyModel(halved(50_000, 6), candidates=WORDS_OPEN[:3])
    with pytest.warns(ldp.MisfitWarning):
        results = model.fit("mle")
    with pytest.warns(ldp.IncompleteListWarning):
        results.conf_int(method="wald-mle")
    with pytest.warns(ldp.IncompleteListWarning):
        results.conf_int(method="profile", model=model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results.conf_int()


def test_bootstrap_over_candidates():
    rng = np.random.default_rng(7)
    for reports in (complete(4_000, 8), RAPPOR_OPEN.privatize(rng.choice(WORDS_OPEN, 4_000), rng)):
        model = ldp.FrequencyModel(reports, candidates=WORDS_OPEN)
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
def test_a_handful_of_reports(n):
    rng = np.random.default_rng(n)
    for mechanism in (ORR_OPEN, RAPPOR_OPEN):
        for _ in range(10):
            reports = mechanism.privatize(["c0"] * n, rng)
            results = ldp.FrequencyModel(reports, candidates=["c0"]).fit()
            assert np.isfinite(results.params).all() and np.isfinite(results.bse).all()
            assert str(results.summary())


def test_more_candidates_than_standard_errors_are_computed_for():
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


def test_dependent_candidates_are_named():
    counts = ldp.ORR(4, 4, epsilon=1.0).counts(np.full((4, 4), 9))
    with pytest.raises(ldp.NotIdentified, match="linearly dependent: 'x0', 'x4', 'x9', 'x10'"):
        ldp.FrequencyModel(counts, candidates=[f"x{i}" for i in range(11)]).fit()


def test_sources_that_disagree_are_not_blamed_on_the_list_alone():
    first = ORR_OPEN.draw([0.9, 0.1], 50_000, np.random.default_rng(1), WORDS_OPEN[:2])
    second = RAPPOR_OPEN.draw([0.1, 0.9], 50_000, np.random.default_rng(2), WORDS_OPEN[:2])
    with pytest.warns(ldp.MisfitWarning, match="all sources have the same distribution"):
        both = ldp.FrequencyModel([first, second], candidates=WORDS_OPEN[:2]).fit()
    assert both.goodness_of_fit.pvalue < 1e-6
    assert "all sources have the same distribution" in both.goodness_of_fit.null
