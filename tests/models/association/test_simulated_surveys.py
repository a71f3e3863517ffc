"""Simulated surveys of pairs: coverage of cells, sizes of tests, `one_step`, shared cohorts.

Reports that are drawn respondent by respondent are then matched at random: under independence
every matching (within shared cohorts) is as likely as the one that came, so that each survey
stands for many.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats
from simulate import ALPHA, at_most, bias, coverage, error, near, repeat, size
from surveys import projected

import ldpstats as ldp
from ldpstats.estimators import OneStep
from ldpstats.inference import intervals
from ldpstats.inference.tables import independence as association
from ldpstats.inference.tables import permutation

Array = npt.NDArray[Any]

PATTERNS = ("krr", "unary")  # mechanisms whose reports are tables of few patterns

DENSE: dict[tuple[int, int], tuple[Any, Any]] = {
    (3, 4): ((0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1)),
    (5, 5): ((0.35, 0.25, 0.18, 0.13, 0.09),) * 2,
    (30, 2): (np.arange(1, 31) ** -0.7, (0.8, 0.2)),
}


def sparse(k: int) -> Array:
    """Zipf's law with the last third absent, but for one in a thousand in its first category."""
    if k == 2:
        return np.array([0.97, 0.03])
    absent = max(1, round(k / 3))
    p = np.where(np.arange(k) < k - absent, 1 / np.arange(1.0, k + 1), 0.0)
    p /= p.sum()
    if absent > 1:
        p *= 0.999
        p[k - absent] = 0.001
    return p


@dataclass(frozen=True)
class Setting:
    """Two variables, how they are privatised, and how many answer."""

    name: str
    shape: tuple[int, int]
    epsilon: float
    n: int
    where: str = "dense"

    def __str__(self) -> str:
        k1, k2 = self.shape
        return f"{self.name}-{k1}x{k2}-{self.epsilon:g}-{self.n}-{self.where}"

    @cached_property
    def margins(self) -> tuple[Array, Array]:
        if self.where == "sparse":
            return sparse(self.shape[0]), sparse(self.shape[1])
        first, second = (np.asarray(p) / np.sum(p) for p in DENSE[self.shape])
        return first, second

    @cached_property
    def independent(self) -> Array:
        return np.outer(*self.margins)

    def trend(self, correlation: float) -> Array:
        """The table of these margins whose linear-by-linear departure has this correlation."""
        r, c = self.margins
        u, v = (np.arange(p.size) - np.arange(p.size) @ p for p in self.margins)
        return np.outer(r, c) * (
            1 + correlation * np.outer(u, v) / np.sqrt((u**2 @ r) * (v**2 @ c))
        )

    def diagonal(self, share: float) -> Array:
        """The table of these margins in which this share answer both questions alike."""
        return (1 - share) * self.independent + share * np.diag(self.margins[0])

    @cached_property
    def mechanisms(self) -> tuple[Any, Any]:
        if self.name == "bloom":
            q = 1 / (1 + np.exp(-self.epsilon / 4))
            both = ldp.RAPPOR(n_bits=32, n_hashes=2, n_cohorts=8, f=0.0, p=1 - q, q=q)
            return both, both
        kind = ldp.KRR if self.name == "krr" else ldp.KRAPPOR
        return kind(self.shape[0], self.epsilon), kind(self.shape[1], self.epsilon)

    def rng(self, *key: int) -> np.random.Generator:
        first = ("krr", "unary", "bloom").index(self.name)
        place = [first, *self.shape, int(self.epsilon), self.n, len(self.where)]
        return np.random.default_rng([*key, *place])

    # ---- tables of patterns

    def has_rare_labels(self, P: Array) -> bool:
        """Whether fewer than ten k-RR reports of some pair of labels are expected."""
        (QX, _), (QY, _) = self.patterns
        return self.name == "krr" and bool(self.n * (QX.T @ P @ QY).min() < 10)

    @property
    def is_tabulated(self) -> bool:
        return (self.name in PATTERNS and max(self.shape) < 10) or self.name == "krr"

    @cached_property
    def patterns(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Of each variable: the law of its patterns by category, and their unbiased features."""
        first, second = (patterns(mechanism) for mechanism in self.mechanisms)
        return first, second

    def tables(self, P: Array, R: int, rng: np.random.Generator) -> Array:
        """Counts of pairs of patterns in R surveys, shape (R, u1, u2)."""
        (QX, _), (QY, _) = self.patterns
        law = QX.T @ P @ QY
        return rng.multinomial(self.n, law.ravel() / law.sum(), size=R).reshape(R, *law.shape)

    def of_table(self, table: Array) -> ldp.AssociationModel:
        """The model of a table of counts of pairs of patterns."""
        seen, parts = np.nonzero(table), []
        for mechanism, codes in zip(self.mechanisms, seen, strict=True):
            bits = bits_of(codes, mechanism.n_bits) if self.name == "unary" else None
            y = codes if bits is None else np.packbits(bits, axis=1, bitorder="little")
            parts.append(ldp.Reports(y, mechanism))
        return ldp.AssociationModel(ldp.JointCounts(parts, table[seen]))

    # ---- respondents

    def survey(self, P: Array, rng: np.random.Generator) -> ldp.AssociationModel:
        if self.is_tabulated:
            return self.of_table(self.tables(P, 1, rng)[0])
        cells = rng.choice(P.size, size=self.n, p=P.ravel())
        answers = np.unravel_index(cells, P.shape)
        if self.name == "unary":
            parts = zip(self.mechanisms, answers, strict=True)
            return ldp.AssociationModel(*(m.privatize(codes, rng) for m, codes in parts))
        names = [[f"{v}{i}" for i in range(k)] for v, k in zip("xy", self.shape, strict=True)]
        return shared_survey(self.mechanisms[0], names, answers, rng)


def shared_survey(
    mechanism: ldp.RAPPOR,
    names: Sequence[Sequence[str]],
    answers: Sequence[Array],
    rng: np.random.Generator,
) -> ldp.AssociationModel:
    """Both answers of a respondent are reported from one cohort."""
    cohort = rng.integers(0, mechanism.n_cohorts, size=answers[0].size)
    pairs = zip(names, answers, strict=True)
    parts = [hashed_reports(mechanism, own, codes, cohort, rng) for own, codes in pairs]
    return ldp.AssociationModel(*parts, candidates=names)


def hashed_reports(
    mechanism: ldp.RAPPOR, names: Sequence[str], codes: Array, cohort: Array, rng: Any
) -> ldp.Reports:
    """What `privatize` gives (with f = 0), without hashing every answer anew."""
    cells = mechanism.answer_hash.table("names", pd.Index(names))
    owned = (cells[..., None] == np.arange(mechanism.n_bits)).any(axis=2)[cohort, codes]
    bits = rng.random(owned.shape) < np.where(owned, mechanism.p1, mechanism.p0)
    packed = np.packbits(bits, axis=1, bitorder="little")
    return ldp.Reports(packed, mechanism, cohort=cohort)


def patterns(mechanism: Any) -> tuple[Array, Array]:
    if isinstance(mechanism, ldp.KRR):
        Q = mechanism.channel().matrix()
        return Q, np.linalg.inv(Q)
    k, p1, p0 = mechanism.k, mechanism.p1, mechanism.p0
    bits = bits_of(np.arange(2**k), k)
    one = np.where(np.eye(k), p1, p0)[:, None, :]
    return np.where(bits, one, 1 - one).prod(axis=2), (bits - p0) / (p1 - p0)


def bits_of(codes: Array, k: int) -> Array:
    """The k bits of each number, the lowest first."""
    return (codes[:, None] >> np.arange(k)) & 1


# ---- statistics of many tables at once
def pearson(tables: Array) -> Array:
    expected = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
    expected = expected / tables.sum(axis=(1, 2))[:, None, None]
    return np.asarray(np.sum((tables - expected) ** 2 / expected, axis=(1, 2)))


def linear(setting: Setting, tables: Array) -> tuple[Array, Array]:
    """Unconstrained estimates, (R, k1, k2), and their covariances as the model computes them.

    For bits that of the products observed; for k-RR that of the table of reports, but for cells
    seen fewer than ten times, which count as much as at the projection onto the simplex at least.
    """
    (QX, X), (QY, Y) = setting.patterns
    seen = tables / setting.n
    P = X.T @ seen @ Y
    mean, law = P, seen
    if setting.name == "krr":
        at = QX.T @ projected(P.reshape(len(P), -1)).reshape(P.shape) @ QY
        law = np.where(tables < 10, np.maximum(seen, at), seen)
        law = law / law.sum(axis=(1, 2), keepdims=True)
        mean = X.T @ law @ Y
    k1, k2 = setting.shape
    XX, YY = ((f[:, :, None] * f[:, None, :]).reshape(len(f), -1) for f in (X, Y))
    squares = (XX.T @ law @ YY).reshape(-1, k1, k1, k2, k2).transpose(0, 1, 3, 2, 4)
    flat = mean.reshape(len(P), -1)
    outer = flat[:, :, None] * flat[:, None, :]
    return P, (squares.reshape(outer.shape) - outer) / setting.n


def wald(P: Array, V: Array) -> Array:
    """`tables.wald_independence` of many tables."""
    R, k1, k2 = P.shape
    r, c, t = P.sum(axis=2), P.sum(axis=1), P.sum(axis=(1, 2))
    d = t[:, None, None] * P - r[:, :, None] * c[:, None, :]
    rows, columns = np.eye(k1)[None, :, None, :, None], np.eye(k2)[None, None, :, None, :]
    G = t[:, None, None, None, None] * rows * columns + P[..., None, None]
    G = G - rows * c[:, None, :, None, None] - columns * r[:, :, None, None, None]
    g, G = d[:, :-1, :-1].reshape(R, -1), G[:, :-1, :-1].reshape(R, -1, k1 * k2)
    spread = G @ V @ G.transpose(0, 2, 1)
    return np.einsum("ri,ri->r", g, np.linalg.solve(spread, g[..., None])[..., 0])


pytestmark = [
    pytest.mark.filterwarnings("ignore::ldpstats.errors.IncompleteListWarning"),
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
    pytest.mark.usefixtures("without_goodness"),
]

TABLES = [  # labels that are rare, a table of many rows, epsilons from strong to weak
    Setting("krr", (3, 4), 1.0, 10_000, "sparse"),
    Setting("krr", (5, 5), 4.0, 10_000, "sparse"),
    Setting("krr", (30, 2), 2.0, 100_000),
    Setting("krr", (5, 5), 1.0, 10_000),
]


# ---- coverage of cells
def cell_coverage(setting: Setting, P: Array, R: int, shrink: float = 1.0) -> Array:
    """Coverage of the Wald intervals of the cells, uncut; with `shrink`, of narrower ones."""
    tables, found = setting.tables(P, R, setting.rng(6)), []
    step = max(1, 4_000_000 // P.size**2)
    for start in range(0, R, step):
        estimate, V = linear(setting, tables[start : start + step])
        se = np.sqrt(np.einsum("rii->ri", V))
        found.append(intervals.wald(estimate.reshape(se.shape), shrink * se))
    ends = np.concatenate(found)
    if setting.name == "krr" and shrink == 1.0:
        results = setting.of_table(tables[0]).fit("inversion")
        found = results.conf_int(method="wald", clip=False)
        np.testing.assert_allclose(found, ends[0], rtol=0, atol=1e-9)
    return coverage(ends, P.ravel())


def check_coverage(setting: Setting, R: int) -> None:
    """.94 to .96 on average and .93 to .97 in each cell, or within 4.5 standard errors.

    Where labels are rare, the floor of their law widens intervals of the empty cells (up to .997
    in 20,000 surveys) and those of cells almost empty are too skew (.931 at the least).
    """
    P = setting.trend(0.05) if setting.where == "dense" else setting.independent
    assert P.min() >= 0.0
    shares, band = cell_coverage(setting, P, R), 4.5 * error(ALPHA, R)
    rare = setting.has_rare_labels(P)
    assert 0.94 < shares.mean() < 0.96
    assert shares.min() > min(0.93, (0.94 if rare else 0.95) - band)
    assert shares[P.ravel() > 0.002 if rare else ...].max() < max(0.97, 0.95 + band)
    assert cell_coverage(setting, P, R, shrink=0.5).max() < 0.8  # control


@pytest.mark.parametrize("name", PATTERNS)
def test_coverage_of_a_few_cells(name):
    check_coverage(Setting(name, (3, 4), 2.0, 10_000), 500)
    check_coverage(Setting(name, (3, 4), 1.0, 10_000, "sparse"), 500)


@pytest.mark.slow
def test_coverage_of_cells(replications):
    for setting in [*TABLES, Setting("unary", (5, 5), 4.0, 10_000, "sparse")]:
        check_coverage(setting, replications(2000))


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
def test_coverage_of_hashed_pairs(replications):
    """Of cells and margins of Bloom reports with absent categories; as users get them, uncut."""
    setting, R = Setting("bloom", (3, 4), 2.0, 10_000, "sparse"), replications(500, least=100)
    rng, P = setting.rng(7), setting.independent

    def survey(_: int) -> dict[str, Any]:
        results = setting.survey(P, rng).fit("inversion")
        margins = np.vstack([fit.conf_int(clip=False) for fit in results.margin_fits])
        return {"cells": results.conf_int(clip=False), "margins": margins}

    found = repeat(R, survey)
    for name, truth in (("cells", P.ravel()), ("margins", np.hstack(setting.margins))):
        shares = coverage(found[name], truth)
        # the mean over cells, some of which move together, has at most the error of one cell
        assert near(shares.mean(), 1 - ALPHA, R, errors=2.5)
        assert near(shares, 1 - ALPHA, R, errors=4.5)
        halved = found[name].mean(axis=-1, keepdims=True) + 0.5 * (
            found[name] - found[name].mean(axis=-1, keepdims=True)
        )
        assert not near(coverage(halved, truth).mean(), 1 - ALPHA, R, errors=4.5)  # control


# ---- sizes of tests of independence
def sizes_of_tables(setting: Setting, R: int, fits: int) -> tuple[float, float]:
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
    return size(stats.chi2.sf(score, df)), size(stats.chi2.sf(linear_wald, df))


def matched(model: ldp.AssociationModel, B: int, rng: np.random.Generator) -> Array:
    """Score statistics of B random matchings of the reports of a model."""
    strata = model.evidence.scores
    if all(scores.is_dense for scores in strata):
        tables, *rows = zip(*(scores.table for scores in strata), strict=True)
        x, y = (
            [scores.centred(v, own) for scores, own in zip(strata, rows[v], strict=True)]
            for v in (0, 1)
        )
        return permutation.permuted_table_scores(tables, x, y, B, rng)
    left, right = (
        [np.repeat(s.of_respondents(v, s.part), s.n, axis=0) for s in strata] for v in (0, 1)
    )
    return permutation.permuted_scores(left, right, B, rng)


def size_of_matchings(setting: Setting, R: int, surveys: int) -> float:
    rng, B, pvalues = setting.rng(2), R // surveys, []
    df = (setting.shape[0] - 1) * (setting.shape[1] - 1)
    for _ in range(surveys):
        model = setting.survey(setting.independent, rng)
        assert model.shared_cohorts == (setting.name == "bloom")
        pvalues.append(stats.chi2.sf(matched(model, B, rng), df))
    return size(pvalues)


def check_size(rate: float, R: int) -> None:
    """Within .0125 of .05, or four standard errors."""
    assert abs(rate - ALPHA) < max(0.0125, 4 * error(ALPHA, R)), rate


def test_sizes_of_a_few_tables():
    R = 2000
    for setting in (Setting("krr", (5, 5), 1.0, 10_000), Setting("krr", (3, 4), 4.0, 10_000)):
        for rate in sizes_of_tables(setting, R, fits=2):
            check_size(rate, R)
        # Control: n times an estimate is no count, however large n is.
        tables = setting.tables(setting.independent, R, setting.rng(1))
        table = setting.n * linear(setting, tables)[0]
        df = (setting.shape[0] - 1) * (setting.shape[1] - 1)
        assert size(stats.chi2.sf(pearson(table), df)) > (0.9 if setting.epsilon == 1.0 else 0.1)


@pytest.mark.parametrize("name", ["unary", "bloom"])
def test_sizes_of_a_few_matchings(name):
    setting, R = Setting(name, (5, 5), 2.0, 10_000), 1000
    check_size(size_of_matchings(setting, R, surveys=5), R)
    # The data as they came are one of the matchings, and what users get.
    model = setting.survey(setting.independent, setting.rng(3))
    found = model.fit("inversion").test_independence()
    as_they_came = association.score([s.cross_moments for s in model.evidence.scores])
    assert found.statistic == pytest.approx(as_they_came.statistic, rel=1e-9)
    assert found.df == 16


@pytest.mark.slow
def test_sizes_of_krr(replications):
    """The Wald test is conservative where labels are rare, and .048 to .062 elsewhere."""
    R = replications(5000)
    for setting in TABLES:
        score, linear_wald = sizes_of_tables(setting, R, 2)
        check_size(score, R)
        band = 4 * error(ALPHA, R)
        assert linear_wald < ALPHA + max(0.02, band)
        assert setting.has_rare_labels(setting.independent) or linear_wald > ALPHA - band


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        Setting("unary", (5, 5), 1.0, 10_000, "sparse"),
        Setting("unary", (30, 2), 4.0, 10_000),
        Setting("bloom", (30, 2), 2.0, 10_000, "sparse"),
    ],
    ids=str,
)
def test_sizes_of_bits(setting, replications):
    R = replications(5000)
    check_size(size_of_matchings(setting, R, 20), R)


def size_of_wald(setting: Setting, R: int) -> float:
    rng = setting.rng(9)
    models = (setting.survey(setting.independent, rng) for _ in range(R))
    return size([m.test_independence(m.fit("inversion"), "wald").pvalue for m in models])


@pytest.mark.usefixtures("without_tests")
def test_the_wald_test_of_bits_keeps_its_size():
    """On features that do not sum to one it never rejects at epsilon 1, whatever the truth."""
    R = 100
    found = size_of_wald(Setting("unary", (5, 5), 1.0, 10_000), R)
    assert near(found, ALPHA, R)
    assert found > 0.0


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
def test_the_wald_test_of_other_bits_keeps_its_size(replications):
    """On bounded features: on scores .3 to .5 of absent categories at epsilon 4 were rejected."""
    R = replications(1000, least=250)
    check_size(size_of_wald(Setting("unary", (5, 5), 4.0, 10_000, "sparse"), R), R)
    assert near(size_of_wald(Setting("bloom", (5, 5), 1.0, 10_000), 60), ALPHA, 60)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_power_of_the_score_test_is_that_of_theory(epsilon):
    """Noncentral chi-square, n times the squared distance of the laws of k-RR reports."""
    setting, R = Setting("krr", (5, 5), epsilon, 10_000), 2000
    P = setting.trend({1.0: 0.5, 4.0: 0.03}[epsilon])
    (QX, _), (QY, _) = setting.patterns
    null, law = QX.T @ setting.independent @ QY, QX.T @ P @ QY
    distance = setting.n * np.sum((law - null) ** 2 / null)
    theory = stats.ncx2.sf(stats.chi2.isf(0.05, 16), 16, distance)
    assert 0.2 < theory < 0.9
    found = size(stats.chi2.sf(pearson(setting.tables(P, R, setting.rng(10))), 16))
    assert near(found, theory, R)


# ---- tests that the boundary breaks, and the one that uses it
def rejections(setting: Setting, P: Array, R: int, methods: Sequence[str]) -> dict[str, float]:
    """Rejection rates of tests that fit the joint distribution."""
    rng = setting.rng(4)

    def survey(_: int) -> dict[str, float]:
        model = setting.survey(P, rng)
        results = model.fit("mle")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.BoundaryWarning)
            how: dict[str, Any] = {"bootstrap": {"rng": rng, "n_boot": 99}}
            tests = [model.test_independence(results, m, **how.get(m, {})) for m in methods]
        return {name: test.pvalue for name, test in zip(methods, tests, strict=True)}

    return {name: size(pvalues) for name, pvalues in repeat(R, survey).items()}


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
def test_tests_that_fit_the_joint_distribution(replications):
    """lr is conservative at the boundary; FPE16's T never rejects there and has no power."""
    R, methods = replications(500, least=150), ["score", "lr", "fpe16"]
    inner, bound = (Setting("krr", (5, 5), e, 10_000) for e in (2.0, 1.0))
    assert near(list(rejections(inner, inner.independent, R, methods).values()), ALPHA, R)
    found = rejections(bound, bound.independent, R, methods)
    assert near(found["score"], ALPHA, R)
    assert found["lr"] < 0.05 and found["fpe16"] <= 0.01
    found = rejections(bound, bound.trend(0.4), 100, methods)
    assert found["score"] > found["fpe16"] + 0.1


@pytest.mark.slow
def test_the_bootstrap_of_the_likelihood_ratio_is_not_liberal(replications):
    setting, R = Setting("krr", (3, 4), 1.0, 10_000), replications(60, least=20)
    found = rejections(setting, setting.independent, R, ["bootstrap"])
    assert at_most(found["bootstrap"], ALPHA, R, errors=4)


# ---- one step
@pytest.mark.slow
@pytest.mark.usefixtures("without_tests")
@pytest.mark.parametrize(
    "setting",
    [
        Setting("unary", (5, 5), 2.0, 10_000),
        Setting("unary", (5, 5), 4.0, 10_000, "sparse"),
        Setting("bloom", (5, 5), 2.0, 10_000),
    ],
    ids=str,
)
def test_intervals_around_one_step(setting, replications):
    """Default intervals cover, and up to epsilon 2 those around `one_step`.

    Those of cells that are empty, or nearly, are the wider ones of few reports (up to .99).
    The latter are shorter than those of moments, which are the default where bits are hashed. Their
    mean ratio in a survey has a standard deviation of .003: every fifth survey is enough for it.
    """
    R = replications(1000, 150) if setting.name == "unary" else replications(200, 40)
    rng, P = setting.rng(11), setting.diagonal(0.3)

    def survey(r: int) -> dict[str, Any]:
        model = setting.survey(P, rng)
        results = model.fit("one_step")
        default = moments = results.conf_int(clip=False)
        if setting.name == "unary":
            moments = np.full(default.shape, np.nan)
            if r % 5 == 0:
                moments = model.fit("moments-gls").conf_int(clip=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ldp.BoundaryWarning)
            own = results.conf_int(method="wald-mle", clip=False)
        return {"default": default, "moments": moments, "own": own}

    found, se = repeat(R, survey), error(ALPHA, R)
    for name in ("default", "own") if setting.epsilon <= 2 else ("default",):
        off = coverage(found[name], P.ravel()) - (1 - ALPHA)
        assert abs(off.mean()) < max(0.01, 2.5 * se)
        assert off.min() > -max(0.02, 4.5 * se)
        assert off[P.ravel() > 0.002].max() < max(0.02, 4.5 * se)
    assert np.nanmean(np.diff(found["own"]) / np.diff(found["moments"])) < 0.98
    middle = found["default"].mean(axis=-1, keepdims=True)
    halved = coverage(middle + 0.5 * (found["default"] - middle), P.ravel())
    assert halved.mean() - (1 - ALPHA) < -2.5 * se  # control


def worth(setting: Setting, P: Array, R: int, newton: int = 0) -> tuple[float, float]:
    """Squared error of `one_step` over that of the maximum likelihood estimate, and its SE.

    Over the cells above five standard errors, survey by survey on the same reports.
    """
    rng = setting.rng(8, newton)

    def survey(_: int) -> dict[str, Any]:
        model = setting.survey(P, rng)
        return {"mle": model.maximum().p, "one step": model.fit(OneStep(newton)).params}

    errors = [np.square(found - P.ravel()) for found in repeat(R, survey).values()]
    clear = P.ravel() > 5 * np.sqrt(errors[0].mean(axis=0))
    assert clear.sum() > P.size / 4
    best, ours = (error[:, clear].sum(axis=1) for error in errors)
    ratio = float(ours.mean() / best.mean())
    return ratio, float(np.std(ours - ratio * best) / best.mean() / np.sqrt(R))


@pytest.mark.usefixtures("without_tests")
def test_one_step_is_as_good_as_the_maximum():
    setting = Setting("unary", (5, 5), 2.0, 100_000)
    ratio, se = worth(setting, setting.trend(0.2), 30)
    assert ratio < 1.02 + 3 * se
    assert se < 0.01
    # Control: under strong dependence it is not, but one Newton step more is.
    setting = Setting("unary", (5, 5), 4.0, 100_000)
    ratio, se = worth(setting, setting.diagonal(0.5), 60)
    assert ratio - 3 * se > 1.02
    ratio, se = worth(setting, setting.diagonal(0.5), 30, newton=1)
    assert ratio < 1.02 + 3 * se


@pytest.mark.usefixtures("without_tests")
@pytest.mark.slow
def test_one_step_of_hashed_pairs(replications):
    setting = Setting("bloom", (5, 5), 2.0, 100_000)
    ratio, se = worth(setting, setting.trend(0.2), replications(40, least=6))
    assert ratio < 1.02 + 3 * se
    assert se < 0.03


# ---- two answers of one respondent that are hashed in one cohort: its cohorts are strata
# In one of these cohorts the two candidates have the same bit, in the others they do not.
COHORTS = ldp.RAPPOR(n_bits=4, n_hashes=1, n_cohorts=3, f=0.0, p=0.1, q=0.9)

PAIR = ("v0", "v3")


def shared_surveys(P: Array, n: int, R: int) -> Iterator[ldp.AssociationModel]:
    rng = np.random.default_rng([5, n])
    for _ in range(R):
        answers = np.unravel_index(rng.choice(4, size=n, p=P.ravel()), (2, 2))
        yield shared_survey(COHORTS, [PAIR, PAIR], answers, rng)


def estimates(P: Array, R: int) -> tuple[Array, Array]:
    """Inversion and `one_step` of R surveys of 5,000, shape (R, 4) both."""
    models = list(shared_surveys(P, 5000, R))
    linear = [(m.moments().estimate()[0], m.dual_moments().estimate()[0]) for m in models]
    inversion, one_step = np.array(linear).transpose(1, 0, 2)
    return inversion, one_step


def size_of_score(P: Array, R: int) -> float:
    """Of the test of `AssociationResults.test_independence`, in surveys of 2,000."""
    strata = (model.evidence.scores for model in shared_surveys(P, 2000, R))
    return size([association.score([s.cross_moments for s in some]).pvalue for some in strata])


@pytest.mark.slow
def test_shared_cohorts_are_strata(monkeypatch, replications):
    R = replications(1500, least=150)
    P, independent = np.array([[0.4, 0.1], [0.15, 0.35]]), np.outer([0.5, 0.5], [0.55, 0.45])
    bits = COHORTS.answer_hash.table("v", pd.Index(PAIR)).reshape(3, 2)
    assert np.sum(bits[:, 0] == bits[:, 1]) == 1
    for unbiased in estimates(P, R // 4):
        assert np.abs(bias(unbiased, P.ravel())).max() < 4
    assert near(size_of_score(independent, R), ALPHA, R)
    # Control: as if each variable had cohorts of its own.
    for module in ("single", "joint"):
        monkeypatch.setattr(f"ldpstats.reports.{module}.cohort_groups", lambda *_: [])
    inversion, one_step = estimates(P, R // 4)
    assert inversion.mean(axis=0)[0] > 0.5
    assert one_step.mean(axis=0)[0] > 0.44
    assert not at_most(size_of_score(independent, R), ALPHA, R, errors=2)
