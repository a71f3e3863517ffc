"""Makes the test vectors: ``python -m clients.vectors.make`` in tests/ writes them."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clients.vectors import rare, refusals
from clients.vectors.reference import expected
from clients.vectors.surveys import GRAMS, PERSONAL, SHEETS, SINGLE, SURVEYS, answers, sheets, tags
from clients.vectors.tapes import Tape, of_words, ones, stream, zeros

import ldpstats

PATH = Path(ldpstats.__file__).parent / "clients" / "vectors.json"
SPARE = 16  # bytes after those that are used
SECRET = bytes(range(32)).hex()
_FEW = 900  # bytes after which a survey has answers enough


def vector(name: str, client: str, tape: Tape, given: list[Any], **how: Any) -> dict[str, Any]:
    """A vector with the reports of the reference."""
    found = expected(SURVEYS[client], tape, given, **how)
    random = tape.taken(0 if "random" in str(found) else SPARE).hex()
    head = {"name": name, "client": client, "random": random, "reports": 1}
    return head | how | {"answers": given, "expected": found}


def _few(survey: Any, tape: Tape, given: list[Any]) -> list[Any]:
    """As many of the answers as take some bytes, but one at least."""
    expected(survey, tape, given[:1], None, tags=tags(survey))
    return given[: max(1, _FEW // max(tape.used, 1))]


def plain() -> Iterator[dict[str, Any]]:
    """Every survey, with words that look random, and with others."""
    for name, survey in SINGLE.items():
        how: dict[str, Any] = {"reports": None}
        if name in PERSONAL:
            how["tags"] = tags(survey)
        given = _few(survey, stream(name), answers(survey, 8))
        yield vector(name, name, stream(name), given, **how)
        if isinstance(survey, ldpstats.SubsetSelection):
            continue  # its keys would be equal again and again
        for kind in (ones, zeros):
            given = _few(survey, kind(name), answers(survey, 4))
            yield vector(f"{name}, many {kind.__name__}", name, kind(name), given, **how)
    for name in PERSONAL:
        yield vector(f"{name}, no tags", name, stream(name), answers(SINGLE[name], 4), reports=None)
    for name in GRAMS:
        yield vector(
            f"{name}, once more", name, stream(f"{name} 2"), ["ab" if name != "strings" else "e"]
        )


def questionnaires() -> Iterator[dict[str, Any]]:
    """Sheets, of which several are filled in."""
    own = {"place": tags(PERSONAL["pum"])}
    for name, sheet in SHEETS.items():
        how: dict[str, Any] = {"reports": None}
        n = 3 if name == "sheet-of-all-kinds" else 6
        if n == 3:
            how["tags"] = own
        yield vector(name, name, stream(name), sheets(sheet, n), **how)
        yield vector(f"{name}, many zeros", name, zeros(name), sheets(sheet, 2), **how)


def messages() -> Iterator[dict[str, Any]]:
    """What is sent: the report of the answers, never the answers."""
    asked: list[Any] = [{"region": "1", "job": "cook"}, {"region": "9"}, {"region": "1"}]
    how: dict[str, Any] = {"messages": True}
    yield vector("sheet, messages", "sheet", stream("sheet"), asked, reports=2, **how)
    name = "krr-labels"
    yield vector(
        f"{name}, messages", name, stream(name), ["cook", "", "nurse", "cook"], reports=2, **how
    )
    yield vector("strings, messages", "strings", stream("strings"), ["e"], **how)


CODE = "24BD-FHKN-QSUW-Y359-ACE9"
CODES = {
    "in groups": CODE,
    "in a row": CODE.replace("-", ""),
    "in small letters and with spaces": f" {CODE.lower().replace('-', ' ')} ",
    "with dashes": "24BD\u2010FHKN\u2011QSUW\u2013Y359\u2014ACE\u20159",
    "with one wrong letter": CODE.replace("S", "5"),
    "with a wrong last letter": CODE[:-1] + "A",
    "with two letters that changed places": CODE.replace("FH", "HF"),
    "with its first and last letter changed over": f"9{CODE[1:-1]}2",
    "with a letter too many": CODE + "2",
    "with a letter too few": CODE[:-1],
    "with a letter of no code": CODE.replace("Q", "O"),
    "with a letter that becomes one of a code": CODE.replace("S", "\u017f"),
    "with digits of another alphabet": CODE.replace("3", "\u0663"),
    "with a minus sign": CODE.replace("-", "\u2212"),
    "with a line break": CODE + "\n",
    "empty": "",
}


def invitations() -> Iterator[dict[str, Any]]:
    """Messages with the code of an invitation; a wrong one spends nothing."""
    for kind, code in CODES.items():
        how: dict[str, Any] = {"messages": True, "invitation": code}
        name = f"invitation, a code {kind}"
        yield vector(name, "krr-labels", stream("krr-labels"), ["cook", "Cook", "nurse"], **how)
    sheet: list[Any] = [{"region": "1", "job": "cook"}, {"region": "1"}]
    how = {"messages": True, "invitation": CODE.lower()}
    yield vector("invitation, a sheet", "sheet", stream("sheet"), sheet, reports=2, **how)


def secrets() -> Iterator[dict[str, Any]]:
    """Responses that are kept, with a secret that is given."""
    names = "rappor-16", "rappor-google-256", "rappor-strange", "rappor-closed", "kept"
    for name in (*names, "kept-strange"):
        given = answers(SINGLE[name], 2) + ["Zürich"] * (name == "rappor-16")
        yield vector(f"{name}, a secret", name, stream(name), given, secret=SECRET)


def waves() -> Iterator[dict[str, Any]]:
    """Messages of linked waves, which have the token of the device's secret."""
    two: list[Any] = [{"a": "no", "😀": "yes"}, {"a": "maybe"}, {"a": None}]
    how: dict[str, Any] = {"messages": True, "reports": 2}
    for name in ("sheet-wave", "sheet-linked", "sheet-linked-again"):
        given = two if name != "sheet-wave" else [{"job": "cook"}, {"job": None}]
        yield vector(f"{name}, messages", name, stream(name), given, **how)
        yield vector(f"{name}, a secret", name, stream(name), given, **how, secret=SECRET)
    same: list[Any] = [{"job": "cook", "job again": "cook", "url": "a", "ill": "True"}] * 4
    how = {"messages": True, "reports": None, "secret": SECRET}
    yield vector("sheet-kept, a secret", "sheet-kept", stream("sheet-kept"), same, **how)


def ended() -> Iterator[dict[str, Any]]:
    """Random bytes that end."""
    cases: dict[str, list[Any]] = {
        "krr-labels": ["cook", "nurse"],
        "krappor": ["0", "3"],
        "rappor-16": ["a"],
        "sheet": [{"region": "1", "job": "cook"}, {"region": "1"}],
        "sheet-asks-2": [{"a": "0"}, {"a": "0"}],
        "sheet-linked": [{"a": "no"}],
    }
    for name, given in cases.items():
        whole = stream(name)
        expected(SURVEYS[name], whole, given[:1], None)
        for size in sorted({0, 4, whole.used // 2 + 3, whole.used - 1, whole.used}):
            tape = Tape(whole.data[:size])
            found = expected(SURVEYS[name], tape, given, None)
            head = {
                "name": f"{name}, {size} random bytes",
                "client": name,
                "random": tape.data.hex(),
            }
            yield head | {"reports": None, "answers": given, "expected": found}


def rare_paths() -> Iterator[dict[str, Any]]:
    for case in rare.every():
        made = vector(
            case.name, case.survey, Tape(of_words(case.words)), case.answers, reports=None
        )
        assert made["expected"]["used"] == 8 * len(case.words), case.name
        assert "refused" not in str(made["expected"]), case.name
        yield made | {"random": made["random"] + SPARE * "a5"}


def refused() -> Iterator[dict[str, Any]]:
    for case in refusals.documents():
        yield case | {
            "random": SPARE * "a5",
            "reports": 1,
            "answers": ["no"],
            "expected": {"refused": "document"},
        }
    for case in refusals.spending():
        more = {"random": "", "answers": [], "expected": {"refused": "epsilon"}}
        yield case | {"reports": 1} | more
    for case in refusals.others():
        how = {name: case[name] for name in sorted(case.keys() - {"name", "client", "answers"})}
        yield vector(case["name"], case["client"], stream(case["name"]), case["answers"], **how)


def made() -> dict[str, Any]:
    """All vectors."""
    kinds = (plain, questionnaires, messages, invitations, secrets, waves, ended, rare_paths)
    vectors = [one for kind in (*kinds, refused) for one in kind()]
    names = Counter(one["name"] for one in vectors)
    assert max(names.values()) == 1, names.most_common(5)
    clients = {name: survey.client_document() for name, survey in SURVEYS.items()}
    return {"format": "ldpstats-vectors", "version": 1, "clients": clients, "vectors": vectors}


def text(document: dict[str, Any]) -> str:
    """The file, with a line for each client and vector."""
    clients = ",\n".join(f"{json.dumps(k)}: {_line(v)}" for k, v in document["clients"].items())
    vectors = ",\n".join(map(_line, document["vectors"]))
    head = '{"format": "ldpstats-vectors", "version": 1'
    return f'{head}, "clients": {{\n{clients}\n}}, "vectors": [\n{vectors}\n]}}\n'


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    PATH.write_text(text(made()), encoding="ascii")
