"""Posteriors of joint tables, against quadrature, the likelihood and their own draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.posterior.densities.frequency import FrequencyDensity
from ldpstats.models.posterior.densities.table import cells_law
from ldpstats.models.posterior.tables import TablePosterior
from ldpstats.priors import Dirichlet, LogisticNormal, Margins

pytestmark = pytest.mark.filterwarnings("ignore::ldpstats.errors.PosteriorWarning")  # few draws

LATE, ILL = ldp.KRR(("no", "yes"), 2.0), ldp.KRR(("no", "yes"), 1.0)


def two_ways() -> ldp.AssociationModel:
    counts = ldp.JointCounts.from_table([[120, 60], [70, 100]], (LATE, ILL))
    return ldp.AssociationModel(counts, names=("late", "ill"))


@pytest.fixture(scope="module")
def model() -> ldp.AssociationModel:
    return two_ways()


@pytest.fixture(scope="module")
def found(model: ldp.AssociationModel) -> TablePosterior:
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
            for prior in (
                LogisticNormal(),
                Margins(first=[30.0, 20.0]),
            )
        ),
    ],
)
def test_means_and_deviations_are_those_of_quadrature(
    prior: Any, model: ldp.AssociationModel
) -> None:
    labels = [pd.Index(["no", "yes"])] * 2
    density = FrequencyDensity.of(model.likelihood(), cells_law(prior, labels))
    mean, sd = moments(density)
    result = model.fit_posterior(np.random.default_rng(2), prior)
    errors = (result.params - mean) / (sd / np.sqrt(result.ess["bulk"]))
    assert errors.abs().max() < 4.0
    np.testing.assert_allclose(result.bse, sd, rtol=0.1)


def test_quadrature_sees_another_prior(found: TablePosterior, model: ldp.AssociationModel) -> None:
    """The control of the test above."""
    labels = [pd.Index(["no", "yes"])] * 2
    mean, sd = moments(FrequencyDensity.of(model.likelihood(), cells_law(Dirichlet(3.0), labels)))
    assert ((found.params - mean) / (sd / np.sqrt(found.ess["bulk"]))).abs().max() > 4.0


def test_the_flat_mode_is_the_maximum_of_the_likelihood() -> None:
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


def test_tables_and_what_follows_are_read_off_the_draws(found: TablePosterior) -> None:
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


def test_evidence_against_independence_is_in_the_odds_ratio(found: TablePosterior) -> None:
    """The log odds ratio of four exponentials is 0 in the prior, with density 1/6."""
    odds = found.log_odds_ratio(["no", "yes"], ["no", "yes"])
    factor = odds.bayes_factor(([1.0], 0.0))
    samples = odds.flat[:, 0]
    posterior = np.mean(np.abs(samples) < 0.5)  # per unit
    assert factor.value < 0.1 and posterior < 0.01
    assert found.bayes_factor("no:no = 0.45").value > 3.0


@pytest.mark.slow
def test_margins_that_are_known_are_kept(model: ldp.AssociationModel) -> None:
    prior = Margins(first=Dirichlet(pd.Series({"yes": 1600.0, "no": 400.0})))
    late = model.fit_posterior(np.random.default_rng(4), prior, draws=800).margin("late")
    assert late.params["yes"] == pytest.approx(0.78, abs=0.01)  # the reports say 0.43
    assert late.bse["yes"] == pytest.approx(np.sqrt(0.16 / 2000), rel=0.2)


def test_concentrations_by_cell_are_matched_by_label(model: ldp.AssociationModel) -> None:
    cells = pd.MultiIndex.from_product([["yes", "no"], ["yes", "no"]])
    by_label = Dirichlet(pd.Series([400.0, 3.0, 2.0, 1.0], index=cells))
    in_order = Dirichlet([1.0, 2.0, 3.0, 400.0])
    first, second = (
        model.fit_posterior(np.random.default_rng(5), prior, draws=160)
        for prior in (by_label, in_order)
    )
    np.testing.assert_array_equal(first.flat, second.flat)


def test_a_seed_gives_the_same_draws_and_a_document_the_same_results(
    model: ldp.AssociationModel,
) -> None:
    first = model.fit_posterior(np.random.default_rng(6), draws=160)
    again = model.fit_posterior(np.random.default_rng(6), draws=160)
    assert first.to_json() == again.to_json()
    read = TablePosterior.from_json(first.to_json())
    np.testing.assert_array_equal(read.flat, first.flat)
    assert read.table.index.equals(first.table.index)
    assert "no : yes" in str(first.summary())
    assert first.check.pvalue > 0.0


def test_tables_that_do_not_hold_all_answers_are_refused() -> None:
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
def test_other_priors_are_refused(bad: Any, model: ldp.AssociationModel) -> None:
    with pytest.raises(InvalidArgument, match="prior"):
        model.fit_posterior(np.random.default_rng(1), bad)


def test_what_cannot_be_asked_of_a_table_is_refused(
    found: TablePosterior, model: ldp.AssociationModel
) -> None:
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
