"""What clients must refuse: broken documents, answers that cannot be, and so on."""

from collections.abc import Iterator
from copy import deepcopy
from functools import reduce
from typing import Any

from clients.vectors.surveys import SURVEYS

from ldpstats.clients.portable.ldpstats_client import fingerprint

W = str(1 << 64)
GONE = object()
Change = tuple[str, str, Any]  # a client, the path of a field, and its new value

# the fields of the document are right, and so is its fingerprint, but for this one
_CHANGES: list[Change] = [
    *(("warner", "format", value) for value in (GONE, "ldpstats-mechanism", 1)),
    *(("warner", "version", value) for value in (GONE, 2, 0, True, "1", None)),
    *(("warner", "survey", value) for value in (GONE, 7)),
    *(("warner", "epsilon", value) for value in (GONE, 0.7, "much", "-1", "")),
    *(("warner", "question", value) for value in (GONE, None, [])),
    *(("warner", f"question.{name}", GONE) for name in ("answers", "reports", "draw")),
    *(("warner", "question.answers", value) for value in (["no", "no"], ["no", 1], [])),
    *(("warner", "question.answers", value) for value in ("no", 1.5, -2)),
    *(("warner", "question.reports", value) for value in (["no", "no"], ["no"], None, {"bits": 2})),
    *(("warner", "question.draw.kind", value) for value in (GONE, "magic", "__proto__", 3)),
    *(("warner", "question.draw.k", value) for value in (GONE, "2", 0, -1, 3)),
    *(("warner", "question.draw.keep", value) for value in (GONE, "", "-1", "+1", "1.5", "1e3")),
    *(("warner", "question.draw.keep", value) for value in ("0x1", " 1", "0" + W)),
    *(("warner", "question.draw.keep", value) for value in (str((1 << 64) + 1), 5, None, ["1"])),
    *(("device-die", "question.draw.rest", value) for value in (["1", "0"], ["1"], "1", [1, 2])),
    *(("krappor", "question.draw.own", value) for value in (GONE, ["1", "2"], str(1 << 65))),
    *(("krappor", "question.draw.bits", value) for value in (GONE, "4", 3, 1)),
    *(("krappor", "question.draw.sent", value) for value in (GONE, 5, 0)),
    *(("krappor", "question.reports", value) for value in (4, {}, {"bits": 5})),
    *(("subsets", "question.draw.size", value) for value in (GONE, 4, 0)),
    *(("hadamard", "question.draw.design.kind", value) for value in (GONE, "paley")),
    *(("hadamard", "question.draw.own", value) for value in (GONE, 0)),
    *(("custom-square", "question.draw.rows", value) for value in (GONE, [], {})),
    *(("custom-square", "question.draw.rows.0.upper", value) for value in (GONE, ["1", "x"])),
    ("custom-square", "question.draw.rows.0.upper", ["5", "4", str((1 << 64) - 1)]),
    *(("custom-wide", "question.draw.rows.0.outputs", value) for value in ([0, 1], [0, 1, 2, 5])),
    *(("device-cards", "question.draw.rows.1.total", value) for value in (GONE, "0", 20)),
    *(("device-cards", "question.draw.rows.1.rest", value) for value in (GONE, ["0"])),
    *(("device-others", "question.draw.accepted", value) for value in (GONE, [["3", "5"]])),
    *(("urr", "question.draw.by", value) for value in (GONE, [0, 4], [])),
    *(("urap", "question.draw.sensitive", value) for value in (GONE, [0, 4], [3, 0])),
    *(("product", "question.draw.parts.0.draw.kind", value) for value in (GONE, "magic")),
    *(("orr", "question.draw.hash", value) for value in (GONE, "sha1")),
    *(("orr", "question.draw.cohorts", value) for value in (GONE, 0, "3")),
    *(("orr", "question.draw.then.kind", value) for value in (GONE, "same")),
    *(("rappor-16", f"question.draw.{name}", GONE) for name in ("digest", "owned", "zero", "once")),
    *(("pum", "question.draw.tags", value) for value in (GONE, ["home", "home"])),
    *(("pum", "question.draw.draw.kind", value) for value in (GONE, "magic")),
    *(("strings", f"question.draw.{name}", GONE) for name in ("length", "pad", "alphabet")),
    *(("strings", "question.draw.gram_question.draw.kind", value) for value in (GONE, "magic")),
    *(("strings", "question.answers", value) for value in (False, 3)),
    *(("strings", "question.reports", value) for value in (False, 3)),
    *(("sheet-asks-2", "ask", value) for value in (GONE, 0, 6, "2")),
    *(("sheet-asks-2", "questions", value) for value in (GONE, {}, [])),
    *(("sheet-asks-2", "questions.1.name", value) for value in (GONE, "__proto__", 1)),
    *(("sheet-asks-2", "questions.1.private", value) for value in (GONE, 1)),
    ("sheet-asks-4", "questions.0.refused", "3"),
    *(("sheet-wave", name, value) for name in ("wave", "family") for value in (GONE, 5, None)),
    *(("sheet-wave", name, value) for name, value in (("wave", ""), ("link", False))),
    *(("sheet-linked", "link", value) for value in (False, "true", 1, None)),
    ("sheet", "link", True),
    *(
        ("strings", f"question.draw.{name}", SURVEYS[other].client_document()["question"])
        for name, other in (("string_question", "rappor-16"), ("gram_question", "pum"))
    ),
]  # fmt: skip


def changed(client: str, path: str, value: Any, sealed: bool = True) -> dict[str, Any]:
    """A client document with another value, or none, in one place."""
    document = deepcopy(SURVEYS[client].client_document())
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = reduce(lambda found, step: found[step], way, document)
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    own = {name: field for name, field in document.items() if name != "fingerprint"}
    return own | {"fingerprint": fingerprint(own)} if sealed else document


def documents() -> Iterator[dict[str, Any]]:
    """Vectors of documents that must be refused."""
    sealed = [(change, changed(*change)) for change in _CHANGES]
    wrong = (GONE, "0" * 12, "", None, SURVEYS["warner"].client_document()["fingerprint"].upper())
    changes = [*(("warner", "fingerprint", value) for value in wrong), ("krr-2", "epsilon", "0.01")]
    unsealed = [(change, changed(*change, sealed=False)) for change in changes]
    broken: list[Any] = [([], []), (None, None), (7, 7)]
    for (client, path, value), document in [*sealed, *unsealed]:
        said = "left out" if value is GONE else ascii(value)[:80]
        yield {"name": f"document: {path} of {client} is {said}", "client": document}
    for value, document in broken:
        yield {"name": f"document: {value!r}", "client": document}


# thresholds under which a report is the answer, or shows more of it than the document says
_RAISED: list[Change] = [
    *(("warner", "question.draw.keep", value) for value in (W, "6205053579027060736")),
    *((name, "question.draw.keep", W) for name in ("square-wave", "urr", "urr-levels", "subsets")),
    *((name, "question.draw.keep", W) for name in ("hadamard", "projective", "krr-20")),
    *(("hadamard", "question.draw.keep", value) for value in ("0", "1")),
    *((name, "question.draw.draw.keep", W) for name in ("pum", "pum-levels")),
    *(("krappor", f"question.draw.{name}", W) for name in ("own", "other")),
    *(("krappor", f"question.draw.{name}", "0") for name in ("own", "other")),
    ("lumped-66", "question.draw.own.64", "1"),
    *(("urap", f"question.draw.{name}", W) for name in ("told", "own.0", "other.0")),
    ("pum-numbers", "question.draw.draw.told", W),
    *(("orr", "question.draw.then.keep", value) for value in (W, str(int(W) // 2))),
    *(("orappor", f"question.draw.then.{name}", W) for name in ("own", "other")),
    ("orappor", "question.draw.hashes", 3),
    *(("rappor-16", f"question.draw.{name}", at) for name, at in (("owned", W), ("absent", "0"))),
    *(("rappor", f"question.draw.{name}", at) for name, at in (("one", W), ("zero", "1"))),
    ("rappor-16", "question.draw.hashes", 3),
    ("custom-square", "question.draw.rows.0", {"upper": [str((1 << 64) - 1)], "outputs": [0]}),
    ("device-cards", "question.draw.rows.1", {"upper": ["0"] * 3, "rest": ["0"] * 3, "total": "1"}),
    ("device-uneven", "question.draw.law.upper.0", "6148934691236517205"),
    ("device-others", "question.draw.accepted.0", ["0", "1"]),
    ("product-wide", "question.draw.parts.1.draw.keep", W),
    ("strings", "question.draw.gram_question.draw.keep", W),
    ("strings-bits", "question.draw.string_question.draw.then.own", W),
    ("warner", "question.draw", {"kind": "same"}),
    ("sheet", "questions.1.draw", {"kind": "same"}),
    ("sheet", "questions.2.private", True),
    ("sheet-asks-4", "ask", 5),
    ("sheet-asks-4", "questions.4.draw.keep", W),
]  # fmt: skip
_SPENDING = (
    *("warner", "krr-exact", "custom-square", "device-cards", "device-uneven", "device-others"),
    *("square-wave", "urr", "urr-levels", "hadamard", "projective", "product-wide", "krappor"),
    *("lumped-66", "subsets", "urap", "urap-levels", "orr", "orappor-repeats"),
    *("rappor", "rappor-lifetime", "pum", "pum-levels", "strings", "strings-bits", "geometric"),
    *("sheet", "sheet-asks-2", "sheet-of-all-kinds"),
)


def spending() -> Iterator[dict[str, Any]]:
    """Vectors of documents whose draws spend more than they say."""
    for client, path, value in _RAISED:
        said = ascii(value).replace(W, "W")
        name = f"epsilon: {path} of {client} is {said}"
        yield {"name": name, "client": changed(client, path, value)}
    for client in _SPENDING:
        less = repr(0.9999 * float(SURVEYS[client].client_document()["epsilon"]))
        name = f"epsilon: {client} says a little less than it spends"
        yield {"name": name, "client": changed(client, "epsilon", less)}


def _of(name: str, client: str, answers: list[Any], **how: Any) -> dict[str, Any]:
    return {"name": name, "client": client, "answers": answers, **how}


def _of_unprotected() -> Iterator[dict[str, Any]]:
    """Questions that are not protected, or not for all answers, under a limit."""
    cases: dict[str, Any] = {
        "sheet": ("region", {"job": "cook"}),
        "urr": ("report", SURVEYS["urr"].client_document()["question"]["answers"][0]),
        "urap": ("report", SURVEYS["urap"].client_document()["question"]["answers"][0]),
        "pum": ("report", "park"),
    }
    for client, (name, answer) in cases.items():
        for given in ([], ["job"], [name, "job"]):
            title = f"a limit, and {given} need no protection in {client}"
            yield _of(title, client, [answer], max_epsilon="9", unprotected=given)


_BAD = [*("", "Yes", "yes ", " yes", "1"), 1, None, True, ["yes"], {"yes": 1}, "yes"]
_NUMBERS = [*("03", "+3", " 3", "3.0", "1e0", "20", "-1", "٣", "9" * 20), 3, "3"]
_HOME = {"home": ["park"]}


def _tags() -> list[dict[str, Any]]:
    tags: list[Any] = [
        *({"home": ["park"], "constructor": ["park"]}, {"work": ["park"]}, {"home": ["pool"]}),
        *({"home": "park"}, {"home": [1]}, {"home": None}, {"__proto__": ["park"]}, ["home"]),
    ]
    found = [_of(f"tags {given!r}", "pum", ["park"], tags=given) for given in tags]
    found.append(_of("tags of a mechanism that has none", "krr-labels", ["cook"], tags=_HOME))
    sheet = [{"home": ["park"]}, {"place": {"work": ["park"]}}, {"url": _HOME}]
    return found + [
        _of(f"tags {given!r}", "sheet-of-all-kinds", [{}], tags=given) for given in sheet
    ]


def others() -> list[dict[str, Any]]:
    """Vectors of answers, budgets, tags and epsilons that must be refused."""
    seven = dict.fromkeys(("__proto__", "a", "é", "😀", "toString"), "7")
    twice: dict[str, Any] = {"home": ["park", "park"], "constructor": []}
    return [
        _of("answers that are none", "warner", _BAD, reports=2),
        _of("answers that are no numbers of theirs", "krr-20", _NUMBERS),
        _of("names of objects are no answers", "krr-labels", ["__proto__", "toString", "cook"]),
        _of("answers to be hashed", "orr", [1, None, "\ud800", "a\udc00", ["a"], "a"]),
        _of("answers to be hashed, of a list", "orr-closed", ["z", 1, "a"]),
        _of("answers with a permanent response", "rappor-16", ["\ud800", 7, "a", "a"]),
        _of("letters of strings", "strings", ["", "abz", "ab ", "abcdez", 3, "\ud800", "abc"]),
        _of("letters that are replaced", "strings-overlap", ["", "zz_z", "z" * 9], reports=2),
        _of("sheets", "sheet", [[], "job", None, {"jobs": "cook"}, {"job": "Cook"}, {"ill": 1}]),
        _of("no answers", "sheet", [{}]),
        _of("names of objects are no questions", "sheet", [{"toString": "no"}, {"job": "cook"}]),
        _of("a sheet that is refused leaves the questions", "sheet-asks-2", [seven, seven, {}]),
        _of("one report too many", "krr-labels", ["cook"] * 3),
        _of("the third report of two", "krr-labels", ["cook", "Cook", "cook", "cook"], reports=2),
        _of("no limit", "krr-labels", ["cook"] * 3, reports=None),
        _of("one report of RAPPOR without a permanent noise", "rappor", ["a", "a"], reports=5),
        _of("reports of RAPPOR", "rappor-lifetime", ["a", "a", "b"], reports=1),
        _of("sheets beyond the budget", "sheet-asks-2", [{}, {}, {}], reports=2),
        _of("a budget that is spent goes before an answer", "warner", ["yes", "maybe"]),
        _of("as much epsilon as the device accepts", "warner", ["yes"], max_epsilon="0.7"),
        _of("more epsilon than the device accepts", "warner", ["yes"], max_epsilon="0.699"),
        _of("one report of two is accepted", "warner", ["yes"] * 2, max_epsilon="0.7", reports=2),
        _of("an infinite epsilon", "mangat", ["yes"], max_epsilon="1000"),
        _of("an infinite epsilon, whatever is accepted", "mangat", ["yes"], max_epsilon="inf"),
        _of("an infinite epsilon without a limit", "mangat", ["yes", "no"], reports=None),
        _of("epsilon of a sheet", "sheet", [{"job": "cook"}], max_epsilon="1.4"),
        *_of_unprotected(),
        _of("epsilon of a lifetime", "rappor-lifetime", ["a"], max_epsilon="4"),
        _of("tags go before epsilon", "pum", ["park"], tags={"work": []}, max_epsilon="0.1"),
        _of("a category twice under one tag", "pum", ["park"], tags=twice),
        *_tags(),
    ]  # fmt: skip
