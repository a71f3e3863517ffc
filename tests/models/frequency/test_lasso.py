"""The Lasso over many candidates: what it selects, estimates and tests."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.estimators import Lasso

WORDS = tuple(f"w{i}" for i in range(40))
RAPPOR = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
ORR = ldp.ORR(n_outputs=8, n_cohorts=16, epsilon=2.0)


def law(k: int) -> np.ndarray:
    p = 0.8 ** np.arange(k)
    return p / p.sum()


def bad(call) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(ldp.LDPError) as raised:
        call()
    return str(raised.value)


def test_lasso_estimates_the_selected_and_tests_all() -> None:
    words = [f"w{i}" for i in range(3_000)]  # more than the 16 x 32 equations
    counts = RAPPOR.draw(law(8), 50_000, np.random.default_rng(1), words[:8])
    model = ldp.FrequencyModel(counts, candidates=words)
    with pytest.raises(ldp.NotIdentified):
        model.fit()
    results = model.fit("lasso")
    at = results.linear.at
    assert results.converged and 5 <= at.size < 60
    assert results.params[results.params != 0].index.isin(results.categories[at]).all()
    # the level is divided by all candidates: p-values of the others are 1, and they count
    p = results.presence_pvalues()
    assert (np.delete(p.to_numpy(), at) == 1.0).all()
    rejected = p.index[p.to_numpy() <= 0.05 / len(words)]
    assert list(results.detected(alpha=0.05)) == list(rejected)
    assert set(rejected) <= set(words[:8]) and len(rejected) >= 5
    # the selected have the estimates and, but for the dispersion, the covariance of a fit of theirs
    alone = ldp.FrequencyModel(counts, candidates=list(results.categories[at])).fit()
    np.testing.assert_allclose(results.params.iloc[at], alone.params, rtol=0, atol=1e-12)
    V = results.linear_cov / results.dispersion
    np.testing.assert_allclose(V, alone.linear_cov / alone.dispersion, rtol=1e-9)
    assert "had been chosen in advance" in str(results.summary())
    assert np.isnan(np.delete(results.conf_int().to_numpy(), at, axis=0)).all()
    assert results.t_test("w0 = w1").pvalue < 0.05
    with pytest.raises(ldp.NotAvailable, match="not selected"):
        results.t_test(np.eye(3_000)[[int(np.setdiff1d(np.arange(3_000), at)[0])]])
    again = ldp.FrequencyResults.from_json(results.to_json())
    assert str(again.summary()) == str(results.summary())
    results.plot()


def test_lasso_may_select_nothing() -> None:
    many = [f"x{i}" for i in range(500)]
    counts = RAPPOR.draw(np.full(500, 1 / 500), 20_000, np.random.default_rng(3), many)
    nothing = ldp.FrequencyModel(counts, candidates=WORDS).fit(Lasso(false_selections=1e-9))
    assert nothing.linear.at.size == 0 and not len(nothing.detected())
    assert float(nothing.unexplained) == 1.0
    again = ldp.FrequencyResults.from_json(nothing.to_json())
    assert str(again.summary()) == str(nothing.summary())


def test_bad_lasso() -> None:
    assert "penalty" in bad(lambda: Lasso(penalty="bic"))
    assert "false_selections" in bad(lambda: Lasso(false_selections=0.0))
    krr = ldp.KRR(3, 1.0).counts([5, 3, 2])
    assert "hash" in bad(lambda: ldp.FrequencyModel(krr).fit("lasso"))
    one = RAPPOR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    two = ORR.draw([0.5, 0.5], 1000, np.random.default_rng(1), WORDS[:2])
    several = ldp.FrequencyModel([one, two], candidates=WORDS)
    assert "one mechanism" in bad(lambda: several.fit("lasso"))
    assert "cov_type" in bad(
        lambda: ldp.FrequencyModel(one, candidates=WORDS).fit("lasso", cov_type="fpe16")
    )
