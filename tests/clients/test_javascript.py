"""The client in JavaScript: documents, what it refuses, and its declarations for TypeScript."""

from __future__ import annotations

import re
from typing import Any

from shared.javascript import (
    CLIENTS_TESTS,
    PORTABLE,
    answered,
    client_document,
    needs_node,
    run_node,
    sealed,
)

import ldpstats as ldp

LABELS = [
    "Z\u00fcrich",
    "\U0001f600",
    '"\\\n\t\x07\x7f',
    "\0",
    "__proto__",
    "constructor",
    "\ud800",
]
KEEP = {
    "answers": LABELS,
    "reports": LABELS,
    "draw": {"kind": "keep", "k": len(LABELS), "keep": str(1 << 63)},
}
HASH = {"kind": "hash", "cohorts": 4, "cells": 100, "hashes": 2, "hash": "ldpstats"}
HASHED = HASH | {"then": {"kind": "bits", "own": str(1 << 64), "other": "0"}}
OPEN = {"answers": None, "reports": {"bits": 100}, "draw": HASHED}
ZEROS = "00" * 4_000


def changed(**fields: Any) -> dict[str, Any]:
    """The document with other fields of its draw, and its own fingerprint."""
    return client_document(KEEP | {"draw": KEEP["draw"] | fields})


def without(name: str) -> dict[str, Any]:
    return {field: value for field, value in client_document(KEEP).items() if field != name}


BROKEN = {
    "format": sealed(client_document(KEEP) | {"format": "ldpstats"}),
    "version": sealed(client_document(KEEP) | {"version": 2}),
    "version-true": sealed(client_document(KEEP) | {"version": True}),
    "no-fingerprint": without("fingerprint"),
    "fingerprint": client_document(KEEP) | {"survey": "other"},
    "no-survey": sealed(without("survey")),
    "no-question": sealed(without("question")),
    "epsilon": sealed(client_document(KEEP) | {"epsilon": "much"}),
    "kind": changed(kind="constructor"),
    "kind-number": changed(kind=3),
    "threshold-number": changed(keep=3),
    "threshold-above": changed(keep=str((1 << 64) + 1)),
    "threshold-negative": changed(keep="-1"),
    "threshold-hex": changed(keep="0x10"),
    "k-above": changed(k=len(LABELS) + 1),
    "k-zero": changed(k=0),
    "k-text": changed(k="3"),
    "k-half": changed(k=2.5),
    "rest": changed(rest=["1", "0"]),
    "equal-answers": client_document(KEEP | {"answers": ["a", "a"]}),
    "no-answers": client_document(KEEP | {"answers": []}),
    "few-reports": client_document(KEEP | {"reports": LABELS[:2]}),
    "open-labels": client_document(KEEP | {"answers": None}),
    "null": None,
    "list": [],
    "text": "{}",
    "deep": sealed(client_document(KEEP) | {"__proto__": [[[[{"format": []}]]]] * 2, "x": 0.5}),
    "questions-equal": client_document([KEEP | {"name": "a", "private": True}] * 2, ask=None),
    "ask": client_document([KEEP | {"name": "a", "private": True}], ask=2),
    "refused": client_document([KEEP | {"name": "a", "private": True, "refused": "?"}], ask=None),
}


@needs_node
def test_documents_that_are_none_are_refused() -> None:
    request = {"random": ZEROS, "answers": ["a"]}
    said = answered(*({"client": one} | request for one in BROKEN.values()))
    found = dict(zip(BROKEN, said, strict=True))
    assert found == {name: {"refused": "document"} for name in BROKEN}


@needs_node
def test_answers_are_texts_as_they_are() -> None:
    ALL = {"random": "ff" * 4_000, "reports": None}
    kept = {"client": changed(keep=str(1 << 64))} | ALL
    none = ["zurich", "Zu\u0308rich", "Z\u00fcrich ", "", None, 3, True, [], {}, ["\0"], "toString"]
    listed, refused, opened = answered(
        kept | {"answers": LABELS},
        kept | {"answers": none},
        {"client": client_document(OPEN), "answers": ["\ud800", "a\udc00b", "", "\U0001f600"]}
        | ALL,
    )
    assert listed["reports"] == LABELS and listed["used"] == 8 * len(LABELS)
    assert refused == {"reports": [{"refused": "answer"}] * len(none), "used": 0}
    assert opened["reports"][:2] == [{"refused": "answer"}] * 2
    assert all(isinstance(report, str) for report in opened["reports"][2:])


@needs_node
def test_the_hash_has_the_cells_of_the_specification() -> None:
    # the cells of "Z\u00fcrich" in (0, 0) and (0, 1); random words of zeros draw cohort 0
    client = client_document(OPEN)
    (said,) = answered({"client": client, "random": ZEROS, "answers": ["Z\u00fcrich"]})
    cohort, bits = said["reports"][0].split(":")
    assert cohort == "0" and [i for i, bit in enumerate(bits) if bit == "1"] == [20, 54]


@needs_node
def test_the_permanent_response_is_that_of_the_specification() -> None:
    rappor = ldp.RAPPOR(16, 2, 64, f=0.5, p=0.0, q=1.0)
    owned, absent = rappor.permanent_thresholds()
    draw = {"kind": "rappor", "cohorts": 64, "cells": 16, "hashes": 2, "hash": "ldpstats"}
    draw |= {"digest": rappor.filter_digest, "owned": str(owned), "absent": str(absent)}
    draw |= {"one": str(1 << 64), "zero": "0", "once": False}
    question = {"answers": None, "reports": {"bits": 16}, "draw": draw}
    request = {"client": client_document(question), "answers": ["a", "Z\u00fcrich", "a"]}
    secret = bytes(range(32)).hex()
    given, drawn = answered(
        request | {"random": "", "secret": secret}, request | {"random": secret + "00"}
    )
    said = ["54:1001001000001000", "54:0100101010000100", "54:1001001000001000"]
    assert given == {"reports": said, "used": 0} and drawn == {"reports": said, "used": 32}


@needs_node
def test_what_is_refused_spends_nothing_and_draws_nothing() -> None:
    client = client_document(KEEP)
    said = client_document(KEEP, epsilon="3.0")  # it spends ln 8
    budget, epsilon, most, short = answered(
        {"client": client, "random": ZEROS, "reports": 2, "answers": ["?", "\0", 3, "\0", "?"]},
        {"client": said, "random": "", "max_epsilon": "2.99", "answers": []},
        {"client": said, "random": "", "max_epsilon": "3", "answers": []},
        {"client": client, "random": "00" * 15, "answers": ["\0", "\0"]},
    )
    assert budget["reports"] == [
        {"refused": "answer"},
        "\0",
        {"refused": "answer"},
        "\0",
        {"refused": "budget"},
    ]
    assert epsilon == {"refused": "epsilon"} and most == {"reports": [], "used": 0}
    assert short == {"reports": ["\0", {"refused": "budget"}], "used": 8}


@needs_node
def test_programs_use_it() -> None:
    # names that objects have, answers that are not looked at, frozen copies, options, errors
    assert not run_node(CLIENTS_TESTS / "usage.mjs", str(PORTABLE / "ldpstats-client.mjs"))


def test_declarations_agree_with_what_the_module_exports() -> None:
    module = (PORTABLE / "ldpstats-client.mjs").read_text("utf-8")
    declared = (PORTABLE / "ldpstats-client.d.mts").read_text("utf-8")
    exported = set(re.findall(r"^export (?:const|class|function) (\w+)", module, re.M))
    values = re.findall(r"^export declare (?:const|class|function) (\w+)", declared, re.M)
    known = {"VERSION", "Refused", "Client", "fingerprint", "invitationCode"}
    assert exported == set(values) == known
    client = module[module.index("export class Client") :].split("\n}\n")[0]
    members = set(re.findall(r"^  (?:get )?(\w+)\(", client, re.M))
    types = declared[declared.index("class Client") :].split("\n}\n")[0]
    assert members == set(re.findall(r"^  (?:readonly )?(\w+)[:(]", types, re.M))
    (options,) = re.findall(r"const \{ (.*?) \} = options;", client)
    names = [option.split(" ")[0] for option in options.split(", ")]
    options_declared = declared[declared.index("interface Options") :].split("\n}\n")[0]
    assert names == re.findall(r"^  (\w+)\?:", options_declared, re.M)
    reasons = set(re.findall(r'"(\w+)"', declared[declared.index("type Reason") :].split(";")[0]))
    assert set(re.findall(r'refuse\(\s*"(\w+)"', module)) == reasons


def test_the_module_may_stand_in_a_page() -> None:
    # in the text of <script type="module">; it asks nobody, keeps nothing, and says nothing
    module = (PORTABLE / "ldpstats-client.mjs").read_text("utf-8")
    assert not re.search(r"</script|<!--|\]\]>", module, re.I) and module.isascii()
    assert not re.search(r"^import |^export .* from ", module, re.M)
    kept = (
        r"\b(eval|Function|console|fetch|XMLHttpRequest|localStorage|document\.|window|navigator)\b"
    )
    code = re.sub(r"^\s*(//|/?\*).*$", "", module, flags=re.M)
    assert not re.search(kept, code)
