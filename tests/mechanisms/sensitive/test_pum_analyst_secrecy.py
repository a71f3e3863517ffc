"""Everything that the collector and the analyst write keeps the respondents' secrets."""

from __future__ import annotations

import io as text_io
import json
import pickle
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from shared.pum_surveys import MECHANISMS, OTHER, REGIONS, SECRET, failure, personal, report_law

import ldpstats as ldp
from ldpstats import io, privacy


def analyst_artefacts(kind: str, own: str, folder: Path) -> dict[str, bytes]:
    """A survey of respondents at home in `own`, from the reports to the plots."""
    pum = personal(kind)
    values = [own] * 300 + ["centre"] * 400 + ["park"] * 200 + ["clinic"] * 100
    homes = [own] * 300 + [own] * 400 + [None] * 200 + ["market"] * 100
    reports = pum.privatize(values, np.random.default_rng(4), {"home": homes})
    tally, bits = reports.tally(), reports.tally(bits=True) if kind == "urap" else reports.tally()
    flat = np.full(len(REGIONS), 1 / len(REGIONS))
    cases: dict[str, dict[str, Any]] = {
        "I": {},
        "II": {"background": {"home": flat}},
        "III": {"background": {"home": flat, "work": flat}, "exact": True},
    }
    found: dict[str, Any] = {
        "reports": reports.y.tobytes(),
        "pickled reports": pickle.dumps(reports),
        "pickled counts": pickle.dumps(tally),
        "pickled sums": pickle.dumps(bits),
        "text": repr((reports, tally, bits, pum, str(pum), str(pum.common))),
        "labels": repr(pum.common.report_labels(reports).tolist()),
        "specification": json.dumps([pum.to_dict(), pum.common.to_dict(), pum.common.fingerprint]),
        "audit": f"{pum.common.audit()} {privacy.uldp(pum.common)}",
    }
    io.write_mechanism(pum.common, folder / "spec.json")
    io.write_reports(reports, folder / "reports.csv")
    io.write_reports(reports, folder / "reports.parquet")
    for name in ("spec.json", "reports.csv", "reports.parquet"):
        found[name] = (folder / name).read_bytes()
    assert io.read_counts(folder / "reports.csv", pum.common).nobs == 1000
    for case, known in cases.items():
        for data in (tally, bits):
            model = ldp.PersonalizedModel(data, pum, **known)
            results, at = model.fit(), f"{case} {type(data).__name__}"
            summary = results.summary()
            found[f"model {at}"] = repr(model) + repr(results) + repr(vars(results))
            found[f"json {at}"] = results.to_json()
            found[f"summary {at}"] = summary.as_text() + summary.as_html() + summary.as_latex()
            found[f"frame {at}"] = results.summary_frame().to_csv() + results.case.to_csv()
            found[f"bound {at}"] = results.loss_bound().to_csv() + results.background.to_csv()
            found[f"pickle {at}"] = pickle.dumps(results)
            if data is tally:
                found[f"plot {at}"] = svg(results)
            found[f"error {at}"] = str(failure(lambda r=results: r.t_test("nowhere = 0")))
    found["another mechanism"] = failure(
        lambda: ldp.PersonalizedModel(pum.mechanism.draw(flat, 9, np.random.default_rng(1)), pum)
    )
    encoded = {k: v if isinstance(v, bytes) else v.encode() for k, v in found.items()}
    return {k: re.sub(rb"0x[0-9a-f]+", b"0x", v) for k, v in encoded.items()}


def svg(results: ldp.PersonalizedResults) -> bytes:
    drawn = text_io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "test", "svg.fonttype": "none"}):
        results.plot().figure.savefig(drawn, format="svg", metadata={"Date": None})
    plt.close("all")
    return drawn.getvalue()


@pytest.mark.parametrize("kind", MECHANISMS)
def test_the_analyst_writes_the_same_whatever_the_secrets(kind: str, tmp_path: Path) -> None:
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    first, second = (
        analyst_artefacts(kind, own, folder)
        for own, folder in zip((SECRET, OTHER), folders, strict=True)
    )
    assert {name for name in first if first[name] != second[name]} == set()
    for name, text in first.items():  # as often as the other region that no one reported
        assert text.count(SECRET.encode()) == text.count(OTHER.encode()), name


def test_the_check_of_the_analyst_finds_another_survey(tmp_path: Path) -> None:
    """Control: homes that are no one's secret are reported, and counted."""
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    first = analyst_artefacts("urr", SECRET, folders[0])
    pum = personal("urr")
    open_ = pum.privatize([SECRET] * 300, np.random.default_rng(4), {"home": ["park"] * 300})
    assert SECRET in pum.common.report_labels(open_).tolist()
    assert first["reports"] != open_.y.tobytes()


@pytest.mark.parametrize("kind", MECHANISMS)
def test_equal_intermediate_values_have_equal_laws(kind: str) -> None:
    """Of two respondents at home, in different regions, exactly; and of both and the bot."""
    pum = personal(kind)
    bot = pum.common.channel().matrix()[len(REGIONS)]
    for own in (SECRET, OTHER):
        row = pum.channel({"home": {own}}).matrix()[REGIONS.index(own)]
        np.testing.assert_array_equal(row, bot)
        client = pum.client({"home": {own}}, np.random.default_rng(8).bytes, reports=None)
        reports = [client.report(own) for _ in range(300)]
        assert report_law(pum, bot, reports) > 1e-4
        with pytest.raises(AssertionError):  # control: a device that always says "home"
            said = ["home"] * 300 if kind == "urr" else ["00000010"] * 300
            assert report_law(pum, bot, said) > 1e-4


def test_a_client_cannot_privatise_files(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("answer\npark\n")
    client = personal("urr").client({"home": {SECRET}})
    with pytest.raises(ldp.InvalidArgument, match="client") as caught:
        io.privatize_file(tmp_path / "answers.csv", tmp_path / "out.csv", "answer", client)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value) and not (tmp_path / "out.csv").exists()
