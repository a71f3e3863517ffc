"""Joint analyses of respondents who did not answer every question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from simulate import ALPHA, at_least, at_most, coverage, error, repeat, size

import ldpstats as ldp

Array = npt.NDArray[Any]

ABC = ("a", "b", "c")
X, Y = ldp.KRR(ABC, epsilon=2.0), ldp.KRR(("no", "yes"), epsilon=1.0)
N = 1000


def columns(seed: int = 1, n: int = N) -> tuple[ldp.Reports, ldp.Reports, Array, Array, Any]:
    """Full reports, who answered each question, and the generator."""
    rng = np.random.default_rng(seed)
    x = X.privatize(rng.choice(ABC, n), rng)
    y = Y.privatize(rng.choice(["no", "yes"], n), rng)
    return x, y, rng.random(n) < 0.8, rng.random(n) < 0.8, rng


def with_ids(reports: ldp.Reports, has: Array, order: Any, name: str) -> ldp.Reports:
    ids = np.array([f"person {i}" for i in range(len(has))], dtype=object)[has][order]
    missing = int((~has).sum())
    return ldp.Reports(reports.y[has][order], reports.mechanism, missing, ids=ids, name=name)


def test_rows_and_identifiers_say_the_same() -> None:
    x, y, has_x, has_y, rng = columns()
    rows = [(x[has_x], has_x), (y, has_y)]  # reports of those who answered, or of all rows
    by_rows = ldp.AssociationModel(ldp.JointCounts.of_rows(rows).tally(), names=("job", "late"))
    first = with_ids(x, has_x, slice(None), "job")
    second = with_ids(y, has_y, rng.permutation(has_y.sum()), "late")
    by_ids = ldp.AssociationModel(first, second)
    assert by_ids.names == ("job", "late")  # of the reports
    both = has_x & has_y
    alone = ldp.AssociationModel(x[both], y[both], names=("job", "late")).fit()
    for results in (by_rows.fit(), by_ids.fit()):
        pd.testing.assert_frame_equal(results.summary_frame(), alone.summary_frame())
        assert results.test_independence() == alone.test_independence()
        assert (results.nobs, results.n_missing) == (both.sum(), N - both.sum())
        assert results.lacking == ((~has_x).sum(), (~has_y).sum())
        assert results.lacking == ldp.AssociationResults.from_json(results.to_json()).lacking
    text = " ".join(str(by_ids.fit().summary()).split())
    words = f"{N - both.sum()} of {N} respondents were left out"
    assert f"{words}, because a report was missing: {(~has_x).sum()} lacked job, " in text


def test_identifiers_of_strangers_count_as_missing() -> None:
    x, y, *_ = columns(n=10)
    first = ldp.Reports(x.y, X, ids=range(10))
    second = ldp.Reports(y.y[:8], Y, ids=range(4, 12))
    joint = ldp.JointCounts([first, second])
    assert (joint.nobs, joint.n_missing, joint.lacking) == (6, 6, (2, 4))
    np.testing.assert_array_equal(joint.reports[0].y, x.y[4:])
    np.testing.assert_array_equal(joint.reports[1].y, y.y[:6])
    assert all(part.ids is None for part in joint.reports)  # no result keeps them


def test_counts_of_chunks_add_up() -> None:
    x, y, has_x, has_y, _ = columns()
    parts = [slice(0, 300), slice(300, N)]
    chunks = [ldp.JointCounts.of_rows([(x[p], has_x[p]), (y[p], has_y[p])]) for p in parts]
    total, whole = chunks[0] + chunks[1], ldp.JointCounts.of_rows([(x, has_x), (y, has_y)]).tally()
    assert (total.nobs, total.n_missing, total.lacking) == (
        whole.nobs,
        whole.n_missing,
        whole.lacking,
    )
    np.testing.assert_array_equal(total.table(), whole.table())
    full = ldp.JointCounts([x, y])
    assert (full + whole).lacking == whole.lacking
    assert (full + full).lacking == ()


def test_groups_of_respondents() -> None:
    x, y, has_x, has_y, _ = columns()
    first, second = with_ids(x, has_x, slice(None), "job"), with_ids(y, has_y, slice(None), "late")
    results = ldp.AssociationModel([first, x], [second, y]).fit()
    both = has_x & has_y
    assert (results.nobs, results.n_missing) == (N + both.sum(), (~both).sum())
    assert results.names == ("job", "late")


# -- missing at random ------------------------------------------------------------------------

P = np.array([[0.25, 0.15], [0.12, 0.18], [0.08, 0.22]])
INDEPENDENT = np.outer(P.sum(axis=1), P.sum(axis=0))


def cramers_v(table: Array) -> float:
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(np.sqrt(np.sum((table - expected) ** 2 / expected)))


def surveys(R: int, n: int) -> dict[str, Array]:
    """Intervals and p-values of R surveys in which 20% of the answers to each question are missing.

    Whether one is missing does not depend on the answers.
    """
    rng = np.random.default_rng([7, n])
    strong, clear = ldp.KRR(ABC, epsilon=3.0), ldp.KRR(("no", "yes"), epsilon=3.0)

    def fit(law: Array) -> Any:
        cells = rng.choice(6, size=n, p=law.reshape(-1))
        x = strong.privatize(np.array(ABC, dtype=object)[cells // 2], rng)
        y = clear.privatize(np.array(["no", "yes"], dtype=object)[cells % 2], rng)
        has = [rng.random(n) < 0.8 for _ in range(2)]
        counts = ldp.JointCounts.of_rows(list(zip((x, y), has, strict=True)))
        return ldp.AssociationModel(counts.tally()).fit("inversion")

    def survey(_: int) -> dict[str, Any]:
        results = fit(P)
        effect = results.cramers_v()
        return {
            "cells": results.conf_int(clip=False),
            "conditionals": results.conditional()[["lower", "upper"]],
            "V": [effect.lower, effect.upper],
            "pvalue": fit(INDEPENDENT).test_independence().pvalue,
        }

    return repeat(R, survey)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning")
def test_answers_missing_at_random(replications: Callable[..., int]) -> None:
    R = replications(2000, least=150)
    found, band = surveys(R, 2000), 4.0 * error(ALPHA, R)
    truths = {
        "cells": P.reshape(-1),
        "conditionals": (P / P.sum(axis=1, keepdims=True)).reshape(-1),
        "V": cramers_v(P),
    }
    for name, truth in truths.items():
        shares = coverage(found[name], truth)
        assert np.min(shares) > min(0.93, 0.95 - band), name
        assert np.max(shares) < max(0.97, 0.95 + band), name
    assert at_most(size(found["pvalue"]), 0.055, R)
    assert at_least(size(found["pvalue"]), 0.04, R)
    # the control: intervals of as many respondents as were asked would be too narrow
    middle = found["cells"].mean(axis=-1, keepdims=True)
    narrow = middle + 0.8 * (found["cells"] - middle)
    assert coverage(narrow, truths["cells"]).mean() < 0.91
