"""Respondents' devices: what they accept, how often they report, what they show."""

from __future__ import annotations

import copy
import enum
import json
import multiprocessing
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats.mechanisms.hashed.rappor_client import _below, _keyed_words
from tests.grid import MECHANISMS, WORDS

# p = 0 and q = 1: every report is the permanent response itself
BARE = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.0, q=1.0)
KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)
SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def race(call: Callable[[], Any], n: int = 4) -> list[Any]:
    """What n threads get that call at once; errors too."""
    results: list[Any] = []
    start = threading.Barrier(n)

    def run() -> None:
        start.wait()
        try:
            results.append(call())
        except ldp.LDPError as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def in_forks(call: Callable[[], Any], n: int = 3) -> list[Any]:
    """What n forks of this process get."""
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def run() -> None:
        try:
            queue.put(call())
        except ldp.LDPError as error:
            queue.put(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of a process with threads
        forks = [context.Process(target=run) for _ in range(n)]
        for fork in forks:
            fork.start()
    results = [queue.get() for _ in forks]
    for fork in forks:
        fork.join()
    return results


# -- one permanent response ------------------------------------------------------------------------


def test_racing_threads_get_one_permanent_response(hasty: None) -> None:
    for i in range(400):
        client = BARE.client()
        assert len(set(race(lambda c=client, a=f"answer {i}": c.report(a)))) == 1  # type: ignore[misc]


def test_forks_copies_and_restarts_get_the_same_permanent_response(tmp_path: Path) -> None:
    path = tmp_path / "state"
    for client in (BARE.client(), BARE.client(state=path), BARE.client(secret=bytes(range(32)))):
        first = client.report("an answer")
        again = [copy.copy(client), copy.deepcopy(client)]
        again.append(ldp.RAPPORClient.from_dict(json.loads(json.dumps(client.to_dict())), BARE))
        assert {c.report("an answer") for c in again} == {first}
        assert set(in_forks(lambda c=client: c.report("an answer"))) == {first}  # type: ignore[misc]
    assert BARE.client(secret=bytes(range(32))).report("an answer") == first
    kept = BARE.client(state=path).report("an answer")
    assert BARE.client(state=path).report("an answer") == kept


def test_the_permanent_response_is_the_one_of_the_specification() -> None:
    client = BARE.client(secret=bytes(range(32)))
    assert client.cohort == 54
    assert client.report("a") == "54:1001001000001000"
    assert client.report("Zürich") == "54:0100101010000100"
    # another p and q do not draw it anew; another f, another filter and another secret do
    noisier = ldp.RAPPOR(16, 2, 64, f=0.5, p=0.25, q=0.75).client(secret=bytes(range(32)))
    np.testing.assert_array_equal(noisier._permanent("a"), client._permanent("a"))
    others = [
        ldp.RAPPOR(16, 2, 64, f=0.4, p=0.0, q=1.0).client(secret=bytes(range(32))),
        BARE.client(secret=bytes(range(1, 33))),
    ]
    for other in others:
        assert any((other._permanent(word) != client._permanent(word)).any() for word in "abcdefgh")


WORDS3 = ("flu", "cold", "hiv")
TWINS = {  # two surveys, and whether they share permanent responses under one secret
    "another p and q": ({}, {"p": 0.25, "q": 0.75}, True),
    "labels in another order": (
        {"alphabet": WORDS3},
        {"alphabet": ("cold", "flu", "hiv")},
        False,
    ),
    "one more label": ({"alphabet": WORDS3}, {"alphabet": (*WORDS3, "mumps")}, False),
    "a list and none": ({"alphabet": WORDS3}, {}, False),
    "another number of cohorts": ({}, {"n_cohorts": 3}, False),
    "another hash": ({}, {"hashing": "google"}, False),
    "more hashes": ({}, {"n_hashes": 2}, False),
    "more bits": ({}, {"n_bits": 16}, False),
    "another f": ({}, {"f": 0.6}, False),
}


@pytest.mark.parametrize("first, second, shared", TWINS.values(), ids=TWINS)
def test_surveys_share_all_permanent_responses_of_a_secret_or_none(
    first: dict[str, Any], second: dict[str, Any], shared: bool
) -> None:
    # were some answers' draws shared and others' not, responses that differ would rule out the
    # former for sure. Of 300 secrets, unlike draws agree in 8 bits at most .625^8 = .023 of the
    # time, 7 of them; 20 is 5 standard deviations above
    usual = {"n_bits": 8, "n_hashes": 1, "n_cohorts": 1, "f": 0.5, "p": 0.0, "q": 1.0}
    one, two = ldp.RAPPOR(**usual | first), ldp.RAPPOR(**usual | second)
    rng = np.random.default_rng(8)
    alike = dict.fromkeys(WORDS3, 0)
    for _ in range(300):
        secret = rng.bytes(32)
        clients = one.client(secret=secret), two.client(secret=secret)
        for word in WORDS3:
            a, b = (client._permanent(word) for client in clients)
            alike[word] += bool(np.array_equal(a[:8], b[:8]))
    assert set(alike.values()) == {300} if shared else max(alike.values()) < 20


def test_an_answer_is_its_text() -> None:
    class Job(str, enum.Enum):  # noqa: UP042 - its str() is "Job.NURSE"
        NURSE = "nurse"

    client = BARE.client()
    assert client.report(Job.NURSE) == client.report("nurse")
    collector = ldp.ORR(1 << 20, 1, epsilon=50.0).collector()  # almost without noise
    assert collector.report(Job.NURSE) == collector.report("nurse")


def test_a_device_computes_the_cells_of_its_own_cohort() -> None:
    listed = ldp.RAPPOR(8, 2, 5, f=0.5, p=0.2, q=0.8, alphabet=11)
    for cohort in range(5):
        whole = listed._permutations.own(np.arange(11), np.full(11, cohort))
        np.testing.assert_array_equal(listed.cells_of_cohort(cohort), whole)
    google = ldp.RAPPOR(8, 2, 5, f=0.5, p=0.2, q=0.8, hashing="google")
    words, cohort = pd.Series(["a", "b", "a", "c", "b", "a"]), np.array([4, 0, 2, 4, 4, 4])
    table = google.answer_hash.table("words", pd.Index(["a", "b", "c"]))
    expected = table[cohort, pd.Index(["a", "b", "c"]).get_indexer(words)]
    np.testing.assert_array_equal(google.answer_hash.own(words, cohort), expected)
    assert google.answer_hash.own(words[:0], cohort[:0]).shape == (0, 2)
    ldp.RAPPOR(8, 2, 1 << 16, f=0.5, p=0.2, q=0.8, hashing="google").client().report("x" * 1000)


@pytest.mark.parametrize("alphabet", [None, ("a", "b", "c")])
def test_the_permanent_response_has_its_law(alphabet: Any) -> None:
    # 3,000 clients, 4 bits: 16 patterns in each cohort; chi-square, p > 1e-4
    rappor = ldp.RAPPOR(4, 1, 2, f=0.5, p=0.0, q=1.0, alphabet=alphabet)
    rng = np.random.default_rng(1)
    seen = np.zeros((2, 16))
    for _ in range(3_000):
        cohort, bits = rappor.client(secret=rng.bytes(32)).report("a").split(":")
        seen[int(cohort), int(bits[::-1], 2)] += 1
    Q = rappor.channel(None if alphabet else ["a", "b"]).matrix()[0]
    assert stats.chisquare(seen.ravel(), 3_000 * Q).pvalue > 1e-4
    wrong = ldp.RAPPOR(4, 1, 2, f=0.6, p=0.0, q=1.0, alphabet=alphabet)
    Q = wrong.channel(None if alphabet else ["a", "b"]).matrix()[0]
    assert stats.chisquare(seen.ravel(), 3_000 * Q).pvalue < 1e-4


@pytest.mark.slow
def test_keyed_words_of_a_million_secrets_have_the_law_of_the_thresholds() -> None:
    # f = 1/2, four bits of which the first is owned: chi-square of 16 patterns
    owned, other = BARE.permanent_thresholds()
    words = np.array([_keyed_words(i.to_bytes(32, "big"), b"message", 4) for i in range(1_000_000)])
    bits = np.column_stack([_below(words[:, 0], owned)] + [_below(w, other) for w in words.T[1:]])
    seen = np.bincount(bits @ (1 << np.arange(4)), minlength=16)
    p = np.array([[0.25, 0.75], [0.75, 0.25], [0.75, 0.25], [0.75, 0.25]])
    law = [np.prod([p[j, (i >> j) & 1] for j in range(4)]) for i in range(16)]
    assert stats.chisquare(seen, 1_000_000 * np.array(law)).pvalue > 1e-4
    tilted = np.array(law) + 0.001 * np.resize([1, -1], 16)  # control
    assert stats.chisquare(seen, 1_000_000 * tilted).pvalue < 1e-4


# -- state files -----------------------------------------------------------------------------------


def test_a_state_holds_the_secret_and_the_cohort_alone(tmp_path: Path) -> None:
    path = tmp_path / "state"
    client = BARE.client(state=path)
    before = path.read_bytes()
    for answer in ("an answer", "another"):
        client.report(answer)
    assert path.read_bytes() == before
    document = json.loads(before)
    assert set(document) == {"format", "version", "fingerprint", "cohort", "secret"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["state"]
    assert document == client.to_dict() and client.to_dict()["secret"] not in repr(client)
    with_list = ldp.RAPPOR(6, 2, 2, f=0.5, p=0.2, q=0.8, alphabet=("a", "b"))
    with_list.client(state=tmp_path / "listed").report("a")
    assert set(json.loads((tmp_path / "listed").read_bytes())) == set(document)


def test_state_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    good = BARE.client(state=path).to_dict()
    old = {
        "format": "ldpstats-rappor-client",
        "version": 1,
        "fingerprint": BARE.fingerprint,
        "cohort": 3,
        "permanent": {"0123456789abcdef": "ffff"},
    }
    broken = [
        (json.dumps(old), "0.1.0.*remove it"),
        ("", "is empty"),
        ("{", "damaged"),
        (json.dumps(good) + "\nx", "damaged"),
        (json.dumps([good]), "damaged"),
        (json.dumps(good | {"version": 3}), "version"),
        (json.dumps(good | {"version": True}), "version"),
        (json.dumps(good | {"cohort": 64}), "cohort"),
        (json.dumps(good | {"cohort": True}), "cohort"),
        (json.dumps(good | {"secret": "ab"}), "secret"),
        (json.dumps(good | {"secret": ["ab"]}), "secret"),
        (json.dumps(good | {"secret": None}), "secret"),
    ]
    for text, message in broken:
        path.write_text(text if text.endswith("x") or not text else text + "\n")
        with pytest.raises(ldp.LDPError, match=message) as found:
            BARE.client(state=path)
        assert good["secret"] not in str(found.value)
    path.write_text(json.dumps(good) + "\n")
    with pytest.raises(ldp.MechanismMismatch, match="fingerprint"):
        ldp.RAPPOR(16, 2, 64, f=0.4, p=0.0, q=1.0).client(state=path)
    with pytest.raises(ldp.InvalidArgument, match="another client"):
        KRR.client(state=path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    missing = tmp_path / "no" / "state"
    for where in (tmp_path, tmp_path / "pipe", tmp_path / "dangling", missing, 3, "", "a\0b"):
        with pytest.raises(ldp.InvalidArgument, match="state"):
            BARE.client(state=where)  # type: ignore[arg-type]
    arrays = [good | {name: np.arange(2)} for name in good]
    for document in (None, {}, [good], np.arange(3), *arrays, "x", old):
        with pytest.raises(ldp.LDPError):
            ldp.RAPPORClient.from_dict(document, BARE)  # type: ignore[arg-type]
    with pytest.raises(ldp.InvalidArgument, match="mechanism"):
        ldp.RAPPORClient.from_dict(good, KRR)
    for secret in ("x" * 32, b"short", bytes(33), 5):
        with pytest.raises(ldp.InvalidArgument, match=r"secret=\(not shown\)"):
            BARE.client(secret=secret)  # type: ignore[arg-type]
    with pytest.raises(ldp.InvalidArgument, match="state"):
        BARE.client(secret=bytes(32), state=path)


def test_many_that_make_one_state_at_once_share_it(tmp_path: Path, hasty: None) -> None:
    for i in range(20):
        path = tmp_path / f"state {i}"
        assert len(set(race(lambda p=path: BARE.client(state=p).report("a")))) == 1  # type: ignore[misc]
        path.unlink()
        assert len(set(in_forks(lambda p=path: BARE.client(state=p).report("a")))) == 1  # type: ignore[misc]
        assert os.listdir(tmp_path) == [f"state {i}"]
        path.unlink()


def test_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    def refused(*names: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    for i in range(60):
        path = tmp_path / f"state {i}"
        results = race(lambda p=path: BARE.client(state=p).report("a"), 6)  # type: ignore[misc]
        assert len(set(map(str, results))) == 1
        assert path.stat().st_mode & 0o777 == 0o600


_REPORTER = """
import sys, ldpstats as ldp
print("ready", flush=True)
client = ldp.RAPPOR(16, 2, 64, f=0.5, p=0.0, q=1.0).client(state=sys.argv[1])
while True:
    print(client.report("an answer"), flush=True)
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_one_permanent_response(
    tmp_path: Path, attempts: Callable[[int], int]
) -> None:
    rng = np.random.default_rng(3)
    for i in range(attempts(50)):
        path, seen = tmp_path / f"state {i}", set()
        for _ in range(3):
            with subprocess.Popen(
                [sys.executable, "-c", _REPORTER, str(path)], stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                timer = threading.Timer(0.02 * rng.random(), process.send_signal, [signal.SIGKILL])
                timer.start()
                lines = process.stdout.read().split("\n")[:-1]  # the last may be cut
            seen |= set(lines)
        seen.add(BARE.client(state=path).report("an answer"))
        assert len(seen) == 1


# -- budgets ---------------------------------------------------------------------------------------


def test_a_client_reports_once() -> None:
    client = KRR.client()
    assert "reports=1, epsilon of all together: 1" in repr(client)
    client.report("yes")
    with pytest.raises(ldp.BudgetSpent, match=r"reports=1.*collector") as found:
        client.report("yes")
    assert isinstance(found.value, ldp.LDPError | ValueError)
    several = KRR.client(reports=3)
    assert several.total_epsilon == 3.0 and "together: 3" in repr(several)
    with pytest.raises(ldp.BudgetSpent, match="3 are left"):
        several.privatize(["yes"] * 4)
    assert len(several.privatize(["yes"] * 2)) == 2
    several.report("no")
    with pytest.raises(ldp.BudgetSpent):
        several.privatize(["no"])
    endless = KRR.client(reports=None)
    assert endless.total_epsilon == np.inf and "unbounded" in repr(endless)
    assert len(endless.privatize(["yes"] * 50)) == 50
    for bad in (0, -1, 1.5, True, "1", np.array([1, 2])):
        with pytest.raises(ldp.InvalidArgument, match="reports"):
            KRR.client(reports=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (lambda **how: KRR.client(**how), "yes"),
        (lambda **how: ldp.ORR(8, 4, 1.0).client(**how), "any text"),
        (lambda **how: PUM.client({"home": {"b"}}, **how), "b"),
        (lambda **how: SURVEY.client(**how), "abca"),
    ],
    ids=["krr", "orr", "pum", "dictionary"],
)
class TestBudgetOf:
    def test_an_answer_that_cannot_be_spends_nothing(self, make: Any, answer: str) -> None:
        client = make()
        with pytest.raises(ldp.InvalidArgument):
            client.report(None)
        client.report(answer)
        with pytest.raises(ldp.BudgetSpent):
            client.report(answer)
        with pytest.raises(ldp.BudgetSpent):
            client.report(None)

    def test_threads_share_it(self, make: Any, answer: str, hasty: None) -> None:
        for _ in range(30):
            client = make(reports=2)
            results = race(lambda c=client: c.report(answer), 5)  # type: ignore[misc]
            assert sum(isinstance(r, ldp.BudgetSpent) for r in results) == 3

    def test_a_file_outlives_it(self, make: Any, answer: str, tmp_path: Path, hasty: None) -> None:
        path = tmp_path / "state"
        make(reports=5, state=path).report(answer)
        forks = in_forks(lambda: make(reports=5, state=path).report(answer), 3)
        assert not any(isinstance(r, ldp.BudgetSpent) for r in forks)
        clients = [make(reports=5, state=path) for _ in range(4)]
        results = [r for c in clients for r in race(lambda c=c: c.report(answer), 2)]  # type: ignore[misc]
        assert sum(isinstance(r, ldp.BudgetSpent) for r in results) == 7
        make(reports=6, state=path).report(answer)
        assert path.stat().st_mode & 0o777 == 0o600
        head, marks = path.read_text().split("\n")
        assert set(json.loads(head)) == {"format", "version", "fingerprint"}
        assert marks == "." * 6

    def test_no_copy_gets_a_budget_of_its_own(self, make: Any, answer: str) -> None:
        client = make()
        with pytest.raises(ldp.NotAvailable, match="pickled"):
            pickle.dumps(client)
        if not isinstance(client, ldp.PUMClient):  # which is not copied at all
            copies = [copy.copy(client), copy.deepcopy(client)]
            copies[0].report(answer)
            with pytest.raises(ldp.BudgetSpent):
                copies[1].report(answer)
        forks = (
            in_forks(lambda: make_in_parent.report(answer)) if (make_in_parent := make()) else []
        )
        assert all(isinstance(r, ldp.NotAvailable) for r in forks)


def test_a_state_file_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "state"
    client = KRR.client(reports=5, state=path)
    client.report("yes")
    path.unlink()
    with pytest.raises(ldp.InvalidArgument, match="state"):
        client.report("yes")
    assert not path.exists()
    path.write_bytes(b"?")
    with pytest.raises(ldp.InvalidArgument, match="damaged"):
        client.report("yes")


def test_a_state_file_that_was_exchanged_is_refused(tmp_path: Path) -> None:
    client = KRR.client(reports=5, state=tmp_path / "a")
    ldp.KRR(2, 1.0).client(state=tmp_path / "b")
    os.replace(tmp_path / "b", tmp_path / "a")
    with pytest.raises(ldp.InvalidArgument, match="not the file"):
        client.report("yes")
    assert "." not in (tmp_path / "a").read_text().split("\n")[1]


def test_a_disk_that_is_full_while_a_mark_is_written(tmp_path: Path) -> None:
    path = tmp_path / "state"
    KRR.client(state=path, reports=50).report("yes")

    def limited() -> str:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 2, -1))
        try:
            KRR.client(state=path, reports=50).privatize(["yes"] * 5)
        except ldp.InvalidArgument as error:
            return str(error)
        return "reported"

    assert "nothing was reported" in in_forks(limited, 1)[0]
    assert len(path.read_text().split("\n")[1]) in (1, 3)  # marks too many, never too few


@pytest.mark.parametrize("kept", [False, True])
def test_a_report_within_a_report_is_not_given_out(kept: bool, tmp_path: Path) -> None:
    inner: list[Any] = []

    def entropy(n: int) -> bytes:
        if not inner:
            inner.append(None)
            try:
                inner[0] = client.report("yes")
            except ldp.NotAvailable as error:
                inner[0] = error
        return os.urandom(n)

    client = KRR.client(entropy, state=tmp_path / "state" if kept else None)
    if kept:  # which would wait for itself
        client.report("yes")
        assert isinstance(inner[0], ldp.NotAvailable)
    else:
        with pytest.raises(ldp.BudgetSpent):
            client.report("yes")
        assert inner[0] in KRR.categories


def test_a_missing_answer_is_a_report_too() -> None:
    client = KRR.client(reports=2)
    client.privatize([None, "yes"], missing="count")
    with pytest.raises(ldp.BudgetSpent):
        client.privatize([None], missing="count")


def test_the_total_is_what_can_be_spent(tmp_path: Path) -> None:
    nobody = ldp.URR(("a", "b"), (), 1.0).client(allow_no_privacy=True)
    assert nobody.total_epsilon == np.inf and "unbounded" in repr(nobody)
    path = tmp_path / "state"
    for _ in range(4):
        KRR.client(reports=5, state=path).report("yes")
    again = KRR.client(reports=2, state=path)
    assert again.total_epsilon == 4.0
    with pytest.raises(ldp.BudgetSpent):
        again.report("yes")


def test_nothing_is_reported_that_cannot_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = KRR.client(state=tmp_path / "state")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ldp.InvalidArgument, match=r"No space left.*nothing was reported"):
            client.report("yes")


def test_rappor_without_permanent_noise_reports_once(tmp_path: Path) -> None:
    once = ldp.RAPPOR(16, 2, 4, f=0.0, p=0.25, q=0.75)
    client = once.client()
    assert client.total_epsilon == once.epsilon and "reports=1" in repr(client)
    client.report("a")
    with pytest.raises(ldp.BudgetSpent):
        client.report("a")
    once.client(state=tmp_path / "state").report("a")
    with pytest.raises(ldp.BudgetSpent):
        once.client(state=tmp_path / "state").report("a")
    many = once.client(allow_no_privacy=True)
    assert many.total_epsilon == np.inf and len({many.report("a") for _ in range(9)}) > 1


def test_a_collector_serves_many() -> None:
    collector = KRR.collector()
    assert "many respondents, one report each" in repr(collector)
    assert isinstance(collector, ldp.Collector)
    assert len(collector.privatize(["yes"] * 100)) == 100
    assert {collector.report("yes") for _ in range(100)} == set(KRR.categories)
    again = pickle.loads(pickle.dumps(collector))
    assert again.report("yes") in KRR.categories


# -- what a device refuses -------------------------------------------------------------------------

MANGAT = ldp.Mangat(p=0.6)
MAKERS: dict[str, Callable[..., Any]] = {
    "client": lambda m, **how: m.client(**how),
    "collector": lambda m, **how: m.collector(**how),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_no_privacy_is_refused_unless_allowed(make: Callable[..., Any]) -> None:
    identity = ldp.CustomMechanism(np.eye(3))
    nobody = ldp.URR(3, (), epsilon=1.0), ldp.URAP(3, (), epsilon=1.0)
    certain = ldp.RAPPOR(8, 1, 2, f=0.0, p=0.2, q=1.0)
    yes = ldp.ForcedResponse(p_truth=0.7, p_yes=0.3)
    for mechanism in (MANGAT, identity, *nobody, certain, yes):
        with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy=True"):
            make(mechanism)
        make(mechanism, allow_no_privacy=True)
        with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
            make(mechanism, allow_no_privacy=True, max_epsilon=40.0)
        mechanism.to_dict()
        assert not mechanism.audit().private
    for mechanism in (ldp.ForcedResponse(2 / 3, 1 / 6), ldp.URR(3, {0}, epsilon=1.0), KRR):
        make(mechanism)
        assert mechanism.audit().private
    assert ldp.FrequencyModel(MANGAT.privatize(["yes"] * 9, np.random.default_rng(1))).fit()
    for bad in (1, None, "yes", np.array([True, False])):
        with pytest.raises(ldp.InvalidArgument, match="allow_no_privacy"):
            make(MANGAT, allow_no_privacy=bad)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_device_has_its_own_limit(make: Callable[..., Any]) -> None:
    design = ldp.ForcedResponse(2 / 3, 1 / 6)
    for mechanism, epsilon in (
        (KRR, 1.0),
        (design, np.log(5.0)),
        (ldp.URR(3, {0}, epsilon=1.5), 1.5),
        (ldp.URR(3, epsilon={0: 0.5, 2: 2.5}), 2.5),
        (SURVEY, 6.0),
        (ldp.ORR(8, 4, 2.0), 2.0),
    ):
        make(mechanism, max_epsilon=epsilon)
        with pytest.raises(ldp.InvalidArgument, match=r"max_epsilon=.*spends"):
            make(mechanism, max_epsilon=0.99 * epsilon)
    for bad in (-1.0, np.nan, np.inf, "1", np.array([1.0, 2.0]), True):
        with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
            make(KRR, max_epsilon=bad)


def test_the_limit_of_a_client_that_remembers_is_that_of_its_lifetime() -> None:
    lasting = ldp.RAPPOR(128, 2, 8, f=0.5, p=0.5, q=0.75)
    lasting.client(max_epsilon=lasting.lifetime_epsilon)
    lasting.collector(max_epsilon=lasting.epsilon)
    with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
        lasting.client(max_epsilon=2.0)
    PUM.client({}, max_epsilon=1.0)
    with pytest.raises(ldp.InvalidArgument, match="max_epsilon"):
        PUM.client({}, max_epsilon=0.5)


def test_too_many_cohorts_are_warned_of() -> None:
    ldp.ORR(8, 1 << 16, 1.0).client()
    for mechanism in (
        ldp.ORR(8, (1 << 16) + 1, 1.0),
        ldp.RAPPOR(8, 1, (1 << 16) + 1, f=0.5, p=0.2, q=0.8),
        ldp.DictionarySurvey(4, 2, "ab", string_mechanism=ldp.ORR(8, 1 << 17, 1.0), epsilon=3.0),
    ):
        with pytest.warns(ldp.LDPWarning, match="recognised"):
            mechanism.client()
        mechanism.collector()


# -- specifications --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "read"),
    [
        (KRR.to_dict(), ldp.mechanism_from_dict),
        (PUM.to_dict(), ldp.PUM.from_dict),
        (SURVEY.to_dict(), ldp.DictionarySurvey.from_dict),
    ],
    ids=["mechanism", "pum", "survey"],
)
def test_a_specification_is_checked_by_its_fingerprint(document: Any, read: Any) -> None:
    assert read(json.loads(json.dumps(document))).to_dict() == document
    bare = {name: value for name, value in document.items() if name != "fingerprint"}
    with pytest.raises(ldp.InvalidArgument, match=f'add "fingerprint": "{document["fingerprint"]}'):
        read(bare)
    assert read(bare | {"fingerprint": document["fingerprint"]}).to_dict() == document
    for wrong in ("0" * 12, None, 3, np.arange(3), document["fingerprint"].upper() + "0"):
        with pytest.raises(ldp.InvalidArgument, match="fingerprint"):
            read(document | {"fingerprint": wrong})
    for version in (True, 1.0, "1", 2, None, np.array([1, 1])):
        with pytest.raises(ldp.InvalidArgument, match="version"):
            read(document | {"version": version})


def test_a_negative_zero_is_zero() -> None:
    plain = ldp.RAPPOR(8, 1, 2, f=0.0, p=0.0, q=0.5)
    assert ldp.RAPPOR(8, 1, 2, f=-0.0, p=-0.0, q=0.5).fingerprint == plain.fingerprint
    signed = ldp.CustomMechanism([[1.0, -0.0], [0.5, 0.5]])
    assert signed.fingerprint == ldp.CustomMechanism([[1.0, 0.0], [0.5, 0.5]]).fingerprint


def test_a_changed_epsilon_is_noticed() -> None:
    with pytest.raises(ldp.InvalidArgument, match="changed or damaged"):
        ldp.mechanism_from_dict(KRR.to_dict() | {"epsilon": 10.0})
    inner = PUM.to_dict()
    inner["mechanism"] = ldp.URR(("a", "b", "c"), {"a"}, epsilon=9.0).to_dict()
    with pytest.raises(ldp.InvalidArgument, match="changed or damaged"):
        ldp.PUM.from_dict(inner)


# -- reports in plain Python -----------------------------------------------------------------------


def is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(k) is str and is_plain(v) for k, v in value.items())
    if type(value) is list:
        return all(map(is_plain, value))
    return type(value) in (int, float, bool, str)


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_are_plain_python(name: str) -> None:
    mechanism = MECHANISMS[name]
    client = (
        mechanism.client(reports=None, allow_no_privacy=True)
        if name[:6] != "rappor"
        else (mechanism.client(allow_no_privacy=True))
    )
    labels = mechanism.labels(WORDS if mechanism.is_open else None)
    for value in labels[:3]:
        report = client.report(value)
        assert is_plain(report)
        again = json.loads(json.dumps(report))
        assert type(again) is type(report) and again == report
        made = mechanism.parse("report", [report])
        np.testing.assert_array_equal(mechanism.parse("report", [str(report)]).y, made.y)


def test_other_clients_report_plain_python() -> None:
    assert is_plain(SURVEY.client().report("ab"))
    assert is_plain(PUM.client({}).report("a"))
    numbers = ldp.PUM(ldp.URR(5, {0}, epsilon=1.0), ("home",)).client({}, reports=9)
    assert all(is_plain(numbers.report(i)) for i in range(5))


def test_text_of_numbers_is_no_other_number() -> None:
    krr = ldp.KRR(12, epsilon=1.0)
    assert krr.parse("report", ["7", "11"]).y.tolist() == [7, 11]
    for text in ("07", "7.0", " 7", "+7", "-1", "12", "٣", "1e1", "0x1"):
        with pytest.raises(ldp.UnknownCategory):
            krr.parse("report", [text])
    halves = ldp.CustomMechanism(np.full((2, 2), 0.5), outputs=(0.5, 1.5))
    assert halves.parse("report", ["1.5", "0.5"]).y.tolist() == [1, 0]
    truths = ldp.KRR((True, False), epsilon=1.0)
    assert truths.parse("report", ["True", "False"]).y.tolist() == [0, 1]


# -- no answer is shown ----------------------------------------------------------------------------

ANSWER = "hepatitis-4711"
PACKAGE = Path(ldp.__file__).parent


class Hostile:
    """An answer that fails in every way, and shows itself."""

    def __eq__(self, other: object) -> bool:
        raise ValueError(ANSWER)

    def __hash__(self) -> int:
        raise TypeError(ANSWER)

    def __repr__(self) -> str:
        return ANSWER


def shown(error: BaseException) -> str:
    """What a logger can write: messages, causes, and local variables of the package's frames."""
    text, chain = [], [error]
    while chain:
        link = chain.pop()
        text += [str(link), repr(link), repr(vars(link))]
        chain += [e for e in (link.__cause__, link.__context__) if e is not None]
        for frame, _ in traceback.walk_tb(link.__traceback__):
            if PACKAGE in Path(frame.f_code.co_filename).parents:
                text.append(f"{frame.f_code.co_name}: {frame.f_locals!r}")
    return "\n".join(text)


SOURCES: dict[str, Any] = {  # and an answer that each takes
    "krr": (KRR, "perhaps"),
    "numbers": (ldp.KRR(9_000, 1.0), 4_711),
    "unary": (ldp.KRAPPOR(("a", "b"), 1.0), "a"),
    "orr": (ldp.ORR(8, 4, 1.0), "a"),
    "rappor": (ldp.RAPPOR(16, 2, 64, f=0.5, p=0.2, q=0.9), "a"),
    "listed": (ldp.RAPPOR(8, 1, 2, 0.5, 0.2, 0.8, alphabet=("a", "b")), "a"),
    "survey": (SURVEY, "abca"),
}
BAD_ANSWERS = [
    ANSWER + "\ud800",
    ANSWER.encode(),
    [ANSWER],
    (ANSWER,),
    {ANSWER: 1},
    np.array([ANSWER, ANSWER]),
    Hostile(),
    4711.5,
]


@pytest.mark.parametrize("name", SOURCES)
def test_no_error_shows_an_answer(name: str) -> None:
    source, _ = SOURCES[name]
    calls: list[Callable[[], Any]] = []
    unlisted = [] if name in ("orr", "rappor") else [ANSWER]
    for bad in [*BAD_ANSWERS, *unlisted]:
        calls.append(lambda bad=bad: source.client().report(bad))  # type: ignore[misc]
        calls.append(lambda bad=bad: source.collector().report(bad))  # type: ignore[misc]
        calls.append(lambda bad=bad: source.collector().privatize(["a", "b", bad]))  # type: ignore[misc]
        calls.append(lambda bad=bad: source.collector().privatize(bad))  # type: ignore[misc]
    refused = 0
    for call in calls:
        try:
            call()
        except ldp.LDPError as error:
            text = shown(error)
            assert ANSWER not in text and "4711" not in text
            assert error.__cause__ is None and error.__context__ is None
            refused += 1
    assert refused > len(calls) / 2


@pytest.mark.parametrize("name", SOURCES)
def test_a_failure_of_the_system_shows_no_answer(name: str) -> None:
    source, answer = SOURCES[name]

    def failing(n: int) -> bytes:
        raise OSError("no randomness")

    calls = [lambda: source.collector(failing).report(answer)]
    if name not in ("rappor", "listed"):  # which draw their secret at once
        calls.append(lambda: source.client(failing).report(answer))
    for call in calls:
        with pytest.raises(OSError, match="no randomness") as found:
            call()
        assert found.value.__context__ is None
        assert len(str(answer)) < 3 or str(answer) not in shown(found.value)


def test_the_check_finds_what_a_simulation_shows() -> None:
    with pytest.raises(ldp.UnknownCategory) as found:
        KRR.privatize([ANSWER], np.random.default_rng(1))
    assert ANSWER in shown(found.value)


def test_places_are_named_instead() -> None:
    with pytest.raises(ldp.UnknownCategory, match=r"^values\[2\]=\(not shown\): is not among"):
        KRR.collector().privatize(["yes", "no", ANSWER])
    with pytest.raises(ldp.UnknownCategory, match=r"^value=\(not shown\): is not among"):
        KRR.client().report(ANSWER)
    with pytest.raises(ldp.InvalidArgument, match=r"^value=\(not shown\): has characters outside"):
        SURVEY.client().report("abxyz")


# -- errors ----------------------------------------------------------------------------------------


def test_messages_are_short_and_errors_travel() -> None:
    for error in (
        ldp.InvalidArgument("a" * 9_000, "b", "c" * 9_000),
        ldp.NotAvailable("x" * 9_000),
        ldp.BudgetSpent("x" * 9_000),
    ):
        assert len(str(error)) <= 2_000
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
    with pytest.raises(ldp.InvalidArgument) as found:
        ldp.KRR(3, epsilon=-1.0)
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.name, again.remedy) == (found.value.name, found.value.remedy)
    assert issubclass(ldp.BudgetSpent, ldp.LDPError) and issubclass(ldp.BudgetSpent, ValueError)
