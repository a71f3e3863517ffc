"""How often a device reports, and what that spends."""

import copy
import enum
import json
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared.races import in_forks, race

import ldpstats as ldp
from ldpstats.clients.portable import ldpstats_client
from ldpstats.clients.portable.ldpstats_client import keyed_words
from ldpstats.mechanisms.hashed import listed_cells

KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)

SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)

PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


def test_a_client_reports_once():
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
            KRR.client(reports=bad)


@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (lambda **how: KRR.client(**how), "yes"),
        (lambda **how: PUM.client({"home": {"b"}}, **how), "b"),
        (lambda **how: SURVEY.client(**how), "abca"),
    ],
    ids=["krr", "pum", "dictionary"],
)
class TestBudgetOf:
    def test_an_answer_that_cannot_be_spends_nothing(self, make, answer):
        client = make()
        with pytest.raises(ldp.InvalidArgument):
            client.report(None)
        client.report(answer)
        with pytest.raises(ldp.BudgetSpent):
            client.report(answer)
        with pytest.raises(ldp.BudgetSpent):
            client.report(None)

    def test_threads_share_it(self, make, answer, hasty):
        for _ in range(10):
            client = make(reports=2)
            results = race(lambda c=client: c.report(answer), 5)
            assert sum(isinstance(r, ldp.BudgetSpent) for r in results) == 3

    def test_a_file_outlives_it(self, make, answer, tmp_path, hasty):
        path = tmp_path / "state"
        make(reports=5, state=path).report(answer)
        forks = in_forks(lambda: make(reports=5, state=path).report(answer), 3)
        assert not any(isinstance(r, ldp.BudgetSpent) for r in forks)
        clients = [make(reports=5, state=path) for _ in range(4)]
        results = [r for c in clients for r in race(lambda c=c: c.report(answer), 2)]
        assert sum(isinstance(r, ldp.BudgetSpent) for r in results) == 7
        make(reports=6, state=path).report(answer)
        assert path.stat().st_mode & 0o777 == 0o600
        head, marks = path.read_text().split("\n")
        assert set(json.loads(head)) == {"format", "version", "fingerprint"}
        assert marks == "." * 6

    def test_no_copy_gets_a_budget_of_its_own(self, make, answer):
        client = make()
        with pytest.raises(ldp.NotAvailable, match="pickled"):
            pickle.dumps(client)
        if not isinstance(client, ldp.PUMClient):  # which is not copied at all
            copies = [copy.copy(client), copy.deepcopy(client)]
            copies[0].report(answer)
            with pytest.raises(ldp.BudgetSpent):
                copies[1].report(answer)
        parent = make()
        forks = in_forks(lambda: parent.report(answer))
        assert all(isinstance(r, ldp.NotAvailable) for r in forks)


def test_a_state_file_that_is_gone_is_not_made_anew(tmp_path):
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


def test_a_state_file_that_was_exchanged_is_refused(tmp_path):
    client = KRR.client(reports=5, state=tmp_path / "a")
    ldp.KRR(2, 1.0).client(state=tmp_path / "b")
    os.replace(tmp_path / "b", tmp_path / "a")
    with pytest.raises(ldp.InvalidArgument, match="not the file"):
        client.report("yes")
    assert "." not in (tmp_path / "a").read_text().split("\n")[1]


def test_a_disk_that_is_full_while_a_mark_is_written(tmp_path):
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
def test_a_report_within_a_report_is_not_given_out(kept, tmp_path):
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


def test_a_missing_answer_is_a_report_too():
    client = KRR.client(reports=2)
    client.privatize([None, "yes"], missing="count")
    with pytest.raises(ldp.BudgetSpent):
        client.privatize([None], missing="count")


def test_the_total_is_what_can_be_spent(tmp_path):
    nobody = ldp.URR(("a", "b"), (), 1.0).client(allow_no_privacy=True)
    assert nobody.total_epsilon == np.inf and "unbounded" in repr(nobody)
    path = tmp_path / "state"
    for _ in range(4):
        KRR.client(reports=5, state=path).report("yes")
    again = KRR.client(reports=2, state=path)
    assert again.total_epsilon == 4.0
    with pytest.raises(ldp.BudgetSpent):
        again.report("yes")


def test_nothing_is_reported_that_cannot_be_counted(tmp_path, monkeypatch):
    client = KRR.client(state=tmp_path / "state")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(ldp.InvalidArgument, match=r"No space left.*nothing was reported"):
            client.report("yes")


def test_rappor_without_permanent_noise_reports_once(tmp_path):
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


@pytest.mark.parametrize("link", [False, True])
def test_the_sheets_of_all_waves_are_counted_together(tmp_path, link):
    sheet = ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.5)}, wave="0", link=link)
    path, answers = tmp_path / "state", {"ill": "no"}
    for wave in range(4):  # by the client of the package and that for devices in turn
        own = sheet.in_wave(str(wave))
        client: Any = own.client(reports=3, state=path)
        if wave % 2:
            client = ldpstats_client.Client(own.client_document(), reports=3, state=path)
        assert client.total_epsilon == 1.5
        if wave < 3:
            client.report(answers)
            continue
        with pytest.raises(ldp.BudgetSpent if wave % 2 == 0 else ldpstats_client.Refused):
            client.report(answers)
    assert ("secret" in path.read_text()) == link
    for other in (sheet.in_wave(None), ldp.Questionnaire({"ill": ldp.Warner(epsilon=0.6)})):
        if other.family != sheet.family:
            with pytest.raises(ldp.MechanismMismatch, match="another file"):
                other.client(state=path)
        else:
            assert other.client(reports=4, state=path).report(answers)


def test_a_collector_serves_many():
    collector = KRR.collector()
    assert "many respondents, one report each" in repr(collector)
    assert isinstance(collector, ldp.Collector)
    assert len(collector.privatize(["yes"] * 100)) == 100
    assert {collector.report("yes") for _ in range(100)} == set(KRR.categories)
    again = pickle.loads(pickle.dumps(collector))
    assert again.report("yes") in KRR.categories


# Files that keep a client's secret and cohort.

# p = 0 and q = 1: every report is the permanent response itself
BARE = ldp.RAPPOR(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.0, q=1.0)


def test_a_state_holds_the_secret_and_the_cohort_alone(tmp_path):
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


def test_state_files_that_cannot_be_used_are_refused(tmp_path):
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
            BARE.client(state=where)
    arrays = [good | {name: np.arange(2)} for name in good]
    for document in (None, {}, [good], np.arange(3), *arrays, "x", old):
        with pytest.raises(ldp.LDPError):
            ldp.RAPPORClient.from_dict(document, BARE)
    with pytest.raises(ldp.InvalidArgument, match="mechanism"):
        ldp.RAPPORClient.from_dict(good, KRR)
    for secret in ("x" * 32, b"short", bytes(33), 5):
        with pytest.raises(ldp.InvalidArgument, match=r"secret=\(not shown\)"):
            BARE.client(secret=secret)
    with pytest.raises(ldp.InvalidArgument, match="state"):
        BARE.client(secret=bytes(32), state=path)


def test_many_that_make_one_state_at_once_share_it(tmp_path, hasty):
    for i in range(5):
        path = tmp_path / f"state {i}"
        assert len(set(race(lambda p=path: BARE.client(state=p).report("a")))) == 1
        path.unlink()
        assert len(set(in_forks(lambda p=path: BARE.client(state=p).report("a")))) == 1
        assert os.listdir(tmp_path) == [f"state {i}"]
        path.unlink()


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o602, 0o644])
@pytest.mark.parametrize("kind", ["count", "secret", "ledger", "portable"])
def test_a_file_that_others_may_read_is_refused(tmp_path, kind, mode):
    path = tmp_path / "state"

    def opened() -> Any:
        if kind == "ledger":
            return ldp.privacy.Ledger(limit=1.0, state=path)
        if kind == "portable":
            return ldpstats_client.Client(KRR.client_document(), state=path)
        return (KRR if kind == "count" else BARE).client(state=path)

    opened()
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    path.chmod(mode)
    with pytest.raises(ValueError, match=rf"has the mode {mode:o}.*chmod 600"):
        opened()
    assert path.read_bytes() == before
    path.chmod(0o600)
    opened()


@pytest.mark.parametrize("restore", [False, True])
def test_restoring_a_file_gives_the_budget_again_as_the_pages_say(tmp_path, restore):
    path = tmp_path / "state"
    client = KRR.client(state=path, reports=1)
    copy = path.read_bytes()
    client.report("yes")
    if restore:
        path.write_bytes(copy)
        KRR.client(state=path, reports=1).report("yes")
    else:
        with pytest.raises(ldp.BudgetSpent):
            KRR.client(state=path, reports=1).report("yes")
    for promise in (ldp.privacy.Ledger, ldp.KRR.client, ldp.RAPPOR.client):
        words = " ".join((promise.__doc__ or "").split())
        assert re.search(r"[Rr]estoring an older copy .*gives the budget again", words)


def test_a_file_system_without_links(tmp_path, monkeypatch, hasty):
    def refused(*names: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    for i in range(12):
        path = tmp_path / f"state {i}"
        results = race(lambda p=path: BARE.client(state=p).report("a"), 6)
        assert len(set(map(str, results))) == 1
        assert path.stat().st_mode & 0o777 == 0o600


_REPORTER = """
import json, sys
sys.path.insert(0, sys.argv[2])
from ldpstats_client import Client  # which the package's client keeps its file with
print("ready", flush=True)
client = Client(json.loads(sys.argv[3]), state=sys.argv[1])
while True:
    print(client.report("an answer"), flush=True)
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_one_permanent_response(tmp_path, attempts):
    rng = np.random.default_rng(3)
    folder = str(Path(ldpstats_client.__file__).parent)
    given = folder, json.dumps(BARE.client_document())
    for i in range(attempts(50)):
        path, seen = tmp_path / f"state {i}", set()
        for _ in range(3):
            command = [sys.executable, "-S", "-E", "-c", _REPORTER, str(path), *given]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"
                timer = threading.Timer(0.02 * rng.random(), process.send_signal, [signal.SIGKILL])
                timer.start()
                lines = process.stdout.read().split("\n")[:-1]  # the last may be cut
            seen |= set(lines)
        seen.add(BARE.client(state=path).report("an answer"))
        assert len(seen) == 1


# A client that remembers: one permanent response an answer, whatever happens to the device.


def test_racing_threads_get_one_permanent_response(hasty):
    for i in range(100):
        client = BARE.client()
        assert len(set(race(lambda c=client, a=f"answer {i}": c.report(a)))) == 1


def test_forks_copies_and_restarts_get_the_same_permanent_response(tmp_path):
    path = tmp_path / "state"
    for client in (BARE.client(), BARE.client(state=path), BARE.client(secret=bytes(range(32)))):
        first = client.report("an answer")
        again = [copy.copy(client), copy.deepcopy(client)]
        again.append(ldp.RAPPORClient.from_dict(json.loads(json.dumps(client.to_dict())), BARE))
        assert {c.report("an answer") for c in again} == {first}
        assert set(in_forks(lambda c=client: c.report("an answer"))) == {first}
    assert BARE.client(secret=bytes(range(32))).report("an answer") == first
    kept = BARE.client(state=path).report("an answer")
    assert BARE.client(state=path).report("an answer") == kept


def test_the_permanent_response_is_the_one_of_the_specification():
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
def test_surveys_share_all_permanent_responses_of_a_secret_or_none(first, second, shared):
    # were some answers' draws shared and others' not, responses that differ would rule out the
    # former for sure. Of 40 secrets, unlike draws agree in 8 bits at most .625^8 = .023 of the
    # time, .9 of them; 6 is 5 standard deviations above
    usual = {"n_bits": 8, "n_hashes": 1, "n_cohorts": 1, "f": 0.5, "p": 0.0, "q": 1.0}
    one, two = ldp.RAPPOR(**usual | first), ldp.RAPPOR(**usual | second)
    rng = np.random.default_rng(8)
    alike = dict.fromkeys(WORDS3, 0)
    for _ in range(40):
        secret = rng.bytes(32)
        clients = one.client(secret=secret), two.client(secret=secret)
        for word in WORDS3:
            a, b = (client._permanent(word) for client in clients)
            alike[word] += bool(np.array_equal(a[:8], b[:8]))
    assert set(alike.values()) == {40} if shared else max(alike.values()) < 6


def test_an_answer_is_its_text():
    class Job(str, enum.Enum):  # noqa: UP042 - its str() is "Job.NURSE"
        NURSE = "nurse"

    client = BARE.client()
    assert client.report(Job.NURSE) == client.report("nurse")
    collector = ldp.ORR(1 << 20, 1, epsilon=50.0).collector()  # almost without noise
    assert collector.report(Job.NURSE) == collector.report("nurse")


def test_a_device_computes_the_cells_of_its_own_cohort():
    listed = ldp.RAPPOR(8, 2, 5, f=0.5, p=0.2, q=0.8, alphabet=11)
    for cohort in range(5):
        whole = listed_cells(listed.cells()[cohort], listed.n_cells)
        np.testing.assert_array_equal(listed.cells_of_cohort(cohort), whole)
    google = ldp.RAPPOR(8, 2, 5, f=0.5, p=0.2, q=0.8, hashing="google")
    words, cohort = pd.Series(["a", "b", "a", "c", "b", "a"]), np.array([4, 0, 2, 4, 4, 4])
    table = google.answer_hash.table("words", pd.Index(["a", "b", "c"]))
    expected = table[cohort, pd.Index(["a", "b", "c"]).get_indexer(words)]
    np.testing.assert_array_equal(google.answer_hash.own(words, cohort), expected)
    assert google.answer_hash.own(words[:0], cohort[:0]).shape == (0, 2)
    ldp.RAPPOR(8, 2, 1 << 16, f=0.5, p=0.2, q=0.8, hashing="google").client().report("x" * 1000)


@pytest.mark.slow
@pytest.mark.parametrize("alphabet", [None, ("a", "b", "c")])
def test_the_permanent_response_has_its_law(alphabet):
    # 1,500 clients, 4 bits: 16 patterns in each cohort; chi-square, p > 1e-4
    rappor = ldp.RAPPOR(4, 1, 2, f=0.5, p=0.0, q=1.0, alphabet=alphabet)
    rng = np.random.default_rng(1)
    seen = np.zeros((2, 16))
    for _ in range(1_500):
        cohort, bits = rappor.client(secret=rng.bytes(32)).report("a").split(":")
        seen[int(cohort), int(bits[::-1], 2)] += 1
    Q = rappor.channel(None if alphabet else ["a", "b"]).matrix()[0]
    assert stats.chisquare(seen.ravel(), 1_500 * Q).pvalue > 1e-4
    wrong = ldp.RAPPOR(4, 1, 2, f=0.7, p=0.0, q=1.0, alphabet=alphabet)
    Q = wrong.channel(None if alphabet else ["a", "b"]).matrix()[0]
    assert stats.chisquare(seen.ravel(), 1_500 * Q).pvalue < 1e-4


@pytest.mark.slow
def test_keyed_words_of_many_secrets_have_the_law_of_the_thresholds():
    # f = 1/2, four bits of which the first is owned: chi-square of 16 patterns
    owned, other = BARE.permanent_thresholds()
    n = 100_000
    words = np.array([keyed_words(i.to_bytes(32, "big"), b"message", 4) for i in range(n)])
    bits = words < np.array([owned, other, other, other], dtype=np.uint64)
    seen = np.bincount(bits @ (1 << np.arange(4)), minlength=16)
    p = np.array([[0.25, 0.75], [0.75, 0.25], [0.75, 0.25], [0.75, 0.25]])
    law = [np.prod([p[j, (i >> j) & 1] for j in range(4)]) for i in range(16)]
    assert stats.chisquare(seen, n * np.array(law)).pvalue > 1e-4
    tilted = np.array(law) + 0.003 * np.resize([1, -1], 16)  # control
    assert stats.chisquare(seen, n * tilted).pvalue < 1e-4
