"""Prior laws: of frequencies, tables, coefficients and unknown parameters.

A `SimplexPrior` (`Dirichlet`, `LogisticNormal`) becomes a `LogitLaw` once the categories are known;
so do priors of joint tables (`Margins`) and of groups (`Pooling`). `Beta` and `Normal` are priors
of a device's parameters and of coefficients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, prod
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    listed,
    numbers,
    positive_integer,
    positive_number,
    real_number,
    record,
)
from ldpstats.errors import InvalidArgument
from ldpstats.labels import align, as_labels

__all__ = ["Beta", "Dirichlet", "LogisticNormal", "Margins", "Normal", "Pooling", "SimplexPrior"]

_MOST_NUMBERS = 100_000_000


class LogitLaw(ABC):
    """A law of p on the simplex, seen by logits: ``p = softmax(eta)``, eta of shape (..., k).

    Adding a number to every logit changes nothing, and gradients sum to zero. The density is that
    of log ratios ``eta_j - eta_r``, whichever category r is the reference: the Jacobian ``prod p``
    of the map from p is included.
    """

    @property
    @abstractmethod
    def k(self) -> int:
        """Number of categories."""

    @abstractmethod
    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        """Log density, (c,), up to a constant, and gradient in eta, (c, k), at log p, (c, k)."""

    @abstractmethod
    def curvature(self, logp: Array) -> Array:
        """The negative Hessian in eta, shape (k, k), at log p of shape (k,)."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Draws of p, shape (size, k)."""

    @abstractmethod
    def start(self) -> Array:
        """log p, shape (k,), of a point where the density of log ratios is large."""


class SimplexPrior(ABC):
    """A prior of the frequencies of labelled categories.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> isinstance(ldp.priors.Dirichlet(1.0), ldp.priors.SimplexPrior)
    True
    """

    @abstractmethod
    def law(self, labels: pd.Index[Any]) -> LogitLaw:
        """The law over these categories in their order; a Series is matched by label."""


def softmax_log(eta: Array) -> Array:
    """log p, shape (..., k), of p = softmax(eta)."""
    shifted = eta - eta.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def checked_generator(rng: object) -> np.random.Generator:
    """The generator that a caller passes."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidArgument("rng", rng, "pass a generator, np.random.default_rng(seed)")
    return rng


def check_draw(rng: object, draws: object, numbers: int) -> int:
    """How many draws of so many numbers, from a generator that is one."""
    checked_generator(rng)
    wanted = positive_integer("draws", draws)
    if wanted * numbers > _MOST_NUMBERS:
        remedy = f"of {numbers} numbers each are more than {_MOST_NUMBERS:,} in all: draw fewer"
        raise InvalidArgument("draws", wanted, remedy)
    return wanted


# -- the beta prior of an unknown parameter -------------------------------------------------------


_RANGE = (1e-3, 1e9)


@dataclass(frozen=True)
class Beta:
    """The beta prior of a probability: density proportional to ``x^(a - 1) (1 - x)^(b - 1)``.

    Parameters
    ----------
    a, b : float
        From 0.001 to 1e9. ``Beta(1, 1)`` is flat; ``Beta(a, b)`` has the mean ``a / (a + b)`` and
        counts as so many as a + b - 2 respondents of whom it is known directly.

    Raises
    ------
    InvalidArgument
        If `a` or `b` is out of range.

    Examples
    --------
    About one in ten cheats, as in 18 respondents who were watched:

    >>> Beta(2, 18)
    Beta(2.0, 18.0)
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name), _RANGE))

    def __repr__(self) -> str:
        return f"Beta({self.a!r}, {self.b!r})"


# -- the Dirichlet prior --------------------------------------------------------------------------


_LEAST = 1e-150  # of a draw: products of two are still numbers


@record
class DirichletLaw(LogitLaw):
    """A Dirichlet law of concentrations alpha, shape (k,)."""

    alpha: Array

    @property
    def k(self) -> int:
        return int(self.alpha.size)

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        return logp @ self.alpha, self.alpha - self.alpha.sum() * np.exp(logp)

    def curvature(self, logp: Array) -> Array:
        p = np.exp(logp)
        return np.asarray(self.alpha.sum() * (np.diag(p) - np.outer(p, p)))

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return np.maximum(rng.dirichlet(self.alpha, size), _LEAST)

    def start(self) -> Array:
        return np.asarray(np.log(self.alpha / self.alpha.sum()))


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(SimplexPrior):
    """The Dirichlet prior of frequencies: ``density(p)`` proportional to ``prod p_j^(a_j - 1)``.

    Parameters
    ----------
    concentration : float, or array_like of shape (k,), or Series by category
        a_j, from 0.001 to 1e9; one number is that of every category. 1 is the flat prior, under
        which every p is as likely as any other; 1/2 is Jeffreys' prior of answers that are not
        privatised. Their sum counts as the answers of so many respondents asked directly.

    Raises
    ------
    InvalidArgument
        For concentrations out of range; when it is used, for other labels than the categories.

    Examples
    --------
    >>> Dirichlet(0.5)
    Dirichlet(0.5)
    >>> Dirichlet(pd.Series({"b": 2.0, "a": 1.0})).law(pd.Index(["a", "b"])).alpha
    array([1., 2.])
    """

    concentration: Any = 1.0

    def __post_init__(self) -> None:
        how = (
            f"must be a number from {_RANGE[0]:g} to {_RANGE[1]:g}, or one for each category, such "
            "as 1.0, the flat prior"
        )
        given = _given("concentration", self.concentration, how, *_RANGE)
        object.__setattr__(self, "concentration", given)

    def __repr__(self) -> str:
        return f"Dirichlet({_shown(self.concentration)})"

    def law(self, labels: pd.Index[Any]) -> DirichletLaw:
        remedy = f"must be a number for each of {len(labels)} categories"
        return DirichletLaw(_for_labels("concentration", self.concentration, labels, remedy))


# -- the logistic normal prior --------------------------------------------------------------------


_LARGEST_MEAN = 100.0
_SD = (1e-3, 100.0)


@record
class LogisticNormalLaw(LogitLaw):
    """p = softmax(eta), eta normal with these means, (k,), and this covariance, (k, k)."""

    mean: Array
    covariance: Array

    @property
    def k(self) -> int:
        return int(self.mean.size)

    @cached_property
    def precision(self) -> Array:
        """Inverse covariance of the differences of logits, shape (k, k): rows sum to zero.

        With D the differences from the last logit it is ``D' (D S D')^-1 D``, whichever logit is
        taken; ``S^-1 - S^-1 1 1' S^-1 / 1' S^-1 1`` where S has an inverse.
        """
        D = _differences(self.k)
        return D.T @ np.linalg.solve(D @ self.covariance @ D.T, D)

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        gap = logp - self.mean
        slope = -gap @ self.precision
        return 0.5 * (gap * slope).sum(axis=-1), slope

    def curvature(self, logp: Array) -> Array:
        return self.precision

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        D = _differences(self.k)
        root = np.linalg.cholesky(D @ self.covariance @ D.T)
        ratios = D @ self.mean + rng.standard_normal((size, self.k - 1)) @ root.T
        return np.exp(softmax_log(np.column_stack([ratios, np.zeros(size)])))

    def start(self) -> Array:
        return softmax_log(self.mean)


@dataclass(frozen=True, eq=False, repr=False)
class LogisticNormal(SimplexPrior):
    """Frequencies ``p_j = exp(eta_j) / sum exp(eta)`` with normal eta, one for each category.

    Only differences of eta matter: their means and variances are what the prior says of log ratios
    ``log(p_i / p_j)``, with variance ``sd_i^2 + sd_j^2`` unless a covariance is given. Categories
    are treated alike by default, whatever their order.

    Parameters
    ----------
    mean : float, array_like of shape (k,), or Series by category
        Of eta.
    sd : float, array_like of shape (k,), or Series by category
        Standard deviations of independent eta, from 0.001 to 100.
    covariance : array_like of shape (k, k), or DataFrame by category, optional
        Covariance of eta, instead of `sd`: symmetric, positive definite but for a number that is
        added to all.

    Raises
    ------
    InvalidArgument
        For values out of range, both of `sd` and `covariance`; when it is used, for other labels
        than the categories.

    References
    ----------
    J. Aitchison and S. M. Shen, Logistic-normal distributions, Biometrika 67 (1980), 261-272.

    Examples
    --------
    >>> LogisticNormal(sd=0.5)
    LogisticNormal(mean=0.0, sd=0.5)
    >>> LogisticNormal(sd=2.0).law(pd.RangeIndex(3)).draw(np.random.default_rng(1), 2).round(3)
    array([[0.168, 0.769, 0.063],
           [0.705, 0.018, 0.277]])
    """

    mean: Any = 0.0
    sd: Any = None
    covariance: Any = None

    def __post_init__(self) -> None:
        how = "must be a finite number up to 100, or one for each category"
        object.__setattr__(self, "mean", _given("mean", self.mean, how, -_LARGEST_MEAN))
        if self.covariance is None:
            how = f"must be a number from {_SD[0]:g} to {_SD[1]:g}, or one for each category"
            sd = 1.0 if self.sd is None else self.sd
            object.__setattr__(self, "sd", _given("sd", sd, how, _SD[0]))
            return
        if self.sd is not None:
            raise InvalidArgument("sd", self.sd, "goes without covariance: pass one of them")
        given = self.covariance
        remedy = (
            "must be a symmetric matrix of finite numbers whose differences of any two categories "
            "have positive variance"
        )
        framed = isinstance(given, pd.DataFrame)
        C = numbers("covariance", given.to_numpy() if framed else given, remedy)
        if C.ndim != 2 or C.shape[0] != C.shape[1] or len(C) < 2 or not np.isfinite(C).all():
            raise InvalidArgument("covariance", given, remedy)
        if framed and set(given.index) != set(given.columns):
            raise InvalidArgument("covariance", given, "must have the same labels on both sides")
        if framed:
            C = given.loc[:, given.index].to_numpy(dtype=np.float64)
        scale = max(float(np.abs(C).max()), 1e-300)
        D = _differences(len(C))
        least = float(np.linalg.eigvalsh(D @ C @ D.T).min())
        if np.abs(C - C.T).max() > 1e-10 * scale or least <= 1e-10 * scale or scale > 1e4:
            raise InvalidArgument("covariance", given, remedy)
        C = (C + C.T) / 2.0
        checked = pd.DataFrame(C, given.index, given.index) if framed else C
        object.__setattr__(self, "covariance", checked)

    def __repr__(self) -> str:
        name, spread = "sd", self.sd
        if self.covariance is not None:
            name, spread = "covariance", np.asarray(self.covariance)
        return f"LogisticNormal(mean={_shown(self.mean)}, {name}={_shown(spread)})"

    def law(self, labels: pd.Index[Any]) -> LogisticNormalLaw:
        k = len(labels)
        remedy = f"must be {k} numbers, one a category"
        mean = _for_labels("mean", self.mean, labels, remedy)
        if self.covariance is None:
            sd = _for_labels("sd", self.sd, labels, remedy)
            return LogisticNormalLaw(mean, np.diag(sd**2))
        C = self.covariance
        if isinstance(C, pd.DataFrame):
            places = align("covariance", pd.Series(np.arange(len(C)), C.index), labels)
            return LogisticNormalLaw(mean, C.to_numpy()[np.ix_(places, places)])
        if C.shape != (k, k):
            remedy = f"must have {k} rows and columns, one for each category"
            raise InvalidArgument("covariance", f"array of shape {C.shape}", remedy)
        return LogisticNormalLaw(mean, C)


def _differences(k: int) -> Array:
    """The matrix, (k - 1, k), of differences of k logits from the last one."""
    return np.asarray(np.eye(k)[:-1] - np.eye(k)[-1])


def _given(name: str, value: Any, remedy: str, least: float, most: float = 100.0) -> Any:
    """A number, a vector or a Series within bounds, copied."""
    values = value.to_numpy() if isinstance(value, pd.Series) else value
    array = numbers(name, values, remedy)
    if array.ndim > 1 or not array.size:
        raise InvalidArgument(name, f"array of shape {array.shape}", remedy)
    within = np.all((array >= least) & (array <= most))  # nor nan
    if np.asarray(values).dtype == bool or not within:
        raise InvalidArgument(name, value, remedy)
    if isinstance(value, pd.Series):
        return value.copy()
    return float(array) if array.ndim == 0 else array


def _for_labels(name: str, value: Any, labels: pd.Index[Any], remedy: str) -> Array:
    """One number for all, or one for each label, as an array of shape (k,)."""
    k = len(labels)
    if isinstance(value, float):
        return np.full(k, value)
    return numbers(name, align(name, value, labels), remedy, (k,))


def _shown(value: Any) -> Any:
    if isinstance(value, pd.Series):
        return value.to_dict()
    return value if isinstance(value, float) else value.tolist()


# -- the normal prior of a coefficient ------------------------------------------------------------


@dataclass(frozen=True)
class Normal:
    """The normal prior of a coefficient.

    Parameters
    ----------
    mean, sd : float

    Raises
    ------
    InvalidArgument
        If they are not finite numbers, or `sd` is not positive.

    Examples
    --------
    >>> Normal(0.0, 2.5)
    Normal(0.0, 2.5)
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        mean = real_number("mean", self.mean, "must be a finite number")
        sd = real_number("sd", self.sd, "must be a positive finite number")
        if not isfinite(mean):
            raise InvalidArgument("mean", self.mean, "must be a finite number")
        if not 0.0 < sd < float("inf"):
            raise InvalidArgument("sd", self.sd, "must be a positive finite number")
        object.__setattr__(self, "mean", float(mean))
        object.__setattr__(self, "sd", float(sd))

    def __repr__(self) -> str:
        return f"Normal({self.mean!r}, {self.sd!r})"


# -- a joint table: what is known of each margin, and a prior of the association ------------------


_MOST = 1e4  # of the concentrations of a margin: with more, chains hardly move
_MOST_CELLS = 10_000  # of tables that are drawn
_STEP = 1e-4  # of finite differences


@record
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
            margin = getattr(self, name)
            if margin is None or isinstance(margin, Dirichlet):
                continue
            try:
                object.__setattr__(self, name, Dirichlet(margin))
            except InvalidArgument:
                remedy = "must be a Dirichlet law, its concentrations, or None for a flat one"
                raise InvalidArgument(name, margin, remedy) from None

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
            np.ones(len(categories)) if prior is None else prior.law(categories).alpha
            for prior, categories in zip(given, labels, strict=False)
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


@record
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

    @property
    def k(self) -> int:
        return prod(map(len, self.concentrations))

    @cached_property
    def _ends(self) -> Array:
        """Where the categories of each variable end among those of all."""
        return np.cumsum([*map(len, self.concentrations)])

    @cached_property
    def _places(self) -> Array:
        """The category of each variable in each cell, (d, k), among those of all."""
        sizes = [*map(len, self.concentrations)]
        inside = np.indices(sizes).reshape(len(sizes), -1)
        return np.asarray(inside + (self._ends - sizes)[:, None])

    @cached_property
    def _sums(self) -> Array:
        """The matrix that takes cells to all margins, one after another."""
        inside = self._places == np.arange(self._ends[-1])[:, None, None]
        return np.asarray(inside.any(axis=1), dtype=np.float64)

    @cached_property
    def _effects(self) -> Array:
        """The matrix that takes logarithms of cells to effects of single variables."""
        return np.linalg.pinv(self._sums)

    def _interactions(self, logs: Array) -> Array:
        """Logarithms, (c, k), less their effects of single variables."""
        return np.asarray(logs - logs @ self._effects @ self._sums)

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        """Log density and gradient: see `LogitLaw`.

        The value is -inf where a margin is too small for its covariance to be positive definite in
        this arithmetic.
        """
        p, at, a = np.exp(logp), self._places, np.concatenate(self.concentrations) - 1.0
        margins = p @ self._sums.T
        # log determinant of the covariance of the indicators, less last ones, and its gradient
        V = -margins[:, :, None] * margins[:, None]
        places: Any = slice(None), at[:, None], at
        np.add.at(V, places, p[:, None, None])
        free = np.delete(np.arange(a.size), self._ends - 1)
        inner, inverse = V[:, free[:, None], free], np.zeros(V.shape)
        sign, values = np.linalg.slogdet(inner)
        good = (sign > 0) & np.isfinite(values)
        inner[~good] = np.eye(free.size)
        inverse[:, free[:, None], free] = np.linalg.inv(inner)
        safe = np.where(good[:, None], margins, 1.0)
        by_margin = (a / safe) - 2.0 * (inverse @ margins[:, :, None])[:, :, 0]
        slope = inverse[places].sum(axis=(1, 2)) + by_margin @ self._sums
        residual, variance = self._interactions(logp), (self.log_odds_sd / 2.0) ** 2
        values = values + np.log(safe) @ a - (residual**2).sum(axis=1) / (2.0 * variance)
        by_logs = p * (slope - (p * slope).sum(axis=1, keepdims=True)) - residual / variance
        return np.where(good, values, -np.inf), np.where(good[:, None], by_logs, 0.0)

    def curvature(self, logp: Array) -> Array:
        """By differences of gradients."""
        moves = _STEP * np.eye(self.k)
        ahead, behind = (self.evaluate(softmax_log(logp + way * moves))[1] for way in (1.0, -1.0))
        H = (behind - ahead) / (2.0 * _STEP)
        return (H + H.T) / 2.0

    def start(self) -> Array:
        """Independence, with the mean of each margin."""
        logs = [np.log(a / a.sum()) for a in self.concentrations]
        return np.asarray(np.concatenate(logs) @ self._sums)

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """Tables of this law, shape (size, k), cells in row-major order."""
        margins = [DirichletLaw(a).draw(rng, size) for a in self.concentrations]
        noise = rng.normal(0.0, self.log_odds_sd / 2.0, (size, self.k))
        p = np.exp(self._interactions(noise))
        each = [*zip(margins, np.split(self._sums, self._ends[:-1]), strict=True)]
        for _ in range(2000):
            for m, B in each:
                p *= (m / (p @ B.T)) @ B
            if max(np.abs(p @ B.T - m).max() for m, B in each) < 1e-12:
                break
        return np.asarray(p / p.sum(axis=1, keepdims=True))


# -- partial pooling: how far groups may be from what they have in common -------------------------


_DF = (1.0, 1e6)
_LARGEST_SD = 1e150  # of a draw of the standard deviation, whose effects are still numbers


@record
class Pooling:
    """Prior of the frequencies in several groups, with partial pooling.

    The logarithm of the ratio of any two frequencies is normal between groups, around that of the
    common distribution, with one standard deviation for all pairs of categories. That standard
    deviation is unknown: it has a half-normal, or half-t, law.

    Parameters
    ----------
    sd : float
        Scale of that law, from 0.001 to 100. With the half-normal law of scale 1, the default, the
        standard deviation between groups is below 2 with probability .95: of an answer that half of
        the respondents give in a typical group, it is then between 2 % and 98 % in 95 % of groups.
    df : float, optional
        Degrees of freedom of a half-t law, at least 1; None for the half-normal one.
    common : Dirichlet or LogisticNormal, optional
        Prior of the common distribution; None for the flat Dirichlet(1).

    Raises
    ------
    InvalidArgument
        If a number is out of range, or `common` is not a prior of frequencies.

    Notes
    -----
    Group g has ``log p_g = log p_0 + u_g`` up to a constant, with ``u_g ~ N(0, t^2 / 2)`` in every
    direction of the log ratios: no category is the reference, and none is more variable than
    another. Where a category varies more between groups than the others do, its frequencies are
    pooled too much, and theirs too little.

    References
    ----------
    Gelman, A. (2006). Prior distributions for variance parameters in hierarchical models. Bayesian
    Analysis 1, 515-534.

    Examples
    --------
    >>> prior = Pooling(sd=0.5)
    >>> sd, common, groups = prior.draw(3, ("no", "yes"), np.random.default_rng(1), draws=100)
    >>> sd.shape, common.shape, groups.shape
    ((100,), (100, 2), (100, 3, 2))
    """

    sd: float = 1.0
    df: float | None = None
    common: SimplexPrior | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sd", positive_number("sd", self.sd, _SD))
        if self.df is not None:
            object.__setattr__(self, "df", positive_number("df", self.df, _DF))
        common = Dirichlet(1.0) if self.common is None else self.common
        if not isinstance(common, SimplexPrior):
            remedy = "must be a prior of frequencies, such as Dirichlet(1.0), or None"
            raise InvalidArgument("common", common, remedy)
        object.__setattr__(self, "common", common)

    def __repr__(self) -> str:
        df = "" if self.df is None else f"df={self.df!r}, "
        return f"Pooling(sd={self.sd!r}, {df}common={self.common!r})"

    def law(self, labels: pd.Index[Any]) -> LogitLaw:
        """The law of the common distribution over these categories."""
        assert self.common is not None
        return self.common.law(labels)

    def log_density(self, sd: Array) -> tuple[Array, Array]:
        """Log density of the standard deviation, (c,), up to a constant, and slope by log(sd)."""
        square = (np.asarray(sd) / self.sd) ** 2
        if self.df is None:
            return -0.5 * square, -square
        ratio = square / self.df
        return -0.5 * (self.df + 1.0) * np.log1p(ratio), -(self.df + 1.0) * ratio / (1.0 + ratio)

    def draw(
        self, n_groups: int, categories: Any, rng: np.random.Generator, draws: int = 1
    ) -> tuple[Array, Array, Array]:
        """Draws from the prior.

        Parameters
        ----------
        n_groups : int
        categories : number of categories, or list of labels
        rng : numpy.random.Generator
        draws : int

        Returns
        -------
        sd : array, shape (draws,)
            Standard deviation between groups.
        common : array, shape (draws, k)
            The common distribution.
        groups : array, shape (draws, n_groups, k)
        """
        n_groups = positive_integer("n_groups", n_groups)
        labels: pd.Index[Any] = as_labels("categories", categories)
        draws = check_draw(rng, draws, n_groups * len(labels))
        sd = self.sd * np.abs(rng.standard_normal(draws))
        if self.df is not None:
            sd = sd / np.sqrt(rng.chisquare(self.df, draws) / self.df)
        common = self.law(labels).draw(rng, draws)
        effects = rng.standard_normal((draws, n_groups, len(labels)))
        effects *= np.minimum(sd, _LARGEST_SD)[:, None, None] / np.sqrt(2.0)
        logs = np.log(np.maximum(common, np.finfo(float).tiny))[:, None]
        return sd, common, np.exp(softmax_log(logs + effects))
