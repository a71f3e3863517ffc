"""Documents of results: their fingerprint, those of 0.2.0 that have none, and damage anywhere."""

from __future__ import annotations

import copy
import json
import os
import random
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hostile.documents import spoil_document

import ldpstats as ldp
from ldpstats import LDPError, LDPWarning

KINDS = ("frequency", "association", "grouped", "posterior", "weighted")
DAMAGED = int(os.environ.get("LDPSTATS_DAMAGED", "80"))  # documents of each kind


@cache
def made(kind: str) -> Any:
    rng = np.random.default_rng(1)
    krr, yes = ldp.KRR(("a", "b", "c"), 1.0), ldp.Warner(epsilon=1.0)
    jobs = krr.privatize(rng.choice(["a", "b", "c"], 900, p=[0.5, 0.3, 0.2]), rng)
    if kind == "frequency":
        return ldp.FrequencyModel(jobs).fit("em")
    if kind == "association":
        ill = yes.privatize(rng.choice(["no", "yes"], 900), rng)
        return ldp.AssociationModel(jobs, ill, names=("job", "ill")).fit()
    if kind == "grouped":
        groups = {"n": krr.counts([40, 30, 20]), "s": krr.counts([50, 30, 20])}
        return ldp.GroupedModel(groups, by="region").fit()
    if kind == "posterior":
        return ldp.FrequencyModel(jobs).fit_posterior(rng)
    table = pd.DataFrame({"job": rng.choice(["a", "b", "c"], 900), "w": rng.uniform(1, 2, 900)})
    table["region"] = rng.choice(["n", "s"], 900)
    sheet = ldp.Questionnaire({"job": krr})
    survey = ldp.Survey(sheet.privatize(table, rng), sheet, weights="w")
    return survey.frequencies("job", by="region")


def unsigned(document: Any) -> Any:
    """The document as 0.2.0 wrote it: specifications alone had a fingerprint."""
    if isinstance(document, list):
        return [unsigned(part) for part in document]
    if not isinstance(document, dict):
        return document
    own = document.get("format") == "ldpstats-mechanism"
    return {n: unsigned(v) for n, v in document.items() if own or n != "fingerprint"}


@pytest.mark.parametrize("kind", KINDS)
def test_documents_come_back_and_old_ones_with_a_warning(kind: str) -> None:
    results = made(kind)
    text = results.to_json()
    assert len(json.loads(text)["fingerprint"]) == 12
    assert type(results).from_json(text).to_json() == text
    document = unsigned(json.loads(text))
    with pytest.warns(LDPWarning, match=r"no fingerprint.*write it again with to_json") as found:
        again = type(results).from_dict(document)
    assert len(found) == 1  # none for each part
    assert again.to_json() == text
    beside = json.loads(text) | {"tested": [1]}  # as the command line adds to it
    assert type(results).from_dict(beside).to_json() == text


def edited(kind: str) -> dict[str, Any]:
    """One estimate is another, .4 beside, and the rest is as it was."""
    document = copy.deepcopy(json.loads(made(kind).to_json()))
    if kind == "frequency" or kind == "association":
        document["fitted"]["estimate"][0] += 0.4
        document["linear"]["estimate"][0] += 0.4
    elif kind == "grouped":
        document["fits"][0]["linear"]["estimate"][0] -= 0.4
    elif kind == "posterior":
        document["origin"]["nobs"] += 1
    else:
        document["totals"]["estimate"][0] += 200.0
    return document


@pytest.mark.parametrize("kind", KINDS)
def test_an_edited_document_is_refused(kind: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"^fingerprint=.*changed or damaged"):
        type(made(kind)).from_dict(edited(kind))


@pytest.mark.parametrize("kind", ["grouped", "weighted"])
def test_a_number_that_follows_from_others_is_not_changed_unseen(kind: str) -> None:
    document = json.loads(made(kind).to_json())
    assert document["nobs"] == made(kind).nobs
    document["nobs"] += 1
    with pytest.raises(ldp.InvalidArgument, match=r"^fingerprint=.*changed or damaged"):
        type(made(kind)).from_dict(document)


@pytest.mark.parametrize("kind", ["frequency", "association", "grouped"])
def test_an_estimate_outside_its_interval_is_seen_without_a_fingerprint(kind: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"is damaged: .*(and its interval|sum to 1\.4)"):
        type(made(kind)).from_dict(unsigned(edited(kind)))


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_raises_a_bare_error_or_changes_results(kind: str, old: bool) -> None:
    results, dice = made(kind), random.Random(f"{kind} {old}")
    whole = json.loads(results.to_json())
    whole, text = unsigned(whole) if old else whole, results.to_json()
    refused = 0
    for i in range(DAMAGED):
        document = spoil_document(whole, dice)
        try:
            written = json.dumps(document) if i % 2 else None
        except (TypeError, ValueError):  # some damage is not that of a file
            written = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore" if old else "error", LDPWarning)
                kind_of = type(results)
                found = (
                    kind_of.from_dict(document) if written is None else kind_of.from_json(written)
                )
        except LDPWarning:
            assert "fingerprint" not in document
        except LDPError:
            refused += 1
        else:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", LDPWarning)
                assert str(found.summary()) and found.to_json()
            assert old or found.to_json() == text
    assert refused > 0.5 * DAMAGED


@pytest.mark.parametrize("text", ["", "[" * 100_000, "{", "null", '{"format": 1}', b"\xff", None])
def test_what_is_no_document_is_refused(text: Any) -> None:
    with pytest.raises(ldp.InvalidArgument):
        ldp.FrequencyResults.from_json(text)


def test_a_shape_that_no_memory_holds_is_refused() -> None:
    document = unsigned(json.loads(made("frequency").to_json()))
    document["fitted"]["estimate"] = {"shape": [10**6, 10**6], "repeated": 0.1}
    with pytest.raises(ldp.InvalidArgument, match="more than any array has"):
        ldp.FrequencyResults.from_dict(document)


def test_groups_of_devices_alone_name_the_field_that_is_damaged() -> None:
    lie = ldp.devices.library.cheating_detection
    devices = [lie("1/2", yes).mechanism(("no", "yes")) for yes in ("1/6", "1/3")]
    counts = [device.counts(n) for device, n in zip(devices, ([42, 18], [28, 32]), strict=True)]
    groups = ldp.FrequencyModel(counts).fit().groups
    whole = json.loads(json.dumps(groups.to_dict()))
    assert type(groups).from_dict(whole).to_dict() == whole
    for damage, words in (
        ({"counts": None}, "counts=None: must be a list"),
        ({"counts": [[1.5, 2], [3, 4]]}, "=1.5: must be non-negative whole counts"),
        ({"missing": ["x", 0]}, "missing='x'"),
        ({"missing": [0]}, r"groups=\[2, 2, 1, 2\]: must be as many"),
        ({"labels": ["a"]}, "must be as many"),
        ({"more": 1}, r"document=\['more'\]: are no fields"),
    ):
        with pytest.raises(ldp.InvalidArgument, match=words):
            type(groups).from_dict(whole | damage)
    del whole["mechanisms"]
    with pytest.raises(ldp.InvalidArgument, match=r"\['mechanisms'\]: are fields that it lacks"):
        type(groups).from_dict(whole)
