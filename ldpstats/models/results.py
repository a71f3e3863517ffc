"""What the results of every fit have in common: an estimate, its covariance, linear hypotheses.

First the classes of results with the tests of contrasts, then what models of several kinds share:
labels of groups, warnings and notes.
"""

from __future__ import annotations

import math
import re
import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    Array,
    boolean,
    level,
    listed,
    numbers,
    one_of,
    positive_integer,
    record,
)
from ldpstats.errors import (
    BoundaryWarning,
    IncompleteListWarning,
    InvalidArgument,
    LDPWarning,
    NotAvailable,
)
from ldpstats.inference import tests as tests_
from ldpstats.inference.intervals import edge_normal, wald
from ldpstats.inference.tails import chi2_pvalue, standardised, two_sided
from ldpstats.inference.tests import TestResult, z_test
from ldpstats.labels import Labels, align, preview
from ldpstats.likelihood.covariance import Uncertain
from ldpstats.models.layout import (
    LONGEST_LABEL,
    WITHOUT_ERRORS,
    Body,
    Fit,
    Frame,
    Heading,
    Pair,
    Table,
    closing_notes,
    distinct_lines,
    estimator_text,
    in_blocks,
    joined,
    one_line,
    title,
)
from ldpstats.models.plots import LONGEST_LABEL as LONGEST_ROW
from ldpstats.models.plots import (
    axis_labels,
    draw_estimates,
    group_names,
    interval_name,
    plot_groups,
    plot_rows,
    shown_rows,
    sorts,
    title_text,
)
from ldpstats.models.storage import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ldpstats.inference.goodness import ReportSums
    from ldpstats.likelihood.covariance import Covariance

_ROUNDING = 1e-6  # of frequencies that sum to one
_FACTS = (
    *("method", "cov_type", "epsilon", "nobs", "n_missing", "k", "df_model", "df_resid"),
    *("llf", "aic", "bic", "converged"),
)
_COVARIANCE = {  # what a covariance rests on, in words
    "expected": "expected information",
    "observed": "observed information",
    "fpe16": "fpe16 (overstates)",
    "linear": "linear estimate",
    "dual": "dual of the likelihood",
    "sandwich": "sandwich, by the design",
}


class Labelled(Stored):
    """Estimates with a label each: how hypotheses and tables call them."""

    if TYPE_CHECKING:  # of kinds

        @property
        def index(self) -> Labels: ...

    @property
    def k(self) -> int:
        """Number of estimates."""
        return len(self.index)

    @property
    def terms(self) -> Labels:
        """Names of the estimates in hypotheses; labels of several variables joined by colons."""
        if not isinstance(self.index, pd.MultiIndex):
            return self.index
        terms: Labels = pd.Index(joined(self.index, ":"))
        return terms

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        return pd.Series(values, index=self.index, name=name)


class JointTable(Labelled):
    """Estimates of the cells of several variables, row-major, as tables."""

    if TYPE_CHECKING:  # of kinds

        @property
        def labels(self) -> tuple[Labels, ...]: ...
        @property
        def names(self) -> tuple[str, ...]: ...
        @property
        def bse(self) -> pd.Series[float]: ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """Categories of each variable."""
        return tuple(map(len, self.labels))

    def _table(self, values: Array, name: str) -> Any:
        """Values of the cells: a DataFrame, a Series of three or more variables."""
        if len(self.labels) > 2:
            return self._series(values, name)
        rows, columns = map(pd.Index.rename, self.labels, self.names)
        return Table(values.reshape(self.sizes), index=rows, columns=columns)

    @property
    def bse_table(self) -> Any:
        """Standard errors, or posterior standard deviations, of `table`."""
        return self._table(self.bse.to_numpy(), "bse")

    def _index_given(self, axis: int) -> pd.MultiIndex:
        """The cells with one variable first, in whose categories others have distributions."""
        order = [axis, *(v for v in range(len(self.sizes)) if v != axis)]
        labels, names = [self.labels[v] for v in order], [self.names[v] for v in order]
        return pd.MultiIndex.from_product(labels, names=names)


@dataclass(frozen=True, eq=False, kw_only=True)
class Results(Labelled, Fit):
    """Estimated frequencies and their uncertainty: what the results of every kind are.

    A kind has the fields of `Fit` and its own, and a label of each estimate by `index`; that gives
    intervals and tests by the normal law of the unconstrained estimate, tables, plot and storage.
    What it knows better it overrides: `conf_int`, `presence_pvalues`, the laws of contrasts; and of
    its summary `_heading`, `_interval_words`, `_notes`, `_body`, but never the layout.

    `params`, `bse` and `cov_params` describe the estimator that was asked for; tests rest on the
    unconstrained estimate (`linear_params`, `linear_cov`) whatever the estimator was.
    """

    @property
    @abstractmethod
    def index(self) -> Labels:
        """Labels of the k frequencies."""

    def __repr__(self) -> str:
        source = f"; {self.sources[0]}" if self.sources else ""
        return f"{type(self).__name__}({self.method}, k={self.k}, n={self.nobs}{source})"

    @property
    def fit(self) -> Fit:
        """The estimates and how they were made, without what the kind adds."""
        return Fit(**{field.name: getattr(self, field.name) for field in fields(Fit)})

    @property
    def params(self) -> pd.Series[float]:
        """Estimated frequencies by category."""
        return self._series(self.fitted.estimate, "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors of `params`; nan, with an `LDPWarning`, where there are none."""
        if words := self._without_errors:
            if self.linear.has_errors:
                words += ": linear_bse are those of linear_params"
            warnings.warn(words, LDPWarning, stacklevel=2)
        return self._series(self._se(self.fitted), "bse")

    def _se(self, which: Uncertain) -> Array:
        """Standard errors of one of the two estimates, (k,); nan where there are none."""
        return which.bse()

    @property
    def linear_params(self) -> pd.Series[float]:
        """The unconstrained linear estimate by category."""
        return self._series(self.linear.estimate, "linear_params")

    @property
    def linear_bse(self) -> pd.Series[float]:
        """Standard errors of `linear_params`; nan, with an `LDPWarning`, where there are none."""
        if not self.linear.has_errors:
            warnings.warn(WITHOUT_ERRORS["none (too large)"], LDPWarning, stacklevel=2)
        return self._series(self._se(self.linear), "linear_bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """`linear_params` over their standard errors; nan where these are zero or unknown.

        p-values do not come from them: they know the law of few reports.
        """
        se = self._se(self.linear)
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._series(np.where(se > 0.0, self.linear.estimate / se, np.nan), "tvalues")

    @property
    def linear_cov(self) -> pd.DataFrame:
        """Covariance matrix of `linear_params`, of the selected candidates where some were."""
        return self._frame(self.linear.known().matrix(), self.linear.places)

    def _frame(self, matrix: Array, at: Any = slice(None)) -> pd.DataFrame:
        return Table(matrix, index=self.index[at], columns=self.index[at])

    def cov_params(self, cov_type: str | None = None) -> pd.DataFrame:
        """Covariance matrix of `params`.

        Parameters
        ----------
        cov_type : {None, "default", "linear", "fpe16"}
            None or "default" gives the one chosen at `fit`; "linear" that of `linear_params`;
            "fpe16" the inverse information without the constraint that p sums to one, as FPE16
            III-C has it, which overstates by ``p p' / nobs``.

        Raises
        ------
        NotAvailable
            When it was not computed, or is too large to form.
        """
        given = "default" if cov_type is None else cov_type
        cov_type = one_of("cov_type", given, ("default", "linear", "fpe16"))
        if cov_type == "linear":
            return self.linear_cov
        if self.fitted.covariance is None:
            raise NotAvailable(
                f"{self._without_errors}: use linear_cov, which belongs to linear_params"
            )
        matrix = self.fitted.covariance.matrix()
        if cov_type == "fpe16" and self.cov_type != "fpe16":
            if self.cov_type != "expected":
                raise NotAvailable("refit with fit(cov_type='fpe16'): it needs the reports here")
            matrix = matrix + np.outer(self.fitted.estimate, self.fitted.estimate) / self.nobs
        return self._frame(matrix, self.fitted.places)

    def t_test(self, hypothesis: Any) -> Any:
        """Test linear combinations of the frequencies one by one, two-sided.

        Parameters
        ----------
        hypothesis : str, array, or pair (R, q)
            A string such as "nurse = cook", "nurse - cook = 0.1" or several joined by commas
            (labels that are not strings are written ``p[label]``); or R of shape (q, k), or
            (R, value), for R p = value.

        Returns
        -------
        statsmodels ContrastResults
            With `effect`, `sd`, `statistic`, `pvalue`, `conf_int()` and `summary_frame()`. Where
            the law of the estimate is known they are those of a score test: with the standard error
            and the skewness under the null, and the interval of all values that are not rejected.
            `sd` is the standard error at the estimate. In a complex sample they are those of the t
            law, with `tvalue` and `df_denom`; terms of domains are "north:nurse".

        Raises
        ------
        InvalidArgument
            For a hypothesis that cannot be read, or whose estimate has no sampling variance.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> float(results.t_test("a = b").pvalue.round(4))
        0.001
        """
        from ldpstats.models.contrasts import Contrasts, ScoreContrasts  # which take a while

        given, value = linear_hypothesis(hypothesis, self.terms)
        df = self._contrast_df(given)
        R, estimate, V = self.linear.restricted(given)
        effect, variance = R @ estimate, V.forms(R)
        scale = np.square(R).sum(axis=1) * float(V.variances().max())
        for row in np.flatnonzero(variance <= 1e-12 * scale).tolist():
            law = self._contrast_law(given[row])
            # a law tells how the estimate varies where the contrast has another value
            if law is None or law.is_fixed:
                raise InvalidArgument(
                    "hypothesis",
                    R[row].tolist(),
                    "is fixed by sum(p) = 1, or about categories that were never reported, of "
                    "which conf_int() tells more: there is nothing to test",
                )
        sd = np.sqrt(np.maximum(variance, 0.0))
        how: dict[str, Any] = {"effect": effect, "sd": sd, "value": value}
        if df is not None:
            how |= {"t": (effect - value) / sd, "df_denom": df if np.ptp(df) else float(df[0])}
            contrasts = Contrasts(distribution="t", **how)
        else:
            se, skewness, scored = sd.copy(), np.zeros(len(sd)), False
            for i, row in enumerate(given):  # one at a time: laws of many would fill the memory
                law = self._contrast_law(row)
                if law is not None:
                    scored = True
                    (se[i],), (skewness[i],) = law.at(np.clip(value[[i]], law.least, law.most))
            how |= {"statistic": np.array(z_test(effect, se, value)[0]), "distribution": "norm"}
            contrasts = ScoreContrasts(given, self._contrast_law, scored, **how)
            pvalue = two_sided(effect - value, se, skewness)
            contrasts.pvalue = pvalue.reshape(np.shape(contrasts.pvalue))
        contrasts.c_names = contrast_names(given, value, self.terms)
        return contrasts

    def _above_zero(self, p: Array, alpha: float, method: str) -> Labels:
        """Labels of the frequencies whose p-values, (k,), are rejected over all of them."""
        return self.index[np.asarray(tests_.reject(p, level(alpha), method))]

    def _contrast_law(self, row: Array) -> ContrastLaw | None:
        """The law of the contrast `row`, shape (k,); None where it is not known."""
        return None

    def _contrast_df(self, R: Array) -> Array | None:
        """Degrees of freedom of contrasts R, (q, k) -> (q,), of estimates with a t law."""
        return None

    def _null_law(self, R: Array, gap: Array) -> ReportSums | None:
        """The law of independent contrasts R, (q, k), under the null that `gap` is noise."""
        return None

    def _testing_covariance(self, estimated: Covariance) -> Covariance:
        """The covariance of the estimate that tells what is certain."""
        return estimated

    def wald_test(self, hypothesis: Any) -> TestResult:
        """Test several linear restrictions together.

        Redundant restrictions are removed by rank; the covariance has rank k - 1. Where the law of
        the reports is known this is a score test: the covariance is that at the likeliest
        frequencies under the null, and the p-value comes from the first three moments that the
        statistic has there, which allow for few reports. With many reports its law is chi-square,
        as it is taken to be where the law of the reports is not known (hashes, joint tables). The
        p-value of a single restriction is that of `t_test`. To test a whole distribution there is
        `FrequencyModel.test_distribution`. In a complex sample it is ``W (d - q + 1) / (d q)`` with
        an F law on q and d - q + 1 degrees of freedom, d those of the design; with few units rather
        use the Rao-Scott tests, which keep their size.

        Parameters
        ----------
        hypothesis : str, array, or pair (R, q)
            As in `t_test`.

        Raises
        ------
        InvalidArgument
            For restrictions that contradict each other or sum(p) = 1.
        NotAvailable
            For as many restrictions as the design of a sample has degrees of freedom.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> results = ldp.FrequencyModel(counts).fit()
        >>> print(results.wald_test("a = b, b = c"))
        Wald test on the unconstrained estimate, p-value by the law under the null
          H0: a = b, b = c
          statistic 43.4, df 2, p-value 3.765e-10
        """
        given, value = linear_hypothesis(hypothesis, self.terms)
        degrees = self._contrast_df(given)
        R, estimate, covariance = self.linear.restricted(given)
        try:
            V = self._testing_covariance(covariance)
            given, gap = tests_.independent(R, value, estimate, V)
        except InvalidArgument as error:  # which calls it by the name of an array
            raise InvalidArgument("hypothesis", hypothesis, error.remedy) from None
        words = hypothesis if isinstance(hypothesis, str) else f"R p = q, {len(R)} restriction(s)"
        how, statistic, q = (
            "Wald test on the unconstrained estimate",
            float(np.sum(gap**2)),
            gap.size,
        )
        if degrees is not None:
            from scipy.special import fdtrc

            df = float(degrees.min())
            below = df - q + 1.0
            if below <= 0.0:
                raise NotAvailable(
                    f"a Wald test of {q} restrictions: the design has {df:g} degrees of freedom; "
                    "test fewer at once, or use a Rao-Scott test"
                )
            F = statistic * below / (df * q)
            p, how = float(fdtrc(q, below, F)), "adjusted Wald F test on the unconstrained estimate"
            return TestResult(words, F, (float(q), below), p, how)
        row = np.zeros(self.k)
        row[self.linear.places] = given[0]
        one = self._contrast_law(row) if len(given) == 1 else None
        law = self._null_law(given, gap) if one is None else None
        if one is not None:
            (se,), (skewness,) = one.at(np.clip(given @ estimate - gap, one.least, one.most))
            statistic = float(standardised(gap, se)[0]) ** 2
            p = float(two_sided(gap, se, skewness)[0])
        elif law is not None:
            statistic, q, p = law.test(gap)
        else:
            p = float(chi2_pvalue(statistic, q))
        if one is not None or (law is not None and law.parts):
            how += ", p-value by the law under the null"
        return TestResult(words, statistic, float(q), p, how)

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Confidence intervals, columns "lower" and "upper", cut to [0, 1].

        The unconstrained estimate plus or minus normal quantile times its standard error.
        """
        estimate, se = self.linear.estimate, self.linear.every_bse()
        bounds = edge_normal(wald(estimate, se, level(alpha)), estimate, se, alpha)
        return pd.DataFrame(bounds, index=self.index, columns=["lower", "upper"])

    def _estimates_frame(self, alpha: float, intervals: pd.DataFrame | None = None) -> pd.DataFrame:
        """Both estimates, their standard errors and intervals; nan where none were computed.

        The default intervals may have been computed already.
        """
        if intervals is None and self._has_intervals:
            intervals = self.conf_int(alpha)
        fitted, linear = self.fitted, self.linear
        columns: dict[str, Any] = {"params": fitted.estimate, "bse": self._se(fitted)}
        columns |= {"linear": linear.estimate, "linear_se": self._se(linear)}
        for end in ("lower", "upper"):
            columns[end] = np.nan if intervals is None else intervals[end].to_numpy()
        return pd.DataFrame(columns, self.index)

    @property
    def _has_intervals(self) -> bool:
        return not np.isnan(self.linear.bse()[self.linear.places]).any()

    def _contradiction(self) -> str:
        total = float(self.fitted.estimate.sum())
        if self.is_maximum and not -_ROUNDING < 1.0 - total:
            return f"its frequencies sum to {total:.6g}"
        return super()._contradiction()

    # -- presentation ------------------------------------------------------------------------

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates.

        Returns
        -------
        DataFrame, one row per category; nan where no standard errors were computed
            "params", "bse", "linear", "linear_se", "lower", "upper" (default interval) and, of
            kinds that have `presence_pvalues`, "presence_pvalue" (one-sided, of 0 against above,
            not adjusted).
        """
        return self._estimates_frame(level(alpha))

    def _tidy(self, alpha: float) -> pd.DataFrame:
        frame = super()._tidy(alpha)
        if "p_value" not in frame:
            se = self.linear.bse()
            known = self._has_intervals
            frame["p_value"] = z_test(self.linear.estimate, se)[1] if known else np.nan
        return frame

    @property
    def _subject(self) -> str:
        return self.name or "frequency"

    def _facts(self) -> dict[str, Any]:
        facts = {"name": self.name, "mechanism": "; ".join(self.sources)}
        return facts | {name: getattr(self, name) for name in _FACTS}

    def _heading(self) -> Heading:
        several = len(self.sources) > 1 and bool(self.source_nobs)  # whose numbers are known
        sizes = [f", n = {n}" for n in self.source_nobs] if several else [""] * len(self.sources)
        heads = ["Mechanisms:" if several else "Mechanism:", *[""] * len(sizes)]
        left: list[Pair] = list(zip(heads, map(add, self.sources, sizes), strict=False))
        left += [("Estimator:", estimator_text(self)), ("Categories:", len(self.index))]
        name = "Epsilon, largest:" if len(self.sources) > 1 else "Epsilon (nats):"
        right = [("No. Reports:", self.nobs), ("Missing:", self.n_missing), (name, self.epsilon)]
        return title(self), left, right

    def _computed(self) -> tuple[list[Pair], list[Pair]]:
        """How the estimate was computed, and the likelihood at it, left and right of a header."""
        left: list[Pair] = [("Covariance:", _COVARIANCE.get(self.cov_type, self.cov_type))]
        left.append(("Gap to maximum:", f"{self.gap_nats:.2g} nats" if self.is_maximum else "-"))
        left += [("Iterations:", self.n_iter), ("Converged:", "yes" if self.converged else "NO")]
        numbers = ("Log-Likelihood:", self.llf), ("AIC:", self.aic), ("BIC:", self.bic)
        likely = [(name, f"{x:.2f}" if np.isfinite(x) else "-") for name, x in numbers]
        return left, [*likely, ("Df model:", self.df_model)]

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        return closing_notes(self, 1.0)

    def plot(
        self,
        ax: Axes | None = None,
        alpha: float = 0.05,
        truth: Any = None,
        sort: bool | str | None = None,
        most: int = 25,
        title: str | None = None,
    ) -> Axes:
        """Draw the estimates with their intervals, and the truth where the caller has it.

        Of candidates those that are `detected` at this alpha have full markers, others open ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        alpha : float
            One minus the coverage of the intervals.
        truth : Series or array, shape (k,), optional
            True frequencies to mark.
        sort : bool, optional
            Whether the largest estimate is on top; False (or "none") keeps the order of the
            categories, for ordered answers. Default: True, but False for bins of numbers.
        most : int
            Categories to draw at most: those with the largest estimates. A line says how many more
            there are.
        title : str, optional
            "" for none; by default the variable, its mechanism and the number of reports.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidArgument
            For a truth that does not fit the categories, an `ax` that is not a matplotlib Axes, or
            an invalid `sort`, `most` or `title`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([250, 420, 330])
        >>> ax = ldp.FrequencyModel(counts).fit().plot(title="Answers")
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['b', 'c', 'a']
        """
        frame, detected, k = self.summary_frame(level(alpha)), self._detected(alpha), self.k
        true = None
        if truth is not None:
            true = numbers("truth", align("truth", truth, self.index), f"must be {k} numbers", (k,))
            if not np.isfinite(true).all():
                remedy = "must be finite numbers, one for each category"
                raise InvalidArgument("truth", truth, remedy)
        most, several = positive_integer("most", most), len(self.sources) != 1
        source = f"{len(self.sources)} mechanisms" if several else self.sources[0]
        own = "\n".join(filter(None, [self.name, f"{source}, n = {self.nobs:,}"]))
        words = title_text(title, own)
        shown = shown_rows(frame["params"], frame["linear"], sorts(sort, self.index), most)

        def draw(ax: Axes, at: Array) -> None:
            marked = None if detected is None else detected[shown]
            draw_estimates(ax, at, frame.iloc[shown], interval_name(alpha), marked)
            if true is not None:
                ax.plot(true[shown], at, "d", color="C3", mfc="none", label="truth")

        labels = axis_labels(self.index[shown], LONGEST_ROW)
        return plot_rows(draw, labels, len(frame) - len(shown), ax, words, "frequency")

    def _detected(self, alpha: float) -> Array | None:
        """Which estimates a plot marks as above zero, (k,); None where it marks none."""
        return None


# -- Contrasts of frequencies as statsmodels shows them, with p-values that know small counts -----


_LONGEST_NAME = 60  # characters


@record
class ContrastLaw:
    """The law of the estimate of a contrast, whatever the contrast is, from `least` to `most`."""

    at: Callable[[Array], tuple[Array, Array]]  # standard error and skewness if it is v, (1,)
    least: float
    most: float
    is_fixed: bool = True  # without variance at any value where it has none at the estimate


def contrast_names(R: Array, value: Array, terms: pd.Index[Any]) -> list[str]:
    """The rows of R p = value in words: "nurse - cook", "nurse - 2 cook = 0.1"."""
    names = []
    for row, right in zip(R, value, strict=True):
        text = f" = {right:g}" if right else ""
        for i in np.flatnonzero(row)[::-1].tolist():
            label = terms[i] if isinstance(terms[i], str) else f"p[{terms[i]}]"
            size = "" if abs(row[i]) == 1.0 else f"{abs(row[i]):g} "
            text = f" {'-' if row[i] < 0.0 else '+'} {size}{label}{text}"
        text = text.replace(" - ", "-", 1) if text[1] == "-" else text.removeprefix(" + ")
        names.append(one_line(text, _LONGEST_NAME))
    return names


# -- Linear hypotheses about frequencies, from strings or arrays ----------------------------------


_HOW = (
    "write for example 'nurse = cook' or 'nurse - cook = 0.1' with category labels, or "
    "'p[nurse] = p[cook]' with p[...] around every label, as labels that are not strings always "
    "need; or pass R of shape (q, k), or the pair (R, value)"
)
_LARGEST = 1e100  # of which the square is still a number
_OPERATORS = "-+*/=,()"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def linear_hypothesis(hypothesis: Any, categories: Labels) -> tuple[Array, Array]:
    """Return R, shape (q, k), and value, shape (q,), of the hypothesis R p = value."""
    if not len(categories):
        raise InvalidArgument("hypothesis", hypothesis, "is about nothing: there is no frequency")
    texts = [hypothesis] if isinstance(hypothesis, str) else hypothesis
    if not (isinstance(texts, list) and all(isinstance(h, str) for h in texts)):
        return array_hypothesis(hypothesis, len(categories), _HOW)
    if not texts or not all(t.strip() for t in texts):
        raise InvalidArgument("hypothesis", hypothesis, f"is empty; {_HOW}")
    quoted = any("p[" in t for t in texts)
    if not quoted:  # a label may as well be a number or an expression in other labels
        labels = {v for v in categories if isinstance(v, str)}
        sizes = {len(label) for label in labels}
        for label in sorted(set().union(*(_occurring(t, labels, sizes) for t in texts))):
            if _is_expression(label, labels):
                remedy = (
                    f"is ambiguous: {label!r} is a label, but also reads as a number or an "
                    f"expression; write p[{label}], and p[...] around every other label"
                )
                raise InvalidArgument("hypothesis", hypothesis, remedy)
    names = [v if isinstance(v, str) and not quoted else f"p[{v}]" for v in categories.tolist()]
    places = dict(zip(names, range(len(names)), strict=True))
    if len(places) < len(names):  # 1 and "1", say
        reason = "several labels are written alike"
        raise InvalidArgument("hypothesis", hypothesis, f"cannot be read ({reason}); {_HOW}")
    lengths, rows, values = {len(name) for name in names}, [], []
    for one in texts:  # the parser is slow with many names: it gets those that occur, or the first
        known = sorted(_occurring(one, places, lengths)) or names[:1]
        coefs, constants = text_hypothesis(one, known, hypothesis, _HOW)
        R = np.zeros((len(coefs), len(names)))
        R[:, [places[name] for name in known]] = coefs
        rows.append(R)
        values.append(constants)
    return np.concatenate(rows), np.concatenate(values)


def array_hypothesis(hypothesis: Any, k: int, how: str) -> tuple[Array, Array]:
    """R, (q, k), and value, (q,), of arrays; `how` says how hypotheses are written."""
    pair = isinstance(hypothesis, tuple) and len(hypothesis) == 2
    R, value = hypothesis if pair else (hypothesis, 0.0)
    R = np.atleast_2d(numbers("hypothesis", R, how))
    value = numbers("hypothesis", value, how)
    if R.ndim != 2 or not len(R) or R.shape[1] != k:
        remedy = f"needs k = {k} columns; {how}"
        raise InvalidArgument("hypothesis", f"R of shape {R.shape}", remedy)
    if value.size not in (1, len(R)):
        remedy = f"has another number of rows than R, {len(R)}; {how}"
        raise InvalidArgument("hypothesis", f"value of shape {value.shape}", remedy)
    if not _are_finite(R, value):
        raise InvalidArgument("hypothesis", hypothesis, f"must be finite, at most {_LARGEST:g}")
    return R, np.broadcast_to(value.reshape(-1), (len(R),)).copy()


def _are_finite(*arrays: Array) -> bool:
    return all(np.max(np.abs(one), initial=0.0) <= _LARGEST for one in arrays)  # nor NaN


def text_hypothesis(
    text: str, known: Sequence[str], given: Any, how: str, hint: Callable[[], str] = str
) -> tuple[Array, Array]:
    """R, (q, m), and value, (q,), of equations in text about `known` names, as patsy reads it.

    Errors quote what was `given`, with a `hint` and `how` hypotheses are written.
    """
    from patsy import DesignInfo, PatsyError

    try:
        with np.errstate(all="ignore"):  # what a division by zero leaves is refused below
            constraint = DesignInfo(known).linear_constraint(text)
    except (PatsyError, AssertionError, IndexError, ValueError) as error:
        reason = (str(error).splitlines() or ["no linear equation"])[0]
        remedy = f"cannot be read ({reason}{hint()}); {how}"
        raise InvalidArgument("hypothesis", given, remedy) from None
    R, value = np.asarray(constraint.coefs), np.asarray(constraint.constants).reshape(-1)
    if not _are_finite(R, value):
        raise InvalidArgument("hypothesis", given, "must be finite: does it divide by zero?")
    return R, value


def _occurring(text: str, names: Collection[str], lengths: Collection[int]) -> set[str]:
    """The names that are somewhere in a text: looked up by every part of it of a name's length."""
    parts = (text[i : i + n] for n in lengths for i in range(len(text) - n + 1))
    return {part for part in parts if part in names}


def _is_expression(text: str, labels: set[str]) -> bool:
    """Whether text can be read as operators, numbers and other labels than itself, or is empty."""
    parts = re.split(f"([{re.escape(_OPERATORS)}])", text)
    readable = {0}  # the lengths of the beginnings that can be read
    for end in range(1, len(parts) + 1):
        for part in ["".join(parts[start:end]).strip() for start in readable]:
            if part in labels - {text} or part in _OPERATORS or _NUMBER.fullmatch(part):
                readable.add(end)
    return len(parts) in readable


# -- Labels of groups: a value, or a tuple of them where several columns make the groups ----------


Label = tuple[Any, ...]


def group_columns(by: object) -> tuple[str, ...]:
    """Names of the columns that make the groups."""
    remedy = 'must be the names of the columns that make the groups, for example ("region",)'
    names = [by] if isinstance(by, str) else listed("by", by, remedy)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgument("by", by, remedy)
    if len(set(names)) < len(names):
        raise InvalidArgument("by", by, "names a column twice")
    return tuple(map(str, names))


def group_label(label: object, by: tuple[str, ...]) -> Label:
    """The label of a group as a tuple with a value for each column."""
    values = label if isinstance(label, tuple) else (label,)
    if len(values) != len(by):
        one = "one value" if len(by) == 1 else f"a tuple of {len(by)} values"
        raise InvalidArgument("groups", label, f"must be labelled by {one}: {', '.join(by)}")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in plain:  # as JSON has them
        if not isinstance(value, int | str) and not (
            isinstance(value, float) and math.isfinite(value)
        ):
            remedy = "must be labelled by text, finite numbers, True or False: convert it"
            raise InvalidArgument("groups", label, remedy)
    return tuple(str(value) if isinstance(value, str) else value for value in plain)


def labelled(groups: object, by: tuple[str, ...]) -> dict[Label, Any]:
    """The data of each group by its label."""
    remedy = "must be a mapping of labels to reports, for example {'north': a, 'south': b}"
    if not isinstance(groups, Mapping) or not groups:
        raise InvalidArgument("groups", groups, remedy)
    by_label: dict[Label, Any] = {}
    for label, data in groups.items():
        key = group_label(label, by)
        if key in by_label:
            raise InvalidArgument("groups", label, "labels two groups")
        by_label[key] = data
    return by_label


def user_label(label: Label) -> Hashable:
    """The label as users write it: a value, or a tuple of several."""
    return label[0] if len(label) == 1 else label


def group_place(
    argument: str, label: object, labels: Sequence[Label], by: tuple[str, ...], what: str = "group"
) -> int:
    """The place of a label that an argument gives."""
    try:
        return labels.index(group_label(label, by))
    except ValueError:
        known = ", ".join(repr(user_label(one)) for one in labels[:5])
        more = ", ..." if len(labels) > 5 else ""
        raise InvalidArgument(argument, label, f"must be a {what}: {known}{more}") from None


def worded(label: Label, by: tuple[str, ...]) -> str:
    """The label as messages have it: region='north', year=2024."""
    return ", ".join(f"{name}={value!r}" for name, value in zip(by, label, strict=True))


def several_worded(labels: Sequence[Label], by: tuple[str, ...], most: int = 5) -> str:
    """The first of some labels as messages have them, and how many more there are."""
    more = f"; and {len(labels) - most} more" if len(labels) > most else ""
    return "; ".join(worded(label, by) for label in labels[:most]) + more


def group_index(labels: Sequence[Label], by: tuple[str, ...]) -> Labels:
    """Labels of groups as an index."""
    if len(by) != 1:
        return pd.MultiIndex.from_tuples(labels, names=by)
    one: Labels = pd.Index([label[0] for label in labels], name=by[0])
    return one


def stacked_index(
    labels: tuple[Label, ...], categories: Labels, by: tuple[str, ...], name: str
) -> pd.MultiIndex:
    """Every category of every group."""
    g, k = len(labels), len(categories)
    columns = [pd.Index(values).repeat(k) for values in zip(*labels, strict=True)]
    rows = categories.take(np.tile(np.arange(k), g))  # which keep their type
    free = (one for one in (name, "category", "answer") if one and one not in by)
    level = next(free, f"answer by {', '.join(by)}")
    return pd.MultiIndex.from_arrays([*columns, rows], names=[*by, level])


class ByGroup(Stored):
    """Frequencies of one variable in labelled groups of respondents: tables, summary and plots."""

    _group: ClassVar[str] = "group"  # what the kind calls one

    if TYPE_CHECKING:  # of kinds
        name: str

        @property
        def by(self) -> tuple[str, ...]: ...
        @property
        def labels(self) -> tuple[Label, ...]: ...
        @property
        def categories(self) -> Labels: ...
        @property
        def _sizes(self) -> list[int]: ...

    @property
    def groups(self) -> Labels:
        """Labels of the groups that were fitted."""
        return group_index(self.labels, self.by)

    @property
    def sizes(self) -> pd.Series[int]:
        """Number of reports in each group."""
        return pd.Series(self._sizes, index=self.groups if self.by else None, name="nobs")

    def _position(self, name: str, label: Any) -> int:
        return group_place(name, label, self.labels, self.by, self._group)

    def _places(self, shown: Frame) -> list[int]:
        """The group of each row of a summary."""
        every = stacked_index(self.labels, self.categories, self.by, self.name)
        return (every.get_indexer(shown.index) // len(self.categories)).tolist()

    def _panels(self, alpha: float, category: Any, ax: Axes | None, figure: Any, **how: Any) -> Any:
        """Each group on axes of its own, or one category on one axes with a line for each."""
        frame, known, sizes = self.summary_frame(alpha), self.categories, self._sizes
        groups, k = f"by {', '.join(self.by)}", len(known)
        if category is None:
            if ax is not None:
                remedy = "goes with category=: pass figure= for all categories"
                raise InvalidArgument("ax", ax, remedy)
            frames = {}
            for i, one in enumerate(self.labels):
                frames[one] = frame.iloc[i * k : (i + 1) * k].set_axis(known)
            default = f"{self.name} {groups}".lstrip()
            return plot_groups(frames, alpha, default=default, sizes=sizes, figure=figure, **how)
        if figure is not None:
            raise InvalidArgument("figure", figure, "is for all categories: pass ax= for one")
        default = f"{self.name}{': ' * bool(self.name)}{category}, {groups}"
        words, most = title_text(how["title"], default), positive_integer("most", how["most"])
        label = category.item() if isinstance(category, np.generic) else category
        # of another type, as 1 for True, are others
        at = [i for i, one in enumerate(known) if type(one) is type(label) and one == label]
        if not at:
            raise InvalidArgument("category", label, f"must be one of {preview(known)}")
        rows, names = frame.iloc[at[0] :: k], pd.Index(group_names(self.labels))
        shown = shown_rows(rows["params"], rows["params"], sorts(how["sort"], names), most)
        short = axis_labels(names[shown], LONGEST_ROW)
        lines = [f"{one}, n = {sizes[i]:,}" for one, i in zip(short, shown, strict=True)]
        draw = partial(draw_estimates, frame=rows.iloc[shown], interval=interval_name(alpha))
        of = f"frequency of {axis_labels([category], LONGEST_ROW)[0]}"
        return plot_rows(draw, lines, len(rows) - len(shown), ax, words, of)

    def _by_group(self, parts: list[Any]) -> pd.DataFrame:
        """A row for each group, or several, of a Series or a table of each."""
        if isinstance(parts[0], pd.Series):
            return pd.DataFrame(parts).set_axis(self.groups)
        return pd.DataFrame(pd.concat(parts, keys=list(self.groups), names=[*self.by, "q"]))

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        """A block of rows for each group, under its label and number of reports."""
        heads, stubs, cells = super()._body(shown, heads, cells)
        if not self.by:
            return heads, stubs, cells
        own, lines = self._places(shown), distinct_lines(self.categories, LONGEST_LABEL)
        places = list(dict.fromkeys(own))
        names = (", ".join(map(str, self.labels[place])) for place in places)
        named = zip(places, distinct_lines(names, LONGEST_LABEL), strict=True)
        blocks = {place: f"{name} (n = {self._sizes[place]})" for place, name in named}
        rows = self.categories.get_indexer(shown.index.get_level_values(-1))
        return heads, *in_blocks(blocks, own, [lines[row] for row in rows], cells)


def compared(
    groups: tuple[Sequence[Label], tuple[str, ...]],
    categories: Labels,
    name: str,
    asked: tuple[Any, object, Callable[[Any], int]],
    rows: Callable[[list[tuple[int, int]]], pd.DataFrame],
) -> pd.DataFrame:
    """Differences of labelled groups by columns: every category of `name` in pairs of them.

    `asked` are the reference, whether all pairs are compared instead, and what finds the place of a
    reference, the first by default. `rows` has "estimate" and "pvalue" of pairs; added is Holm's
    adjustment for all rows. The reference is named where there are several.
    """
    (labels, by), (reference, all_pairs, place), g = groups, asked, len(groups[0])
    if boolean("all_pairs", all_pairs):
        if reference is not None:
            remedy = "goes without all_pairs=True, which compares every pair"
            raise InvalidArgument("reference", reference, remedy)
        pairs = [(i, j) for j in range(g) for i in range(j + 1, g)]
        shown = tuple(labels[i] + labels[j] for i, j in pairs)
        by = (*by, *(f"{one} (reference)" for one in by))
    else:
        at = 0 if reference is None else place(reference)
        pairs = [(i, at) for i in range(g) if i != at]
        shown = tuple(labels[i] for i, _ in pairs)
    table = rows(pairs)
    known = table["pvalue"].notna()
    if known.any():
        estimate, p = (table.loc[known, column].to_numpy() for column in ("estimate", "pvalue"))
        holm = tests_.adjusted_differences(estimate, p, len(categories))
        table.loc[known, "pvalue_holm"] = holm
    else:
        table["pvalue_holm"] = np.nan
    return table.set_axis(stacked_index(shown, categories, by, name))


# -- Warnings of intervals whose coverage fails where an estimate is zero or a list incomplete ----


def warn_of_method(method: str, on_boundary: bool, is_incomplete: bool = False) -> None:
    """Warn whoever calls `conf_int` where intervals of this method do not keep their coverage."""
    if is_incomplete:
        warnings.warn(
            f"method={method!r} assumes that the candidates are the only possible answers, but "
            "the reports indicate others; the default interval assumes no such thing",
            IncompleteListWarning,
            stacklevel=4,
        )
    if on_boundary:
        warnings.warn(
            f"method={method!r} with an estimate of zero: its coverage is not the nominal one "
            "on the boundary; the default interval keeps its coverage",
            BoundaryWarning,
            stacklevel=4,
        )


# -- What summaries say of respondents who were left out ------------------------------------------


def missing_notes(
    nobs: int, n_missing: int, names: Sequence[str], lacking: Sequence[int]
) -> list[str]:
    """How many respondents were left out, and which reports they lacked, where that is known."""
    if not n_missing:
        return []
    pairs = zip(lacking, names, strict=False)  # not known of all fits
    lacked = ", ".join(f"{size} lacked {one_line(name, 40)}" for size, name in pairs if size)
    return [
        f"NOTE: {n_missing} of {nobs + n_missing} respondents were left out, because a report was "
        f"missing{': ' + lacked if lacked else ''}."
    ]
