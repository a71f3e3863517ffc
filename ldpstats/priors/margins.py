"""A prior of a joint table: what is known of each margin, beside a prior of the association."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import listed, positive_integer, positive_number
from ldpstats.errors import InvalidArgument
from ldpstats.priors.base import LogitLaw, check_draw, softmax_log
from ldpstats.priors.dirichlet import Dirichlet, DirichletLaw

__all__ = ["Margins", "MarginsLaw"]

Array = npt.NDArray[Any]

_SD = (1e-3, 100.0)
_MOST = 1e4  # of the concentrations of a margin: with more, chains hardly move
_MOST_CELLS = 10_000  # of tables that are drawn
_STEP = 1e-4  # of finite differences


@dataclass(frozen=True, eq=False)
class Margins:
    """Prior of a joint table from what is known of its margins.

    The margins are independent, each with a Dirichlet law of its own. Given them, every log odds
    ratio of two categories of one variable by two of another (given the categories of any others)
    is normal around 0. Margins and odds ratios determine a table, and neither restricts the other
    (Barndorff-Nielsen 1978, section 9.4), so that this is a proper prior under which each margin
    has exactly the law that is declared.

    Parameters
    ----------
    first, second, third : Dirichlet, number or Series of concentrations; None
        The law of the margin of the first variable, and so on. None for the flat Dirichlet(1). A
        concentration is worth as many respondents whose true answer is known: those of a margin of
        20 % and 80 % that 500 respondents gave are 100 and 400. They may sum to 10,000.
    log_odds_sd : float
        Standard deviation of each log odds ratio, from 0.001 to 100; 2 by default, by which 95 % of
        odds ratios lie between 1/50 and 50.

    Raises
    ------
    InvalidArgument
        If `log_odds_sd` is not a number in its range, or a margin is no Dirichlet law.

    Notes
    -----
    Let l_ij be the logarithms of the cells less their means over rows and columns. They have the
    normal density ``exp(-sum l_ij^2 / (2 s^2))`` with s half of `log_odds_sd`. The density of the
    natural parameters of the table is the product of the Dirichlet densities of the margins, this
    one, and the determinant of the covariance of the margins' indicators, which is the Jacobian of
    means with respect to natural parameters.

    References
    ----------
    Barndorff-Nielsen, O. (1978). Information and Exponential Families. Wiley.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> prior = ldp.priors.Margins(first=ldp.priors.Dirichlet([100, 400]))
    >>> table = prior.draw((2, 3), np.random.default_rng(1), draws=2000)
    >>> table.shape, table.sum(axis=2).mean(axis=0).round(2).tolist()
    ((2000, 2, 3), [0.2, 0.8])
    """

    first: Any = None
    second: Any = None
    third: Any = None
    log_odds_sd: float = 2.0

    def __post_init__(self) -> None:
        sd = positive_number("log_odds_sd", self.log_odds_sd, _SD)
        object.__setattr__(self, "log_odds_sd", sd)
        for name in ("first", "second", "third"):
            object.__setattr__(self, name, _margin(name, getattr(self, name)))

    def law(self, labels: Sequence[pd.Index[Any]]) -> MarginsLaw:
        """The law of a table over these categories, one index a variable.

        Raises
        ------
        InvalidArgument
            If concentrations are not of the categories, or there are more than three variables.
        """
        given = (self.first, self.second, self.third)
        if len(labels) > len(given):
            remedy = f"has at most {len(given)} margins, and the table has {len(labels)} variables"
            raise InvalidArgument("prior", self, remedy)
        if any(prior is not None for prior in given[len(labels) :]):
            remedy = f"has a law for a third margin, and the table has {len(labels)} variables"
            raise InvalidArgument("prior", self, remedy)
        laws = [
            np.ones(len(own)) if prior is None else prior.law(own).alpha
            for prior, own in zip(given, labels, strict=False)
        ]
        for total in (float(a.sum()) for a in laws):
            if total > _MOST:
                remedy = f"must sum to at most {_MOST:g}, which all but fixes the margin"
                raise InvalidArgument("concentration", total, remedy)
        return MarginsLaw(tuple(laws), self.log_odds_sd)

    def draw(self, sizes: Sequence[int], rng: np.random.Generator, draws: int = 1) -> Array:
        """Tables drawn from the prior, shape (draws, k_1, ..., k_d).

        Margins and association are drawn, and fitted together by iterative proportional fitting.
        """
        remedy = "must be the numbers of categories of two or three variables, such as (2, 3)"
        given = [positive_integer("sizes", size, 2) for size in listed("sizes", sizes, remedy)]
        if not 2 <= len(given) <= 3 or prod(given) > _MOST_CELLS:
            raise InvalidArgument("sizes", sizes, f"{remedy}, {_MOST_CELLS:,} cells at most")
        draws = check_draw(rng, draws, prod(given))
        law = self.law([pd.RangeIndex(size) for size in given])
        return law.draw(rng, draws).reshape(draws, *given)


def _margin(name: str, given: Any) -> Dirichlet | None:
    if given is None or isinstance(given, Dirichlet):
        return given
    try:
        return Dirichlet(given)
    except InvalidArgument:
        remedy = "must be a Dirichlet law, its concentrations, or None for a flat one"
        raise InvalidArgument(name, given, remedy) from None


@dataclass(frozen=True, eq=False)
class MarginsLaw(LogitLaw):
    """The law that `Margins` gives to a table of certain sizes.

    Parameters
    ----------
    concentrations : tuple of arrays, shapes (k_v,)
        Those of the Dirichlet law of each margin.
    log_odds_sd : float
    """

    concentrations: tuple[Array, ...]
    log_odds_sd: float

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(map(len, self.concentrations))

    @property
    def k(self) -> int:
        return int(np.prod(self.sizes))

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        """Log density and gradient: see `LogitLaw`.

        The value is -inf where a margin is too small for its covariance to be positive definite in
        this arithmetic.
        """
        c, d = len(logp), len(self.sizes)
        P = np.exp(logp).reshape(c, *self.sizes)
        margins = [P.sum(axis=self._but(v)) for v in range(d)]
        values, slope = self._jacobian(P, margins)
        good = np.isfinite(values)
        for v, (a, m) in enumerate(zip(self.concentrations, margins, strict=True)):
            safe = np.where(good[:, None], m, 1.0)
            values = values + np.log(safe) @ (a - 1.0)
            slope = slope + self._spread((a - 1.0) / safe, v)
        by_logs = P * (slope - (P * slope).sum(axis=self._all, keepdims=True))
        interactions = self._interactions(logp.reshape(P.shape))
        variance = (self.log_odds_sd / 2.0) ** 2
        values = values - (interactions**2).sum(axis=self._all) / (2.0 * variance)
        by_logs = (by_logs - interactions / variance).reshape(c, -1)
        return np.where(good, values, -np.inf), np.where(good[:, None], by_logs, 0.0)

    def curvature(self, logp: Array) -> Array:
        """By differences of gradients."""
        moves = _STEP * np.eye(self.k)
        ahead, behind = (self.evaluate(softmax_log(logp + way * moves))[1] for way in (1.0, -1.0))
        found = (behind - ahead) / (2.0 * _STEP)
        return np.asarray((found + found.T) / 2.0)

    def start(self) -> Array:
        """Independence, with the mean of each margin."""
        logs = [np.log(a / a.sum())[None] for a in self.concentrations]
        table = sum((self._spread(own, v) for v, own in enumerate(logs)), np.zeros(1))
        return np.asarray(table.reshape(-1))

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Tables of this law, shape (size, k), cells in row-major order."""
        margins = [DirichletLaw(a).draw(rng, size) for a in self.concentrations]
        noise = rng.normal(0.0, self.log_odds_sd / 2.0, (size, *self.sizes))
        P = np.exp(self._interactions(noise))
        for _ in range(2000):
            for v, m in enumerate(margins):
                P *= self._spread(m / P.sum(axis=self._but(v)), v)
            worst = [np.abs(P.sum(axis=self._but(v)) - m).max() for v, m in enumerate(margins)]
            if max(worst) < 1e-12:
                break
        return np.asarray((P / P.sum(axis=self._all, keepdims=True)).reshape(size, -1))

    # -- inside

    @cached_property
    def _all(self) -> tuple[int, ...]:
        """The axes of the variables, behind that of the draws."""
        return tuple(range(1, len(self.sizes) + 1))

    def _but(self, *kept: int) -> tuple[int, ...]:
        """The axes of all variables but these."""
        return tuple(v + 1 for v in range(len(self.sizes)) if v not in kept)

    def _spread(self, values: Array, *at: int) -> Array:
        """Values by the categories of some variables, (c, ...), as tables of all."""
        shape = [self.sizes[v] if v in at else 1 for v in range(len(self.sizes))]
        return values.reshape(len(values), *shape)

    def _interactions(self, logs: Array) -> Array:
        """Logarithms less their sums of effects of single variables, (c, k_1, ..., k_d)."""
        d = len(self.sizes)
        means = [logs.mean(axis=self._but(v), keepdims=True) for v in range(d)]
        grand = logs.mean(axis=self._all, keepdims=True)
        return np.asarray(logs - sum(means) + (d - 1) * grand)

    def _jacobian(self, P: Array, margins: list[Array]) -> tuple[Array, Array]:
        """Log determinant of the covariance of the indicators, and its gradient by P.

        Of each variable all indicators but the last one's.
        """
        c, d = len(P), len(self.sizes)
        free, part = self._free, self._parts
        whole = np.concatenate(margins, axis=1)
        V = -whole[:, :, None] * whole[:, None, :]
        V[:, np.arange(whole.shape[1]), np.arange(whole.shape[1])] += whole
        for v, w in combinations(range(d), 2):
            both = P.sum(axis=self._but(v, w))
            V[:, part[v], part[w]] += both
            V[:, part[w], part[v]] += both.transpose(0, 2, 1)
        V = V[:, free[:, None], free]
        sign, values = np.linalg.slogdet(V)
        good = (sign > 0) & np.isfinite(values)
        V[~good] = np.eye(free.size)
        inverse = np.zeros((c, whole.shape[1], whole.shape[1]))  # of last categories, zero
        inverse[:, free[:, None], free] = np.linalg.inv(V)
        own = np.diagonal(inverse, axis1=1, axis2=2) - 2.0 * np.einsum("cst,ct->cs", inverse, whole)
        slope = np.zeros_like(P)
        for v in range(d):
            slope += self._spread(own[:, part[v]], v)
        for v, w in combinations(range(d), 2):
            slope += self._spread(2.0 * inverse[:, part[v], part[w]], v, w)
        return np.where(good, values, -np.inf), slope

    @cached_property
    def _parts(self) -> list[slice]:
        """Where the indicators of each variable are among those of all."""
        return [slice(*pair) for pair in pairwise(np.cumsum([0, *self.sizes]).tolist())]

    @cached_property
    def _free(self) -> Array:
        """All indicators but the last one of each variable."""
        ends = np.cumsum(self.sizes)
        return np.setdiff1d(np.arange(ends[-1]), ends - 1)
