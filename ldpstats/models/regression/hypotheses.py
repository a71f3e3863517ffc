"""Results with a covariance: Wald and score tests of linear hypotheses, and naive coefficients.

Coefficients, predictions and margins are such results. A Wald test of
R b = value takes ``(R b - value)' (R V R')^-1 (R b - value)``, by rank; with degrees of freedom of
each contrast it is the approximate Hotelling test ("HTZ"). Results have the form of statsmodels.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, did_you_mean, level
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.estimators.regression import least_squares, search
from ldpstats.inference.tests import pvalue_text
from ldpstats.labels import Codes, Labels
from ldpstats.likelihood.predictors import start, units
from ldpstats.likelihood.regression import (
    Categorical,
    Normal,
    Outcome,
    RegressionLikelihood,
    Seen,
    predictors_of,
    scaled,
)
from ldpstats.models.contrasts import Contrasts
from ldpstats.models.layout import (
    LONGEST_LABEL,
    Body,
    Cells,
    Frame,
    Table,
    Tabulated,
    decimals,
    distinct_lines,
    figures,
    in_blocks,
    interval_columns,
    one_line,
)
from ldpstats.models.results import array_hypothesis, contrast_names, text_hypothesis
from ldpstats.reports.single import Reports

Degrees = float | Callable[[Array], float] | None  # of contrasts, which may have their own

_HOW = (
    "write for example 'x1 = x2' or 'x1 - 2 * x2 = 0.1, x3 = 0' with names of coefficients; or "
    "pass R of shape (q, p), or the pair (R, value), for R b = value"
)
_WIDEST = 1e6  # beyond, estimates have an exponent
_LEAST = 1e-13  # of a variance, relative to its terms, that is rounding
_RANK = 1e-10
_SINGULAR = 1e-10  # information on a coefficient, beside the others, relative to that without them


class WaldResults(Tabulated):
    """Estimates with their covariance: tables of them, Wald intervals and tests.

    A kind gives its labels, values and covariance, and what its summary says of them.
    """

    _head, _noun = "coef", "coefficients"  # what the summary calls them
    _untested: Any = ()  # names that nobody tests

    @property
    @abstractmethod
    def index(self) -> Labels:
        """Labels of the estimates; by equation and name of a multinomial logit."""

    @property
    @abstractmethod
    def _estimated(self) -> tuple[Array, Array]:
        """Values, (m,), and their covariance, (m, m)."""

    @property
    @abstractmethod
    def degrees(self) -> Degrees:
        """Degrees of freedom of contrasts of what is shown; None for normal quantiles."""

    @property
    def _names(self) -> list[str]:
        """Names of the coefficients in hypotheses, equation by equation."""
        return [": ".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in self.index]

    def _shaped(self, values: Array, name: str) -> Any:
        """A number for each estimate, as `params` has them."""
        return pd.Series(values, index=self.index, name=name)

    @property
    def params(self) -> Any:
        """The estimates."""
        return self._shaped(self._estimated[0], "params")

    @property
    def bse(self) -> Any:
        """Standard errors, shaped as `params`; nan for infinite estimates."""
        return self._shaped(np.sqrt(np.maximum(np.diagonal(self._estimated[1]), 0.0)), "bse")

    @property
    def tvalues(self) -> Any:
        """Estimates over their standard errors; nan where these are zero."""
        values, se = map(flat, (self.params, self.bse))
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._shaped(np.where(se > 0.0, values / se, np.nan), "tvalues")

    @cached_property
    def df_inference(self) -> Any:
        """Degrees of freedom of each estimate's t quantile, shaped as `params`.

        Infinite for normal quantiles; nan where single clusters determine a coefficient, so that
        its variance cannot be estimated.
        """
        df, size = self.degrees, len(self.index)
        each = np.full(size, np.inf if df is None or callable(df) else df)
        if callable(df):
            each = np.array([df(row[None, :]) for row in np.eye(size)])
        return self._shaped(each, "df")

    @property
    def _each_df(self) -> Any:
        """Degrees of freedom of t quantiles: one, those of what is shown, or None for normal."""
        df = self.degrees
        return flat(self.df_inference) if callable(df) else df

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values of estimates of zero."""
        p = t_pvalues(flat(self.tvalues), self._each_df)
        return self._shaped(p, "pvalues")

    def cov_params(self) -> pd.DataFrame:
        """Covariance of the estimates, (m, m); equation by equation (multinomial)."""
        return Table(self._estimated[1], index=self._names, columns=self._names)

    def _bounds(self, alpha: float) -> Array:
        """Intervals, (m, 2)."""
        center, V = self._estimated
        half = t_quantile(alpha, self._each_df) * np.sqrt(np.maximum(np.diagonal(V), 0.0))
        return np.column_stack([center - half, center + half])

    def conf_int(self, alpha: float = 0.05) -> Any:
        """Intervals, columns "lower" and "upper"."""
        ends = self._bounds(level(alpha))
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    def t_test(self, hypothesis: Any) -> Any:
        """Wald tests of linear hypotheses, one by one.

        Parameters
        ----------
        hypothesis : str, list of str, array, or pair
            As in statsmodels: "x1 = x2, x3 = 0", a matrix R, or (R, value). Coefficients of a
            multinomial logit are named as in `cov_params`. Terms of several coefficients, such as
            C(region), are tested by `term_tests` and `score_test`.

        Examples
        --------
        >>> import numpy as np, ldpstats as ldp
        >>> reports = ldp.Observed([0, 1, 2]).parse("answer", [0, 1, 2, 1, 1])
        >>> result = ldp.PrivatizedOLS(reports, np.ones((5, 1))).fit()
        >>> float(result.t_test("const = 0").pvalue.round(3))
        0.034
        """
        (params, covariance), df = self._estimated, self.degrees
        R, value = self._hypothesis(hypothesis)
        covariance = _needed(covariance, R)
        variance = np.einsum("ij,jk,ik->i", R, covariance, R)
        none = variance <= _LEAST * np.einsum("ij,j,ij->i", R, np.diag(covariance), R)
        if none.any():
            row = R[int(np.argmax(none))].tolist()
            raise NotAvailable(
                f"the contrast {row} has no sampling variance: there is nothing to test"
            )
        effect, sd = R @ params, np.sqrt(variance)
        statistic = (effect - value) / sd
        if df is None:
            tests = Contrasts(effect=effect, statistic=statistic, sd=sd, distribution="norm")
        else:
            each = np.array([df(row[None, :]) for row in R]) if callable(df) else df
            tests = Contrasts(effect=effect, t=statistic, sd=sd, df_denom=each)
        tests.c_names = contrast_names(R, value, pd.Index(self._names))
        return tests

    def wald_test(self, hypothesis: Any) -> Any:
        """Wald test of linear hypotheses together, see `t_test`.

        With few clusters the F distribution is that of the approximate Hotelling test ("HTZ").
        """
        return wald_contrast(*self._estimated, *self._hypothesis(hypothesis), self.degrees)

    def _hypothesis(self, hypothesis: Any) -> tuple[Array, Array]:
        """R, (q, p), and value, (q,), of R b = value; text may have names in backquotes."""
        names = self._names
        texts = [hypothesis] if isinstance(hypothesis, str) else hypothesis
        if not (isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)):
            R, value = array_hypothesis(hypothesis, len(names), _HOW)
        elif not all(text.strip() for text in texts):
            raise InvalidArgument("hypothesis", hypothesis, f"is empty; {_HOW}")
        else:
            known = set(names)

            def plain(text: str) -> str:
                return re.sub("`([^`]*)`", lambda m: m[1] if m[1] in known else m[0], text)

            def hint() -> str:
                words = re.findall(r"[^\W\d][\w.\[\]:]*", " ".join(map(plain, texts)))
                hints = (did_you_mean(word, tuple(names)) for word in words if word not in known)
                return next(filter(None, hints), "")

            read = [text_hypothesis(plain(t), [*names], hypothesis, _HOW, hint) for t in texts]
            R, value = (np.concatenate(parts) for parts in zip(*read, strict=True))
        if not R.any(axis=1).all():
            raise InvalidArgument(
                "hypothesis", hypothesis, f"has a row without a coefficient; {_HOW}"
            )
        return R, value

    def _tidy(self, alpha: float) -> pd.DataFrame:
        each = map(flat, (self.params, self.bse, self.pvalues, self.tvalues))
        table = np.column_stack([*each, self._bounds(alpha)])
        columns = ["estimate", "std_error", "p_value", "t", "lower", "upper"]
        return pd.DataFrame(table, index=self.index, columns=columns)

    def _coefficients(self) -> pd.DataFrame:
        return self._tidy(0.05)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of "params", "bse", "lower", "upper" and "pvalues"."""
        frame = self._tidy(level(alpha))[["estimate", "std_error", "lower", "upper", "p_value"]]
        return frame.set_axis(["params", "bse", "lower", "upper", "pvalues"], axis=1)

    # -- the summary -----------------------------------------------------------------------------

    def _rows(self, alpha: float, max_rows: int = 0) -> tuple[Frame, Frame]:
        frame = self._tidy(alpha)
        return frame, frame

    def _largest(self, frame: Frame, max_rows: int) -> tuple[Frame, list[str]]:
        if (n := len(frame)) <= max_rows:
            return frame, []
        return frame.iloc[:max_rows], [f"Shown: the first {max_rows} of {n} {self._noun}."]

    def _estimate_cells(self, shown: Frame, frame: Frame, alpha: float, details: bool) -> Cells:
        letter = "z" if self.degrees is None else "t"
        digits, cells = decimals(shown["std_error"].to_numpy()), []
        columns = ["estimate", "std_error", "lower", "upper", "t", "p_value"]
        for name, (*values, t, p) in zip(shown.index, shown[columns].to_numpy(), strict=True):
            pairs = zip(values, figures(values, digits), strict=True)
            texts = [f"{v:.4g}" if _WIDEST <= abs(v) < np.inf else text for v, text in pairs]
            tests = ["", ""] if name in self._untested else [*figures([t], 2), pvalue_text(p)]
            cells.append([*texts[:2], *tests, *texts[2:]])
        heads = [self._head, "std err", letter, f"P>|{letter}|", *interval_columns(alpha)]
        return heads, cells, ""

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        """Of pairs of labels a block of rows for each first one."""
        place, names = pd.factorize(shown.index.get_level_values(-1))
        lines = distinct_lines([*names], LONGEST_LABEL)
        stubs = [lines[i] for i in place]
        if not isinstance(shown.index, pd.MultiIndex):
            return heads, stubs, cells
        of = shown.index.get_level_values(0).tolist()
        blocks = {label: f"{one_line(label, LONGEST_LABEL)}:" for label in of}
        return heads, *in_blocks(blocks, of, stubs, cells)


def flat(values: Any) -> Array:
    """Numbers that are shaped as `params`, (m,), equation by equation."""
    return np.asarray(values, dtype=np.float64).T.ravel()


# -- tests -------------------------------------------------------------------------------------


def t_quantile(alpha: float, df: Any) -> Any:
    """The two-sided quantile of t distributions; None for the normal one."""
    from scipy.special import ndtri, stdtrit

    return -(ndtri(alpha / 2.0) if df is None else stdtrit(df, alpha / 2.0))


def t_pvalues(z: Array, df: Any) -> Array:
    """Two-sided p-values of t statistics; by the normal law where df is None."""
    from scipy.special import ndtr, stdtr

    below = -np.abs(z)
    return np.asarray(2.0 * (ndtr(below) if df is None else stdtr(df, below)))


def wald_contrast(
    params: Array, covariance: Array, R: Array, value: Array, df: Degrees
) -> Contrasts:
    """Wald test of R b = value: F with `df`, chi-square without, HTZ with those of contrasts."""
    covariance = _needed(covariance, R)
    V = R @ covariance @ R.T
    scale = np.sqrt(np.einsum("ij,j,ij->i", R, np.diag(covariance), R))
    if not scale.all():
        raise NotAvailable("the hypothesis is about a coefficient that has no sampling variance")
    gap = (R @ params - value) / scale
    size, vectors = np.linalg.eigh(V / np.outer(scale, scale))
    kept = size > _RANK * size.max(initial=0.0)  # rows that the others imply are left out
    rest = vectors[:, ~kept].T @ gap
    if np.any(np.abs(rest) > 1e-6 * max(1.0, float(np.abs(gap).max()))):
        remedy = "its rows contradict each other, or some have no sampling variance"
        raise InvalidArgument("hypothesis", R.tolist(), remedy)
    statistic = float(np.sum((vectors[:, kept].T @ gap) ** 2 / size[kept]))
    rank = int(kept.sum())
    if df is None:
        return Contrasts(statistic=statistic, df_denom=rank, distribution="chi2")
    F, left = statistic / rank, df
    if callable(df):
        together = df(vectors[:, kept].T @ (R / scale[:, None]))
        left = together - rank + 1.0
        if not left > 0.0:
            raise NotAvailable(
                f"{rank} hypotheses together: the clusters, or respondents, that have information "
                "on these coefficients are too few: test fewer, or one at a time by t_test"
            )
        F = F * left / together
    return Contrasts(F=F, df_denom=left, df_num=rank)


def _needed(covariance: Array, R: Array) -> Array:
    """The covariance, of which only what R needs must be finite."""
    needed = R.any(axis=0)
    if not np.isfinite(covariance[np.ix_(needed, needed)]).all():
        raise NotAvailable(
            "the hypothesis is about a coefficient whose standard error is not finite: leave it "
            "out, or fit with penalty='jeffreys' where the maximum is at infinity"
        )
    return np.where(np.outer(needed, needed), covariance, 0.0)


def partial_score(score: Array, information: Array, at: Array) -> float | None:
    """Score statistic of the parameters at these places; None where information is singular."""
    free = ~np.isin(np.arange(score.size), at)
    inner, scale = scaled(information)
    rest = inner[np.ix_(at, at)]
    if free.any():
        cross = inner[np.ix_(at, free)]
        rest = rest - cross @ np.linalg.lstsq(inner[np.ix_(free, free)], cross.T, rcond=1e-12)[0]
    if np.linalg.eigvalsh(rest)[0] <= _SINGULAR:
        return None
    u = score[at] / scale[at]
    return float(u @ np.linalg.solve(rest, u))


# -- what one finds who takes the reports for the answers --------------------------------------


def reported_codes(groups: Sequence[Reports], labels: Labels) -> Codes:
    """The category that each respondent reported, (n,), if reports are named like categories."""
    for group in groups:
        mechanism = group.mechanism
        outputs = getattr(mechanism, "outputs", None)
        if mechanism.n_bits or mechanism.n_cohorts or outputs is None or not labels.equals(outputs):
            kind = "bits" if mechanism.n_bits else "codes other than the categories"
            raise NotAvailable(
                f"the reports of {mechanism} are {kind}, which nobody could take for answers: "
                "there is no naive estimate to compare with"
            )
    return np.concatenate([group.y.astype(np.int64) for group in groups])


def naive_params(
    outcome: Outcome,
    designs: Sequence[Array],
    response: Array,
    configuration: Codes | None = None,
    weights: Array | None = None,
    offset: Array | None = None,
) -> Array:
    """Parameters, (P,), of the model of statsmodels with reports in place of the answers.

    `designs` are the covariates, (n, p), in each configuration of the private predictors, and
    `configuration` the reported one, (n,). Of a number the coefficients alone.
    """
    n, X = len(response), designs[0]
    if configuration is not None:
        X = np.stack(designs)[configuration, np.arange(n)]
    w = np.ones(n) if weights is None else weights
    if np.linalg.matrix_rank(X * np.sqrt(w)[:, None]) < X.shape[1]:
        raise NotAvailable("the covariates as reported are linear combinations of each other")
    if isinstance(outcome, Normal):
        y = response if offset is None else response - offset
        return least_squares(X, y, w, np.ones(n)).beta
    seen: Any = response
    if isinstance(outcome, Categorical):
        seen = Seen(np.eye(outcome.k), np.asarray(response, dtype=np.int64))
    whole = RegressionLikelihood(outcome, (predictors_of(outcome, X, offset),), seen, w)
    top = search(whole, start(whole), units(whole), concave=True)
    if top.flat is not None or not top.maximum.converged:
        raise NotAvailable("the naive estimate is at infinity: the covariates separate the reports")
    return top.maximum.theta
