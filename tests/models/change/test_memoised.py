"""Two reports of one person that may come from one permanent response."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp

NO_YES = ("no", "yes")
FIRST = ldp.KRR(NO_YES, epsilon=2.0)
TWICE = FIRST >> FIRST
WORDS = ["a", "b", "c", "d"]


def kept_twice(n: int, law: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Codes of two reports under `TWICE` by devices that keep the first response to an answer.

    `law`, (2, 2), is that of the answers in both waves.
    """
    answers = np.divmod(rng.choice(4, size=n, p=law.reshape(-1)), 2)
    truth = FIRST.channel().matrix()[0, 0]
    kept = np.where(rng.random((n, 2)) < truth, [0, 1], [1, 0])  # the response to each answer
    shown = [kept[np.arange(n), own] for own in answers]
    first, second = (np.where(rng.random(n) < truth, own, 1 - own) for own in shown)
    return first, second


def of_devices(rappor: Any, kept: float, n: int = 400) -> tuple[ldp.Reports, ldp.Reports]:
    """Reports of one answer in two waves; a share of the devices keeps cohort and response."""
    rng = np.random.default_rng(3)
    answers, bits = rng.integers(len(WORDS), size=n), np.arange(rappor.n_bits)
    waves, cohort, response = [], np.zeros(n, int), np.zeros((n, rappor.n_bits), bool)
    anew = np.full(n, True)
    for _ in range(2):
        cohort = np.where(anew, rng.integers(rappor.n_cohorts, size=n), cohort)
        owned = rappor.cells(WORDS)[cohort, answers, 0, None] == bits
        drawn = rng.random(owned.shape) < np.where(owned, 1.0 - rappor.f / 2.0, rappor.f / 2.0)
        response = np.where(anew[:, None], drawn, response)
        y = rng.random(owned.shape) < np.where(response, rappor.q, rappor.p)
        packed = np.packbits(y, axis=1, bitorder="little")
        waves.append(ldp.Reports(packed, rappor, cohort=cohort, name="page"))
        anew = rng.random(n) >= kept
    return waves[0], waves[1]


def regress(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    table = pd.DataFrame({"age": np.arange(len(first)) % 50})
    candidates = {"x": WORDS, "y": WORDS} if first.mechanism.is_open else None
    reports = {"x": first, "y": second}
    return ldp.regression("y ~ x + age", table, reports, candidates=candidates, **how)


def associate(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    candidates = [WORDS, WORDS] if first.mechanism.is_open else None
    return ldp.AssociationModel(first, second, candidates=candidates, names=("x", "y"), **how)


def matrix(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    candidates = {"x": WORDS, "y": WORDS} if first.mechanism.is_open else None
    return ldp.associations({"x": first, "y": second}, candidates=candidates, **how)


def change(first: ldp.Reports, second: ldp.Reports, **how: Any) -> Any:
    candidates = WORDS if first.mechanism.is_open else None
    return ldp.change(first, second, candidates=candidates, **how)


JOINING: dict[str, Callable[..., Any]] = {
    "change": change,
    "association": associate,
    "matrix": matrix,
    "regression": regress,
}
joining = pytest.mark.parametrize("analysis", JOINING.values(), ids=JOINING)


# -- who is refused --------------------------------------------------------------------------------


@joining
@pytest.mark.parametrize(("cohorts", "kept"), [(1, 1.0), (8, 0.5)])
@pytest.mark.filterwarnings("ignore::ldpstats.LDPWarning")
def test_reports_of_one_rappor_client_are_refused(
    analysis: Callable[..., Any], cohorts: int, kept: float
) -> None:
    waves = of_devices(ldp.RAPPOR(16, 1, cohorts, f=0.25, p=0.25, q=0.75), kept)
    with pytest.raises(ldp.NotAvailable, match=r"one permanent response.*memoised=False"):
        analysis(*waves)
    assert analysis(*waves, memoised=False) is not None


@joining
@pytest.mark.filterwarnings("ignore::ldpstats.LDPWarning")
def test_other_responses_are_not_refused(analysis: Callable[..., Any]) -> None:
    lasting = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75)
    assert analysis(*of_devices(lasting, 0.0)) is not None  # whose cohorts differ: new secrets
    rng, answers = np.random.default_rng(1), np.array(WORDS)[np.arange(400) % 4]
    others = [lasting, ldp.RAPPOR(16, 1, 8, f=0.5, p=0.25, q=0.75)]
    cohort = np.arange(400) % 8
    assert analysis(*(m.privatize(answers, rng, cohort=cohort) for m in others)) is not None
    once = ldp.RAPPOR(16, 1, 1, f=0.0, p=0.25, q=0.75)  # nothing is kept
    assert analysis(*(once.privatize(answers, rng) for _ in range(2))) is not None


def test_clients_share_what_their_secret_says() -> None:
    same = [ldp.RAPPOR(16, 1, 8, f=0.25, p=p, q=0.75) for p in (0.25, 0.35)]
    for others, refused in ((0, True), (1, False)):
        waves = [
            mechanism.parse("page", [mechanism.client(secret=bytes([i + others * wave] * 32))
                                     .report("a") for i in range(6)])
            for wave, mechanism in enumerate(same)
        ]  # fmt: skip
        assert (waves[0].cohort.tolist() == waves[1].cohort.tolist()) == refused
        if refused:
            with pytest.raises(ldp.NotAvailable, match="permanent response"):
                ldp.change(*waves, candidates=WORDS)


def test_only_p_and_q_may_differ() -> None:
    same = [ldp.RAPPOR(16, 1, 8, f=0.25, p=p, q=0.75) for p in (0.25, 0.35)]
    other = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75, alphabet=WORDS)
    assert same[0].permanent == same[1].permanent != other.permanent


def test_a_kept_first_step_is_refused_where_the_question_is_one() -> None:
    codes = np.arange(200) % 2, np.arange(200) // 2 % 2
    waves = [ldp.Reports(y, TWICE) for y in codes]
    with pytest.raises(ldp.NotAvailable, match=r"change of 'first' and 'second'.*memoised=True"):
        ldp.change(*waves)
    assert ldp.change(*waves, memoised=False).nobs == 200
    assert ldp.AssociationModel(*waves).fit().nobs == 200  # of two questions, each kept alone
    with pytest.raises(ldp.NotAvailable, match="association of 'x' and 'y'"):
        ldp.AssociationModel(*(ldp.Reports(y, TWICE, name="ill") for y in codes), names=("x", "y"))
    with pytest.raises(ldp.NotAvailable, match="memoised=True says"):
        ldp.AssociationModel(*(ldp.Reports(y, FIRST) for y in codes), memoised=True)
    for other in (FIRST >> {"no": "n", "yes": "y"}, ldp.Observed(NO_YES) >> FIRST, FIRST):
        assert other.permanent is None
        ldp.change(*(ldp.Reports(y, other) for y in codes))


@pytest.mark.parametrize("memoised", ["no", 1])
def test_memoised_is_a_truth_value(memoised: Any) -> None:
    waves = [ldp.Reports(np.arange(40) % 2, FIRST) for _ in range(2)]
    with pytest.raises(ldp.InvalidArgument, match="memoised"):
        ldp.change(*waves, memoised=memoised)


def survey() -> ldp.Survey:
    """Two matched waves of two questions, both of two steps."""
    waves = []
    for start in (0, 30):
        columns = {name: np.array(NO_YES)[np.arange(start, 120 + start) * k // 60 % 2]
                   for name, k in (("ill", 1), ("late", 3))}  # fmt: skip
        table = pd.DataFrame({"who": np.arange(120), "one": 1.0, "age": np.arange(120) % 7})
        waves.append(ldp.Survey(table.assign(**columns), {"ill": TWICE, "late": TWICE}))
    return waves[0].matched(waves[1], id="who")


def test_surveys_know_which_questions_are_one() -> None:
    both = survey()
    for analysis in (
        lambda **how: both.change("ill_1", "ill_2", **how),
        lambda **how: both.association("ill_1", "ill_2", **how),
        lambda **how: both.associations(["ill_1", "ill_2"], **how),
        lambda **how: both.regression("ill_2 ~ ill_1", **how),
        lambda **how: ldp.Survey(both.data, both.questionnaire).association(
            "ill_1", "ill_2", **how
        ),
    ):
        with pytest.raises(ldp.NotAvailable, match="'ill_1' and 'ill_2'"):
            analysis()
        assert analysis(memoised=False) is not None
    assert both.association("ill_1", "late_1").nobs == 120
    assert both.regression("ill_1 ~ late_1").nobs == 120
    found = both.associations(["ill_1", "ill_2", "late_1"])
    assert found.failed[0][:2] == ("ill_1", "ill_2")
    assert both.change("ill_1", "ill_2", memoised=True).categories.tolist() == list(NO_YES)


def test_weighted_tables_refuse_too() -> None:
    rappor = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75)
    texts = [wave.mechanism.report_labels(wave) for wave in of_devices(rappor, 1.0)]
    table = pd.DataFrame({"x": texts[0], "y": texts[1], "w": 1.0})
    survey = ldp.Survey(table, {"x": rappor, "y": rappor}, weights="w")
    with pytest.raises(ldp.NotAvailable, match="'x' and 'y': with RAPPOR"):
        survey.association("x", "y", candidates=[WORDS, WORDS])
    with pytest.raises(ldp.NotAvailable, match="'x' and 'y': with RAPPOR"):
        survey.regression("y ~ x", candidates={"x": WORDS, "y": WORDS})


# -- the change of the margins ---------------------------------------------------------------------


def test_margins_are_those_of_pairs() -> None:
    law = np.array([[0.49, 0.21], [0.09, 0.21]])
    y = kept_twice(3000, law, np.random.default_rng(5))
    waves = [ldp.Reports(codes, TWICE, name="ill") for codes in y]
    found = ldp.change(*waves, memoised=True)
    table = found.differences().loc["second"]
    p0, p1 = TWICE.channel().matrix()[:, 1]
    f = (y[1] - y[0].astype(float)) / (p1 - p0)
    assert table.loc["yes", "estimate"] == pytest.approx(f.mean(), abs=1e-12)
    assert table.loc["yes", "se"] == pytest.approx(f.std(ddof=1) / np.sqrt(len(f)), rel=1e-9)
    afresh = ldp.change(*waves, memoised=False)
    assert afresh.linear_params["yes"] == pytest.approx(f.mean(), abs=1e-9)
    assert abs(afresh.turnover().estimate - 0.3) > 0.1  # what independence makes of it


def test_margins_know_waves_candidates_and_missing_reports() -> None:
    rappor = ldp.RAPPOR(16, 1, 8, f=0.25, p=0.25, q=0.75)
    first, second = of_devices(rappor, 1.0)
    found = ldp.change(
        (first, np.full(400, True)),
        (second[:300], np.arange(400) < 300),
        waves=("may", "june"),
        candidates=WORDS,
        memoised=True,
    )
    assert found.differences().index.get_level_values(0).unique().tolist() == ["june"]
    assert "june (n = 300)" in str(found.summary())
    three = ldp.KRR(3, 2.0)
    codes = np.arange(90) % 3, np.arange(90) // 2 % 3
    waves = [ldp.Reports(y, three >> three) for y in codes]
    rest = ldp.change(*waves, candidates=[1], memoised=True).differences().loc["second"]
    assert rest.index.tolist() == [1, "Other"]
    every = ldp.change(*waves, memoised=True).differences().loc["second"]
    assert rest.loc[1, "estimate"] == pytest.approx(every.loc[1, "estimate"])
    with pytest.raises(ldp.MechanismMismatch, match="one mechanism"):
        ldp.change(
            *(ldp.Reports(np.arange(40) % 2, m) for m in (TWICE, FIRST >> ldp.KRR(NO_YES, 1.0))),
            memoised=True,
        )
    with pytest.raises(ldp.InvalidArgument, match="both reports=9: must be at least 10"):
        ldp.change(first[:9], second[:9], candidates=WORDS, memoised=True)
    with pytest.raises(ldp.InvalidArgument, match="method"):
        ldp.change(first, second, candidates=WORDS, memoised=True, method="mle")


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_coverage(kept: bool, replications: Callable[..., int]) -> None:
    """Margins cover whatever is kept; the turnover only where nothing is (the control)."""
    law, rng, runs = (
        np.array([[0.49, 0.21], [0.09, 0.21]]),
        np.random.default_rng(11),
        replications(1000, least=100),
    )
    margins = turnover = 0
    for _ in range(runs):
        if kept:
            y = kept_twice(2000, law, rng)
        else:
            x = np.divmod(rng.choice(4, size=2000, p=law.reshape(-1)), 2)
            y = tuple(TWICE.privatize(np.array(NO_YES)[own], rng).y for own in x)
        waves = [ldp.Reports(codes, TWICE) for codes in y]
        row = ldp.change(*waves, memoised=True).differences().loc[("second", "yes")]
        margins += row.lower <= 0.12 <= row.upper
        effect = ldp.change(*waves, memoised=False).turnover()
        turnover += effect.lower <= 0.30 <= effect.upper
    assert abs(margins / runs - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / runs)
    assert (turnover / runs < 0.5) == kept


# -- the mechanism ---------------------------------------------------------------------------------


def test_the_name_of_a_permanent_response_is_kept() -> None:
    assert TWICE.permanent == FIRST.fingerprint
    assert (TWICE >> {"no": 0, "yes": 1}).permanent == FIRST.fingerprint
    assert (TWICE >> FIRST).permanent == (FIRST >> TWICE).permanent == FIRST.fingerprint
    plain = ldp.CustomMechanism(TWICE.Q, NO_YES)
    assert plain == TWICE and plain.permanent is None  # it is no part of the fingerprint
    again = ldp.mechanisms.mechanism_from_dict(json.loads(json.dumps(TWICE.to_dict())))
    assert again == TWICE and again.permanent == TWICE.permanent
    assert ldp.CustomMechanism(TWICE.Q, permanent="first  step").permanent == "first step"
    with pytest.raises(ldp.InvalidArgument, match="permanent"):
        ldp.CustomMechanism(TWICE.Q, permanent=3)  # type: ignore[arg-type]
    assert TWICE.permanent not in str(TWICE)


def test_lumping_keeps_it() -> None:
    rng = np.random.default_rng(1)
    three = ldp.KRR(3, 1.0)
    closed = ldp.RAPPOR(4, 1, 2, f=0.5, p=0.25, q=0.75, alphabet=4)
    for mechanism in (three >> three, closed):
        lumped = ldp.lump(mechanism.privatize([0, 1, 2], rng), [1]).mechanism
        assert lumped.permanent == mechanism.permanent is not None
        again = ldp.mechanisms.mechanism_from_dict(json.loads(json.dumps(lumped.to_dict())))
        assert again.permanent == lumped.permanent
