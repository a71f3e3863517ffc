"""A survey that comes back: from the devices of two waves to the change of their answers."""

import json
import os
import secrets
from typing import Any

import pandas as pd
import pytest
from shared.collecting import collecting, some_reports
from shared.collecting import message as with_random_token
from shared.javascript import PORTABLE, needs_node, run_node

import ldpstats as ldp
from ldpstats.clients.portable.ldpstats_client import Client
from ldpstats.collector import collect
from ldpstats.errors import InvalidArgument, MechanismMismatch
from ldpstats.survey.analyses import privatize_sheets

ASKED = {"job": ldp.KRR(("nurse", "cook"), 4.0), "late": ldp.Warner(epsilon=4.0)}
MAY = ldp.Questionnaire(ASKED, wave="2026-05", link=True)
JUNE = MAY.in_wave("2026-06")
OTHER = ldp.Questionnaire({"job": ASKED["job"]}, wave="2026-05", link=True)
WAVES = {"may": MAY, "june": JUNE}


def by_node(sheet: ldp.Questionnaire, devices: list[str], answers: list[Any]) -> list[Any]:
    """The messages of devices in JavaScript, whose secrets are given."""
    lines = [
        {"client": sheet.client_document(), "random": os.urandom(256).hex(), "secret": secret}
        | {"messages": True, "answers": [own], "id": i}
        for i, (secret, own) in enumerate(zip(devices, answers, strict=True))
    ]
    text = "\n".join(map(json.dumps, lines))
    said = run_node(PORTABLE / "conformance.mjs", given=text).splitlines()
    return [json.loads(line)["reports"][0] for line in said]


@pytest.fixture(scope="module")
def panel(tmp_path_factory):
    """20 devices in Python and 20 in JavaScript, of which each answers in May and in June."""
    folder = tmp_path_factory.mktemp("panel")
    jobs = {"may": ["nurse"] * 40, "june": ["nurse"] * 30 + ["cook"] * 10}
    devices = [secrets.token_hex(32) for _ in range(20)]
    sent: dict[str, list[Any]] = {}
    for name, sheet in WAVES.items():
        answers = [{"job": job, "late": "no"} for job in jobs[name]]
        document = sheet.client_document()
        states = [folder / f"{i}.state" for i in range(20)]
        sent[name] = [
            Client(document, state=state, reports=2).message(own)
            for state, own in zip(states, answers, strict=False)
        ]
        sent[name] += by_node(sheet, devices, answers[20:])
        with collecting(folder / name, sheet, batch=40) as sender:
            for one in sent[name]:
                assert sender.send(one).status == 200
        collect(sheet, folder / name, finish=True)
    return folder, sent


@needs_node
def test_a_device_has_one_pseudonym_in_all_waves_and_another_elsewhere(panel):
    folder, sent = panel
    tokens = {name: [one["token"] for one in sent[name]] for name in WAVES}
    assert tokens["may"] == tokens["june"] and len(set(tokens["may"])) == 40
    assert {one["survey"] for one in sent["june"]} == {JUNE.fingerprint}
    secret = bytes.fromhex(json.loads((folder / "0.state").read_text().splitlines()[0])["secret"])
    for sheet, same in ((JUNE, True), (OTHER, False), (MAY.in_wave("later"), True)):
        found = Client(sheet.client_document(), secret=secret).message({"job": "cook"})
        assert (found["token"] == tokens["may"][0]) == same
    again = ldp.Questionnaire({**ASKED, "job": ldp.KRR(("nurse", "cook"), 1.0)}, wave="2026-05")
    unlinked = Client(again.client_document(), secret=secret).message({"job": "cook"})
    assert unlinked["token"] not in tokens["may"]


@needs_node
def test_waves_are_one_table_with_the_public_columns_wave_and_token(panel):
    folder, _ = panel
    both = ldp.Survey([folder / "may", folder / "june"])
    assert repr(both) == "Survey(80 rows; private: job, late; public: wave, token)"
    with pytest.warns(ldp.LDPWarning, match="taken as independent"):
        by_wave = both.frequencies("job", by="wave")
    assert list(by_wave.groups) == ["2026-05", "2026-06"]
    assert len(both.where("wave == '2026-06'")) == 40
    may, june = ldp.Survey(folder / "may"), ldp.Survey(folder / "june", MAY)  # or any wave of it
    for pair in ((may, june), tuple(both.where(f"wave == '{s.wave}'") for s in WAVES.values())):
        matched = pair[0].matched(pair[1], id="token")
        assert (len(matched), matched.lost) == (40, (0, 0))
        change = matched.change("job_1", "job_2")
        assert change.nobs == 40 and change.params["cook"] > 0.1
        directly = pair[0].change(pair[1], "job", id="token")
        assert directly.params.to_list() == change.params.to_list()
    file = pd.concat(map(pd.read_parquet, sorted((folder / "may").glob("*.parquet"))))
    assert set(file["wave"]) == {"2026-05"}
    other = ldp.Questionnaire({**ASKED, "more": ASKED["late"]})
    with pytest.raises((MechanismMismatch, InvalidArgument)):
        ldp.Survey(folder / "may", other)


def test_a_sheet_of_another_wave_is_refused(tmp_path):
    with collecting(tmp_path / "may", MAY) as sender:
        refused = sender.send(Client(JUNE.client_document()).message({"job": "cook"}))
        assert refused.status == 409 and "another wave" in refused.json()["error"]
        client = Client(MAY.client_document(), reports=2)
        for answer in ("nurse", "cook"):  # of two sheets with one pseudonym the first counts
            assert sender.send(client.message({"job": answer})).json() == {"accepted": True}
    with pytest.raises(MechanismMismatch, match=r"wave .2026-05., not .2026-06."):
        collect(JUNE, tmp_path / "may", finish=True)
    collect(MAY, tmp_path / "may", finish=True)
    assert len(ldp.Survey(tmp_path / "may")) == 1


def test_without_link_nothing_joins(tmp_path):
    sheet = ldp.Questionnaire(ASKED, wave="2026-05")
    with collecting(tmp_path, sheet) as sender:
        reports = {name: some_reports()[name] for name in ASKED}
        for _ in range(30):
            assert sender.send(with_random_token(sheet, reports)).status == 200
    collect(sheet, tmp_path, finish=True)
    assert ldp.Survey(tmp_path).columns == ("job", "late", "wave")
    state = tmp_path / "device.state"
    tokens = {
        Client(sheet.in_wave(wave).client_document(), state=state, reports=9).message({})["token"]
        for wave in ("1", "2", "3")
    }
    assert len(tokens) == 3 and "secret" not in state.read_text()


def test_tables_of_any_wave_are_read_with_any_wave(tmp_path):
    """A table says which questionnaire made it, whatever the wave."""
    people = pd.DataFrame({"job": ["nurse", "cook"] * 20, "late": ["no", "yes"] * 20})
    for name in ("true.csv", "true.parquet"):
        (people.to_csv if name.endswith("csv") else people.to_parquet)(tmp_path / name, index=False)
        target = tmp_path / f"reports{name[4:]}"
        privatize_sheets(tmp_path / name, target, MAY.collector())
        for sheet in (MAY, JUNE, ldp.Questionnaire(ASKED)):
            assert len(ldp.Survey(target, sheet)) == 40
        with pytest.raises(MechanismMismatch):
            ldp.Survey(target, ldp.Questionnaire(ASKED, refused={"job": "cook"}))
