"""Simulated surveys of two variables.

Reports are simulated in one of two ways. k-RR and unary reports of few categories are tables of
their patterns, and whole tables are drawn. Other reports are drawn respondent by respondent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from surveys import projected

import ldpstats as ldp

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
