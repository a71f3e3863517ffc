"""Joint tables of some of the variables, from that of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from shared.bad_values import Refusal, refuses, said

import ldpstats as ldp

Array = npt.NDArray[Any]

ABC = ("a", "b", "c")
KRR, UNARY = ldp.KRR(ABC, epsilon=2.0), ldp.KRAPPOR(ABC, epsilon=2.0)
NAMES = ("u", "v", "w", "x", "y")


def survey(mechanism: Any, d: int, n: int = 3000) -> list[ldp.Reports]:
    rng = np.random.default_rng(d)
    base = rng.choice(ABC, size=n, p=[0.5, 0.3, 0.2])
    columns = [np.where(rng.random(n) < 0.4, base, rng.choice(ABC, n)) for _ in range(d)]
    return [mechanism.privatize(column, rng) for column in columns]


@pytest.mark.parametrize(
    ("mechanism", "d", "method"), [(KRR, 3, "mle"), (KRR, 5, "inversion"), (UNARY, 3, "projected")]
)
def test_it_is_the_model_of_these_variables(mechanism: Any, d: int, method: str) -> None:
    parts = survey(mechanism, d)
    whole = ldp.AssociationModel(*parts, names=NAMES[:d]).fit(method)
    part = whole.collapse(["w", "u"])
    own = ldp.AssociationModel(parts[2], parts[0], names=("w", "u")).fit(method)
    assert (part.names, part.digest, part.epsilon) == (("w", "u"), own.digest, own.epsilon)
    np.testing.assert_allclose(part.linear_params, own.linear_params, atol=1e-12)
    np.testing.assert_allclose(part.linear_cov, own.linear_cov, atol=1e-15)
    np.testing.assert_allclose(part.conf_int(), own.conf_int(), atol=1e-9)
    assert part.test_independence() == own.test_independence()
    assert part.test_trend() == own.test_trend()
    assert part.cramers_v().lower == pytest.approx(own.cramers_v().lower)
    for name, frame in part.margins().items():
        columns = ["linear", "lower", "upper"]
        pd.testing.assert_frame_equal(frame[columns], own.margins()[name][columns])


def test_cells_are_summed() -> None:
    whole = ldp.AssociationModel(*survey(KRR, 4), names=NAMES[:4]).fit()
    part = whole.collapse(("x", "v", "u"))
    assert whole.collapse("x", "v", "u").to_dict() == part.to_dict()  # one by one
    summed = whole.table.groupby(level=["x", "v", "u"], sort=False).sum()
    expected = summed.reindex(part.table.index)
    np.testing.assert_allclose(part.table, expected, atol=1e-14)
    R = np.array(
        [
            [float((c[3], c[1], c[0]) == cell) for c in whole.table.index]
            for cell in part.table.index
        ]
    )
    np.testing.assert_allclose(part.linear_cov, R @ whole.linear_cov @ R.T, atol=1e-12)
    np.testing.assert_allclose(part.cov_params(), R @ whole.cov_params() @ R.T, atol=1e-12)
    again = part.collapse(["v", "x"])
    direct = whole.collapse(["v", "x"])
    np.testing.assert_allclose(again.table, direct.table, atol=1e-14)
    np.testing.assert_allclose(again.conf_int(), direct.conf_int(), atol=1e-12)


def test_the_likelihood_ratio_is_that_of_its_own_fit() -> None:
    parts = survey(KRR, 3)
    whole = ldp.AssociationModel(*parts, names=NAMES[:3]).fit()
    own = ldp.AssociationModel(parts[0], parts[1], names=("u", "v")).fit()
    expected = own.test_independence("lr").statistic
    part = whole.collapse(["u", "v"])
    assert part.test_independence("lr").statistic == pytest.approx(expected, rel=1e-5)
    assert np.isnan(part.llf)


def test_without_tallies_intervals_are_walds() -> None:
    wide = ldp.KRAPPOR(8, epsilon=3.0)  # 2**24 combinations of reports
    rng = np.random.default_rng(1)
    parts = [wide.privatize(rng.integers(0, 8, 4000) % size, rng) for size in (3, 2, 4)]
    whole = ldp.AssociationModel(*parts).fit("inversion")
    assert whole.evidence is None
    part = whole.collapse(["z", "x"])
    assert part.law is None
    assert part.independence is None
    text = str(part.summary())
    assert "95% Wald" in text
    assert "not tested" in text
    np.testing.assert_allclose(part.params.sum(), whole.params.sum(), atol=1e-12)
    own = ldp.AssociationModel(parts[2], parts[0], names=("z", "x")).fit("inversion")
    np.testing.assert_allclose(part.linear_params, own.linear_params, atol=1e-9)
    np.testing.assert_allclose(part.linear_bse, own.linear_bse, rtol=0.02)
    assert part.test_independence("wald").pvalue == pytest.approx(
        own.test_independence("wald").pvalue, abs=0.02
    )


def test_candidates_and_groups() -> None:
    parts, others = survey(KRR, 3), survey(ldp.KRR(ABC, epsilon=1.0), 3, 1000)
    lists = [["a", "b"], None, None]
    model = ldp.AssociationModel(*parts, candidates=lists, other=[True, False, False])
    part = model.fit().collapse(["x", "z"])
    assert list(part.table.index) == ["a", "b", "Other"]
    grouped = [list(pair) for pair in zip(parts, others, strict=True)]
    part = ldp.AssociationModel(*grouped).fit().collapse(["x", "z"])
    assert (part.n_strata, part.nobs, part.epsilon) == (2, 4000, 4.0)
    own = ldp.AssociationModel(grouped[0], grouped[2], names=("x", "z")).fit()
    assert part.test_independence() == own.test_independence()


def test_storage_keeps_what_collapses() -> None:
    whole = ldp.AssociationModel(*survey(KRR, 3), names=NAMES[:3]).fit()
    part = whole.collapse(["w", "u"])
    again = ldp.AssociationResults.from_json(whole.to_json()).collapse(["w", "u"])
    assert again.to_json() == part.to_json()
    assert ldp.AssociationResults.from_json(part.to_json()).to_json() == part.to_json()
    assert part.plot().get_title().startswith("w and u")
    assert "summed over" in part.settings


WHOLE = ldp.AssociationModel(*survey(KRR, 3, 300), names=NAMES[:3]).fit("inversion")
PAIR = WHOLE.collapse(["u", "v"])


@pytest.mark.parametrize(
    "refusal",
    [
        *refuses(
            "names=",
            WHOLE.collapse,
            {
                "one": said(["u"], "margins()"),
                "all": said(["u", "v", "w"], "fewer than all"),
                "none": said([], "two or more"),
                "unknown": said(["u", "q"], "'u', 'v', 'w'"),
                "twice": said(["u", "u"], "each once"),
                "text": said("uv", "must be"),
                "number": said(3, "must be"),
                "numbers": said([0, 1], "must be"),
                "missing": said([None, "u"], "must be"),
                "set": said({"u", "v"}, "must be"),
            },
        ),
        *refuses("names=", PAIR.collapse, {"of two": said(["u", "v"], "fewer than all")}),
    ],
)
def test_bad_names(refusal: Refusal) -> None:
    refusal.check()
