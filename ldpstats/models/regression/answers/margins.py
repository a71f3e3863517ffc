"""Marginal effects of covariates on the true answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, numbers, one_of
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.regression.margins import (
    Average,
    Points,
    average,
    effects_of_rows,
    marginal_effects,
    means,
)
from ldpstats.models.regression.answers.fitted_law import FittedLaw
from ldpstats.models.regression.answers.held import held, moved, with_column, with_values
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.tables import (
    LONGEST_LABEL,
    SummaryTable,
    figures,
    interval_columns,
    one_line,
    pvalue_text,
)

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["MarginalEffects", "margins_of"]

Array = npt.NDArray[Any]

_AT = ("overall", "mean", "median", "zero", "all")
_NAMES = {"dydx": "dy/dx", "eyex": "d(lny)/d(lnx)", "dyex": "dy/d(lnx)", "eydx": "d(lny)/dx"}


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEffects:
    """Marginal effects on the true answers, with standard errors by the delta method.

    Attributes
    ----------
    margeff : array, shape (m,), or (m, k) for k categories
        Of two categories those on success. With ``at="all"``, (n, m) or (n, m, k).
    names : list of str
        What each of the m effects is of.
    at, method : str
    """

    margeff: Array
    names: list[str]
    at: str
    method: str
    law: FittedLaw = field(repr=False)
    found: Average | None = field(repr=False)

    def __repr__(self) -> str:
        return f"MarginalEffects({_NAMES[self.method]} of {self.law.subject}, at={self.at!r})"

    @property
    def margeff_options(self) -> dict[str, str]:
        """What was asked for."""
        return {"at": self.at, "method": self.method}

    @property
    def margeff_cov(self) -> Array:
        """Covariance of the effects, those on the first category first."""
        if self.found is None:
            raise NotAvailable("at='all' has no standard errors: use another at=")
        return self.found.covariance(self.law.covariance)

    @property
    def margeff_se(self) -> Array:
        """Standard errors, shaped as `margeff`."""
        return self._shaped(np.sqrt(np.diagonal(self.margeff_cov)))

    @property
    def tvalues(self) -> Array:
        """Effects in standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.margeff / self.margeff_se)

    @property
    def pvalues(self) -> Array:
        """Two-sided p-values."""
        return self.law.pvalues(self.tvalues)

    @names_alpha
    def conf_int(self, alpha: float = 0.05) -> Array:
        """Wald intervals, shape (m, 2), or (m, 2, k) for k categories."""
        half = self.law.quantile(alpha) * self.margeff_se
        return np.stack([self.margeff - half, self.margeff + half], axis=1)

    @names_alpha
    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The effects as a table, with the columns of statsmodels.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.

        Returns
        -------
        DataFrame
            A row for each effect; of several categories indexed by "endog", the category, and
            "exog".
        """
        ends = self.conf_int(alpha)
        each = [self.margeff, self.margeff_se, self.tvalues, self.pvalues, ends[:, 0], ends[:, 1]]
        heads = [
            _NAMES[self.method],
            "Std. Err.",
            "z",
            "Pr(>|z|)",
            "Conf. Int. Low",
            "Cont. Int. Hi.",
        ]
        index: Any = pd.Index(self.names)
        labels = self.law.labels
        if labels is not None:
            pairs = [(label, name) for label in labels for name in self.names]
            index = pd.MultiIndex.from_tuples(pairs, names=["endog", "exog"])
        table = np.column_stack([one.T.ravel() for one in each])
        return pd.DataFrame(table, index=index, columns=heads)

    @names_alpha
    def summary(self, alpha: float = 0.05) -> Summary:
        """The effects as text, `as_html()` or `as_latex()`."""
        alpha = level(alpha)
        frame = self.summary_frame(alpha)
        labels = self.law.labels
        stubs = [one_line(name, LONGEST_LABEL) for name in self.names]
        if labels is not None:
            stubs = [f"{one_line(v, LONGEST_LABEL)}: {s}" for v in labels for s in stubs]
        letter = "z" if self.law.df is None else "t"
        return SummaryTable(
            title=f"Marginal effects on {one_line(self.law.subject, LONGEST_LABEL)}",
            header=[["Method:", _NAMES[self.method], "At:", self.at]],
            columns=[
                _NAMES[self.method],
                "std err",
                letter,
                f"P>|{letter}|",
                *interval_columns(alpha),
            ],
            stubs=stubs,
            body=[
                [*figures(row[:2], 4), *figures(row[2:3], 2), pvalue_text(row[3]), *ends]
                for row in frame.to_numpy()
                for ends in [figures(row[4:], 4)]
            ],
            notes=[_note(self.law)],
        ).layout()

    def _shaped(self, values: Array) -> Array:
        return _by_category(values, self.law)


def _note(law: FittedLaw) -> str:
    text = "Effects on the true answers; covariates are as in the sample, Wald by delta method."
    if law.questions:
        text += " Averages over the private predictors use their estimated law."
    return text


def _by_category(values: Array, law: FittedLaw) -> Array:
    """Values of categories after one another as columns; one alone as it is."""
    k = len(law.shown)
    return np.asarray(values if k == 1 else values.reshape(k, -1).T)


def margins_of(
    law: FittedLaw, at: Any, method: Any, atexog: Any, dummy: Any, count: Any
) -> MarginalEffects:
    """Marginal effects; see `RegressionResults.get_margeff`."""
    method = one_of("method", method.lower() if isinstance(method, str) else method, (*_NAMES,))
    at = one_of("at", at.lower() if isinstance(at, str) else at, _AT)
    dummy, count = boolean("dummy", dummy), boolean("count", count)
    law.refuse_incomplete("margins")
    factors = _factors(law)
    discrete = dummy or count or bool(factors)
    if discrete and method.endswith("ex"):
        remedy = "is a derivative by a logarithm, which discrete covariates have none of: use "
        raise InvalidArgument("method", method, f"{remedy}'dydx' or 'eydx'")
    if (dummy or count) and at in ("median", "zero"):
        remedy = "is no value of dummies and counts: use 'overall' or 'mean'"
        raise InvalidArgument("at", at, remedy)
    points = _points(law, at, atexog)
    kinds = _kinds(law, dummy, count)
    names = [law.data.names[j] for j in kinds] + [name for name, *_ in factors]
    if at == "all":
        return MarginalEffects(
            _each(law, points, kinds, factors, method), names, at, method, law, None
        )
    found = _average(law, points, kinds, factors, method)
    return MarginalEffects(_by_category(found.value, law), names, at, method, law, found)


# -- what there are effects of -------------------------------------------------------------


def _factors(law: FittedLaw) -> list[tuple[str, str, Any, Any]]:
    """Name, question, category and reference of the private predictors that are factors."""
    found = []
    for question in law.questions:
        if question in law.data.names:
            continue  # it is a number
        reference, *others = law.answers(question)
        for answer in others:
            usual = f"{question}[T.{answer}]"
            name = usual if usual in law.data.names else f"{question}[{answer}]"
            found.append((name, question, answer, reference))
    return found


def _kinds(law: FittedLaw, dummy: bool, count: bool) -> dict[int, str]:
    """The columns that have effects, with the kind of each: "slope", "dummy" or "count"."""
    X = law.data.designs[0]
    found = {}
    for j, name in enumerate(law.data.names):
        if law.constant[j] or (law.private[j] and name not in law.questions):
            continue
        column = (
            np.concatenate([one[:, j] for one in law.data.designs]) if law.private[j] else X[:, j]
        )
        low, high = column.min(), column.max()
        whole = bool((column == np.floor(column)).all())
        is_dummy = whole and low == 0.0 and high == 1.0
        found[j] = "slope"
        if dummy and is_dummy:
            found[j] = "dummy"
        elif count and whole and low >= 0.0 and not is_dummy:
            found[j] = "count"
    return found


# -- where they are taken ------------------------------------------------------------------


def _points(law: FittedLaw, at: str, atexog: Any) -> Points:
    """The rows at which effects are taken."""
    if atexog is None:
        points = law.distinct if at == "overall" else law.rows
    elif isinstance(atexog, Mapping):
        points = with_values(law, law.rows, atexog)
    else:
        points = _given_rows(law, atexog)
    if at in ("overall", "all"):
        return points
    return held(points, at)


def _given_rows(law: FittedLaw, atexog: Any) -> Points:
    """Rows of covariates as the caller gave them."""
    p = len(law.data.names)
    remedy = f"must be a dict of covariates, or an array of {p} columns, as X has"
    if law.questions:
        remedy = "must be a dict of public covariates: the model has private predictors"
        raise InvalidArgument("atexog", atexog, remedy)
    if isinstance(atexog, pd.DataFrame):
        lacking = [name for name in law.data.names if name not in atexog.columns]
        if lacking:
            raise InvalidArgument("atexog", lacking, "are covariates that it has no columns of")
        atexog = atexog[list(law.data.names)].to_numpy()
    X = np.atleast_2d(numbers("atexog", atexog, remedy))
    if X.ndim != 2 or X.shape[1] != p or not len(X) or not np.isfinite(X).all():
        raise InvalidArgument("atexog", f"array of shape {X.shape}", f"{remedy}, finite numbers")
    own = law.rows
    same = len(X) == own.n
    return law.points(
        [X], None, own.designs[0].offset if same else None, own.weights if same else None
    )


# -- effects -------------------------------------------------------------------------------


def _steps(
    law: FittedLaw, points: Points, kinds: Mapping[int, str], factors: Sequence[Any]
) -> list[tuple[int, Points, Points, float]]:
    """Place, the two kinds of rows and the divisor of each effect that is a difference."""
    steps = []
    for place, (j, kind) in enumerate(kinds.items()):
        if kind == "dummy":
            steps.append((place, with_column(points, j, 1.0), with_column(points, j, 0.0), 1.0))
        elif kind == "count":
            up, down = (moved(points, j, by) for by in (1.0, -1.0))
            steps.append((place, up, down, 2.0))
    for place, (_, question, answer, reference) in enumerate(factors, start=len(kinds)):
        there = law.answered(points, question, answer)
        steps.append((place, there, law.answered(points, question, reference), 1.0))
    return steps


def _average(
    law: FittedLaw, points: Points, kinds: Mapping[int, str], factors: Sequence[Any], method: str
) -> Average:
    """Average effects, those on the first category that is shown first."""
    k, m = len(law.shown), len(kinds) + len(factors)
    value, gradient = np.zeros((k, m)), np.zeros((k, m, points.size))
    slopes = [(i, j) for i, (j, kind) in enumerate(kinds.items()) if kind == "slope"]
    found = marginal_effects(points, law.theta, [j for _, j in slopes], method)
    if slopes:
        places, shape = [i for i, _ in slopes], (-1, len(slopes))
        value[:, places] = found.value.reshape(shape)[law.shown]
        gradient[:, places] = found.gradient.reshape(*shape, points.size)[law.shown]
    of = means(points.outcome, method.startswith("ey"))
    for place, up, down, divisor in _steps(law, points, kinds, factors):
        gap = average(up, law.theta, of) - average(down, law.theta, of)
        value[:, place] = gap.value[law.shown] / divisor
        gradient[:, place] = gap.gradient[law.shown] / divisor
    return Average(value.ravel(), gradient.reshape(k * m, points.size))


def _each(
    law: FittedLaw, points: Points, kinds: Mapping[int, str], factors: Sequence[Any], method: str
) -> Array:
    """Effects in each row, (n, m), or (n, m, k) for several categories."""
    k, m = len(law.shown), len(kinds) + len(factors)
    value = np.zeros((points.n, k, m))
    slopes = [(i, j) for i, (j, kind) in enumerate(kinds.items()) if kind == "slope"]
    if slopes:
        found = effects_of_rows(points, law.theta, [j for _, j in slopes], method)
        value[:, :, [i for i, _ in slopes]] = found[:, law.shown]
    beta, of = law.theta[: points.n_outcome], means(points.outcome, method.startswith("ey"))
    chances = points.law(law.theta)[0]
    for place, up, down, divisor in _steps(law, points, kinds, factors):
        for c, (one, other) in enumerate(zip(up.designs, down.designs, strict=True)):
            gap = of(one.eta(beta))[0] - of(other.eta(beta))[0]
            value[:, :, place] += chances[:, c, None] * gap[:, law.shown] / divisor
    return np.asarray(value[:, 0] if k == 1 else value.transpose(0, 2, 1))
