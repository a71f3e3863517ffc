"""Conditional frequencies given a variable without noise are those of its groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

SEEN = ldp.Observed(("a", "b", "c"))
ANSWERS = ("no", "maybe", "yes")
LAWS = np.array([[0.95, 0.03, 0.02], [0.3, 0.2, 0.5], [0.6, 0.35, 0.05]])


def survey(mechanism: ldp.Mechanism, n: int) -> tuple[ldp.Reports, ldp.Reports]:
    rng = np.random.default_rng(n)
    seen = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    answers = [ANSWERS[rng.choice(3, p=LAWS[i])] for i in seen]
    return ldp.Reports(seen, SEEN), mechanism.privatize(answers, rng)


@pytest.mark.parametrize(
    "mechanism", [ldp.KRR(ANSWERS, 3.0), ldp.KRAPPOR(ANSWERS, 3.0), ldp.Observed(ANSWERS)], ids=str
)
def test_intervals_are_those_of_the_groups(mechanism: Any) -> None:
    seen, reports = survey(mechanism, 300)
    results = ldp.AssociationModel(seen, reports, names=("group", "answer")).fit()
    groups = {label: reports[seen.y == i] for i, label in enumerate("abc")}
    own = ldp.GroupedModel(groups).fit().conf_int()
    given = results.conditional(on="group")
    assert np.array_equal(given[["lower", "upper"]], own)
    turned = ldp.AssociationModel(reports, seen, names=("answer", "group")).fit()
    assert np.array_equal(turned.conditional(on="group")[["lower", "upper"]], own)
    back = ldp.AssociationResults.from_json(results.to_json())
    assert back.conditional(on="group").equals(given)
    # given the answer, which has noise, they are Fieller's
    assert not np.array_equal(turned.conditional(on="answer")[["lower", "upper"]], own)


def test_a_category_that_nobody_has_is_not_known() -> None:
    seen, reports = survey(ldp.KRR(ANSWERS, 3.0), 200)
    two = seen.y < 2
    results = ldp.AssociationModel(seen[two], reports[two], names=("group", "answer")).fit()
    given = results.conditional(on="group").loc["c"]
    assert given["unbounded"].all()
    assert (given[["lower", "upper"]].to_numpy() == [0.0, 1.0]).all()
