"""Results of joint tables that are stored, copied, and asked without their reports."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared.variable_products import survey, taken

import ldpstats as ldp

STORED = ("mle", "inversion", "one_step", "moments-gls")


@pytest.mark.parametrize("method", STORED)
def test_json_keeps_everything(method: str) -> None:
    x, y = survey()
    results = ldp.AssociationModel(x, y, names=("p q", "r:s")).fit(method)
    again = ldp.AssociationResults.from_json(results.to_json())
    assert again.to_json() == results.to_json()
    pd.testing.assert_frame_equal(again.table, results.table)
    pd.testing.assert_frame_equal(again.linear_table, results.linear_table)
    pd.testing.assert_frame_equal(again.linear_cov, results.linear_cov)
    pd.testing.assert_frame_equal(again.cov_params(), results.cov_params())
    pd.testing.assert_frame_equal(again.summary_frame(), results.summary_frame())
    pd.testing.assert_frame_equal(again.conditional(), results.conditional())
    for name, frame in results.margins().items():
        pd.testing.assert_frame_equal(again.margins()[name], frame)
    assert again.test_independence() == results.test_independence()
    assert again.cramers_v() == results.cramers_v()
    assert str(again.summary()) == str(results.summary())


def test_wald_test_of_a_file_needs_no_reports() -> None:
    # of labels the unconstrained estimate and its covariance are all that it takes, and are stored
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    assert again.test_independence("wald") == results.test_independence("wald")
    # that of candidates does not sum to one: the test takes better features of the reports
    orr, rng = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=3.0), np.random.default_rng(0)
    words = orr.privatize(rng.choice(["u", "v"], len(x.y)), rng)
    model = ldp.AssociationModel(x, words, candidates=(None, ["u", "v"]))
    results = model.fit()
    again = ldp.AssociationResults.from_json(results.to_json())
    with pytest.raises(ldp.NotAvailable, match="model=model"):
        again.test_independence("wald")
    assert again.test_independence("wald", model=model).df == 2


def test_copies_and_pickles_leave_the_reports_behind() -> None:
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    for twin in (pickle.loads(pickle.dumps(results)), copy.copy(results), copy.deepcopy(results)):
        assert twin.to_json() == results.to_json()
        assert twin.test_trend() == results.test_trend()
    many = ldp.KRAPPOR(8, epsilon=2.0).privatize(np.arange(len(x)) % 8, np.random.default_rng(1))
    assert ldp.AssociationModel(x, many).fit().evidence is not None
    again = many.mechanism.privatize(np.arange(len(x)) % 3, np.random.default_rng(2))
    assert ldp.AssociationModel(many, again).fit().evidence is None  # 65,536 combinations


def test_a_model_of_other_reports_is_refused_even_with_the_same_margins() -> None:
    x, y = survey()
    results = ldp.AssociationModel(x, y).fit()
    other = ldp.AssociationModel(x, taken(y, np.random.default_rng(0).permutation(len(y.y))))
    for method in ("pearson", "lr", "score"):
        with pytest.raises(ldp.InvalidArgument, match="other data"):
            results.test_independence(method, model=other)


@pytest.mark.parametrize(("n", "k", "counted"), [(40, 20, False), (3_000, 2, True)])
def test_the_order_of_respondents_is_not_stored(n: int, k: int, counted: bool) -> None:
    """Else a document would say what each respondent reported, in the order of a table."""
    rng = np.random.default_rng(5)
    krr = ldp.KRR(k, 3.0)
    x, y = (krr.privatize(rng.integers(0, k, n), rng) for _ in range(2))
    order = rng.permutation(n)

    def document(x: ldp.Reports, y: ldp.Reports) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.LDPWarning)
            given = (ldp.JointCounts([x, y]),) if counted else (x, y)
            return ldp.AssociationModel(*given).fit("inversion").to_dict()

    (group,) = document(x, y)["tallies"]["groups"]
    assert document(x[order], y[order])["tallies"]["groups"] == [group]
    pairs = list(zip(*group["reports"], strict=True))
    assert pairs == sorted(set(pairs)) and sum(group["n"]) == n
