"""The client in JavaScript: its declarations, its place in a page, and its own randomness.

Conformance compares its reports with those of the client in Python, word by word.
"""

import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.javascript import CLIENTS_TESTS, PORTABLE, needs_node, run_node
from test_contract import LEVEL, chi_square

import ldpstats as ldp


@needs_node
def test_programs_use_it():
    # names that objects have, answers that are not looked at, frozen copies, options, errors
    assert not run_node(CLIENTS_TESTS / "usage.mjs", str(PORTABLE / "ldpstats-client.mjs"))


def test_declarations_agree_with_what_the_module_exports():
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


def test_the_module_may_stand_in_a_page():
    # in the text of <script type="module">; it asks nobody, keeps nothing, and says nothing
    module = (PORTABLE / "ldpstats-client.mjs").read_text("utf-8")
    assert not re.search(r"</script|<!--|\]\]>", module, re.I) and module.isascii()
    assert not re.search(r"^import |^export .* from ", module, re.M)
    kept = (
        r"\b(eval|Function|console|fetch|XMLHttpRequest|localStorage|document\.|window|navigator)\b"
    )
    code = re.sub(r"^\s*(//|/?\*).*$", "", module, flags=re.M)
    assert not re.search(kept, code)


def tallied(document: dict[str, Any], answers: list[Any], n: int, texts: list[str]) -> Any:
    """Counts of the reports of answers, by the randomness of the runtime."""
    given = json.dumps({"client": document, "answers": answers})
    arguments = str(PORTABLE / "ldpstats-client.mjs"), str(n)
    said = json.loads(run_node(CLIENTS_TESTS / "tally.mjs", *arguments, given=given))
    return np.array([[dict(found).get(text, 0) for text in texts] for found in said])


def least(counts: npt.NDArray[np.int64], Q: npt.NDArray[np.float64]) -> float:
    """The smallest p-value of chi-square of an answer, times their number."""
    return len(Q) * min(
        chi_square(row, row.sum() * law) for row, law in zip(counts, Q, strict=True)
    )


@needs_node
@pytest.mark.parametrize(
    "make", [lambda eps: ldp.KRR(4, eps), lambda eps: ldp.KRAPPOR(4, eps)], ids=["krr", "krappor"]
)
def test_reports_have_the_law_of_the_mechanism(make):
    """Without a seed: of a million runs, one may fail. Another epsilon is noticed."""
    mechanism, n = make(1.0), 10_000  # reports of each answer
    Q = mechanism.channel().matrix()
    texts = [str(y) for y in range(4)]
    if Q.shape[1] == 16:
        texts = [f"{y:04b}"[::-1] for y in range(16)]
    answers = ["0", "1", "2", "3"]
    assert least(tallied(mechanism.client_document(), answers, n, texts), Q) > LEVEL
    assert least(tallied(make(1.4).client_document(), answers, n, texts), Q) < LEVEL


@needs_node
def test_questions_are_asked_alike():
    made = {name: ldp.Warner(epsilon=20.0) for name in "abc"}
    sheet = ldp.Questionnaire(made, ask=2)
    pairs = [{"a": "no", "b": "no", "c": None}, {"a": "no", "b": None, "c": "no"}]
    pairs.append({"a": None, "b": "no", "c": "no"})
    texts = [json.dumps(pair, separators=(",", ":")) for pair in pairs]
    answer = dict.fromkeys(made, "no")
    counts = tallied(sheet.client_document(), [answer], 9_000, texts)
    assert counts.sum() > 8_990 and least(counts, np.full((1, 3), 1 / 3)) > LEVEL
