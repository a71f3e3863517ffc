"""How often a device reports, and what that spends."""

from __future__ import annotations

import copy
import json
import os
import pickle
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.races import in_forks, race

import ldpstats as ldp

KRR = ldp.KRR(("yes", "no", "perhaps"), epsilon=1.0)
SURVEY = ldp.DictionarySurvey(length=4, gram=2, alphabet="abc", epsilon=6.0)
PUM = ldp.PUM(ldp.URR(("a", "b", "c"), {"a"}, epsilon=1.0), ("home",))


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
        (lambda **how: PUM.client({"home": {"b"}}, **how), "b"),
        (lambda **how: SURVEY.client(**how), "abca"),
    ],
    ids=["krr", "pum", "dictionary"],
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
        for _ in range(10):
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
        parent = make()
        forks = in_forks(lambda: parent.report(answer))
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
