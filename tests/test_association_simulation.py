"""Tests of association, intervals of joint tables and `one_step` in simulated surveys.

Reports are simulated in one of two ways. k-RR and unary reports of few categories are tables of
their patterns, and whole tables are drawn. Other reports are drawn respondent by respondent, and
then matched at random: under independence every matching (within shared cohorts) is as likely as
the one that came, so that each survey stands for many.

Of 5,000 surveys a size of .05 has a Monte Carlo standard error of .0031.
`python tests/test_association_simulation.py` prints all sizes.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats.errors import BoundaryWarning, IncompleteListWarning
from ldpstats.estimators import OneStep
from ldpstats.inference import intervals
from ldpstats.inference.tables import independence as association
from ldpstats.inference.tables import permutation
from ldpstats.inference.tails import chi2_pvalue

Array = npt.NDArray[Any]

FULL = 5000
PATTERNS = ("krr", "unary")  # mechanisms whose reports are tables of few patterns
DENSE: dict[tuple[int, int], tuple[Any, Any]] = {
    (3, 4): ((0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1)),
    (5, 5): ((0.35, 0.25, 0.18, 0.13, 0.09),) * 2,
    (30, 2): (np.arange(1, 31) ** -0.7, (0.8, 0.2)),
}

pytestmark = [
    pytest.mark.filterwarnings("ignore::ldpstats.errors.IncompleteListWarning"),
    # of thousands of surveys a few have a goodness of fit below .001 by chance, and fits say so
    pytest.mark.filterwarnings("ignore::ldpstats.errors.MisfitWarning"),
]


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
    cells = mechanism.hashes("names", pd.Index(names))
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


def rate(pvalue: npt.ArrayLike) -> float:
    return float(np.mean(np.asarray(pvalue) < 0.05))


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


def projected(rows: Array) -> Array:
    """Nearest point of the simplex to each row."""
    ordered = -np.sort(-rows, axis=1)
    mu = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, rows.shape[1] + 1)
    last = np.sum(ordered > mu, axis=1, keepdims=True) - 1
    return np.asarray(np.maximum(rows - np.take_along_axis(mu, last, axis=1), 0))


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
    yield Size("score", str(setting), rate(chi2_pvalue(score, df)))
    yield Size("wald", str(setting), rate(chi2_pvalue(linear_wald, df)))


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
    return Size("score", str(setting), rate(pvalues))


def grid(name: str, shapes: Any, samples: Sequence[int] = (10_000, 100_000)) -> list[Setting]:
    designs = itertools.product(shapes, (1.0, 2.0, 4.0), samples, ("dense", "sparse"))
    return [Setting(name, *design) for design in designs]


def check(rates: Sequence[float], R: int) -> None:
    """Each size within .0125 of .05, all together within .003; or within four standard errors."""
    se = np.sqrt(0.05 * 0.95 / R)
    assert np.max(np.abs(np.array(rates) - 0.05)) < max(0.0125, 4 * se), rates
    assert abs(np.mean(rates) - 0.05) < max(0.003, 4 * se / np.sqrt(len(rates)))


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
        assert rate(chi2_pvalue(pearson(table), df)) > (0.9 if setting.epsilon == 1.0 else 0.1)


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
def test_sizes_of_krr(shape: Any, replications: Callable[[int], int]) -> None:
    """The Wald test is conservative where labels are rare, and .048 to .062 elsewhere."""
    R, settings = replications(FULL), grid("krr", [shape])
    found = [tuple(size.rate for size in of_tables(setting, R, 2)) for setting in settings]
    scores, walds = np.array(found).T
    check(scores.tolist(), R)
    band = 4 * np.sqrt(0.05 * 0.95 / R)
    rare = np.array([setting.has_rare_labels(setting.independent) for setting in settings])
    assert np.abs(walds[~rare] - 0.05).max() < max(0.02, band)
    assert abs(walds[~rare].mean() - 0.05) < max(0.006, band / np.sqrt(np.sum(~rare)))
    assert np.all(walds[rare] < 0.05 + band)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10_000, 100_000])
@pytest.mark.parametrize("shape", DENSE, ids=str)
@pytest.mark.parametrize("name", ["unary", "bloom"])
def test_sizes_of_bits(name: str, shape: Any, n: int, replications: Callable[[int], int]) -> None:
    R, surveys = (replications(FULL), 50) if n == 10_000 else (replications(1000), 5)
    check([of_matchings(s, R, surveys).rate for s in grid(name, [shape], [n])], R)


def size_of_wald(setting: Setting, R: int) -> float:
    rng = setting.rng(9)
    models = (setting.survey(setting.independent, rng) for _ in range(R))
    return rate([m.test_independence(m.fit("inversion"), "wald").pvalue for m in models])


@pytest.mark.parametrize("name", ["unary", "bloom"])
def test_the_wald_test_of_bits_keeps_its_size(name: str) -> None:
    """On features that do not sum to one it never rejects at epsilon 1, whatever the truth."""
    R = 100
    found = size_of_wald(Setting(name, (5, 5), 1.0, 10_000), R)
    assert abs(found - 0.05) < 4 * np.sqrt(0.05 * 0.95 / R)
    assert found > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 4), (5, 5)], ids=str)
def test_sizes_of_the_wald_test_of_bits(shape: Any, replications: Callable[[int], int]) -> None:
    """On bounded features: on scores .3 to .5 of absent categories at epsilon 4 were rejected."""
    R, settings = replications(1000), grid("unary", [shape], [10_000])
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
    found = rate(chi2_pvalue(pearson(setting.tables(P, R, setting.rng(10))), 16))
    assert abs(found - theory) < 4 * np.sqrt(theory * (1 - theory) / R)


# ---- tests that the boundary breaks, and the one that uses it


def rejections(setting: Setting, P: Array, R: int, methods: Sequence[str]) -> dict[str, float]:
    """Rejection rates of tests that fit the joint distribution."""
    rng, found = setting.rng(4), []
    for _ in range(R):
        model = setting.survey(P, rng)
        results = model.fit("mle")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoundaryWarning)
            how: dict[str, Any] = {"bootstrap": {"rng": rng, "n_boot": 99}}
            tests = [model.test_independence(results, m, **how.get(m, {})) for m in methods]
        found.append([test.pvalue for test in tests])
    return dict(zip(methods, np.mean(np.array(found) < 0.05, axis=0).tolist(), strict=True))


def test_the_printed_statistic_loses_size_and_power_at_the_boundary() -> None:
    """Its size is .0025 (400 surveys) and its power a tenth of that of the score test."""
    setting, R = Setting("krr", (5, 5), 1.0, 10_000), 100
    null = rejections(setting, setting.independent, R, ["score", "fpe16"])
    assert null["fpe16"] <= 0.02
    assert abs(null["score"] - 0.05) < 4 * np.sqrt(0.05 * 0.95 / R)
    associated = rejections(setting, setting.trend(0.4), R, ["score", "fpe16"])
    assert associated["score"] > associated["fpe16"] + 0.1


@pytest.mark.slow
def test_tests_that_fit_the_joint_distribution(replications: Callable[[int], int]) -> None:
    """lr is conservative at the boundary, and FPE16's T never rejects there."""
    R = replications(500)
    inner, bound = (Setting("krr", (5, 5), e, 10_000) for e in (2.0, 1.0))
    band = 4 * np.sqrt(0.05 * 0.95 / R)
    found = rejections(inner, inner.independent, R, ["score", "lr", "fpe16"])
    assert np.abs(np.array(list(found.values())) - 0.05).max() < band
    found = rejections(bound, bound.independent, R, ["score", "lr", "fpe16"])
    assert abs(found["score"] - 0.05) < band
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
def test_the_bootstrap_of_the_likelihood_ratio_is_not_liberal(setting: Setting) -> None:
    R = 60
    found = rejections(setting, setting.independent, R, ["bootstrap"])
    assert found["bootstrap"] < 0.05 + 4 * np.sqrt(0.05 * 0.95 / R)


# ---- shared cohorts

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
    found = [
        (model.moments().estimate()[0], model.dual_moments().estimate()[0])
        for model in shared_surveys(P, 5000, R)
    ]
    inversion, one_step = np.array(found).transpose(1, 0, 2)
    return inversion, one_step


def size_of_score(P: Array, R: int) -> float:
    """Of the test of `AssociationResults.test_independence`, in surveys of 2,000."""
    parts = (model.evidence.scores[0].cross_moments(0, 1) for model in shared_surveys(P, 2000, R))
    return rate([association.score(part).pvalue for part in parts])


def biases(estimates: Array, P: Array) -> Array:
    """Biases in Monte Carlo standard errors."""
    return (estimates.mean(axis=0) - P.ravel()) / (estimates.std(axis=0) / np.sqrt(len(estimates)))


def check_shared(R: int, monkeypatch: pytest.MonkeyPatch) -> None:
    P, independent = np.array([[0.4, 0.1], [0.15, 0.35]]), np.outer([0.5, 0.5], [0.55, 0.45])
    band = 4 * np.sqrt(0.05 * 0.95 / R)
    bits = COHORTS.hashes("v", pd.Index(PAIR)).reshape(3, 2)
    assert np.sum(bits[:, 0] == bits[:, 1]) == 1
    for unbiased in estimates(P, R // 4):
        assert np.abs(biases(unbiased, P)).max() < 4
    assert abs(size_of_score(independent, R) - 0.05) < band
    # Control: as if each variable had cohorts of its own.
    monkeypatch.setattr(ldp.JointCounts, "_cohort_groups", lambda _: [])
    inversion, one_step = estimates(P, R // 4)
    assert inversion.mean(axis=0)[0] > 0.5
    assert one_step.mean(axis=0)[0] > 0.44
    assert size_of_score(independent, R) > 0.05 + band / 2


def test_shared_cohorts_are_strata(monkeypatch: pytest.MonkeyPatch) -> None:
    check_shared(200, monkeypatch)


@pytest.mark.slow
def test_shared_cohorts_are_strata_in_many_surveys(
    monkeypatch: pytest.MonkeyPatch, replications: Callable[[int], int]
) -> None:
    check_shared(replications(1500), monkeypatch)


# ---- coverage


def covered(ends: Array, p: Array) -> Array:
    """Share of surveys, per cell, whose interval holds p."""
    return np.asarray(np.mean((ends[..., 0] <= p) & (p <= ends[..., 1]), axis=0))


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
    return covered(ends, P.ravel())


def check_coverage(setting: Setting, R: int) -> None:
    """.94 to .96 on average and .93 to .97 in each cell, or within 4.5 standard errors.

    Where labels are rare, the floor of their law widens intervals of the empty cells (up to .997
    in 20,000 surveys) and those of cells almost empty are too skew (.931 at the least).
    """
    P = setting.trend(0.05) if setting.where == "dense" else setting.independent
    assert P.min() >= 0.0
    coverage, band = cell_coverage(setting, P, R), 4.5 * np.sqrt(0.05 * 0.95 / R)
    rare = setting.has_rare_labels(P)
    assert 0.94 < coverage.mean() < 0.96
    assert coverage.min() > min(0.93, (0.94 if rare else 0.95) - band)
    assert coverage[P.ravel() > 0.002 if rare else ...].max() < max(0.97, 0.95 + band)
    assert cell_coverage(setting, P, R, shrink=0.5).max() < 0.8  # control


@pytest.mark.parametrize("name", PATTERNS)
def test_coverage_of_a_few_cells(name: str) -> None:
    check_coverage(Setting(name, (3, 4), 2.0, 10_000), 500)
    check_coverage(Setting(name, (3, 4), 1.0, 10_000, "sparse"), 500)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        setting
        for name in PATTERNS
        for setting in grid(name, DENSE if name == "krr" else [(3, 4), (5, 5)])
    ],
    ids=str,
)
def test_coverage_of_cells(setting: Setting, replications: Callable[[int], int]) -> None:
    check_coverage(setting, replications(2000))


def bloom_coverage(R: int) -> tuple[Array, Array]:
    """Coverage of the cells and of the margins of a pair of Bloom reports with absent categories.

    The intervals are those that users get, but for the cut.
    """
    setting = Setting("bloom", (3, 4), 2.0, 10_000, "sparse")
    rng, P, cells, margins = setting.rng(7), setting.independent, [], []
    for _ in range(R):
        results = setting.survey(P, rng).fit("inversion")
        cells.append(results.conf_int(clip=False))
        margins.append(np.vstack([fit.conf_int(clip=False) for fit in results.margin_fits]))
    whole = np.hstack(setting.margins)
    return covered(np.array(cells), P.ravel()), covered(np.array(margins), whole)


@pytest.mark.slow
def test_coverage_of_hashed_pairs(replications: Callable[[int], int]) -> None:
    R = replications(500)
    for coverage in bloom_coverage(R):
        # the mean over cells, some of which move together, has at most the error of one cell
        assert abs(coverage.mean() - 0.95) < 2.5 * np.sqrt(0.05 * 0.95 / R)
        assert np.abs(coverage - 0.95).max() < 4.5 * np.sqrt(0.05 * 0.95 / R)


# ---- one_step


def check_one_step_intervals(setting: Setting, P: Array, R: int) -> None:
    """Default intervals cover, and up to epsilon 2 those around `one_step`.

    The latter are shorter than those of moments, which are the default where bits are hashed.
    """
    rng, own, default, moments = setting.rng(11), [], [], []
    for _ in range(R):
        model = setting.survey(P, rng)
        results = model.fit("one_step")
        default.append(results.conf_int(clip=False).to_numpy())
        if setting.name == "unary":
            moments.append(model.fit("moments-gls").conf_int(clip=False).to_numpy())
        else:
            moments.append(default[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoundaryWarning)
            own.append(results.conf_int(method="wald-mle", clip=False).to_numpy())
    se = np.sqrt(0.05 * 0.95 / R)
    for ends in (default, own) if setting.epsilon <= 2 else (default,):
        coverage = covered(np.array(ends), P.ravel())
        assert abs(coverage.mean() - 0.95) < max(0.01, 2.5 * se)
        assert np.abs(coverage - 0.95).max() < max(0.02, 4.5 * se)
    assert np.mean(np.diff(own) / np.diff(moments)) < 0.98


def test_intervals_around_one_step() -> None:
    setting = Setting("unary", (5, 5), 2.0, 10_000)
    check_one_step_intervals(setting, setting.diagonal(0.3), 200)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["dense", "sparse"])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("name", ["unary", "bloom"])
def test_intervals_around_one_step_in_many_surveys(
    name: str, epsilon: float, where: str, replications: Callable[[int], int]
) -> None:
    setting = Setting(name, (5, 5), epsilon, 10_000, where)
    R = replications(1000) if name == "unary" else 200
    for P in (setting.independent, setting.diagonal(0.3)):
        check_one_step_intervals(setting, P, R)


def worth(setting: Setting, P: Array, R: int, newton: int = 0) -> tuple[float, float]:
    """Squared error of `one_step` over that of the maximum likelihood estimate, and its SE.

    Over the cells above five standard errors, survey by survey on the same reports.
    """
    rng, mle, one_step = setting.rng(8, newton), [], []
    for _ in range(R):
        model = setting.survey(P, rng)
        mle.append(model.maximum().p)
        one_step.append(model.fit(OneStep(newton)).params.to_numpy())
    errors = [np.square(np.array(found) - P.ravel()) for found in (mle, one_step)]
    clear = P.ravel() > 5 * np.sqrt(errors[0].mean(axis=0))
    assert clear.sum() > P.size / 4
    best, ours = (error[:, clear].sum(axis=1) for error in errors)
    ratio = float(ours.mean() / best.mean())
    return ratio, float(np.std(ours - ratio * best) / best.mean() / np.sqrt(R))


def test_one_step_is_as_good_as_the_maximum() -> None:
    setting = Setting("unary", (5, 5), 2.0, 100_000)
    ratio, se = worth(setting, setting.trend(0.2), 60)
    assert ratio < 1.02 + 3 * se
    assert se < 0.01
    # Control: under strong dependence it is not, but one Newton step more is.
    setting = Setting("unary", (5, 5), 4.0, 100_000)
    ratio, se = worth(setting, setting.diagonal(0.5), 60)
    assert ratio - 3 * se > 1.02
    ratio, se = worth(setting, setting.diagonal(0.5), 60, newton=1)
    assert ratio < 1.02 + 3 * se


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "correlation", "surveys"),
    [
        (Setting("unary", (5, 5), 2.0, 100_000), 0.2, 1000),
        (Setting("unary", (5, 5), 4.0, 100_000), 0.2, 1000),
        (Setting("unary", (30, 2), 2.0, 100_000), 0.15, 40),
        (Setting("bloom", (5, 5), 2.0, 100_000), 0.2, 40),
    ],
    ids=str,
)
def test_one_step_in_many_surveys(setting: Setting, correlation: float, surveys: int) -> None:
    ratio, se = worth(setting, setting.trend(correlation), surveys)
    assert ratio < 1.02 + 3 * se
    assert se < 0.015


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
