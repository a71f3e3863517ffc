"""What results carry of the reports answers tests, and is stored."""

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shared.variable_products import survey, taken

import ldpstats as ldp

ABC, JOBS = ("a", "b", "c"), ("nurse", "teacher", "driver", "cook")
WORDS = ["u", "v", "w"]
METHODS = ("score", "wald", "lr", "pearson", "fpe16")


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


@pytest.mark.parametrize(
    ("name", "fit"),
    [("labels", "mle"), ("bits", "one_step"), ("groups", "inversion"), ("lumped", "mle")],
)
def test_stored_results_answer_every_test(name, fit):
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


def test_stored_tables_of_three_variables():
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
def test_results_without_tallies_answer_what_the_fit_made(name):
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


# -- what permutes or redraws reports ----------------------------------------------------------


@pytest.mark.parametrize("method", ["score", "pearson", "bootstrap"])
def test_rng_without_the_model_is_refused(method):
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


def test_another_model_is_refused():
    results = stored(labels().fit())
    for other in (bits(), "model", None.__class__):
        with pytest.raises(ldp.InvalidArgument, match=r"^model="):
            results.test_trend(model=other)


# -- what is stored ----------------------------------------------------------------------------


def test_no_more_than_a_table_is_carried():
    """16,384 combinations of reports, which are patterns of 14 bits."""
    rng = np.random.default_rng(1)
    for bits, carried in ((7, True), (8, False)):
        assert (2 ** (7 + bits) <= 16_384) == carried
        made = (ldp.KRAPPOR(k, 4.0).privatize(rng.integers(k, size=300), rng) for k in (7, bits))
        results = ldp.AssociationModel(*made).fit("inversion")
        assert (results.to_dict()["tallies"] is not None) == carried


@pytest.mark.parametrize("changed", ["n", "reports", "complete", "mechanisms"])
def test_changed_tallies_are_refused(changed):
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


def test_wald_test_of_a_file_needs_no_reports():
    # of labels the unconstrained estimate and its covariance are all that it takes, and are stored
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    assert again.test_independence("wald") == results.test_independence("wald")
    # that of candidates does not sum to one: the test takes better features of the reports
    orr, rng = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=3.0), np.random.default_rng(0)
    words = orr.privatize(rng.choice(["u", "v"], len(x.y)), rng)
    model = ldp.AssociationModel(x, words, candidates=(None, ["u", "v"]))
    results = model.fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    with pytest.raises(ldp.NotAvailable, match="model=model"):
        again.test_independence("wald")
    assert again.test_independence("wald", model=model).df == 2


def test_copies_and_pickles_leave_the_reports_behind():
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    for twin in (pickle.loads(pickle.dumps(results)), copy.copy(results), copy.deepcopy(results)):
        assert twin.to_json() == results.to_json()
        assert twin.test_trend() == results.test_trend()
    many = ldp.KRAPPOR(8, epsilon=2.0).privatize(np.arange(len(x)) % 8, np.random.default_rng(1))
    assert ldp.AssociationModel(x, many).fit().evidence is not None
    again = many.mechanism.privatize(np.arange(len(x)) % 3, np.random.default_rng(2))
    assert ldp.AssociationModel(many, again).fit().evidence is None  # 65,536 combinations


def test_a_model_of_other_reports_is_refused_even_with_the_same_margins():
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    other = ldp.AssociationModel(x, taken(y, np.random.default_rng(0).permutation(len(y.y))))
    for method in ("pearson", "lr", "score"):
        with pytest.raises(ldp.InvalidArgument, match="other data"):
            results.test_independence(method, model=other)


@pytest.mark.parametrize(("n", "k", "counted"), [(40, 20, False), (3_000, 2, True)])
def test_the_order_of_respondents_is_not_stored(n, k, counted):
    """Else a document would say what each respondent reported, in the order of a table."""
    rng = np.random.default_rng(5)
    krr = ldp.KRR(k, 3.0)
    x, y = (krr.privatize(rng.integers(0, k, n), rng) for _ in range(2))
    order = rng.permutation(n)

    def document(x: ldp.Reports, y: ldp.Reports) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.LDPWarning)
            given = (ldp.JointCounts([x, y]),) if counted else (x, y)
            return ldp.AssociationModel(*given).fit("inversion").to_dict()

    (group,) = document(x, y)["tallies"]["groups"]
    assert document(x[order], y[order])["tallies"]["groups"] == [group]
    pairs = list(zip(*group["reports"], strict=True))
    assert pairs == sorted(set(pairs)) and sum(group["n"]) == n
