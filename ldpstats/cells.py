"""Laws of the cells of several questions, with parameters: structures of a `CellModel`.

A respondent has a true cell x of the product of the questions, of probability ``p_x(theta)``. What
was collected of her has the likelihood ``L(x)``, a product over the questions of the probability of
the report given the answer: one for a question that was not asked. A law gives ``m = L p`` for each
distinct joint report, and pulls weights of reports back to the parameters; with the m's derivatives
over m, the scores, that is all that a fit, its standard errors and its tests need.

Two kinds of laws avoid large arrays. Laws of cells form p, of which L takes the margins factor by
factor. Mixtures never form it: given a class, or the ability at a node, answers to different
questions are independent, so that L p is a product over questions, summed over the nodes. Where no
derivative is written down, it is that of a complex step of 1e-30, exact to rounding.
"""

from __future__ import annotations

import ast
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, reduce
from itertools import chain, combinations, count, product
from math import comb, prod
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.exceptions import ComplexWarning

from ldpstats.arguments import (
    Array,
    as_array,
    boolean,
    did_you_mean,
    listed,
    numbers,
    positive_integer,
    positive_number,
    record,
)
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.likelihood.joint import Factor, JointRows, of_paths
from ldpstats.likelihood.parametric import PolynomialMatrix, scattered
from ldpstats.likelihood.rows import DenseRows, Rows

__all__ = [
    "Structure",
    "function",
    "latent_class",
    "list_experiment",
    "loglinear",
    "markov",
    "rasch",
    "saturated",
    "two_parameter",
]

Questions = Mapping[str, "pd.Index[Any]"]  # with their answers
Columns = Mapping[str, tuple[float, float]]  # what covariates are divided by, and then less
Mixed = tuple[Array, Callable[[Array], Array]]  # m, and what pulls weights back: see `Law.at`

_STEP = 1e-30  # of complex steps
_FEW_STARTS = 60  # frequencies and parameters of devices from which fewer starts are tried


@record
class CellReports:
    """Distinct joint reports: for each question distinct likelihoods, and which of them each has.

    `W` has for each question the likelihoods (d_j, k_j) of its distinct reports, ones in the last
    row, of those who have none; `index`, (u, J), the row of each joint report; `n`, (u,), the
    respondents or the sum of their weights; `z`, (u, q), public covariates. Of questions whose
    device has unknown parameters `devices` has the transpose of W, polynomials in these.

    Questions in `waves`, one after the other, are of one device that keeps its response b to each
    answer: `kept` has P(b | answer), (k, B), and P(report | b), (d_j, B), ones in the last row.
    """

    W: tuple[Array, ...]
    index: npt.NDArray[np.intp]
    n: Array
    z: Array
    devices: Mapping[int, PolynomialMatrix] = field(default_factory=dict)
    kept: Mapping[int, tuple[Array, Array]] = field(default_factory=dict)
    waves: tuple[tuple[int, ...], ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of the questions."""
        return tuple(W.shape[1] for W in self.W)

    @cached_property
    def rows(self) -> Rows:
        """The likelihoods of all cells, as products."""
        factors, joined = [], {places[0]: places for places in self.waves}
        inside = {j for places in self.waves for j in places[1:]}
        for j, (W, at) in enumerate(zip(self.W, self.index.T, strict=True)):
            if j in joined:
                factors.append(self._of_paths(joined[j]))
            elif j not in inside:
                seen = W if at.max() == len(W) - 1 else W[:-1]  # everybody was asked
                factors.append(Factor(np.ascontiguousarray(seen), np.ascontiguousarray(at)))
        return JointRows(factors) if len(factors) > 1 else DenseRows(factors[0].rows(slice(None)))

    def _of_paths(self, places: tuple[int, ...]) -> Factor:
        """Likelihoods of reports in all waves under each path of answers, (., k^T)."""
        index, at = np.unique(self.index[:, places], axis=0, return_inverse=True)

        def same(some: tuple[int, ...]) -> Array:
            P = self.kept[places[0]][0]
            of_kept = [self.kept[places[t]][1][index[:, t]] for t in some]
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(reduce(np.multiply, of_kept) @ P.T))

        waves = tuple(range(len(places)))
        logs = of_paths(same, waves, len(waves), self.W[places[0]].shape[1])
        return Factor(np.exp(logs), at.reshape(-1))

    @cached_property
    def patterns(self) -> tuple[Array, npt.NDArray[np.intp]]:
        """Distinct covariates, (Z, q), and which of them each joint report has, (u,)."""
        z, place = np.unique(self.z, axis=0, return_inverse=True)
        return z, place.reshape(-1)

    def loglike(self, m: Array) -> Array:
        """``sum n log m``, (...), of m, (..., u); -inf where what was seen is impossible."""
        seen = self.n > 0
        own = m[..., seen]
        with np.errstate(all="ignore"):
            value = np.log(own) @ self.n[seen]
        return np.where(own.min(axis=-1, initial=np.inf) > 0.0, value, -np.inf)

    def known(self, values: Array) -> CellReports:
        """The reports of devices whose unknown parameters have these values, (1, m) or (u, m).

        Values that differ make a row of likelihoods for each joint report.
        """
        W, index = list(self.W), self.index.copy()
        for j, Q in self.devices.items():
            W[j] = self.likelihoods(j, Q.powers(values))
            if len(values) > 1:
                index[:, j] = np.arange(len(index))
        return replace(self, W=tuple(W), index=index)

    def likelihoods(self, j: int, terms: Array) -> Array:
        """Likelihoods of a device's reports, or derivatives: its polynomials of terms, (., T)."""
        C = self.devices[j].coefficients
        if len(terms) == 1:
            return np.tensordot(terms[0], C, 1).T
        return np.asarray(np.einsum("ut,tku->uk", terms, C[:, :, self.index[:, j]]))

    def given(self, j: int, law: Array) -> Array:
        """Likelihoods of the reports to question j, (u, C), under its laws (C, k_j).

        Laws that differ by respondent are (u, C, k_j).
        """
        W, at = self.W[j], self.index[:, j]
        return (W @ law.T)[at] if law.ndim == 2 else np.einsum("uk,uck->uc", W[at], law)

    def pulled(self, j: int, law: Array, weights: Array) -> Array:
        """The transpose of `given`, shaped as the law, of weights (u, C)."""
        W, at = self.W[j], self.index[:, j]
        if law.ndim == 2:
            return np.stack([np.bincount(at, column, len(W)) for column in weights.T]) @ W
        return weights[:, :, None] * W[at][:, None, :]


class Law(ABC):
    """A structure with the questions that it is about: p(theta), theta of shape (d,)."""

    names: tuple[str, ...]  # of the parameters as they are shown
    size: int  # d, of coordinates without constraints
    bounded: Array  # whether what is shown is a probability, by parameter
    units: Any = 1.0  # what is shown is divided by: standard deviations of covariates
    n_classes: int = 0  # of latent classes, or hidden states

    def mix(self, reports: CellReports, theta: Array) -> Array:
        """``m = L p(theta)``, (u,)."""
        return self.at(reports, theta)[0]

    def shown(self, theta: Array) -> Array:
        """The parameters as they are shown, (..., names); theta, (..., d), may be complex."""
        return theta

    @abstractmethod
    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        """Points to climb from."""

    @abstractmethod
    def cells(self, theta: Array, reports: CellReports) -> Array:
        """p(theta), (prod k_j,), the mean over the covariates of reports; theta may be complex."""

    @abstractmethod
    def at(self, reports: CellReports, theta: Array) -> Mixed:
        """m, (u,), and a function of v, (u,): ``sum_i v_i dm_i / dtheta``, (d,)."""

    @abstractmethod
    def scores(self, reports: CellReports, theta: Array) -> Array:
        """``d log m / dtheta``, (u, d)."""

    def alone(self, reports: CellReports, theta: Array) -> tuple[Law, CellReports, Array]:
        """The law without its devices, and what it is of once their parameters are known."""
        return self, reports, theta

    def sorted(self, theta: Array, reports: CellReports) -> Array:
        """The same law in its printed form, where several parameters give one law."""
        return theta

    def remarks(self, theta: Array, reports: CellReports) -> list[str]:
        """What a summary says of the parameters."""
        return []

    def inside(self, theta: Array, most: float = 4.0) -> Array:
        """A point near theta where no probability is zero: there a law shows what is open."""
        return np.clip(theta, -most, most) if self.bounded.any() else theta

    def generic(self, rng: np.random.Generator) -> Array:
        """A point without a pattern, at which a law that is identified shows it."""
        return rng.normal(0.0, 0.7, self.size)


@record
class Structure:
    """A law of the cells of several questions: the functions of `ldpstats.cells` make it.

    Examples
    --------
    >>> rasch("~ age").covariates
    '~ age'
    """

    words: str
    law: Callable[[Questions, Columns], Law]  # of questions, and columns z
    covariates: str | None = None  # a formula of public columns
    is_convex: bool = False
    given: tuple[Any, ...] = ()  # the arguments of `function`

    def __repr__(self) -> str:
        return self.words

    def __reduce__(self) -> tuple[Any, ...]:
        return (function, self.given) if self.given else (read_structure, (self.words,))


def _scales(columns: Columns) -> Array:
    """Standard deviations of columns of covariates, (q,), and their means over these, (q,)."""
    return np.array([*columns.values()]).reshape(-1, 2).T


def _sloped(heads: Sequence[str], columns: Columns) -> tuple[list[str], Array]:
    """Names of the constants and slopes of odds, and what they are divided by."""
    names = [f"{head}: {one}" for head in heads for one in ("const", *columns)]
    return names, np.tile(np.r_[1.0, _scales(columns)[0]], len(heads))


def _uncentred(odds: Array, means: Array) -> Array:
    """Constants and slopes, (..., m, 1 + q), of covariates less their means, as of themselves."""
    const = odds[..., :1] - (odds[..., 1:] @ means)[..., None]
    whole = np.concatenate([const, odds[..., 1:]], axis=-1)
    return whole.reshape(*odds.shape[:-2], -1)


def log_sum(x: Array) -> Array:
    """Probabilities whose logarithms are x but for a constant, along the last axis."""
    e = np.exp(x - x.real.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def logistic(eta: Array) -> Array:
    """Probabilities of log odds eta, which may be complex: below -700 their slopes would be nan."""
    return 1.0 / (1.0 + np.exp(np.minimum(-eta, 700.0)))


def first_zero(x: Array) -> Array:
    """x with a first column of zeros: log odds against the first category."""
    return np.concatenate([np.zeros((*x.shape[:-1], 1), x.dtype), x], axis=-1)


def _log_odds(p: Array) -> Array:
    """Log odds against the first category, along the last axis, of p no smaller than 1e-6."""
    p = np.maximum(p, 1e-6)
    return np.asarray(np.log(p[..., 1:] / p[..., :1]))


# -- Laws of cells ---------------------------------------------------------------------------------


class CellLaw(Law):
    """A law that forms p."""

    def at(self, reports: CellReports, theta: Array) -> Mixed:
        p = self.cells(theta, reports)
        return reports.rows.mix(p), lambda v: self._pull(theta, p, reports, reports.rows.adjoint(v))

    def _pull(self, theta: Array, p: Array, reports: CellReports, q: Array) -> Array:
        """``sum_x q_x dp_x / dtheta``, (d,), of q, (cells,)."""
        return np.array([q @ one for one in self._turns(theta, reports)])

    def scores(self, reports: CellReports, theta: Array) -> Array:
        m = self.mix(reports, theta)
        columns = (np.ascontiguousarray(one) for one in self._turns(theta, reports))
        return np.stack([reports.rows.mix(one) / m for one in columns], axis=1)

    def _turns(self, theta: Array, reports: CellReports) -> Iterator[Array]:
        """Derivatives of p, (cells,), by each coordinate."""
        for a in range(self.size):
            step = theta.astype(complex)
            step[a] += 1j * _STEP
            yield self.cells(step, reports).imag / _STEP


class FunctionLaw(CellLaw):
    """Any function of parameters."""

    def __init__(
        self, p: Callable[[Array], Any], start: Array, names: tuple[str, ...], k: int, jac: Any
    ) -> None:
        self._p, self._start, self._jac, self._k = p, start, jac, k
        self.names, self.size, self.bounded = names, len(start), np.zeros(len(start), dtype=bool)
        shown = dict(zip(names, start.tolist(), strict=True))
        first = _called("p", p, start, (k,), shown)
        if not _is_law(first):
            remedy = f"must return probabilities that sum to one; at {shown} they do not"
            raise InvalidArgument("p", first[:5].tolist(), remedy)
        if jac is not None:
            _called("jac", jac, start, (k, len(start)), shown)
        try:  # math.exp() and the like refuse complex numbers; others drop the imaginary part
            with warnings.catch_warnings():
                warnings.simplefilter("error", ComplexWarning)
                self._steps = np.iscomplexobj(np.asarray(p(start + 0j)))
        except (TypeError, ComplexWarning):
            self._steps = False

    def cells(self, theta: Array, reports: CellReports) -> Array:
        p = np.asarray(self._p(theta if self._steps else theta.real)).reshape(-1)
        return p if _is_law(p) else np.full(self._k, np.nan)  # no report is possible there

    def _turns(self, theta: Array, reports: CellReports) -> Iterator[Array]:
        if self._jac is not None:
            return iter(np.asarray(self._jac(theta), dtype=float).reshape(self._k, self.size).T)
        if self._steps:
            return super()._turns(theta, reports)
        moves = np.diag(1e-6 * np.maximum(1.0, np.abs(theta)))  # central differences
        up, down = ([np.ravel(self._p(theta + way * h)) for h in moves] for way in (1.0, -1.0))
        return iter(np.subtract(up, down) / (2.0 * moves.sum(axis=1, keepdims=True)))

    def generic(self, rng: np.random.Generator) -> Array:
        return self._start * (1.0 + rng.normal(0.0, 0.02, self.size))

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        yield self._start


def _called(
    name: str, function: Callable[[Array], Any], start: Array, shape: tuple[int, ...], shown: object
) -> Array:
    """What a caller's function returns, of this size."""
    try:
        found = np.asarray(function(start), dtype=float)
    except Exception as error:  # a user's function may raise anything
        remedy = f"fails at {shown} ({error})"
        raise InvalidArgument(name, function, remedy) from None
    if found.size != prod(shape):
        remedy = f"must return an array of shape {shape}: probabilities of the cells"
        raise InvalidArgument(name, found.shape, remedy + ", by parameter" * (len(shape) - 1))
    return found.reshape(shape)


def _is_law(p: Array) -> bool:
    return bool(np.isfinite(p).all() and abs(p.real.sum() - 1.0) < 1e-8 and p.real.min() >= -1e-12)


class LogLinear(CellLaw):
    """``log p = const + sum of terms``; a term has a matrix (k_j, c_j) for each of its own."""

    def __init__(
        self,
        sizes: Sequence[int],
        terms: Sequence[tuple[tuple[int, Array], ...]],
        names: tuple[str, ...],
    ) -> None:
        self._sizes, self._terms, self.names = tuple(sizes), terms, names
        self._shapes = [tuple(B.shape[1] for _, B in term) for term in terms]
        self.size, self.bounded = sum(map(prod, self._shapes)), np.zeros(len(names), dtype=bool)

    def cells(self, theta: Array, reports: CellReports) -> Array:
        parts: dict[int, list[Array]] = {}  # by the first question of a term
        at = 0
        for term, shape in zip(self._terms, self._shapes, strict=True):
            part = theta[at : at + prod(shape)].reshape(shape)
            at += part.size
            for _, B in term:  # each takes the first axis and puts its own last
                part = np.tensordot(part, B, (0, 1))
            parts.setdefault(term[0][0], []).append(self._across(term, part))
        eta = np.zeros((), theta.dtype)  # of the questions from j on: small tables first
        for j in range(len(self._sizes) - 1, -1, -1):
            eta = np.broadcast_to(eta, self._sizes[j:])
            for part in parts.get(j, []):
                eta = eta + part.reshape(part.shape[j:])
        return log_sum(eta.reshape(-1))

    def _across(self, term: tuple[tuple[int, Array], ...], part: Array) -> Array:
        """What is of the questions of a term, with an axis of length one for each of the others."""
        inside = {j for j, _ in term}
        return part.reshape([k if j in inside else 1 for j, k in enumerate(self._sizes)])

    def _moments(self, q: Array) -> Array:
        """The sum of the terms' columns with weights q, (cells,): (d,)."""
        sums: dict[tuple[int, ...], Array] = {}  # which terms share

        def margin(inside: list[int], j: int) -> Array:
            """q summed over the questions before j that are not inside."""
            left = (*(i for i in inside if i < j), j)
            if left not in sums:
                if not j:
                    sums[left] = q.reshape(self._sizes)
                else:
                    more = margin(inside, j - 1)
                    sums[left] = more if j - 1 in inside else more.sum(axis=len(left) - 1)
            return sums[left]

        parts = []
        for term in self._terms:
            inside = [j for j, _ in term]
            part = margin(inside, inside[-1])
            part = part.sum(axis=tuple(range(len(inside), part.ndim)))
            for _, B in term:
                part = np.tensordot(part, B, (0, 0))
            parts.append(part.reshape(-1))
        return np.concatenate(parts)

    def _turns(self, theta: Array, reports: CellReports) -> Iterator[Array]:
        p = self.cells(theta, reports)
        table, means = p.reshape(self._sizes), iter(self._moments(p))
        for term in self._terms:
            for columns in product(*(B.T for _, B in term)):
                column = self._across(term, reduce(np.multiply.outer, columns))
                yield (table * column).reshape(-1) - next(means) * p

    def _pull(self, theta: Array, p: Array, reports: CellReports, q: Array) -> Array:
        q = p * q
        return np.asarray(self._moments(q) - q.sum() * self._moments(p))

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        yield np.zeros(self.size)
        yield rng.normal(0.0, 0.3, self.size)


class Simplex(LogLinear):
    """Any distribution: log odds of the cells, in an order, against the first of it."""

    def __init__(self, names: tuple[str, ...], order: npt.NDArray[np.intp]) -> None:
        self.names, self._order = names, order
        self.size, self.bounded = len(order) - 1, np.ones(len(names), dtype=bool)

    def cells(self, theta: Array, reports: CellReports) -> Array:
        return self.shown(theta)

    def _moments(self, q: Array) -> Array:
        return q[self._order[1:]]

    def _turns(self, theta: Array, reports: CellReports) -> Iterator[Array]:
        p = self.cells(theta, reports)
        for cell in self._order[1:].tolist():
            turn = -p[cell] * p
            turn[cell] += p[cell]
            yield turn

    def shown(self, theta: Array) -> Array:
        p = np.zeros((*theta.shape[:-1], len(self.names)), theta.dtype)
        p[..., self._order] = log_sum(first_zero(theta))
        return p

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        yield np.zeros(self.size)


# -- Waves of one question -------------------------------------------------------------------------


class Laws(NamedTuple):
    """Laws of a chain, one a row: log odds of the outcomes against the outcome `against` of a row.

    Of the entries, row by row, those `free` have coordinates, a constant and slopes of covariates,
    and those `shown` are printed.
    """

    shape: tuple[int, int]
    against: npt.NDArray[np.intp]
    free: npt.NDArray[np.intp]
    shown: npt.NDArray[np.intp]
    n_slopes: int  # with the constant


class MarkovLaw(CellLaw):
    """A chain of states, one a wave: the answers themselves, or hidden ones with laws of answers.

    Its laws, in this order, are those of the first state, of staying for good given that state, of
    the next state given the last ones, and of the answer given a hidden state. A recursion goes
    from wave to wave over all sequences of answers, and over S: the last states of a mover, as many
    as the next one rests on, and the state of a stayer.
    """

    def __init__(
        self,
        questions: Questions,
        order: int,
        stationary: bool,
        n_states: int | None,
        stayers: bool,
        columns: Columns,
    ) -> None:
        waves, answers = list(questions), [*map(str, next(iter(questions.values())))]
        states = answers if n_states is None else [f"state {c + 1}" for c in range(n_states)]
        self._k, self._C, self._q, self._stayers = len(answers), len(states), len(columns), stayers
        self._hidden, C, T = n_states is not None, len(states), len(waves)
        self.n_classes = C * (1 + stayers) if stayers or self._hidden else 0
        sizes = [C ** min(t + 1, order) for t in range(T)]  # of the states of movers, by wave
        self._largest = self._k ** (T - 1) * max(self._k, sizes[-1] + C * stayers)
        if self._largest > _MOST_CELLS:
            raise NotAvailable(
                f"{self._k**T:,} sequences of answers are too many: {_MOST_CELLS:,} at most, fewer "
                "with a higher order or more states than answers; take fewer waves"
            )
        units, self._means = _scales(columns)
        names: list[str] = []
        self._laws: list[Laws] = []
        # of each step which law it is, its entries, its sizes, and the wave answered before
        self._steps: list[tuple[int, Array, Array, tuple[int, int], int | None]] = []

        def add(head: str, words: list[list[str]], against: Any = 0, public: Any = columns) -> None:
            shape, flat = (len(words), len(words[0])), [*chain(*words)]
            row = np.arange(shape[0])
            against = row * 0 + against
            free = np.delete(np.arange(len(flat)), row * shape[1] + against)
            shown = free if public or shape[1] == 2 else np.arange(len(flat))
            for word in (flat[i] for i in shown):
                one = [f"{head}{word}: {name}" for name in ("const", *public)]
                names.extend(one if public else [f"{head}P({word})"])
            self._laws.append(Laws(shape, against, free, shown, 1 + len(public)))

        add(f"{waves[0]}{' =' if columns else ':'} ", [states])
        self._steps.append((0, np.zeros(C, dtype=int), np.arange(C), (1, C), None))
        if stayers:
            add("", [[f"mover | {c}", f"stayer | {c}"] for c in states])
            at = np.arange(2 * C)
            self._steps.append((1, at // 2, at // 2 + C * (at % 2), (C, 2 * C), None))
        for t in range(1, T):
            if not stationary or t <= order:
                head = "" if stationary and t == order else f"{waves[t]}: "
                past = map(",".join, product(states, repeat=min(t, order)))
                words = [[f"{one}->{c}{' | mover' * stayers}" for c in states] for one in past]
                add(head, words, np.arange(sizes[t - 1]) % C)
            at, more = np.arange(sizes[t - 1] * C), C * stayers
            shape = sizes[t - 1] + more, sizes[t] + more
            self._steps.append((len(self._laws) - 1, at // C, at % sizes[t], shape, t - 1))
        if self._hidden:
            add("", [[f"{y} | {c}" for y in answers] for c in states], public=())
        last = [np.r_[np.arange(size) % C, np.arange(C * stayers)] for size in sizes]
        self._last = [np.eye(C)[at] for at in last]  # which state S ends with, (S, C), by wave
        each = [np.tile(np.r_[1.0, units][: one.n_slopes], len(one.shown)) for one in self._laws]
        self.names, self.units = tuple(names), np.concatenate(each)
        self.bounded = np.repeat([one.n_slopes == 1 for one in self._laws], [*map(len, each)])
        self.size = sum(one.free.size * one.n_slopes for one in self._laws)

    def _logits(self, theta: Array) -> list[Array]:
        """Log odds of all outcomes, (..., rows, outcomes, 1 + q)."""
        found, at, lead = [], 0, theta.shape[:-1]
        for shape, _, free, _, slopes in self._laws:
            full = np.zeros((*lead, prod(shape), slopes), theta.dtype)
            part = theta[..., at : at + free.size * slopes]
            full[..., free, :] = part.reshape(*lead, -1, slopes)
            found.append(full.reshape(*lead, *shape, slopes))
            at += part.shape[-1]
        return found

    def _theta(self, logits: Sequence[Array]) -> Array:
        """The coordinates of log odds against any outcome."""
        parts = []
        for laws, full in zip(self._laws, logits, strict=True):
            own = full - full[np.arange(len(full)), laws.against][:, None]
            parts.append(own.reshape(-1, laws.n_slopes)[laws.free].reshape(-1))
        return np.concatenate(parts)

    def _tables(self, theta: Array, z: Array) -> list[Array]:
        """The laws, (u, rows, outcomes), at covariates z, (u, q)."""
        each = [(full, z[:, : full.shape[-1] - 1]) for full in self._logits(theta)]
        return [
            log_sum(full[..., 0] + np.tensordot(own, full[..., 1:], (1, 2))) for full, own in each
        ]

    def shown(self, theta: Array) -> Array:
        parts = []
        for laws, full in zip(self._laws, self._logits(theta), strict=True):
            odds = full.reshape(*theta.shape[:-1], -1, laws.n_slopes)[..., laws.shown, :]
            law = log_sum(full[..., 0]).reshape(*theta.shape[:-1], -1)[..., laws.shown]
            parts.append(_uncentred(odds, self._means) if laws.n_slopes > 1 else law)
        return np.concatenate(parts, axis=-1)

    def _chain(self, tables: list[Array]) -> tuple[list[Array], list[Array]]:
        """The steps, (., S, S'), and by wave the laws of the answer given S, (., k, S)."""
        steps, C = [], self._C
        for place, rows, columns, shape, wave in self._steps:
            step = np.zeros((len(tables[place]), *shape), tables[place].dtype)
            step[:, rows, columns] = tables[place].reshape(len(step), -1)
            if self._stayers and wave is not None:
                step[:, -C:, -C:] = np.eye(C)
            steps.append(step)
        own = tables[-1] if self._hidden else np.eye(C)[None]
        return steps, [(last @ own).swapaxes(1, 2) for last in self._last]

    def _ahead(self, tables: list[Array]) -> tuple[list[Array], Array]:
        """Before each step laws of the answers so far and S, (., answers, S); p, (., cells)."""
        steps, answers = self._chain(tables)
        laws = [np.ones((1, 1, 1))]
        for step, (*_, wave) in zip(steps, self._steps, strict=True):
            laws.append(_answered(laws[-1], answers, wave) @ step)
        p = laws[-1] @ answers[-1].swapaxes(1, 2)
        return laws, p.reshape(len(p), -1)

    def _back(self, tables: list[Array], q: Array) -> list[Array]:
        """Derivatives of ``q p`` by the tables, (u, rows, outcomes), of q, (u, cells)."""
        (steps, answers), (laws, _) = self._chain(tables), self._ahead(tables)
        out = [np.zeros((len(q), *table.shape[1:])) for table in tables]

        def before(turn: Array, law: Array, wave: int) -> Array:
            """Derivatives by the law, (u, answers, S), of those after an answer."""
            turn = turn.reshape(len(q), law.shape[1], self._k, -1)
            if self._hidden:
                out[-1] += self._last[wave].T @ (law[:, :, None] * turn).sum(axis=1).swapaxes(1, 2)
            return np.asarray((turn * answers[wave][:, None]).sum(axis=2))

        turn = before(q, laws.pop(), len(answers) - 1)
        for step, law, (place, rows, columns, _, wave) in zip(
            reversed(steps), reversed(laws), reversed(self._steps), strict=True
        ):
            slopes = _answered(law, answers, wave).swapaxes(1, 2) @ turn
            out[place] += slopes[:, rows, columns].reshape(out[place].shape)
            turn = turn @ step.swapaxes(1, 2)
            turn = turn if wave is None else before(turn, law, wave)
        return out

    def _slopes(self, theta: Array, z: Array, q: Array) -> Array:
        """Derivatives of ``q p`` by theta, (u, d), of q, (u, cells), at covariates z, (u, q)."""
        tables, X, parts = self._tables(theta, z), np.column_stack([np.ones(len(z)), z]), []
        for laws, P, G in zip(self._laws, tables, self._back(tables, q), strict=True):
            G = (P * (G - (P * G).sum(axis=2, keepdims=True))).reshape(len(q), -1)[:, laws.free]
            parts.append((G[:, :, None] * X[:, None, : laws.n_slopes]).reshape(len(q), -1))
        return np.hstack(parts)

    def _blocks(self, u: int) -> Iterator[slice]:
        """Parts of u rows of as many numbers as there are cells."""
        step = max(1, _MOST_CELLS // self._largest)
        return (slice(start, min(start + step, u)) for start in range(0, u, step))

    def _each(self, reports: CellReports) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Blocks of joint reports: likelihoods of all cells, and distinct covariates by place."""
        z, place = reports.patterns
        for part in self._blocks(len(place)):
            kinds, at = np.unique(place[part], return_inverse=True)
            yield part, reports.rows.take(part.start, part.stop), z[kinds], at

    def cells(self, theta: Array, reports: CellReports) -> Array:
        (z, place), total = reports.patterns, np.zeros(prod(reports.sizes), theta.dtype)
        share = np.bincount(place, reports.n) / reports.n.sum()
        for part in self._blocks(len(z)):
            total = total + share[part] @ self._ahead(self._tables(theta, z[part]))[1]
        return total

    def _pull(self, theta: Array, p: Array, reports: CellReports, q: Array) -> Array:
        return np.asarray(self._slopes(theta, reports.z[:1], q[None])[0])

    def at(self, reports: CellReports, theta: Array) -> Mixed:
        if not self._q:
            return super().at(reports, theta)
        m = np.empty(len(reports.n))
        for part, L, z, at in self._each(reports):
            m[part] = (L * self._ahead(self._tables(theta, z))[1][at]).sum(axis=1)

        def pull(v: Array) -> Array:
            total = np.zeros(self.size)
            for part, L, z, at in self._each(reports):
                q = np.zeros((len(z), L.shape[1]))
                np.add.at(q, at, v[part, None] * L)
                total += self._slopes(theta, z, q).sum(axis=0)
            return total

        return m, pull

    def scores(self, reports: CellReports, theta: Array) -> Array:
        if not self._q:
            return super().scores(reports, theta)
        m, each = self.mix(reports, theta)[:, None], self._each(reports)
        return np.vstack([self._slopes(theta, z[at], L / m[part]) for part, L, z, at in each])

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        """Some steps of EM from random points, without covariates; few where nothing is hidden."""
        for _ in count() if self.n_classes else range(2):
            tables = self._tables(rng.normal(0.0, 1.0, self.size), np.zeros((1, self._q)))
            for _ in range(20):
                v = reports.n / reports.rows.mix(self._ahead(tables)[1][0])
                counts = self._back(tables, reports.rows.adjoint(v)[None])
                each = zip(tables, counts, strict=True)
                counts = [np.maximum(P * N, 1e-6 * reports.n.sum()) for P, N in each]
                tables = [N / N.sum(axis=2, keepdims=True) for N in counts]
            logits = [np.zeros((*laws.shape, laws.n_slopes)) for laws in self._laws]
            for full, P in zip(logits, tables, strict=True):
                full[..., 0] = np.log(P[0])
            yield self._theta(logits)

    def inside(self, theta: Array, most: float = 4.0) -> Array:
        return np.clip(theta, -most, most)

    def sorted(self, theta: Array, reports: CellReports) -> Array:
        """Hidden states by their mean answer."""
        if not self._hidden:
            return theta
        mean = self._tables(theta, reports.z[:1])[-1][0] @ np.arange(self._k)
        order, logits = np.argsort(mean, kind="stable"), []
        for full in self._logits(theta):
            rows = np.zeros(1, dtype=int)
            while len(rows) < len(full):
                rows = (rows[:, None] * self._C + order).reshape(-1)
            logits.append(full[rows])
        for place in {place for place, *_, wave in self._steps if place == 0 or wave is not None}:
            logits[place] = logits[place][:, order]
        return self._theta(logits)

    def remarks(self, theta: Array, reports: CellReports) -> list[str]:
        text = "States: in the order of their mean answer, answers numbered from 0 on."
        words = [text] if self._hidden else []
        if self._stayers:
            z, place = reports.patterns
            first, stay = self._tables(theta, z)[:2]
            share = np.average((first[:, 0] * stay[..., 1]).sum(axis=1)[place], weights=reports.n)
            words.append(f"Stayers: {100 * share:.0f}% of the respondents never change.")
        return words


def _answered(law: Array, answers: list[Array], wave: int | None) -> Array:
    """Laws of the answers so far and S, (u, answers, S), with one more answer."""
    if wave is None:
        return law
    more = law[:, :, None] * answers[wave][:, None]
    return more.reshape(len(more), -1, more.shape[-1])


# -- Mixtures: questions that are independent given a class, or an ability -------------------------


class Mixture(Law):
    """Nodes with weights, and laws of the questions given the node."""

    @abstractmethod
    def nodes(self, theta: Array, z: Array) -> tuple[Array, list[Array]]:
        """Weights, (u or 1, C), and for each question a law, (C, k_j) or (u, C, k_j)."""

    def _given(self, reports: CellReports, theta: Array) -> tuple[Array, list[Array], list[Array]]:
        """Weights and laws of `nodes`, and likelihoods of the reports to each question, (u, C)."""
        weights, laws = self.nodes(theta, reports.z)
        return weights, laws, [reports.given(j, law) for j, law in enumerate(laws)]

    def _turns(self, theta: Array, z: Array) -> Iterator[tuple[Array, list[Array]]]:
        """Derivatives of weights and laws by each coordinate."""
        for step in theta + 1j * _STEP * np.eye(self.size):
            weights, laws = self.nodes(step, z)
            yield weights.imag / _STEP, [law.imag / _STEP for law in laws]

    def at(self, reports: CellReports, theta: Array) -> Mixed:
        weights, laws, A = self._given(reports, theta)
        given = np.prod(A, axis=0)  # (u, C)

        def pull(v: Array) -> Array:
            by_weight, out, others = v[:, None] * given, [], _others(A)
            if len(weights) == 1:
                by_weight = by_weight.sum(axis=0, keepdims=True)
            w = v[:, None] * weights
            by_law = [reports.pulled(j, law, w * others[j]) for j, law in enumerate(laws)]
            for turn, turns in self._turns(theta, reports.z):
                parts = zip(by_law, turns, strict=True)
                out.append((by_weight * turn).sum() + sum((G * own).sum() for G, own in parts))
            return np.array(out)

        return (given * weights).sum(axis=1), pull

    def scores(self, reports: CellReports, theta: Array) -> Array:
        weights, _, A = self._given(reports, theta)
        others = _others(A)
        given, columns = others[0] * A[0], []
        for turn, turns in self._turns(theta, reports.z):
            total = given * turn
            for j, own in enumerate(turns):
                if own.any():
                    total = total + weights * others[j] * reports.given(j, own)
            columns.append(total.sum(axis=1))
        return np.asarray(np.stack(columns, axis=1) / (given * weights).sum(1, keepdims=True))

    def cells(self, theta: Array, reports: CellReports) -> Array:
        weights, laws = self.nodes(theta, reports.z)
        share, total = reports.n / reports.n.sum(), np.zeros(())
        weights = share[:, None] * weights
        if all(law.ndim == 2 for law in laws):  # the same for all
            weights = weights.sum(axis=0, keepdims=True)
        for u, table in enumerate(weights):
            for law in laws:  # a table (C, k_1, ...) of independent answers given a node
                own = law if law.ndim == 2 else law[u]
                table = table[..., None] * own.reshape(len(own), *[1] * (table.ndim - 1), -1)
            total = total + table.sum(axis=0)
        return total.reshape(-1)

    def posterior(self, reports: CellReports, theta: Array) -> Array:
        """Probabilities of the nodes given the reports, (u, C)."""
        weights, _, A = self._given(reports, theta)
        joint = np.prod(A, axis=0) * weights
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


class LatentClassLaw(Mixture):
    """``p = sum_c pi_c prod_j p_jc``; log odds of pi against the first class may rest on z."""

    def __init__(self, questions: Questions, C: int, columns: Columns) -> None:
        self._sizes, self.n_classes, self._q = [len(v) for v in questions.values()], C, len(columns)
        shares = [f"class {c + 1}" for c in range(C)]
        units, self._means = np.ones(C), _scales(columns)[1]
        if self._q:
            shares, units = _sloped(shares[1:], columns)
        own = [
            f"{name} = {label} | class {c + 1}"
            for name, labels in questions.items()
            for c in range(C)
            for label in (labels if len(labels) > 2 else labels[1:])
        ]
        self.names = (*shares, *own)
        self.units = np.r_[units, np.ones(len(own))]
        self.size = (C - 1) * (1 + self._q) + C * sum(k - 1 for k in self._sizes)
        self.bounded = np.r_[np.full(len(shares), not self._q), np.full(len(own), True)]

    def _split(self, theta: Array) -> tuple[Array, list[Array]]:
        """Log odds of classes, (..., C - 1, 1 + q), and of answers to questions, (..., C, k_j - 1).

        The laws of questions are `log_sum` of the latter with a `first_zero`.
        """
        C, lead, own = self.n_classes, theta.shape[:-1], []
        at = (C - 1) * (1 + self._q)
        odds = theta[..., :at].reshape(*lead, C - 1, 1 + self._q)
        for k in self._sizes:
            own.append(theta[..., at : at + C * (k - 1)].reshape(*lead, C, k - 1))
            at += C * (k - 1)
        return odds, own

    def nodes(self, theta: Array, z: Array) -> tuple[Array, list[Array]]:
        odds, own = self._split(theta)
        eta = odds[:, 0] + z @ odds[:, 1:].T if self._q else odds[None, :, 0]
        return log_sum(first_zero(eta)), [log_sum(first_zero(part)) for part in own]

    def shown(self, theta: Array) -> Array:
        odds, own = self._split(theta)
        parts = [_uncentred(odds, self._means) if self._q else log_sum(first_zero(odds[..., 0]))]
        for part in own:
            law = log_sum(first_zero(part))
            law = law if law.shape[-1] > 2 else law[..., 1:]
            parts.append(law.reshape(*theta.shape[:-1], -1))
        return np.concatenate(parts, axis=-1)

    def at(self, reports: CellReports, theta: Array) -> Mixed:
        weights, laws, A = self._given(reports, theta)
        joint = np.prod(A, axis=0) * weights  # (u, C)

        def pull(v: Array) -> Array:
            own, others = v[:, None] * joint, _others(A)
            by_odds = (own - own.sum(axis=1, keepdims=True) * weights)[:, 1:]
            out = [np.column_stack([by_odds.sum(axis=0), by_odds.T @ reports.z]).reshape(-1)]
            for j, law in enumerate(laws):
                S = reports.pulled(j, law, v[:, None] * others[j] * weights)
                S = law * (S - (law * S).sum(axis=1, keepdims=True))
                out.append(S[:, 1:].reshape(-1))
            return np.concatenate(out)

        return joint.sum(axis=1), pull

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        """Some steps of EM from random points, with shares that rest on no covariate."""
        while True:
            laws = self.nodes(rng.normal(0.0, 1.0, self.size), reports.z)[1]
            weights = np.full(self.n_classes, 1.0 / self.n_classes)
            for _ in range(40):
                A = [reports.given(j, law) for j, law in enumerate(laws)]
                given, others = np.prod(A, axis=0), _others(A)
                v = (reports.n / (given @ weights))[:, None] * weights
                counts = [law * reports.pulled(j, law, v * others[j]) for j, law in enumerate(laws)]
                laws = [S / S.sum(axis=1, keepdims=True) for S in counts]
                weights = (v * given).sum(axis=0)
                weights = weights / weights.sum()
            odds = np.zeros((self.n_classes - 1, 1 + self._q))
            odds[:, 0] = _log_odds(weights)
            yield np.concatenate([odds.reshape(-1), *(_log_odds(law).reshape(-1) for law in laws)])

    def shares(self, theta: Array, reports: CellReports) -> Array:
        """Shares of the classes, (C,); with covariates the mean over the respondents."""
        weights = self.nodes(theta, reports.z)[0]
        return np.asarray(
            weights[0] if len(weights) == 1 else reports.n @ weights / reports.n.sum()
        )

    def remarks(self, theta: Array, reports: CellReports) -> list[str]:
        each = ", ".join(f"{100 * share:.0f}%" for share in self.shares(theta, reports))
        return [f"Classes: the largest first; their mean shares are {each}."]

    def sorted(self, theta: Array, reports: CellReports) -> Array:
        """The largest class first."""
        odds, own = self._split(theta)
        order = np.argsort(-self.shares(theta, reports), kind="stable")
        whole = np.vstack([np.zeros((1, odds.shape[1])), odds])[order]
        parts = [whole[1:] - whole[0], *(part[order] for part in own)]
        return np.concatenate([part.reshape(-1) for part in parts])


def _others(A: Sequence[Array]) -> list[Array]:
    """The product over all questions but one, for each of them: without divisions, A may be 0."""
    before = [np.ones_like(A[0])]
    for part in A[:-1]:
        before.append(before[-1] * part)
    after = np.ones_like(A[0])
    for j in range(len(A) - 1, -1, -1):
        before[j] = before[j] * after
        after = after * A[j]
    return before


class ItemLaw(Mixture):
    """``P(yes_j | t) = logistic(a_j t - b_j)``, abilities t normal about ``z beta``."""

    def __init__(
        self,
        names: Sequence[str],
        slopes: Literal["one", "each"] | float,
        n_nodes: int,
        columns: Columns,
    ) -> None:
        from numpy.polynomial.hermite_e import hermegauss

        self._t, weights = hermegauss(n_nodes)
        self._w, self._J, self._q = weights / weights.sum(), len(names), len(columns)
        self._each, self._sd = slopes == "each", slopes if isinstance(slopes, float) else None
        more = [f"{name}: discrimination" for name in names] if self._each else ["sd of abilities"]
        more = more if self._sd is None else []
        word = "threshold" if self._each else "difficulty"
        self.names = (*(f"{name}: {word}" for name in names), *more, *columns)
        self.size, self.bounded = len(self.names), np.zeros(len(self.names), dtype=bool)
        units, self._means = _scales(columns)
        self.units = np.r_[np.ones(self.size - self._q), units]

    def nodes(self, theta: Array, z: Array) -> tuple[Array, list[Array]]:
        J = self._J
        slopes: Any = theta[J : 2 * J] if self._each else np.repeat(theta[J : J + 1], J)
        slopes = slopes if self._sd is None else self._sd
        t = self._t[:, None]  # (D, 1), or (u, D, 1) about the means of z
        eta = t * slopes - theta[:J]
        if self._q:
            mean = (z @ theta[self.size - self._q :])[:, None, None]
            eta = eta + mean * (slopes if self._each else 1.0)
        yes = logistic(eta)
        laws = [np.stack([1.0 - yes[..., j], yes[..., j]], axis=-1) for j in range(J)]
        return self._w[None], laws

    def curves(self, theta: Array) -> tuple[Array, Array]:
        """Abilities, in standard deviations from the mean, (100,), and P(yes), (100, J)."""
        t, J = np.linspace(-3.0, 3.0, 100), self._J
        slopes = theta[J : 2 * J] if self._each else np.full(J, self._sd or theta[J])
        return t, logistic(t[:, None] * slopes - theta[:J])

    def shown(self, theta: Array) -> Array:
        if not self._q:
            return theta
        J, mean = self._J, theta[..., self.size - self._q :] @ self._means
        moved = theta[..., J : 2 * J] * mean[..., None] if self._each else mean[..., None]
        return np.concatenate([theta[..., :J] + moved, theta[..., J:]], axis=-1)

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        theta = np.zeros(self.size)
        theta[self._J : self.size - self._q] = 1.0
        yield theta

    def sorted(self, theta: Array, reports: CellReports) -> Array:
        """Slopes are positive: abilities may be turned round."""
        out, at = theta.copy(), slice(self._J, self.size - self._q)
        if theta[at].sum() < 0.0:
            out[at] = -theta[at]
            out[self.size - self._q :] *= -1.0 if self._each else 1.0
        return out


class ListLaw(Mixture):
    """Counts of J control items with an item of interest: two groups, one with it on the list.

    Nodes are the answers to the item, no and yes. The first question is the count of the control
    group, 0 to J, the second that of the treatment group, which the item raises by one. Without
    covariates the control counts of either answer have any law; with some they are binomial.
    """

    def __init__(self, J: int, columns: Columns) -> None:
        self._J, self._q = J, len(columns)
        counts = ["control items"] if columns else [f"{y} items" for y in range(J + 1)]
        known = [f"{what} | item = {z}" for z, what in product(("no", "yes"), counts)]
        names = ["item = yes", *known]
        if columns:
            self._means = _scales(columns)[1]
            names, self.units = _sloped(names, columns)
        self.names = tuple(names)
        self.size = len(self.names) if columns else 1 + 2 * J
        self.bounded = np.full(len(self.names), not columns)
        self._choose = np.array([comb(J, y) for y in range(J + 1)], dtype=float)

    def nodes(self, theta: Array, z: Array) -> tuple[Array, list[Array]]:
        J = self._J
        if self._q:
            X = np.column_stack([np.ones(len(z)), z])
            yes, *odds = (X @ part for part in theta.reshape(3, -1))
            weights = log_sum(first_zero(yes[:, None]))
            share, y = logistic(np.stack(odds, axis=1))[..., None], np.arange(J + 1)  # (u, 2, 1)
            counts = self._choose * share**y * (1.0 - share) ** (J - y)
        else:
            weights = log_sum(first_zero(theta[None, :1]))
            counts = log_sum(first_zero(theta[1:].reshape(2, J)))
        treated = np.zeros((*counts.shape[:-1], J + 2), counts.dtype)
        treated[..., 0, : J + 1] = counts[..., 0, :]
        treated[..., 1, 1:] = counts[..., 1, :]
        return weights, [counts, treated]

    def inside(self, theta: Array, most: float = 4.0) -> Array:
        return np.clip(theta, -most, most)

    def shown(self, theta: Array) -> Array:
        if self._q:
            parts = theta.reshape(*theta.shape[:-1], 3, -1)
            return _uncentred(parts, self._means)
        lead = theta.shape[:-1]
        odds = theta[..., 1:].reshape(*lead, 2, self._J)
        yes = log_sum(first_zero(theta[..., :1]))[..., 1:]
        return np.concatenate([yes, log_sum(first_zero(odds)).reshape(*lead, -1)], axis=-1)

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        while True:
            yield self.generic(rng)


class WithDevices(Law):
    """Another law behind devices with unknown parameters, whose log odds are the last coordinates.

    Those of `parameters` with covariates are a constant, and slopes of these `columns` of z. The
    first q columns are those of the law itself.
    """

    def __init__(
        self, law: Law, q: int, columns: Columns, parameters: Mapping[str, Sequence[str]]
    ) -> None:
        self.inner, self._q, places = law, q, list(columns)
        self.parameters = tuple(parameters)
        self._at = [[places.index(one) for one in own] for own in parameters.values()]
        sizes = [1 + len(at) for at in self._at]
        self._ends, self.size = np.cumsum(sizes)[:-1], law.size + sum(sizes)
        self._means = [_scales(columns)[1][at] for at in self._at]
        self.names, self.units = law.names, np.broadcast_to(law.units, len(law.names))
        for name, own in parameters.items():
            names, units = _sloped([name], {one: columns[one] for one in own})
            self.names += tuple(names if own else [name])
            self.units = np.append(self.units, units)
        self.bounded = np.r_[law.bounded, np.repeat([not at for at in self._at], sizes)]

    def _odds(self, theta: Array) -> list[Array]:
        """Of each parameter the constant and the slopes, (..., 1 + q_a)."""
        return np.split(theta[..., self.inner.size :], self._ends, axis=-1)

    def values(self, theta: Array, z: Array) -> Array:
        """The parameters of each joint report, (u, m); (1, m) where no covariate matters."""
        z = z if any(self._at) else z[:1]
        pairs = zip(self._odds(theta), self._at, strict=True)
        eta = [odds[0] + z[:, at] @ odds[1:] for odds, at in pairs]
        return logistic(np.stack(eta, axis=1))

    def alone(self, reports: CellReports, theta: Array) -> tuple[Law, CellReports, Array]:
        own = replace(reports, z=reports.z[:, : self._q])
        return self.inner, own.known(self.values(theta, reports.z)), theta[: self.inner.size]

    def _by_device(self, reports: CellReports, theta: Array, known: CellReports) -> Array:
        """Derivatives of m by the log odds of the parameters, (u, .): a question's at a time.

        `known` are the reports of `alone`.
        """
        law, own = self.inner, theta[: self.inner.size]
        values, columns = self.values(theta, reports.z), []
        slopes = {j: Q.powers(values, 1) for j, Q in reports.devices.items()}
        for a, at in enumerate(self._at):
            total: Any = 0.0
            for j, D in slopes.items():
                W = [*known.W]
                W[j] = reports.likelihoods(j, D[:, a])
                total = total + law.mix(replace(known, W=tuple(W)), own)
            total = (total * values[:, a] * (1.0 - values[:, a]))[:, None]
            columns += [total, total * reports.z[:, at]]
        return np.hstack(columns)

    def at(self, reports: CellReports, theta: Array) -> Mixed:
        law, known, own = self.alone(reports, theta)
        m, pull = law.at(known, own)
        return m, lambda v: np.r_[pull(v), v @ self._by_device(reports, theta, known)]

    def scores(self, reports: CellReports, theta: Array) -> Array:
        law, known, own = self.alone(reports, theta)
        by_device = self._by_device(reports, theta, known) / law.mix(known, own)[:, None]
        return np.hstack([law.scores(known, own), by_device])

    def cells(self, theta: Array, reports: CellReports) -> Array:
        own = replace(reports, z=reports.z[:, : self._q])
        return self.inner.cells(theta[: self.inner.size], own)

    def shown(self, theta: Array) -> Array:
        parts = [self.inner.shown(theta[..., : self.inner.size])]
        for odds, means in zip(self._odds(theta), self._means, strict=True):
            own = _uncentred(odds[..., None, :], means) if means.size else logistic(odds)
            parts.append(own)
        return np.concatenate(parts, axis=-1)

    def sorted(self, theta: Array, reports: CellReports) -> Array:
        law, known, own = self.alone(reports, theta)
        return np.concatenate([law.sorted(own, known), theta[law.size :]])

    def inside(self, theta: Array, most: float = 4.0) -> Array:
        at = self.inner.size
        own = self.inner.inside(theta[:at], most)
        return np.concatenate([own, np.clip(theta[at:], -most, most)])

    def generic(self, rng: np.random.Generator) -> Array:
        more = self.size - self.inner.size
        return np.concatenate([self.inner.generic(rng), rng.normal(0.0, 0.7, more)])

    def starts(self, reports: CellReports, rng: np.random.Generator) -> Iterator[Array]:
        def drawn() -> Array:
            more, values = np.zeros(self.size - at), rng.uniform(0.05, 0.95, len(self._at))
            more[np.r_[0, self._ends]] = np.log(values / (1.0 - values))
            return more

        # A law may have few starts, the devices have many. Starts of the law are found for guessed
        # parameters, and may lie on an edge, which no climb leaves.
        at = self.inner.size
        while True:
            more = drawn()
            for own in self.inner.starts(self.alone(reports, np.r_[np.zeros(at), more])[1], rng):
                yield np.r_[self.inner.inside(own, 1.0), more]
                more = drawn()


class Plain:
    """Any distribution, (k,), and m parameters of devices as themselves: x = (p, theta).

    Of one question, whose reports are those of the matrix Q(theta) in `CellReports.devices`:
    ``m = p Q(theta)``. It is not confined to [0, 1], nor to p of sum one, and takes many points,
    (..., k + m), at once.
    """

    def __init__(self, k: int, m: int) -> None:
        self.k, self.m, self.size = k, m, k + m
        self.centre = np.r_[np.full(k, 1.0 / k), np.full(m, 0.5)]

    def loglike(self, reports: CellReports, x: Array) -> float:
        """The log-likelihood at one point, in nats; -inf where what was seen is impossible."""
        return float(reports.loglike(self.mix(reports, x)))

    def mix(self, reports: CellReports, x: Array) -> Array:
        """``m = p Q(theta)``, (..., u)."""
        return self.at(reports, x)[0]

    def at(self, reports: CellReports, x: Array) -> Mixed:
        """m, and a function of v, (..., u): the derivatives of ``v m`` by x."""
        p, own, Q = x[..., : self.k], x[..., self.k :], reports.devices[0]
        powers, parts = Q.powers(own), np.tensordot(p, Q.coefficients, axes=(-1, 1))  # (..., T, u)

        def pull(v: Array) -> Array:
            by_term = np.tensordot(v, Q.coefficients, axes=(-1, 2))  # (..., T, k)
            by_p = np.einsum("...t,...tk->...k", powers, by_term)
            by_own = np.einsum("...jt,...tu,...u->...j", Q.powers(own, 1), parts, v)
            return np.concatenate([by_p, by_own], axis=-1)

        return np.einsum("...t,...tu->...u", powers, parts), pull

    def bent(self, reports: CellReports, x: Array) -> tuple[Array, Array, Callable[[Array], Array]]:
        """At one point m, its derivatives, (k + m, u), and a function of v: those of ``v m``."""
        k, Q = self.k, reports.devices[0]
        C, (powers, slopes, bends) = Q.coefficients, (Q.powers(x[k:], order) for order in range(3))
        parts = np.tensordot(x[:k], C, axes=(0, 1))  # (T, u)

        def bend(v: Array) -> Array:
            B, by_term = np.zeros((self.size, self.size)), C @ v  # (T, k)
            B[k:, :k] = slopes @ by_term
            B[:k, k:], B[k:, k:] = B[k:, :k].T, bends @ (by_term @ x[:k])
            return B

        J = np.concatenate([np.tensordot(powers, C, axes=1), slopes @ parts])
        return powers @ parts, J, bend

    def starts(self, reports: CellReports) -> Array:
        """All over (0, 1)^m, with a p near the best that there is: (s, k + m)."""
        n, values = reports.n, scattered(self.m)
        values = values if self.size <= _FEW_STARTS else values[:3]
        p = np.full((len(values), self.k), 1.0 / self.k)
        channels = reports.devices[0].at(values)
        for _ in range(20):  # steps of EM
            ratio = n / np.einsum("vk,vku->vu", p, channels)
            p = p * np.einsum("vku,vu->vk", channels, ratio) / n.sum()
        return np.concatenate([p, values], axis=1)


# -- What a caller asks for ------------------------------------------------------------------------


_MOST_CELLS = 1 << 20
_MOST_NODES = 200


def saturated() -> Structure:
    """Any distribution of the cells: what the reports say without an assumption.

    The likelihood is concave: `gap` certifies the maximum. The model can also be fitted where the
    questions that were asked do not determine every cell: cells left open have no standard errors,
    margins and effects that are determined have them. Where some cells are estimated as zero, the
    intervals of the others cover a little less (.92 where the true shares are zero too): those of
    `AssociationModel` rest on an estimate that may leave the simplex.

    Examples
    --------
    >>> saturated()
    saturated()
    """

    def law(questions: Questions, columns: Columns) -> Law:
        sizes = [len(labels) for labels in questions.values()]
        if prod(sizes) > _MOST_CELLS:
            raise NotAvailable(
                f"{prod(sizes):,} cells are too many to estimate each: {_MOST_CELLS:,} at most; "
                "latent_class, rasch and loglinear have few parameters"
            )
        names = [" : ".join(map(str, cell)) for cell in product(*questions.values())]
        return Simplex(tuple(names), np.arange(len(names)))

    return Structure("saturated()", law, is_convex=True)


def loglinear(formula: str) -> Structure:
    """A log-linear model: logarithms of the probabilities of cells are sums of terms.

    Parameters
    ----------
    formula : str
        Names of questions joined by ``+``, ``:`` and ``*``, as in a regression:
        "q0*q1 + q2" has the association of two questions, of which the third is independent. Names
        that are not one word stand in `backquotes`. ``score(q0)`` takes the place of a question by
        the number of its answer, from 0 on, so that "q0 + q1 + score(q0):score(q1)" is an
        association of ordered answers with one parameter.

    Notes
    -----
    Parameters are those of treatment coding against the first answer: of two answers, an
    interaction is the log odds ratio. An interaction without its main effects is refused.

    References
    ----------
    Agresti (2013), Categorical Data Analysis, chapters 9 and 10.

    Examples
    --------
    >>> loglinear("smokes*drinks + drives")
    loglinear('smokes*drinks + drives')
    """
    if not isinstance(formula, str) or not formula.strip():
        remedy = "must be a formula of questions, such as 'q0*q1 + q2'"
        raise InvalidArgument("formula", formula, remedy)
    return Structure(
        f"loglinear({formula!r})", lambda questions, _: _log_linear(formula, questions)
    )


def _log_linear(formula: str, questions: Questions) -> Law:
    from patsy import ModelDesc, PatsyError

    names = list(questions)
    code = formula.replace("~", " ~ ") if formula.strip().startswith("~") else f"~ {formula}"
    quoted, mark = {}, "q"
    while mark in "".join(names):
        mark += "q"
    for j, name in enumerate(names):  # patsy reads names alone
        code = code.replace(f"`{name}`", f"{mark}{j}_")
        quoted[f"{mark}{j}_"] = quoted[name] = j
    try:
        terms = ModelDesc.from_formula(code).rhs_termlist
    except PatsyError as error:
        remedy = f"cannot be read ({error.args[0]})"
        raise InvalidArgument("structure", formula, remedy) from None
    found: list[tuple[tuple[int, bool], ...]] = []
    for term in terms:
        own = []
        for factor in term.factors:
            word = factor.name()
            is_score = word.startswith("score(") and word.endswith(")")
            name = word[6:-1].strip() if is_score else word
            if name not in quoted:
                remedy = f"has {word!r}, which is no question{did_you_mean(name, names)}"
                raise InvalidArgument("structure", formula, remedy)
            own.append((quoted[name], is_score))
        if len({j for j, _ in own}) < len(own):
            raise InvalidArgument("structure", formula, "has a term with one question twice")
        if own:
            found.append(tuple(sorted(own)))
    if not found:
        raise InvalidArgument("structure", formula, "has no term")
    plain = {frozenset(j for j, _ in term) for term in found}
    for term in found:
        inside = [j for j, _ in term]
        for size in range(1, len(inside)):
            for some in combinations(inside, size):
                if frozenset(some) not in plain:
                    lacking = ":".join(names[j] for j in some)
                    remedy = f"has an interaction without {lacking}: write * in place of :"
                    raise InvalidArgument("structure", formula, remedy)
    designs, shown = [], []
    for term in found:
        parts, words = [], []
        for j, is_score in term:
            name, labels = names[j], questions[names[j]]
            k, levels = len(labels), [f"{name}[{one}]" for one in labels[1:]]
            parts.append((j, np.arange(k, dtype=float)[:, None] if is_score else np.eye(k)[:, 1:]))
            words.append([f"score({name})"] if is_score else levels)
        designs.append(tuple(parts))
        shown += [":".join(some) for some in product(*words)]
    return LogLinear([len(v) for v in questions.values()], designs, tuple(shown))


def latent_class(n_classes: int, covariates: str | None = None) -> Structure:
    """Classes of respondents within which answers to different questions are independent.

    Parameters
    ----------
    n_classes : int
        As many as are assumed: AIC and BIC, or `lr_test` with a bootstrap, compare numbers.
    covariates : str, optional
        "~ age + region": public columns that predict the log odds of a class against the first.

    Notes
    -----
    Classes are in the order of their shares, the largest first. That answers are independent within
    them is an assumption: `goodness_of_fit` compares pairs of reports with it.

    Examples
    --------
    >>> latent_class(2)
    latent_class(2)
    """
    C = positive_integer("n_classes", n_classes, 1)
    return Structure(
        _spelled("latent_class", C, covariates),
        lambda questions, columns: LatentClassLaw(questions, C, columns),
        covariates,
    )


def rasch(covariates: str | None = None, n_nodes: int = 21, sd: float | None = None) -> Structure:
    """Yes/no items with one ability: ``P(yes_j | t) = 1 / (1 + exp(b_j - t))``, t normal.

    Parameters
    ----------
    covariates : str, optional
        "~ age + region": public columns that predict the mean of abilities.
    n_nodes : int
        Nodes of the Gauss-Hermite quadrature over abilities.
    sd : float, optional
        The standard deviation of abilities where it is known; estimated by default.

    Notes
    -----
    Parameters are the difficulties b of the items, whose second answer is the yes, and the standard
    deviation of abilities: item randomised response. (Where others fix it at one and estimate a
    common slope, that is this standard deviation, and their difficulty b over it.)

    References
    ----------
    Fox (2005), Journal of Educational and Behavioral Statistics 30, 189-212.

    Examples
    --------
    >>> rasch("~ age")
    rasch('~ age')
    """
    slopes = "one" if sd is None else positive_number("sd", sd, (1e-3, 1e3))
    return _items("rasch", slopes, covariates, n_nodes, sd=sd)


def two_parameter(covariates: str | None = None, n_nodes: int = 61) -> Structure:
    """Yes/no items of unequal discrimination: ``P(yes_j | t) = 1 / (1 + exp(b_j - a_j t))``.

    Parameters are the thresholds b and discriminations a; abilities have variance one. The ability
    at which a yes is as likely as a no, which others call the difficulty, is b / a. See `rasch`.

    Examples
    --------
    >>> two_parameter()
    two_parameter()
    """
    return _items("two_parameter", "each", covariates, n_nodes)


def _items(name: str, slopes: Any, covariates: str | None, n_nodes: int, **more: Any) -> Structure:
    nodes = positive_integer("n_nodes", n_nodes, 3)
    if nodes > _MOST_NODES:
        raise InvalidArgument("n_nodes", nodes, f"must be at most {_MOST_NODES}")
    shown = None if nodes == (61 if slopes == "each" else 21) else nodes
    words = _spelled(name, covariates, n_nodes=shown, **more)

    def law(questions: Questions, columns: Columns) -> Law:
        for question, labels in questions.items():
            if len(labels) != 2:
                remedy = f"has {len(labels)} answers: items have two, the yes second"
                raise InvalidArgument("names", question, remedy)
        return ItemLaw(list(questions), slopes, nodes, columns)

    return Structure(words, law, covariates)


def _spelled(name: str, *arguments: Any, **named: Any) -> str:
    """A call, without the arguments that are None."""
    words = [repr(one) for one in arguments if one is not None]
    words += [f"{key}={one}" for key, one in named.items() if one is not None]
    return f"{name}({', '.join(words)})"


def markov(
    covariates: str | None = None,
    order: int = 1,
    stationary: bool = False,
    latent: int | None = None,
    stayers: bool = False,
) -> Structure:
    """Waves of one question: a law of the first answer, and transitions from wave to wave.

    The questions of the model are the waves, in their order, all with the same answers. Whoever
    missed a wave contributes the others.

    Parameters
    ----------
    covariates : str, optional
        "~ age + region": public columns that predict the log odds of a transition against staying,
        of the first answer against the first category, and of stayers against movers.
    order : int
        How many answers before the next one rests on.
    stationary : bool
        Whether the transitions are the same between all waves. Of order 2, those to the second wave
        rest on one answer and are others.
    latent : int, optional
        The chain is of so many hidden states; given the state, answers have a law of their own, the
        same in all waves. By default it is of the answers themselves.
    stayers : bool
        Whether some persons never change; the others are movers, whose transitions are estimated.

    Notes
    -----
    Hidden states are in the order of their mean answer, where answers are numbered from 0 on.
    Without noise the fits of the vignette of R's LMest 3.2.5 (1,718 persons, seven waves, five
    answers, two to four states) are reached to the digits that it prints: `benchmarks.lmest`.
    A stayer is not known from her answers: movers may stay for long, too. With a state for each
    answer, a latent chain separates changes of opinion from answers given in error. All sequences
    of answers are counted, up to a million: twenty waves of yes and no, ten of four answers.
    Stationary transitions are nested in free ones, and those without covariates in those with some:
    `lr_test` compares them; of numbers of states, and of stayers, with a bootstrap.

    References
    ----------
    Goodman (1961), Journal of the American Statistical Association 56, 841-868, of movers and
    stayers. Bartolucci, Farcomeni and Pennoni (2013), Latent Markov Models for Longitudinal Data.

    Examples
    --------
    >>> import numpy as np, ldpstats as ldp
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> answers = [rng.random(6000) < 0.4]
    >>> for wave in range(2):  # a tenth of the no become yes, a fifth of the yes no
    ...     answers.append(rng.random(6000) < np.where(answers[-1], 0.8, 0.1))
    >>> reports = {f"wave {t}": krr.privatize(np.where(one, "yes", "no"), rng)
    ...            for t, one in enumerate(answers, 1)}
    >>> ldp.CellModel(reports, markov(stationary=True)).fit().params.round(2).to_dict()
    {'wave 1: P(yes)': 0.4, 'P(no->yes)': 0.1, 'P(yes->no)': 0.21}
    """
    past = positive_integer("order", order, 1)
    states = None if latent is None else positive_integer("latent", latent, 2)
    same, some = boolean("stationary", stationary), boolean("stayers", stayers)
    shown = {"order": past if past > 1 else None, "stationary": same or None}
    shown |= {"latent": states, "stayers": some or None}

    def law(questions: Questions, columns: Columns) -> Law:
        if len(questions) <= past:
            remedy = f"are {len(questions)}: a chain of order {past} needs {past + 1} or more"
            raise InvalidArgument("data", "waves", remedy)
        first, *others = questions.values()
        for name, labels in zip([*questions][1:], others, strict=True):
            if not labels.equals(first):
                remedy = f"must have the answers {first.tolist()}, as the first wave"
                raise InvalidArgument("data", name, remedy)
        return MarkovLaw(questions, past, same, states, some, columns)

    return Structure(_spelled("markov", covariates, **shown), law, covariates)


def list_experiment(n_items: int, covariates: str | None = None) -> Structure:
    """An item count: how many items of a list hold, with the sensitive one for half of the people.

    Parameters
    ----------
    n_items : int
        Control items J. The first question is the count of the control group, with the answers 0 to
        J in order, the second that of the treatment group, 0 to J + 1. Nobody has both.
    covariates : str, optional
        "~ age + region": public columns that predict the log odds of the item, and those of the
        control items, whose count is then binomial given the item.

    Notes
    -----
    Without covariates the estimated share is that of the difference in means, as far as it and the
    counts are within their bounds. Where nobody has the item, the counts of those who have it are
    not identified, and the interval of the share covers less: it held zero in .82 of simulated
    surveys of three items and 2,000 persons. The assumptions are that answers to the control items
    do not depend on the list, and that nobody hides the item when all others hold.

    References
    ----------
    Imai (2011), Journal of the American Statistical Association 106, 407-416.

    Examples
    --------
    >>> list_experiment(3)
    list_experiment(3)
    """
    J = positive_integer("n_items", n_items, 1)

    def law(questions: Questions, columns: Columns) -> Law:
        sizes = [len(labels) for labels in questions.values()]
        if sizes != [J + 1, J + 2]:
            remedy = f"must be two, with {J + 1} and {J + 2} answers: counts of either group"
            raise InvalidArgument("data", f"questions with {sizes} answers", remedy)
        for name, labels in questions.items():
            if pd.api.types.is_numeric_dtype(labels) and not labels.is_monotonic_increasing:
                remedy = f"must have its counts in order, from 0 on: {labels.tolist()}"
                raise InvalidArgument("data", name, remedy)
        return ListLaw(J, columns)

    return Structure(_spelled("list_experiment", J, covariates), law, covariates)


def function(
    p: Callable[[Array], Any], start: Any, names: Sequence[str], jac: Any = None
) -> Structure:
    """Any law of the cells: a function of parameters.

    Parameters
    ----------
    p : callable
        Takes parameters, shape (d,), and returns the probabilities of the cells, an axis a question
        or flat. Derivatives are taken by complex steps, which numpy's functions allow, but for abs,
        max, comparisons and angles; where the result is real, by central differences.
    start : array, shape (d,)
        Starting values. Unconstrained parameters are best: where p is not a distribution the
        likelihood is zero, and a maximum on such a boundary has no standard errors.
    names : sequence of str
        Names of the parameters.
    jac : callable, optional
        Takes parameters and returns the derivatives of the cells, shape (cells, d).

    Examples
    --------
    >>> both = function(lambda t: [[1 - t[0] - t[1], t[1]], [t[0] / 2, t[0] / 2]], [.2, .2],
    ...                 ["a", "b"])
    >>> both
    function(<lambda>: a, b)
    """
    if not callable(p):
        raise InvalidArgument("p", p, "must be a function of the parameters")
    if jac is not None and not callable(jac):
        raise InvalidArgument("jac", jac, "must be a function of the parameters")
    known = tuple(listed("names", names, "must be a name for each parameter"))
    if not all(isinstance(name, str) for name in known) or len(set(known)) < len(known):
        raise InvalidArgument("names", names, "must be different texts, one for each parameter")
    remedy = f"must be {len(known)} finite numbers, as many as names"
    first = numbers("start", np.atleast_1d(as_array("start", start, remedy)), remedy, (len(known),))
    if not np.isfinite(first).all():
        raise InvalidArgument("start", start, remedy)
    word = getattr(p, "__name__", "p")

    def law(questions: Questions, columns: Columns) -> Law:
        k = prod(map(len, questions.values()))
        return FunctionLaw(p, first, known, k, jac)

    words = f"function({word}: {', '.join(known)})"
    return Structure(words, law, given=(p, first, known, jac))


def read_structure(text: str) -> Structure:
    """The structure that prints as this text, of plain arguments."""
    known = saturated, loglinear, latent_class, rasch, two_parameter, list_experiment, markov
    makers: dict[str, Any] = {made.__name__: made for made in known}
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise InvalidArgument("structure", text, f"must be a call of {', '.join(makers)}")
    named = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    made: Structure = makers[call.func.id](*map(ast.literal_eval, call.args), **named)
    return made
