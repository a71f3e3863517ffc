"""Conditionals, effects and cells of a fitted table."""

from __future__ import annotations

import numpy as np
import pytest
from shared.variable_products import ABC, krr_table

import ldpstats as ldp


def test_conditionals_divide_the_linear_table() -> None:
    results = ldp.AssociationModel(krr_table(), names=("job", "late")).fit()
    table = results.linear_table
    rows = results.conditional("job")["estimate"].unstack("late").loc[list(ABC)]
    np.testing.assert_allclose(rows, table.div(table.sum(axis=1), axis=0)[rows.columns], rtol=1e-12)
    columns = results.conditional("late")["estimate"].unstack("job")[list(ABC)]
    np.testing.assert_allclose(
        columns, table.div(table.sum(axis=0), axis=1).T.loc[columns.index], rtol=1e-12
    )
    frame = results.conditional()
    assert (frame["lower"] <= frame["upper"]).all()


@pytest.mark.parametrize("table", [[[900, 220], [300, 800]], [[900, 200], [300, 800]]])
def test_effects_are_those_of_the_linear_table(table: list[list[int]]) -> None:
    # in the second table both rows have the same sum: the product of their sums is then stationary
    krr = ldp.KRR(("no", "yes"), epsilon=3.0)
    results = ldp.AssociationModel(ldp.JointCounts.from_table(table, (krr, krr))).fit()
    P = results.linear_table.to_numpy()
    ends = ("no", "yes")
    assert results.odds_ratio(ends, ends).estimate == pytest.approx(
        P[0, 0] * P[1, 1] / (P[0, 1] * P[1, 0])
    )
    risks = P[:, 1] / P.sum(axis=1)
    assert results.risk_difference(ends, "yes").estimate == pytest.approx(risks[0] - risks[1])
    assert results.risk_ratio(ends, "yes").estimate == pytest.approx(risks[0] / risks[1])
    swapped = results.odds_ratio(("yes", "no"), ends)
    assert swapped.estimate == pytest.approx(1 / results.odds_ratio(ends, ends).estimate)


def test_detected_cells() -> None:
    krr = ldp.KRR(2, 3.0)
    joint = ldp.JointCounts.from_table([[950, 46], [46, 2]], (krr, krr))  # what (0, 0) alone gives
    found = ldp.AssociationModel(joint).fit().detected()
    assert list(found) == [(0, 0)]
