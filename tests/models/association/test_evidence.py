"""What results carry of the reports answers the tests that permute and redraw nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hostile.documents import signed

import ldpstats as ldp
from ldpstats.models.association.tallies import MOST_TALLIES

ABC, JOBS = ("a", "b", "c"), ("nurse", "teacher", "driver", "cook")
WORDS = ["u", "v", "w"]
METHODS = ("score", "wald", "lr", "pearson", "fpe16")

Survey = Callable[[], ldp.AssociationModel]


def codes(n: int = 900) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    cells = rng.choice(12, n, p=rng.dirichlet(np.ones(12)))
    return cells // 4, cells % 4


def labels() -> ldp.AssociationModel:
    (x, y), rng = codes(), np.random.default_rng(1)
    krr = ldp.KRR(ABC, 2.0), ldp.KRR(JOBS, 3.0)
    pair = zip(krr, (np.array(ABC)[x], np.array(JOBS)[y]), strict=True)
    return ldp.AssociationModel(*(m.privatize(v, rng) for m, v in pair), names=("x", "job"))


def bits() -> ldp.AssociationModel:
    (x, y), rng = codes(), np.random.default_rng(2)
    return ldp.AssociationModel(
        ldp.KRAPPOR(3, 3.0).privatize(x, rng), ldp.KRAPPOR(4, 2.0).privatize(y, rng)
    )


def groups() -> ldp.AssociationModel:
    (x, y), rng = codes(), np.random.default_rng(3)
    parts = ((slice(0, 300), 1.0), (slice(300, 900), 3.0))
    made = [
        [ldp.KRR(k, epsilon).privatize(v[part], rng) for part, epsilon in parts]
        for k, v in ((3, x), (4, y))
    ]
    return ldp.AssociationModel(*made)


def lumped() -> ldp.AssociationModel:
    (x, y), rng = codes(), np.random.default_rng(4)
    parts = ldp.KRR(3, 2.0).privatize(x, rng), ldp.KRR(8, 3.0).privatize(2 * y, rng)
    return ldp.AssociationModel(*parts, candidates=(None, [0, 2, 4]), other=True)


def three() -> ldp.AssociationModel:
    (x, y), rng = codes(), np.random.default_rng(5)
    return ldp.AssociationModel(
        *(ldp.KRR(k, 4.0).privatize(v, rng) for k, v in ((3, x), (4, y), (2, y % 2)))
    )


def hashed() -> ldp.AssociationModel:
    (x, y), rng = codes(), np.random.default_rng(6)
    said = np.array([*WORDS, "w"])[y]
    orr = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=3.0).privatize(said, rng)
    return ldp.AssociationModel(ldp.KRR(3, 2.0).privatize(x, rng), orr, candidates=(None, WORDS))


def wide() -> ldp.AssociationModel:
    (x, y), rng = codes(), np.random.default_rng(8)
    return ldp.AssociationModel(*(ldp.KRAPPOR(8, 2.0).privatize(v, rng) for v in (x + y, y)))


TALLIED = {"labels": labels, "bits": bits, "groups": groups, "lumped": lumped}
LARGE = {"hashed": hashed, "wide": wide}


def stored(results: ldp.AssociationResults) -> ldp.AssociationResults:
    return ldp.AssociationResults.from_json(results.to_json())


def answer(test: Callable[..., ldp.TestResult], *options: Any, **how: Any) -> str:
    """What a test says, or why it does not apply."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.errors.BoundaryWarning)
            return repr(test(*options, **how).to_dict())
    except (ldp.NotAvailable, ldp.NotIdentified) as error:
        return str(error)


# -- the same before and after storing, and with the reports at hand ---------------------------


@pytest.mark.parametrize("name", TALLIED)
@pytest.mark.parametrize("fit", ["mle", "inversion", "one_step"])
def test_stored_results_answer_every_test(name: str, fit: str) -> None:
    model = TALLIED[name]()
    results = model.fit(fit)
    again = stored(results)
    for method in METHODS:
        here = answer(results.test_independence, method)
        assert here == answer(again.test_independence, method)
        assert here == answer(again.test_independence, method, model=model)
    for scores in ((None, None), [np.square(np.arange(k)) for k in model.sizes]):
        here = answer(results.test_trend, *scores)
        assert here == answer(again.test_trend, *scores)
        assert here == answer(again.test_trend, *scores, model=model)
    assert again.cramers_v() == results.cramers_v()
    assert again.to_json() == results.to_json()


def test_stored_tables_of_three_variables() -> None:
    model = three()
    results = model.fit()
    again = stored(results)
    for method in ("score", "lr"):
        found = results.test_independence(method)
        assert found == again.test_independence(method)
        assert found == again.test_independence(method, model=model)
    for given in results.names:
        found = results.test_conditional_independence(given)
        assert found.method.startswith("score test")
        assert found == again.test_conditional_independence(given)
        assert found == again.test_conditional_independence(given, model=model)
    assert answer(results.test_homogeneity, "z") == answer(again.test_homogeneity, "z")


@pytest.mark.parametrize("name", LARGE)
def test_results_without_tallies_answer_what_the_fit_made(name: str) -> None:
    model = LARGE[name]()
    results = model.fit()
    again = stored(results)
    assert again.evidence is None
    assert again.to_json() == results.to_json()
    for method in ("score", "lr"):
        found = results.test_independence(method)
        assert found == again.test_independence(method)
        assert found == model.test_independence(results, method)
    trend = results.test_trend()
    assert trend == again.test_trend() == again.test_trend(model=model)
    usual = [np.arange(k) + 1 for k in model.sizes]
    assert trend == again.test_trend(*usual)
    with pytest.raises(ldp.NotAvailable, match="model=model, the fitted model, or leave out"):
        again.test_trend(*(np.square(scores) for scores in usual))
    with pytest.raises(ldp.NotAvailable, match=r"16,384 combinations.* or use method='score'"):
        again.test_independence("fpe16")
    found = answer(model.test_independence, again, "fpe16")
    assert "statistic T" in found
    assert found == answer(again.test_independence, "fpe16", model=model)


def test_the_likelihood_ratio_of_other_fits_needs_the_reports() -> None:
    model = hashed()
    results = model.fit("inversion")
    with pytest.raises(ldp.NotAvailable, match="model=model"):
        stored(results).test_independence("lr")
    ratio = model.test_independence(stored(results), "lr").statistic
    assert ratio == results.test_independence("lr").statistic  # few combinations: it has tallies
    assert ratio == pytest.approx(model.fit().test_independence("lr").statistic, abs=5e-3)


# -- what permutes or redraws reports ----------------------------------------------------------


@pytest.mark.parametrize("method", ["score", "pearson", "bootstrap"])
def test_rng_without_the_model_is_refused(method: str) -> None:
    model = labels()
    results = model.fit()
    how: dict[str, Any] = {"n_boot": 9} if method == "bootstrap" else {"n_permutations": 9}
    for r in (results, stored(results)):
        with pytest.raises(ldp.NotAvailable, match=r"use model\.test_independence\(results, rng="):
            r.test_independence(method, rng=np.random.default_rng(1), **how)
    found = [
        model.test_independence(results, method, rng=np.random.default_rng(1), **how),
        stored(results).test_independence(method, model=model, rng=np.random.default_rng(1), **how),
    ]
    assert found[0] == found[1]


def test_options_are_checked_before_the_model_is_asked_for() -> None:
    results = labels().fit()
    with pytest.raises(ldp.InvalidArgument, match="rng=1"):
        results.test_independence(rng=1)  # type: ignore[arg-type]
    with pytest.raises(ldp.InvalidArgument, match="rng=None"):
        results.test_independence("bootstrap")
    with pytest.raises(ldp.InvalidArgument, match="n_boot=0"):
        results.test_independence("bootstrap", rng=np.random.default_rng(1), n_boot=0)


def test_another_model_is_refused() -> None:
    results = stored(labels().fit())
    for other in (bits(), "model", None.__class__):
        with pytest.raises(ldp.InvalidArgument, match=r"^model="):
            results.test_trend(model=other)


# -- what is stored ----------------------------------------------------------------------------


def test_a_million_respondents_are_a_small_document() -> None:
    krr, n = ldp.KRR(5, 1.0), 10**6
    table = np.random.default_rng(1).multinomial(n, np.full(25, 0.04)).reshape(5, 5)
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    assert results.evidence is not None
    assert len(results.to_json()) < 60_000


def test_no_more_than_a_table_is_carried() -> None:
    rng = np.random.default_rng(1)
    for k, carried in ((128, True), (129, False)):
        assert (k * k <= MOST_TALLIES) == carried
        krr = ldp.KRR(k, 6.0)
        pair = (krr.privatize(rng.integers(k, size=300), rng) for _ in range(2))
        results = ldp.AssociationModel(*pair).fit("inversion")
        assert (results.to_dict()["tallies"] is not None) == carried


@pytest.mark.parametrize("changed", ["n", "reports", "complete", "mechanisms"])
def test_changed_tallies_are_refused(changed: str) -> None:
    document = labels().fit().to_dict()
    tallies = document["tallies"]
    if changed == "complete":
        tallies["complete"] = [1, True]
    elif changed == "mechanisms":
        tallies["groups"][0]["mechanisms"].reverse()
    else:
        values = tallies["groups"][0][changed]
        values = values[0] if changed == "reports" else values
        values[0], values[-1] = values[-1], values[0]
    with pytest.raises(ldp.InvalidArgument):
        ldp.AssociationResults.from_dict(document)


def test_some_documents_have_no_tallies() -> None:
    results = labels().fit()
    lacking = {"tallies": None, "trend": None, "null_llf": "nan"}
    document = signed(results.to_dict() | lacking)
    again = ldp.AssociationResults.from_dict(document)
    assert again.test_independence() == results.test_independence()
    assert again.test_independence("wald") == results.test_independence("wald")
    for ask in (again.test_trend, lambda: again.test_independence("lr")):
        with pytest.raises(ldp.NotAvailable, match="model=model"):
            ask()
