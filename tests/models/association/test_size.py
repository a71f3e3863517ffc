"""Size and power of tests of independence in simulated surveys.

Reports that are drawn respondent by respondent are then matched at random: under independence
every matching (within shared cohorts) is as likely as the one that came, so that each survey
stands for many.

Of 5,000 surveys a size of .05 has a Monte Carlo standard error of .0031.
`PYTHONPATH=tests python tests/models/association/test_size.py` prints all sizes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import ALPHA, at_most, error, near, repeat, size
from simulated.pairs import (
    DENSE,
    Setting,
    grid,
    linear,
    pearson,
    wald,
)

import ldpstats as ldp
from ldpstats.errors import BoundaryWarning, IncompleteListWarning
from ldpstats.inference.tables import independence as association
from ldpstats.inference.tables import permutation
from ldpstats.inference.tails import chi2_pvalue

Array = npt.NDArray[Any]

FULL = 5000

pytestmark = [
    pytest.mark.filterwarnings("ignore::ldpstats.errors.IncompleteListWarning"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
    pytest.mark.usefixtures("without_goodness"),
]


# ---- sizes


class Size(NamedTuple):
    """Rejection rate of a test in one setting."""

    test: str
    setting: str
    rate: float


def of_tables(setting: Setting, R: int, fits: int) -> Iterator[Size]:
    """k-RR: the score statistic is Pearson's; a few tables go through the model too."""
    tables = setting.tables(setting.independent, R, setting.rng(1))
    step = max(1, 2_000_000 // (setting.shape[0] * setting.shape[1]) ** 2)
    parts = [tables[i : i + step] for i in range(0, R, step)]
    score, linear_wald = pearson(tables), np.hstack([wald(*linear(setting, t)) for t in parts])
    for i in range(fits):
        results = setting.of_table(tables[i]).fit("inversion")
        for method, value in (("score", score), ("pearson", score), ("wald", linear_wald)):
            assert results.test_independence(method).statistic == pytest.approx(value[i], rel=1e-9)
    df = (setting.shape[0] - 1) * (setting.shape[1] - 1)
    yield Size("score", str(setting), size(chi2_pvalue(score, df)))
    yield Size("wald", str(setting), size(chi2_pvalue(linear_wald, df)))


def matched(model: ldp.AssociationModel, B: int, rng: np.random.Generator) -> Array:
    """Score statistics of B random matchings of the reports of a model."""
    (scores,) = model.evidence.scores
    group, n = scores.group, scores.group.counts.n
    if all(index is not None for index in group.index):  # distinct reports: a table
        table = np.zeros([len(mean) for mean in scores.means], dtype=np.int64)
        np.add.at(table, group.index, n)
        x, y = (r.W / m[:, None] for r, m in zip(scores.likelihoods, scores.means, strict=True))
        return permutation.permuted_table_scores([table], [x], [y], B, rng)
    left, right = (
        [np.repeat(scores.values(v, part), n[part], axis=0) for part in group.slices]
        for v in (0, 1)
    )
    return permutation.permuted_scores(left, right, B, rng)


def of_matchings(setting: Setting, R: int, surveys: int) -> Size:
    rng, B, pvalues = setting.rng(2), R // surveys, []
    df = (setting.shape[0] - 1) * (setting.shape[1] - 1)
    for _ in range(surveys):
        model = setting.survey(setting.independent, rng)
        assert model.shared_cohorts == (setting.name == "bloom")
        pvalues.append(chi2_pvalue(matched(model, B, rng), df))
    return Size("score", str(setting), size(pvalues))


def check(rates: Sequence[float], R: int) -> None:
    """Each size within .0125 of .05, all together within .003; or within four standard errors."""
    band = 4 * error(ALPHA, R)
    assert np.max(np.abs(np.array(rates) - ALPHA)) < max(0.0125, band), rates
    assert abs(np.mean(rates) - ALPHA) < max(0.003, band / np.sqrt(len(rates)))


def test_sizes_of_a_few_tables() -> None:
    R = 2000
    for setting in (Setting("krr", (5, 5), 1.0, 10_000), Setting("krr", (3, 4), 4.0, 10_000)):
        score, linear_wald = of_tables(setting, R, fits=2)
        check([score.rate], R)
        check([linear_wald.rate], R)
        # Control: n times an estimate is no count, however large n is.
        tables = setting.tables(setting.independent, R, setting.rng(1))
        table = setting.n * linear(setting, tables)[0]
        df = (setting.shape[0] - 1) * (setting.shape[1] - 1)
        assert size(chi2_pvalue(pearson(table), df)) > (0.9 if setting.epsilon == 1.0 else 0.1)


@pytest.mark.parametrize("name", ["unary", "bloom"])
def test_sizes_of_a_few_matchings(name: str) -> None:
    setting, R = Setting(name, (5, 5), 2.0, 10_000), 1000
    check([of_matchings(setting, R, surveys=5).rate], R)
    # The data as they came are one of the matchings, and what users get.
    model = setting.survey(setting.independent, setting.rng(3))
    found = model.fit("inversion").test_independence()
    (scores,) = model.evidence.scores
    as_they_came = association.score(scores.cross_moments(0, 1))
    assert found.statistic == pytest.approx(as_they_came.statistic, rel=1e-9)
    assert found.df == 16


@pytest.mark.slow
@pytest.mark.parametrize("shape", DENSE, ids=str)
def test_sizes_of_krr(shape: Any, replications: Callable[..., int]) -> None:
    """The Wald test is conservative where labels are rare, and .048 to .062 elsewhere."""
    R, settings = replications(FULL), grid("krr", [shape])
    found = [tuple(found.rate for found in of_tables(setting, R, 2)) for setting in settings]
    scores, walds = np.array(found).T
    check(scores.tolist(), R)
    band = 4 * error(ALPHA, R)
    rare = np.array([setting.has_rare_labels(setting.independent) for setting in settings])
    assert np.abs(walds[~rare] - 0.05).max() < max(0.02, band)
    assert abs(walds[~rare].mean() - 0.05) < max(0.006, band / np.sqrt(np.sum(~rare)))
    assert np.all(walds[rare] < 0.05 + band)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("shape", DENSE, ids=str)
@pytest.mark.parametrize("name", ["unary", "bloom"])
def test_sizes_of_bits(name: str, shape: Any, n: int, replications: Callable[..., int]) -> None:
    R, surveys = (replications(FULL), 50) if n == 10_000 else (replications(1000, least=250), 5)
    check([of_matchings(s, R, surveys).rate for s in grid(name, [shape], [n])], R)


def size_of_wald(setting: Setting, R: int) -> float:
    rng = setting.rng(9)
    models = (setting.survey(setting.independent, rng) for _ in range(R))
    return size([m.test_independence(m.fit("inversion"), "wald").pvalue for m in models])


@pytest.mark.usefixtures("without_tests")
@pytest.mark.parametrize("name", ["unary", pytest.param("bloom", marks=pytest.mark.slow)])
def test_the_wald_test_of_bits_keeps_its_size(name: str) -> None:
    """On features that do not sum to one it never rejects at epsilon 1, whatever the truth."""
    R = 100
    found = size_of_wald(Setting(name, (5, 5), 1.0, 10_000), R)
    assert near(found, ALPHA, R)
    assert found > 0.0


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 4), (5, 5)], ids=str)
def test_sizes_of_the_wald_test_of_bits(shape: Any, replications: Callable[..., int]) -> None:
    """On bounded features: on scores .3 to .5 of absent categories at epsilon 4 were rejected."""
    R, settings = replications(1000, least=250), grid("unary", [shape], [10_000])
    check([size_of_wald(setting, R) for setting in settings], R)


# ---- power


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_power_of_the_score_test_is_that_of_theory(epsilon: float) -> None:
    """Noncentral chi-square, n times the squared distance of the laws of k-RR reports."""
    setting, R = Setting("krr", (5, 5), epsilon, 10_000), 2000
    P = setting.trend({1.0: 0.5, 2.0: 0.1, 4.0: 0.03}[epsilon])
    (QX, _), (QY, _) = setting.patterns
    null, law = QX.T @ setting.independent @ QY, QX.T @ P @ QY
    distance = setting.n * np.sum((law - null) ** 2 / null)
    theory = stats.ncx2.sf(stats.chi2.isf(0.05, 16), 16, distance)
    assert 0.2 < theory < 0.9
    found = size(chi2_pvalue(pearson(setting.tables(P, R, setting.rng(10))), 16))
    assert near(found, theory, R)


# ---- tests that the boundary breaks, and the one that uses it


def rejections(setting: Setting, P: Array, R: int, methods: Sequence[str]) -> dict[str, float]:
    """Rejection rates of tests that fit the joint distribution."""
    rng = setting.rng(4)

    def survey(_: int) -> dict[str, float]:
        model = setting.survey(P, rng)
        results = model.fit("mle")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoundaryWarning)
            how: dict[str, Any] = {"bootstrap": {"rng": rng, "n_boot": 99}}
            tests = [model.test_independence(results, m, **how.get(m, {})) for m in methods]
        return {name: test.pvalue for name, test in zip(methods, tests, strict=True)}

    return {name: size(pvalues) for name, pvalues in repeat(R, survey).items()}


@pytest.mark.slow
@pytest.mark.usefixtures("without_tests")
def test_the_printed_statistic_loses_size_and_power_at_the_boundary() -> None:
    """Its size is .0025 (400 surveys) and its power a tenth of that of the score test."""
    setting, R = Setting("krr", (5, 5), 1.0, 10_000), 100
    null = rejections(setting, setting.independent, R, ["score", "fpe16"])
    assert null["fpe16"] <= 0.02
    assert near(null["score"], ALPHA, R)
    associated = rejections(setting, setting.trend(0.4), R, ["score", "fpe16"])
    assert associated["score"] > associated["fpe16"] + 0.1


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
def test_tests_that_fit_the_joint_distribution(replications: Callable[..., int]) -> None:
    """lr is conservative at the boundary, and FPE16's T never rejects there."""
    R = replications(500)
    inner, bound = (Setting("krr", (5, 5), e, 10_000) for e in (2.0, 1.0))
    found = rejections(inner, inner.independent, R, ["score", "lr", "fpe16"])
    assert near(list(found.values()), ALPHA, R)
    found = rejections(bound, bound.independent, R, ["score", "lr", "fpe16"])
    assert near(found["score"], ALPHA, R)
    assert found["lr"] < 0.05
    assert found["fpe16"] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        Setting("krr", (3, 4), 1.0, 10_000),
        Setting("krr", (5, 5), 1.0, 10_000),
        Setting("krr", (5, 5), 2.0, 1000),
        Setting("unary", (3, 4), 1.0, 10_000),
    ],
    ids=str,
)
def test_the_bootstrap_of_the_likelihood_ratio_is_not_liberal(
    setting: Setting, replications: Callable[..., int]
) -> None:
    R = replications(60, least=30)
    found = rejections(setting, setting.independent, R, ["bootstrap"])
    assert at_most(found["bootstrap"], ALPHA, R, errors=4)


def sizes() -> pd.DataFrame:
    """Sizes of all settings but the largest, as the slow tests simulate them."""
    found = [s for setting in grid("krr", DENSE) for s in of_tables(setting, FULL, 0)]
    settings = [s for name in ("unary", "bloom") for s in grid(name, DENSE, [10_000])]
    return pd.DataFrame(found + [of_matchings(setting, FULL, 50) for setting in settings])


if __name__ == "__main__":
    warnings.simplefilter("ignore", IncompleteListWarning)
    table = sizes()
    print(table.pivot_table(index="setting", columns="test", values="rate").to_string())
    print(table.groupby("test").rate.agg(["size", "min", "max", "mean"]).to_string())
