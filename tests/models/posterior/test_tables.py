"""Posteriors of joint tables and of groups with partial pooling, against quadrature."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import InvalidArgument, NotAvailable
from ldpstats.likelihood.rows import Likelihood
from ldpstats.models.posterior.densities import (
    FrequencyDensity,
    GroupReports,
    PooledDensity,
    cells_law,
)
from ldpstats.priors import Dirichlet, DirichletLaw, LogisticNormal, Margins, Pooling

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws


LATE, ILL = ldp.KRR(("no", "yes"), 2.0), ldp.KRR(("no", "yes"), 1.0)


def two_ways() -> ldp.AssociationModel:
    counts = ldp.JointCounts.from_table([[120, 60], [70, 100]], (LATE, ILL))
    return ldp.AssociationModel(counts, names=("late", "ill"))


@pytest.fixture(scope="module")
def model():
    return two_ways()


@pytest.fixture(scope="module")
def found(model):
    return model.fit_posterior(np.random.default_rng(1))


def moments(density: FrequencyDensity) -> tuple[Any, Any]:
    """Means and standard deviations of three free cells by quadrature around the mode."""
    mode = density.mode()
    values, vectors = np.linalg.eigh(density.curvature(mode))
    x = np.linspace(-8.0, 8.0, 33)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    z = mode + grid @ (vectors / np.sqrt(np.maximum(values, 0.05))).T
    logs = density.evaluate(z)[0]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    p = density.constrained(z)
    return weights @ p, np.sqrt(weights @ (p - weights @ p) ** 2)


@pytest.mark.parametrize(
    "prior",
    [
        None,
        *(
            pytest.param(prior, marks=pytest.mark.slow)
            for prior in (LogisticNormal(), Margins(first=[30.0, 20.0]))
        ),
    ],
)
def test_means_and_deviations_are_those_of_quadrature(prior, model):
    labels = [pd.Index(["no", "yes"])] * 2
    density = FrequencyDensity.of(model.likelihood(), cells_law(prior, labels))
    mean, sd = moments(density)
    result = model.fit_posterior(np.random.default_rng(2), prior)
    errors = (result.params - mean) / (sd / np.sqrt(result.ess["bulk"]))
    assert errors.abs().max() < 4.0
    np.testing.assert_allclose(result.bse, sd, rtol=0.1)


def test_quadrature_sees_another_prior(found, model):
    """The control of the test above."""
    labels = [pd.Index(["no", "yes"])] * 2
    mean, sd = moments(FrequencyDensity.of(model.likelihood(), cells_law(Dirichlet(3.0), labels)))
    assert ((found.params - mean) / (sd / np.sqrt(found.ess["bulk"]))).abs().max() > 4.0


def test_the_flat_mode_is_the_maximum_of_the_likelihood():
    rng = np.random.default_rng(3)
    sizes, n = (2, 3, 2), 3000
    cells = np.unravel_index(rng.choice(12, n, p=rng.dirichlet(np.ones(12))), sizes)
    makers = ldp.Observed([0, 1]), ldp.KRR(3, 1.0), ldp.KRAPPOR(2, 2.0)
    reports = [m.privatize(x, rng) for m, x in zip(makers, cells, strict=True)]
    model = ldp.AssociationModel(*reports)
    result = model.fit_posterior(rng, draws=160)
    fit = model.fit("mle")
    np.testing.assert_allclose(result.mode, fit.params, atol=1e-5)
    assert result.table.index.equals(fit.table.index)


def test_tables_and_what_follows_are_read_off_the_draws(found):
    P = found.flat.reshape(-1, 2, 2)
    assert found.names == ("late", "ill")
    np.testing.assert_allclose(found.table.to_numpy(), P.mean(axis=0))
    np.testing.assert_allclose(found.bse_table.to_numpy(), P.std(axis=0, ddof=1))
    given = found.conditional("ill").params
    assert given.index.names == ["ill", "late"]
    shares = P[:, 1, 0] / P[:, :, 0].sum(axis=1)
    assert given["no", "yes"] == pytest.approx(shares.mean())
    assert found.margin("late").params["yes"] == pytest.approx(P[:, 1].sum(axis=1).mean())
    odds = found.log_odds_ratio(["no", "yes"], ["no", "yes"])
    ratio = np.log(P[:, 0, 0] * P[:, 1, 1] / P[:, 0, 1] / P[:, 1, 0])
    np.testing.assert_allclose(odds.flat[:, 0], ratio)
    row, column = P.sum(axis=2), P.sum(axis=1)
    expected = row[:, :, None] * column[:, None, :]
    phi = np.sqrt(((P - expected) ** 2 / expected).sum(axis=(1, 2)))
    np.testing.assert_allclose(found.cramers_v().flat[:, 0], phi)
    assert found.prob("no:no > yes:yes") == pytest.approx((P[:, 0, 0] > P[:, 1, 1]).mean())


def test_evidence_against_independence_is_in_the_odds_ratio(found):
    """The log odds ratio of four exponentials is 0 in the prior, with density 1/6."""
    odds = found.log_odds_ratio(["no", "yes"], ["no", "yes"])
    factor = odds.bayes_factor(([1.0], 0.0))
    samples = odds.flat[:, 0]
    posterior = np.mean(np.abs(samples) < 0.5)  # per unit
    assert factor.value < 0.1 and posterior < 0.01
    assert found.bayes_factor("no:no = 0.45").value > 3.0


@pytest.mark.slow
def test_margins_that_are_known_are_kept(model):
    prior = Margins(first=Dirichlet(pd.Series({"yes": 1600.0, "no": 400.0})))
    late = model.fit_posterior(np.random.default_rng(4), prior, draws=800).margin("late")
    assert late.params["yes"] == pytest.approx(0.78, abs=0.01)  # the reports say 0.43
    assert late.bse["yes"] == pytest.approx(np.sqrt(0.16 / 2000), rel=0.2)


def test_concentrations_by_cell_are_matched_by_label(model):
    cells = pd.MultiIndex.from_product([["yes", "no"], ["yes", "no"]])
    by_label = Dirichlet(pd.Series([400.0, 3.0, 2.0, 1.0], index=cells))
    in_order = Dirichlet([1.0, 2.0, 3.0, 400.0])
    first, second = (
        model.fit_posterior(np.random.default_rng(5), prior, draws=160)
        for prior in (by_label, in_order)
    )
    np.testing.assert_array_equal(first.flat, second.flat)


def test_a_seed_gives_the_same_draws_and_a_document_the_same_results(model):
    first = model.fit_posterior(np.random.default_rng(6), draws=160)
    again = model.fit_posterior(np.random.default_rng(6), draws=160)
    assert first.to_json() == again.to_json()
    read = type(first).from_json(first.to_json())
    np.testing.assert_array_equal(read.flat, first.flat)
    assert read.table.index.equals(first.table.index)
    assert "no : yes" in str(first.summary())
    assert first.check.pvalue > 0.0


def test_tables_that_do_not_hold_all_answers_are_refused():
    rng = np.random.default_rng(7)
    jobs = ldp.KRR(("nurse", "cook", "clerk"), 1.0)
    reports = (
        jobs.privatize(rng.choice(jobs.categories, 300), rng),
        LATE.privatize(["no"] * 300, rng),
    )
    with pytest.warns(ldp.IncompleteListWarning):
        listed = ldp.AssociationModel(*reports, candidates=[("nurse", "cook"), None])
    with pytest.raises(NotAvailable, match="not among the candidates"):
        listed.fit_posterior(rng)
    lumped = ldp.AssociationModel(*reports, candidates=[("nurse", "cook"), None], other=True)
    assert lumped.fit_posterior(rng, draws=160).sizes == (3, 2)


@pytest.mark.parametrize("bad", ["flat", ldp.priors.Pooling(), Dirichlet])
def test_other_priors_are_refused(bad, model):
    with pytest.raises(InvalidArgument, match="prior"):
        model.fit_posterior(np.random.default_rng(1), bad)


def test_what_cannot_be_asked_of_a_table_is_refused(found, model):
    rng = np.random.default_rng(1)
    other = pd.Series(1.0, index=pd.MultiIndex.from_product([["no", "yes"], ["no", "ja"]]))
    for prior in (
        Dirichlet(other),
        Dirichlet([1.0, 2.0, 3.0]),
        Margins(third=[1.0, 2.0]),
        Margins(1e5),
    ):
        with pytest.raises(InvalidArgument):
            model.fit_posterior(rng, prior)
    for bad in ({"engine": "nuts"}, {"draws": 10}, {"draws": True}):
        with pytest.raises(InvalidArgument):
            model.fit_posterior(rng, **bad)
    for rows in (["no"], ["no", "no"], ["no", "maybe"], "no", None):
        with pytest.raises(InvalidArgument, match="rows"):
            found.log_odds_ratio(rows, ["no", "yes"])
    for name in ("job", None, 3):
        with pytest.raises(InvalidArgument):
            found.margin(name)
    with pytest.raises(InvalidArgument, match="shape"):
        found.derived(lambda P: P[0], "first")
    with pytest.raises(InvalidArgument, match="finite"):
        found.derived(lambda P: P[:, 0, 0] * np.nan, "nothing")


JOBS = ("nurse", "cook", "clerk")


def density(k: int = 3, sizes: Any = (50, 400, 3000, 0), epsilon: float = 1.0) -> PooledDensity:
    rng = np.random.default_rng(1)
    krr = ldp.KRR(k, epsilon)
    P = rng.dirichlet(np.full(k, 3.0), len(sizes))
    parts: list[Likelihood | None] = []
    for p, n in zip(P, sizes, strict=True):
        counts = krr.draw(p, n, rng)
        parts.append(krr.likelihood(counts) if n else None)
    return PooledDensity(GroupReports.of(parts, k), DirichletLaw(np.ones(k)), Pooling())


def test_gradient_and_curvature_are_those_of_the_density():
    found = density()
    z = np.random.default_rng(2).normal(size=(3, found.size))
    moves = 1e-5 * np.eye(found.size)
    differences = [
        (found.evaluate(z + move)[0] - found.evaluate(z - move)[0]) / 2e-5 for move in moves
    ]
    np.testing.assert_allclose(np.transpose(differences), found.evaluate(z)[1], atol=1e-5)
    rows = [
        (found.evaluate(z[:1] - move)[1][0] - found.evaluate(z[:1] + move)[1][0]) / 2e-5
        for move in moves
    ]
    np.testing.assert_allclose(np.array(rows), found.curvature(z[0]), atol=1e-6)


def test_reports_of_different_mechanisms_have_the_likelihood_of_each():
    rng = np.random.default_rng(3)
    counts = [ldp.KRR(3, 1.0).counts([5, 3, 2]), ldp.KRAPPOR(3, 2.0).privatize([0, 1, 2, 0], rng)]
    parts = [ldp.FrequencyModel(one).likelihood() for one in counts]
    p = rng.dirichlet(np.ones(3), (2, 2))
    values, slopes = GroupReports.of(parts, 3).evaluate(p)
    for c in range(2):
        # loglike adds the scale of the rows, a constant
        scales = [float(part.n @ part.W.log_scale) for part in parts]
        expected = sum(part.loglike(q) - s for part, q, s in zip(parts, p[c], scales, strict=True))
        assert values[c] == pytest.approx(expected)
        np.testing.assert_allclose(slopes[c, 1], parts[1].score(p[c, 1]))


def by_quadrature(counts: list[Any], Q: Any) -> tuple[Any, Any, float, float]:
    """Means and deviations of P(first) in each group and of the sd, for two categories.

    Of the log odds m and standard deviation t on a grid; given them groups are independent, and
    each an integral over a normal effect.
    """
    m, logs = np.meshgrid(np.linspace(-6, 6, 81), np.linspace(-6, 2, 81), indexing="ij")
    t = np.exp(logs)
    x, w = np.polynomial.hermite_e.hermegauss(50)
    p = 1.0 / (1.0 + np.exp(-(m[..., None] + t[..., None] * x)))
    prior = -np.log1p(np.exp(-m)) - np.log1p(np.exp(m)) - 0.5 * t**2 + logs
    wholes, firsts, seconds = [], [], []
    for n in counts:
        law = p[..., None] * Q[0] + (1 - p[..., None]) * Q[1]
        value = np.exp(np.log(law) @ n - np.max(np.log(law) @ n)) * w
        wholes.append(value.sum(axis=-1))
        firsts.append((value * p).sum(axis=-1) / wholes[-1])
        seconds.append((value * p**2).sum(axis=-1) / wholes[-1])
    weight = np.exp(prior) * np.prod(wholes, axis=0)
    weight /= weight.sum()
    mean = np.array([(weight * one).sum() for one in firsts])
    square = np.array([(weight * one).sum() for one in seconds])
    sd = float((weight * t).sum())
    return mean, np.sqrt(square - mean**2), sd, float(np.sqrt((weight * (t - sd) ** 2).sum()))


@pytest.mark.slow
def test_two_categories_are_those_of_quadrature():
    krr = ldp.KRR(("no", "yes"), 1.0)
    counts = [np.array(n) for n in ([60, 40], [420, 580], [18, 32], [0, 0])]
    mean, sd, spread, its = by_quadrature(counts, krr.channel().matrix())
    groups = {str(g): krr.counts(n) for g, n in enumerate(counts)}
    found = ldp.GroupedModel(groups).fit_posterior(np.random.default_rng(4))
    errors = found.params.to_numpy()[::2] - mean
    assert np.all(np.abs(errors) < 4 * sd / np.sqrt(found.ess["bulk"].to_numpy()[::2]))
    np.testing.assert_allclose(found.bse.to_numpy()[::2], sd, rtol=0.1)
    sizes = found.between.ess["bulk"]["sd"]
    assert abs(found.between.params["sd"] - spread) < 4 * its / np.sqrt(sizes)
    # the control: quadrature of another survey is seen
    other = by_quadrature([counts[1], *counts[1:]], krr.channel().matrix())[0]
    assert abs(found.params.iloc[0] - other[0]) > 4 * sd[0] / np.sqrt(found.ess["bulk"].iloc[0])


@pytest.fixture(scope="module")
def survey():
    """40 regions of 50 to 5,000 respondents: truth, separate fits, posterior."""
    rng, krr = np.random.default_rng(5), ldp.KRR(JOBS, 1.0)
    sizes = np.exp(np.linspace(np.log(50), np.log(5000), 40)).astype(int)
    logs = np.log([0.5, 0.3, 0.2]) + rng.normal(0.0, 0.4 / np.sqrt(2.0), (40, 3))
    truth = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    groups = {f"r{g}": krr.draw(truth[g], n, rng) for g, n in enumerate(sizes)}
    model = ldp.GroupedModel(groups, by="region")
    return truth, model.fit().params, model.fit_posterior(rng)


@pytest.mark.slow
def test_chains_mix_where_sizes_differ_a_hundredfold(survey):
    found = survey[2]
    assert found.divergences == 0
    for part in (found, found.common, found.between):
        assert part.rhat.max() < 1.01 and part.ess.min().min() > 1000


@pytest.mark.slow
def test_pooled_errors_are_smaller_and_large_groups_stay(survey):
    truth, separate, found = survey
    alone, together = (np.reshape(one, (40, 3)) - truth for one in (separate, found.params))
    assert (together[:20] ** 2).sum() < 0.4 * (alone[:20] ** 2).sum()
    assert (together**2).sum() < 0.5 * (alone**2).sum()
    assert np.abs(together - alone)[-5:].max() < 0.04
    assert found.between.conf_int().loc["sd"].between(0.1, 0.8).all()


def test_a_group_without_reports_is_predicted():
    krr = ldp.KRR(JOBS, 2.0)
    groups = {"a": krr.counts([500, 300, 200]), "b": krr.no_counts(), "c": krr.counts([40, 40, 20])}
    model = ldp.GroupedModel(groups, by="town", name="job")
    found = model.fit_posterior(np.random.default_rng(7), draws=640)
    assert found.index.names == ["town", "job"]
    assert found.groups == (("a",), ("b",), ("c",)) and found.sizes == (1000, 0, 100)
    assert found.table.index.tolist() == ["a", "b", "c"]
    assert (found["b"].bse > 1.5 * found["c"].bse).all()
    assert found["b"].params.sum() == pytest.approx(1.0)
    weights = pd.Series({"c": 1.0, "a": 3.0, "b": 0.0})
    expected = 0.75 * found["a"].params + 0.25 * found["c"].params
    pd.testing.assert_series_equal(found.overall(weights).params, expected)
    read = type(found).from_json(found.to_json())
    pd.testing.assert_frame_equal(read.table, found.table)
    assert read.between.params["sd"] == found.between.params["sd"]
    with pytest.raises(NotAvailable, match="pooled groups"):
        _ = found.mode
    for bad in (None, "b", [1.0, -1.0, 1.0], [1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0]):
        if bad is not None:
            with pytest.raises(InvalidArgument, match="weights"):
                found.overall(bad)
    with pytest.raises(InvalidArgument, match="label"):
        found["d"]


def test_the_prior_decides_how_much_is_pooled():
    krr = ldp.KRR(JOBS, 1.0)
    groups = {"a": krr.counts([500, 300, 200]), "b": krr.counts([30, 35, 35])}
    model = ldp.GroupedModel(groups)
    near, far = (
        model.fit_posterior(np.random.default_rng(8), Pooling(sd, common=Dirichlet(2.0)), draws=160)
        for sd in (0.01, 10.0)
    )
    gap = near["a"].params - near["b"].params
    assert gap.abs().max() < 0.01
    assert (far["a"].params - far["b"].params).abs().max() > 0.2


@pytest.mark.parametrize("bad", ["flat", 1.0, Dirichlet(1.0), Pooling])
def test_other_priors_of_groups_are_refused(bad):
    model = ldp.GroupedModel({"a": ldp.KRR(JOBS, 1.0).counts([5, 3, 2])})
    with pytest.raises(InvalidArgument, match="prior"):
        model.fit_posterior(np.random.default_rng(1), bad)


def test_groups_without_a_likelihood_are_refused():
    rng = np.random.default_rng(9)
    bits = ldp.KRAPPOR(JOBS, 1.0).privatize(["nurse"] * 9, rng).tally(bits=True)
    with pytest.raises(NotAvailable, match="bits"):
        ldp.GroupedModel({"a": bits}).fit_posterior(rng)
    many = {str(g): ldp.KRR(60, 1.0).counts(np.ones(60, dtype=int)) for g in range(40)}
    with pytest.raises(NotAvailable, match="parameters"):
        ldp.GroupedModel(many).fit_posterior(rng)
