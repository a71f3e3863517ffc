"""Reports of the client in JavaScript have the law Q, by the randomness of its runtime.

At full size a million reports of each mechanism; a share of the slow suite takes a twenty-fifth of
that, for chi-square sees a wrong draw in fewer. Each test is at the level 1e-6. The randomness has
no seed: of a million runs of a test, one may fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from grid import MECHANISMS, candidates, channel, report_codes
from shared.javascript import CLIENTS_TESTS, PORTABLE, needs_node, run_node
from test_contract import LEVEL, chi_square

import ldpstats as ldp

pytestmark = [needs_node, pytest.mark.slow]

FULL = 1_000_000
Columns = Callable[[list[str]], npt.NDArray[np.int64]]


@pytest.fixture
def reports(replications: Callable[..., int]) -> int:
    """How many reports of each survey there are."""
    n = replications(FULL)
    return n if n == FULL else n // 5


def tallied(
    document: dict[str, Any], answers: list[Any], n: int, columns: Columns, size: int, **how: Any
) -> npt.NDArray[np.int64]:
    """Counts of the reports of answers, each n // k times, shape (k, size)."""
    given = json.dumps({"client": document, "answers": answers} | how)
    arguments = str(PORTABLE / "ldpstats-client.mjs"), str(n // len(answers))
    said = json.loads(run_node(CLIENTS_TESTS / "tally.mjs", *arguments, given=given))
    counts = np.zeros((len(answers), size), dtype=np.int64)
    for row, found in zip(counts, said, strict=True):
        texts, times = zip(*found, strict=True)
        np.add.at(row, columns(list(texts)), times)
    return counts


def pvalues(counts: npt.NDArray[np.int64], Q: npt.NDArray[np.float64]) -> list[float]:
    """A chi-square p-value for each answer."""
    return [chi_square(row, row.sum() * law) for row, law in zip(counts, Q, strict=True)]


def of_mechanism(mechanism: Any, n: int, document: dict[str, Any] | None = None) -> list[float]:
    """P-values of the reports of a mechanism; its client may run another document."""
    document = document or mechanism.client_document()
    question, m = document["question"], mechanism
    fresh = isinstance(m, ldp.RAPPOR)  # whose client has one cohort and permanent response
    if fresh and n < FULL:
        n //= 10
    Q = channel(m).matrix()
    labels = question["reports"]
    names = question["answers"] or list(candidates(m) or ())
    answers = [str(x) for x in range(names)] if isinstance(names, int) else names

    def columns(texts: list[str]) -> npt.NDArray[np.int64]:
        if isinstance(labels, list):
            return np.array([labels.index(text) for text in texts])
        if isinstance(labels, int) and not m.n_cohorts:
            return np.array([int(text) for text in texts])
        return np.asarray(report_codes(m.parse("report", texts)))

    return pvalues(tallied(document, answers, n, columns, Q.shape[1], fresh=fresh), Q)


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_of_a_mechanism_have_its_law(name: str, reports: int) -> None:
    found = of_mechanism(MECHANISMS[name], reports)
    assert min(found) * len(found) > LEVEL


@pytest.mark.parametrize(
    ("mechanism", "other"),
    [
        (ldp.KRR(4, epsilon=1.0), ldp.KRR(4, epsilon=1.15)),
        (ldp.KRAPPOR(4, epsilon=1.0), ldp.KRAPPOR(4, epsilon=1.15)),
        (ldp.ORR(4, 3, epsilon=1.0), ldp.ORR(4, 3, epsilon=1.15)),
        (ldp.SubsetSelection(5, epsilon=1.0, size=2), ldp.SubsetSelection(5, epsilon=1.15, size=2)),
    ],
    ids=["krr", "krappor", "orr", "subsets"],
)
def test_another_epsilon_is_noticed(
    mechanism: Any, other: Any, replications: Callable[..., int]
) -> None:
    n = replications(FULL, 200_000)  # p-values are then below 1e-30
    found = of_mechanism(mechanism, n, other.client_document())
    assert min(found) * len(found) < LEVEL


def of_tags(n: int) -> list[float]:
    """P-values of a client with categories of the respondent's own."""
    pum = ldp.PUM(ldp.URAP(4, {0}, epsilon=1.0), tags=("home", "work"))
    own = {"home": [2], "work": [1, 3]}
    Q = pum.channel(own).matrix()
    tags = {tag: [str(x) for x in some] for tag, some in own.items()}
    columns = lambda texts: report_codes(pum.common.parse("report", texts))  # noqa: E731
    answers = ["0", "1", "2", "3"]
    return pvalues(tallied(pum.client_document(), answers, n, columns, Q.shape[1], tags=tags), Q)


def listed(laws: list[dict[str, float]]) -> tuple[Columns, npt.NDArray[np.float64]]:
    """Columns of texts, and Q, from the probability of each text."""
    places = {text: j for j, text in enumerate(dict.fromkeys(t for law in laws for t in law))}
    Q = np.array([[law.get(text, 0.0) for text in places] for law in laws])
    return lambda texts: np.array([places[text] for text in texts]), Q


def of_strings(n: int) -> list[float]:
    """P-values of a dictionary client: two positions, two grams and the string together."""
    grams, strings = (
        ldp.KRR(["aa", "ab", "ba", "bb", "a ", "b ", "  "], 2.0),
        ldp.ORR(2, 2, epsilon=1.0),
    )
    how = {"gram_mechanism": grams, "string_mechanism": strings}
    survey = ldp.DictionarySurvey(length=4, gram=2, alphabet="ab", step=1, **how)
    document = survey.client_document()
    labels = document["question"]["draw"]["gram_question"]["reports"]
    answers = ["abba", "ba"]
    G, S = survey.gram_mechanism.channel(), strings.channel(answers).matrix()
    laws = []
    for x, answer in enumerate(answers):
        padded, law = answer.ljust(4), {}
        for i, j in combinations(range(3), 2):
            rows = [G.matrix()[labels.index(padded[at : at + 2])] for at in (i, j)]
            for g, h, s in product(range(len(labels)), range(len(labels)), range(4)):
                report = {"positions": [i, j], "grams": [labels[g], labels[h]]}
                text = json.dumps(report | {"string": f"{s // 2}:{s % 2}"}, separators=(",", ":"))
                law[text] = rows[0][g] * rows[1][h] * S[x, s] / 3
        laws.append(law)
    columns, Q = listed(laws)
    return pvalues(tallied(document, answers, n, columns, Q.shape[1]), Q)


def of_sheets(n: int) -> list[float]:
    """P-values of sheets of which two of three private questions are asked."""
    made = {
        "a": ldp.Warner(epsilon=0.5),
        "b": ldp.KRR(("x", "y", "z"), 1.0),
        "c": ldp.Warner(epsilon=1.0),
    }
    sheet = ldp.Questionnaire(made | {"d": ldp.Observed(("u", "v"))}, ask=2)
    answer = {"a": "no", "b": "y", "c": None, "d": "v"}
    law: dict[str, float] = {}
    for asked in combinations("abc", 2):
        rows = {}
        for name, mechanism in made.items():
            row = {None: 1.0}
            if name in asked and answer[name] is not None:
                labels = mechanism.categories.tolist()
                Q = mechanism.channel().matrix()[labels.index(answer[name])]
                row = dict(zip(labels, Q, strict=True))
            rows[name] = row
        for reports in product(*rows.values()):
            report = dict(zip(rows, reports, strict=True)) | {"d": "v"}
            text = json.dumps(report, separators=(",", ":"))
            chance = np.prod([row[one] for row, one in zip(rows.values(), reports, strict=True)])
            law[text] = law.get(text, 0.0) + float(chance) / 3
    columns, Q = listed([law])
    return pvalues(tallied(sheet.client_document(), [answer], n, columns, Q.shape[1]), Q)


@pytest.mark.parametrize("made", [of_tags, of_strings, of_sheets])
def test_reports_of_other_surveys_have_their_law(
    made: Callable[[int], list[float]], reports: int
) -> None:
    found = made(reports)
    assert min(found) * len(found) > LEVEL
