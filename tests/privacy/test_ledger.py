"""What a respondent has spent: totals, permanent answers, limits, documents."""

import copy
import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import comb

import numpy as np
import pytest
from shared.races import in_forks

import ldpstats as ldp
from ldpstats import privacy
from ldpstats.errors import BudgetSpent, InvalidArgument, NotAvailable
from ldpstats.privacy import Ledger, Spending

RAPPOR = ldp.RAPPOR(128, 2, 8, f=0.5, p=0.5, q=0.75)


def composed_delta(epsilons: list[float], epsilon: float) -> float:
    """The exact divergence of binary randomised responses, by all their reports."""
    found = 0.0
    for kept in product((True, False), repeat=len(epsilons)):
        own = np.prod(
            [1 / (1 + np.exp(-e if k else e)) for k, e in zip(kept, epsilons, strict=True)]
        )
        other = np.prod(
            [1 / (1 + np.exp(e if k else -e)) for k, e in zip(kept, epsilons, strict=True)]
        )
        found += max(own - np.exp(epsilon) * other, 0.0)
    return float(found)


COMPOSED = [[0.5] * 6, [0.3, 0.7, 1.1, 0.2], [1.0], [0.1] * 10, [2.0, 0.01, 0.5, 0.5, 0.0]]


@pytest.mark.parametrize("epsilons", COMPOSED)
@pytest.mark.parametrize("delta", [0.3, 0.1, 1e-2, 1e-4, 1e-8])
def test_composition_is_that_of_randomised_response(epsilons, delta):
    found = privacy.compose(epsilons, delta)
    assert found <= privacy.compose(epsilons)
    assert composed_delta(epsilons, found) <= delta * (1.0 + 1e-12)
    assert found == 0.0 or composed_delta(epsilons, found - 1e-7) > delta


@pytest.mark.parametrize("i", [1, 2, 3, 4])
def test_composition_against_the_closed_form(i):
    """Kairouz, Oh, Viswanath (2015), Theorem 3.3."""
    k, e = 8, 0.4
    sums = [comb(k, j) * (np.exp((k - j) * e) - np.exp((k - 2 * i + j) * e)) for j in range(i)]
    delta = sum(sums) / (1.0 + np.exp(e)) ** k
    assert privacy.compose([e] * k, delta) == pytest.approx((k - 2 * i) * e, abs=1e-9)


def test_composition_of_nothing_and_of_everything():
    assert privacy.compose([], 0.1) == 0.0
    assert privacy.compose([np.inf, 1.0], 0.1) == np.inf
    assert privacy.compose([50.0] * 100, 1e-6) == pytest.approx(5000.0)
    with pytest.raises(InvalidArgument, match="delta"):
        privacy.compose([1.0], 1.0)


def test_entries_add_up():
    ledger = Ledger(limit=3.0).spend("job", ldp.KRR(3, 1.0), "2023").spend("job", 0.5, "2024")
    ledger = ledger.spend("ill", ldp.Warner(epsilon=0.25), "2024", reports=2)
    assert ledger.total == 2.0 and ledger.remaining == 1.0 and len(ledger) == 3
    assert ledger.by("wave").to_dict() == {"2023": 1.0, "2024": 1.0}
    assert ledger.by("question").to_dict() == {"job": 1.5, "ill": 0.5}
    assert ledger.table().added.sum() == ledger.total
    assert ledger.epsilon(1e-6) < 2.0
    assert ledger.epsilon(1e-6) == privacy.compose([1.0, 0.5, 0.25, 0.25], 1e-6)


def test_the_limit_holds():
    ledger = Ledger(limit=1.0).spend("ill", 0.6)
    with pytest.raises(BudgetSpent, match=r"would spend 0\.6, and 0\.4 of epsilon=1 remain"):
        ledger.spend("ill", 0.6)
    assert ledger.spend("ill", 0.4).remaining == pytest.approx(0.0)
    tenths = Ledger(limit=1.0)
    for _ in range(10):
        tenths = tenths.spend("ill", 0.1)  # whose sum is not exactly one
    with pytest.raises(BudgetSpent):
        tenths.spend("ill", 1e-6)
    with pytest.raises(BudgetSpent):
        Ledger(limit=50.0).spend("seen", ldp.Observed(3))


def test_a_forgotten_assignment_does_not_bypass_the_limit():
    ledger, warner = Ledger(limit=4.0), ldp.Warner(epsilon=1.5)
    ledger.spend("q", warner)
    assert ledger.spend("q", warner) is ledger
    for _ in range(2):
        with pytest.raises(BudgetSpent, match=r"would spend 1\.5, and 1 of epsilon=4 remain"):
            ledger.spend("q", warner)
    sheet = ldp.Questionnaire({"a": ldp.Warner(epsilon=0.4), "b": ldp.Warner(epsilon=0.5)})
    ledger.spend_sheet(sheet)
    with pytest.raises(BudgetSpent):
        ledger.spend_sheet(sheet)
    assert ledger.total == pytest.approx(3.9) and len(ledger) == 4
    with pytest.raises(AttributeError):
        ledger.limit = 9.0
    with pytest.raises(AttributeError):
        ledger.entries = ()


@pytest.mark.parametrize("kept", [False, True], ids=["memory", "file"])
def test_threads_spend_together(kept, tmp_path):
    ledger = Ledger(limit=1.0, state=tmp_path / "ledger" if kept else None)

    def spend(i: int) -> bool:
        try:
            ledger.spend("q", 0.1, str(i))
        except BudgetSpent:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(40))) == 10
    assert ledger.total == pytest.approx(1.0) and len(set(ledger.entries)) == 10


def test_a_state_file_keeps_the_ledger(tmp_path):
    file = tmp_path / "ledger"
    first = Ledger(limit=2.0, state=file).spend("q", ldp.Warner(epsilon=0.5), "2024")
    second = Ledger(state=file)  # another process, or the next year
    assert second.limit == 2.0 and second == first and second.entries == first.entries
    second.spend("seen", ldp.RAPPOR(16, 2, 8, f=0.5, p=0.5, q=0.75), permanent="x")
    assert first.total == second.total > 0.5 and len(first) == 2
    for ledger in (first, second, pickle.loads(pickle.dumps(first)), copy.deepcopy(second)):
        with pytest.raises(BudgetSpent):
            ledger.spend("q", 1.9)
    assert pickle.loads(pickle.dumps(Ledger((Spending("a", 1.0),), 3.0))).remaining == 2.0
    with pytest.raises(
        InvalidArgument, match=r"state=.* has the limit 2\.0: give this one, or none"
    ):
        Ledger(limit=3.0, state=file)
    with pytest.raises(InvalidArgument, match="has other entries"):
        Ledger((Spending("a", 1.0),), state=file)
    assert len(Ledger((Spending("a", 1.0),), state=tmp_path / "other")) == 1
    file.write_bytes(file.read_bytes()[:-2])
    for call in (lambda: Ledger(state=file), lambda: first.spend("q", 0.1), lambda: first.total):
        with pytest.raises(InvalidArgument, match="is damaged"):
            call()
    file.unlink()
    with pytest.raises(InvalidArgument, match="cannot be used"):
        first.spend("q", 0.1)
    with pytest.raises(InvalidArgument, match="no regular file"):
        Ledger(state=tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_processes_share_a_file_but_no_memory(tmp_path):
    in_memory, kept = Ledger(limit=1.0), Ledger(limit=1.0, state=tmp_path / "ledger")

    def spends() -> list[bool]:
        found = []
        for ledger in (in_memory, kept):
            try:
                ledger.spend("q", 0.6)
                found.append(True)
            except (BudgetSpent, InvalidArgument):
                found.append(False)
        return found

    assert in_forks(spends, 1) == [[False, True]]
    assert spends() == [True, False]


def test_permanent_answers_are_paid_for_once():
    ledger, each = Ledger(), RAPPOR.epsilon
    for day in range(1, 8):
        ledger = ledger.spend("url", RAPPOR, str(day), permanent="home")
        assert ledger.total == pytest.approx(min(day * each, RAPPOR.lifetime_epsilon))
    assert ledger.table().added.iloc[-1] == 0.0
    moved = ledger.spend("url", RAPPOR, permanent="new home")
    assert moved.total == pytest.approx(RAPPOR.lifetime_epsilon + each)
    assert moved.spend("url", RAPPOR).total == pytest.approx(RAPPOR.lifetime_epsilon + 2 * each)
    krr = ldp.KRR(3, 1.0)
    kept = (
        Ledger()
        .spend("job", krr, permanent="first", reports=5)
        .spend("job", krr, permanent="first")
    )
    assert kept.total == 1.0 and kept.epsilon(1e-6) == privacy.compose([1.0], 1e-6)


def test_permanent_answers_of_other_mechanisms_are_others():
    """Equal words, such as KRR(k=2, epsilon=1), or names do not make one answer of two."""
    first, second = ldp.KRR(("a", "b"), 1.0), ldp.KRR(("c", "d"), 1.0)
    assert str(first) == str(second)
    ledger = Ledger().spend("q", first, permanent="x").spend("q", second, permanent="x")
    assert ledger.total == 2.0
    assert Ledger().spend("q", 1.0, permanent="x").spend("q", 2.0, permanent="x").total == 3.0


def test_sensitive_categories():
    urr = ldp.URR(("cook", "nurse", "spy"), {"spy"}, 1.0)
    ledger = Ledger().spend("job", urr, "2023").spend("job", ldp.KRR(3, 0.5), "2024")
    assert ledger.epsilon_of("job", "spy") == 1.5 and ledger.epsilon_of("job", "cook") == np.inf
    assert "only sensitive categories are protected of job" in ledger.summary()
    assert ledger.table().protects.tolist() == ["spy", "all"]
    with pytest.raises(NotAvailable, match="some categories only"):
        ledger.epsilon(1e-6)
    pum = ldp.PUM(urr, tags=("home",))
    (entry,) = Ledger().spend("job", pum).entries
    assert entry.sensitive is not None and entry.protects("spy") and entry.protects("home")


def test_questionnaires():
    sheet = ldp.Questionnaire(
        {"job": ldp.KRR(3, 1.0), "ill": ldp.Warner(epsilon=0.5), "age": ldp.Observed(9)}, ask=1
    )
    whole = Ledger().spend("all", sheet, "2024")
    assert whole.total == sheet.epsilon == 1.0
    asked = Ledger().spend_sheet(sheet, "2024", asked=["ill"])
    assert asked.by().to_dict() == {"ill": 0.5}
    with pytest.raises(InvalidArgument, match="only 1 of 2 questions are asked"):
        Ledger().spend_sheet(sheet)
    with pytest.raises(InvalidArgument, match="private questions"):
        Ledger().spend_sheet(sheet, asked=["age"])
    with pytest.raises(BudgetSpent):
        Ledger(limit=0.1).spend_sheet(sheet, asked=["ill"])


def test_waves_of_a_questionnaire():
    sheet = ldp.Questionnaire({"job": ldp.KRR(3, 1.0), "ill": ldp.Warner(epsilon=0.5)})
    ledger = ldp.privacy.Ledger(limit=4.0)
    for wave in ("2026-05", "2026-06"):
        ledger.spend_sheet(sheet.in_wave(wave))
    assert ledger.total == 3.0 and ledger.by("wave").to_dict() == {"2026-05": 1.5, "2026-06": 1.5}
    with pytest.raises(ldp.BudgetSpent, match=r"would spend 1\.5, and 1 "):
        ledger.spend_sheet(sheet.in_wave("2026-07"))
    with pytest.raises(ldp.InvalidArgument, match=r"wave='2026-08': .* is of wave '2026-07'"):
        ledger.spend_sheet(sheet.in_wave("2026-07"), wave="2026-08")
    assert ledger.total == 3.0


def test_waves_of_a_permanent_answer_cost_each_distinct_answer_once():
    rappor = ldp.RAPPOR(128, 2, 8, f=0.5, p=0.5, q=0.75)
    once = rappor.lifetime_epsilon
    for answers in ("AAAA", "AABB", "ABAB", "ABCD"):
        ledger = ldp.privacy.Ledger()
        for wave, answer in enumerate(answers):  # named by its first wave, not by what it is
            first = f"answer of wave {answers.index(answer)}"
            ledger.spend("url", rappor, str(wave), reports=9, permanent=first)
        assert ledger.total == pytest.approx(once * len(set(answers)), rel=1e-12)


def test_merging():
    first = Ledger(limit=2.0).spend("ill", 0.5, "2023").spend("job", 1.0, "2023")
    second = Ledger(limit=5.0).spend("job", 1.0, "2023").spend("job", 1.0, "2024")
    with pytest.raises(InvalidArgument, match="is that one report"):
        first.merge(second)
    assert first.merge(second, "once").total == 2.5
    both = first.merge(second, repeated="add")
    assert (both.total, both.limit, both.remaining) == (3.5, 2.0, 0.0)
    assert "WARNING: more than the limit" in both.summary()


def test_documents():
    ledger = Ledger(limit=9.0).spend("url", RAPPOR, "1", permanent="x").spend("a", 0.1)
    ledger = ledger.spend("job", ldp.URR(("cook", "nurse"), {"cook"}, 1.0))
    text = json.dumps(ledger.to_dict(), allow_nan=False)
    again = Ledger.from_dict(json.loads(text))
    assert again == ledger and again.entries == ledger.entries and again.total == ledger.total
    open_end = Ledger(entries=(Spending("seen", np.inf),))
    assert Ledger.from_dict(json.loads(json.dumps(open_end.to_dict()))).total == np.inf
    changed = json.loads(text)
    changed["limit"] = 10.0
    with pytest.raises(InvalidArgument, match="fingerprint"):
        Ledger.from_dict(changed)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("limit", lambda: Ledger(limit=0.0)),
        ("entries[0]", lambda: Ledger(entries=("a",))),
        ("question", lambda: Ledger().spend("", 1.0)),
        ("mechanism", lambda: Ledger().spend("a", -1.0)),
        ("mechanism", lambda: Ledger().spend("a", "krr")),
        ("wave", lambda: Ledger().spend("a", 1.0, wave=2024)),
        ("reports", lambda: Ledger().spend("a", 1.0, reports=0)),
        ("permanent", lambda: Ledger().spend("a", 1.0, permanent="")),
        ("delta", lambda: Ledger().epsilon(1.0)),
        ("question", lambda: Ledger().epsilon_of("a", "b")),
        ("what", lambda: Ledger().by("person")),
        ("other", lambda: Ledger().merge(None)),
        ("repeated", lambda: Ledger().merge(Ledger(), "twice")),
        ("questionnaire", lambda: Ledger().spend_sheet(ldp.KRR(2, 1.0))),
        ("specification", lambda: Ledger.from_dict({})),
        ("entries", lambda: Ledger.from_dict({"format": "ldpstats-ledger", "version": 1})),
        ("sensitive", lambda: Spending("a", 1.0, sensitive="b")),
    ],
)
def test_bad_input(name, call):
    with pytest.raises(InvalidArgument) as error:
        call()
    assert error.value.name == name


def test_a_ledger_prints_its_entries_on_narrow_lines():
    rappor = ldp.RAPPOR(128, 2, 8, f=0.5, p=0.5, q=0.75)
    device = ldp.devices.roll(6).when({1: "yes", 6: "no"}, otherwise=ldp.devices.truth)
    ledger = Ledger(limit=9.0).spend("late", device.mechanism(("no", "yes")), "2024", reports=2)
    assert str(ledger).split() == (
        "Ledger(1 entry; epsilon=3.21888 of 9) question wave reports epsilon added "
        "late 2024 2 3.21888 3.21888".split()
    )
    ledger = ledger.spend("url", rappor, "2024", permanent="home page")
    ledger = ledger.spend("a very long name of a question", ldp.URR(3, {0}, 1.0))
    head, columns, *rows = str(ledger).splitlines()
    assert head == repr(ledger) and len(rows) == 3 and max(map(len, [columns, *rows])) <= 80
    assert columns.split()[-2:] == ["permanent", "protects"] and rows[1].endswith("all")
    for year in range(50):
        ledger = ledger.spend("ill", 0.01, str(year))
    assert str(ledger).splitlines()[-1] == "and 13 more entries; table() has all"
    assert str(Ledger()) == repr(Ledger())


def test_reports_of_a_kept_first_step_cost_its_epsilon():
    """Of any number; those of few waves are exact, and approach it."""
    first, second = ldp.KRR(3, epsilon=1.0), ldp.KRR(3, epsilon=2.0)
    both = first >> second
    assert both.lifetime_epsilon == both.audit().lifetime == pytest.approx(1.0)
    waves = [both.epsilon, *(both.joint_law(T).epsilon_of(1) for T in (2, 3, 4))]
    assert np.all(np.diff([*waves, 1.0]) > 0.0)
    spent = Ledger()
    for year in range(2020, 2030):
        spent.spend("job", both, str(year), permanent="first job")
    assert spent.total == pytest.approx(1.0)
    assert spent.spend("job", both, permanent="second job").total == pytest.approx(
        1.0 + both.epsilon
    )
    assert np.isinf(ldp.CustomMechanism(both.Q).lifetime_epsilon)
    named, spent = ldp.CustomMechanism(both.Q, permanent="by hand"), Ledger()
    for _ in range(3):  # of a response with a law that is not known
        spent.spend("job", named, permanent="first job")
    assert spent.total == pytest.approx(3.0 * named.epsilon)
