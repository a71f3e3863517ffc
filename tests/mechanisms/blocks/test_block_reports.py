"""Reports of block mechanisms: what is refused, and that a wrong mechanism is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

SUBSETS = ldp.SubsetSelection(("a", "b", "c", "d"), 0.6, size=2)


@pytest.mark.parametrize("text", ["0111", "0001", "011", "0210", "", None, 3, True])
def test_subsets_of_another_size_are_refused(text: object) -> None:
    with pytest.raises(ldp.LDPError, match="report"):
        SUBSETS.parse("reports", ["0011", text])


def test_packed_subsets_of_another_size_are_refused() -> None:
    with pytest.raises(ldp.InvalidArgument, match="3 ones"):
        ldp.Reports(np.array([[0b0111]], dtype=np.uint8), SUBSETS)
    with pytest.raises(ldp.InvalidArgument, match="3 ones"):
        SUBSETS.parse("reports", [b"\x07"])


@pytest.mark.parametrize("n", [[1, 1, 1, 0], [5, 0, 0, 0], [3, 3, 0, 0]])
def test_sums_that_no_reports_have_are_refused(n: list[int]) -> None:
    with pytest.raises(ldp.InvalidArgument, match=r"2 ones|exceeds"):
        SUBSETS.counts(n, nobs=2)


def test_goodness_of_fit_sees_another_epsilon() -> None:
    rng = np.random.default_rng(4)
    strong = ldp.HadamardResponse(5, 0.5)
    made = ldp.HadamardResponse(5, 0.69).privatize(rng.choice(5, 100_000), rng)
    model = ldp.FrequencyModel(ldp.Reports(made.y, strong))
    with pytest.warns(ldp.MisfitWarning):
        wrong = model.fit("inversion").goodness_of_fit
    right = strong.privatize(rng.choice(5, 100_000), rng)
    assert wrong.pvalue < 1e-4 < ldp.FrequencyModel(right).fit("inversion").goodness_of_fit.pvalue


def test_olh_is_the_hashed_mechanism() -> None:
    olh = ldp.OLH(100, epsilon=1.0)
    assert isinstance(olh, ldp.ORR)
    assert (olh.n_outputs, olh.n_cohorts, olh.k) == (4, 1024, 100)
    assert ldp.OLH(3, epsilon=2.0) == ldp.ORR(3, 1, epsilon=2.0, alphabet=3)  # k-RR
    assert ldp.OLH(3, epsilon=50.0).n_outputs == 3
    p = np.full(100, 0.01)
    V = olh.moments(olh.specimen()).covariance(p).variances()
    g, e = 4, np.e  # Wang et al. 2017, variance with a hash of one's own
    share = e / (e + g - 1) * 0.01 + 0.99 / g
    ideal = share * (1 - share) / (e / (e + g - 1) - 1 / g) ** 2
    assert 0.95 < V.mean() * 1024 / ideal < 1.08


@pytest.mark.parametrize(
    "mechanism",
    [
        ldp.SubsetSelection(100_000, 5.0),
        ldp.HadamardResponse(100_000, 0.5),
        ldp.HadamardResponse(10_000, 3.0),
        ldp.ProjectiveGeometryResponse(100_000, 3.0),
    ],
    ids=["subsets", "hadamard", "hadamard-parts", "projective"],
)
def test_very_many_categories(mechanism: ldp.Mechanism) -> None:
    rng, k, n = np.random.default_rng(6), mechanism.k, 100 if mechanism.n_bits else 3_000
    values = np.where(rng.random(n) < 0.7, 1_234, rng.integers(0, k, n))
    fit = ldp.FrequencyModel(mechanism.privatize(values, rng)).fit("inversion")
    assert fit.linear_params.idxmax() == 1_234
    low, high = fit.conf_int(clip=False).loc[1_234]
    assert low < 0.7 < high
    assert "1234" in str(fit.summary())
    assert mechanism.draw(np.full(k, 1.0 / k), 50, rng).nobs == 50


@pytest.mark.parametrize("k", [2, 3, 5, 8, 30, 1000])
@pytest.mark.parametrize("kind", [ldp.HadamardResponse, ldp.ProjectiveGeometryResponse])
def test_the_design_is_part_of_the_specification(kind: Any, k: int) -> None:
    """So that a later choice of designs changes no device and no analysis."""
    names = ("order",) if kind is ldp.HadamardResponse else ("q", "t")
    for epsilon in (0.1, 1.0, 2.0, 5.0, 12.0):
        made = kind(k, epsilon)
        document = made.to_dict()
        assert all(isinstance(document[name], int) for name in names)
        again = kind(k, epsilon, *(document[name] for name in names))
        assert again == made and again.design == made.design


@pytest.mark.parametrize(
    ("kind", "given", "match"),
    [
        (ldp.HadamardResponse, {"order": 3}, "power of two from 2 to 16"),
        (ldp.HadamardResponse, {"order": 32}, "power of two from 2 to 16"),
        (ldp.HadamardResponse, {"order": 1}, "order=1"),
        (ldp.HadamardResponse, {"order": 4.0}, "order=4.0"),
        (ldp.ProjectiveGeometryResponse, {"q": 2}, "t=None"),
        (ldp.ProjectiveGeometryResponse, {"t": 3}, "q=None"),
        (ldp.ProjectiveGeometryResponse, {"q": 4, "t": 3}, "must be a prime"),
        (ldp.ProjectiveGeometryResponse, {"q": 2, "t": 3}, "fewer than 8 labels"),
        (ldp.ProjectiveGeometryResponse, {"q": 2, "t": 60}, "at most"),
        (ldp.ProjectiveGeometryResponse, {"q": 2**61 - 1, "t": 2}, "must be a prime"),
    ],
)
def test_designs_that_are_none(kind: Any, given: dict[str, Any], match: str) -> None:
    with pytest.raises(ldp.InvalidArgument, match=match):
        kind(8, 1.0, **given)
