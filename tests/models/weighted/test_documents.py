"""Documents of weighted results: they give back every bit, and damaged ones are refused at once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hostile.documents import spoil_document

import ldpstats as ldp

LABELS = ["50% & <b>", "a_b $x$ #1", "é {}\\"]
KINDS = (
    "one",
    "domains",
    "mle",
    "constrained",
    "replicates",
    "calibrated",
    "corrected",
    "table",
    "open",
)


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """Results of every kind, with labels that mean something to LaTeX and HTML."""
    rng = np.random.default_rng(2)
    n = 240
    table = pd.DataFrame({"q<i>": rng.choice(LABELS, n), "ill": rng.choice(["no", "yes"], n)})
    table["w"], table["unit"] = rng.gamma(3, size=n) + 0.5, np.arange(n) // 10
    table["region"] = rng.choice(["<x>&_%", "y$"], n)
    sheet = {"q<i>": ldp.KRR(LABELS, 2.0), "ill": ldp.Warner(epsilon=2.0)}
    survey = ldp.Survey(table, sheet, weights="w", clusters="unit")
    drawn = survey.replicates("bootstrap", np.random.default_rng(1), 20)
    corrected = ldp.Survey(table.assign(N=40), sheet, weights="w", clusters="unit", fpc="N")
    known = survey.calibrate({"region": {"<x>&_%": 300.0, "y$": 500.0}})
    words = pd.DataFrame({"word": rng.choice(["cook", "nurse"], n)})
    orr = ldp.Questionnaire({"word": ldp.ORR(epsilon=2.0, n_outputs=8, n_cohorts=4)})
    hashed = ldp.Survey(orr.privatize(words.assign(w=table["w"]), rng), orr, weights="w")
    return {
        "one": survey.frequencies("q<i>"),
        "domains": survey.frequencies("q<i>", by="region"),
        "mle": survey.frequencies("q<i>", method="mle"),
        "constrained": survey.frequencies("q<i>", constraints=lambda p: [p[0] <= 0.3]),
        "replicates": drawn.frequencies("q<i>", by="region"),
        "calibrated": known.frequencies("q<i>", by="region"),
        "corrected": corrected.frequencies("q<i>", by="region"),
        "table": survey.association("q<i>", "ill"),
        "open": hashed.frequencies("word", candidates=["nurse", "cook", "50% & <b>"]),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_documents_give_back_every_bit(kind: str, made: dict[str, Any]) -> None:
    results = made[kind]
    document = results.to_dict()
    assert json.loads(results.to_json()) == document  # plain JSON types, no tuple
    again = type(results).from_json(results.to_json())
    assert again.to_dict() == document
    pd.testing.assert_frame_equal(again.summary_frame(), results.summary_frame(), rtol=0, atol=0)
    if kind in ("domains", "corrected"):
        p0 = {"domain": "y$", "p0": results.params["y$"].clip(0.01).pipe(lambda p: p / p.sum())}
        assert again.test_distribution(**p0) == results.test_distribution(**p0)
    assert str(again.summary()) == str(results.summary())


@pytest.mark.parametrize("kind", ["domains", "table", "open"])
def test_labels_are_escaped(kind: str, made: dict[str, Any]) -> None:
    html = made[kind]._repr_html_()
    assert "<b>" not in html and "<x>" not in html and "<i>" not in html
    latex = "\n".join(
        line for line in made[kind].summary().as_latex().splitlines() if line[:1] != "%"
    )
    assert latex.count("50\\%") and "50%" not in latex and "a_b" not in latex


DAMAGE: dict[str, tuple[tuple[Any, ...], Any]] = {
    "a category less": (("categories", 0), None),
    "an estimate more": (("totals", "estimate", 0), [1.0, 2.0]),
    "text": (("totals", "noise", 0, 0), "nurse"),
    "not finite": (("totals", "covariance", 0, 0), float("inf")),
    "overflow": (("totals", "covariance", 0, 0), 1e300),
    "sizes": (("domains", "sizes"), [3]),
    "df": (("domains", "df", 0), [1.0]),
    "a domain twice": (("domains", "labels"), [["a"], ["b"], ["c"]]),
    "two values": (("domains", "labels", 0), ["a", "b"]),
    "a label that is a list": (("domains", "labels", 0), [["a"]]),
    "words": (("sample", "design"), [1]),
    "number": (("sample", "weight_sum"), None),
    "count": (("sample", "n_units"), True),
    "more": (("fit", "sources"), ["KRR", "KRR"]),
    "method": (("fit", "method"), 3),
    "counted": (("counted", 0), [0.1]),
    "fit": (("fit", "fitted", "estimate"), [0.5]),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused(kind: str, made: dict[str, Any]) -> None:
    document = json.loads(made["domains"].to_json())
    (*path, last), value = DAMAGE[kind]
    node = document
    for step in path:
        node = node[step]
    if value is None and isinstance(node, list):
        del node[last]
    else:
        node[last] = value
    with pytest.raises(ldp.InvalidArgument):
        ldp.WeightedResults.from_dict(document)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["domains", "replicates", "table", "open"])
def test_damaged_documents_do_not_fail_later(
    kind: str, made: dict[str, Any], attempts: Callable[[int], int]
) -> None:
    """What is read can be used: no error of numpy or pandas far from the document."""
    document, dice = json.loads(made[kind].to_json()), random.Random(7)
    for _ in range(attempts(400)):
        try:
            with np.errstate(all="ignore"):
                results = type(made[kind]).from_dict(spoil_document(document, dice))
                results.summary()
                results.summary_frame()
                results.totals()
                results.to_json()
        except ldp.LDPError as error:
            assert str(error)
