"""Small areas: privatised estimates of many groups, each improved by what the others tell.

The direct estimates are unbiased, and their variances follow from the channel and the design, as
the area-level model of Fay and Herriot (1979, Journal of the American Statistical Association 74,
269-277) needs them. First what `small_areas` of grouped frequencies returns, then the model as a
function of arrays, then how areas are matched with the rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, level, positive_integer, record
from ldpstats.documents import Document
from ldpstats.errors import InvalidArgument, NotAvailable, NotIdentified
from ldpstats.estimators.solvers import root
from ldpstats.inference.intervals import edge_normal, wald
from ldpstats.inference.tests import pvalue_text, z_test
from ldpstats.labels import Labels, position, preview
from ldpstats.likelihood.covariance import Covariance, Uncertain
from ldpstats.models.layout import (
    ESTIMATES,
    LONGEST_LABEL,
    PARTLY_PROTECTED,
    Frame,
    Heading,
    Pair,
    SummaryTable,
    count_of,
    decimals,
    distinct_lines,
    figures,
    header,
    interval_columns,
    interval_note,
    one_line,
)
from ldpstats.models.plots import LONGEST_LABEL as LONGEST_ROW
from ldpstats.models.plots import (
    axis_labels,
    draw_estimates,
    interval_name,
    plot_rows,
    shown_rows,
    sorts,
    title_text,
)
from ldpstats.models.regression.formulas import (
    Factor,
    Formula,
    Spec,
    as_frame,
    columns_of,
    formula_engine,
    known_names,
    names_of,
    one_sided,
)
from ldpstats.models.results import (
    Label,
    group_index,
    group_label,
    several_worded,
    user_label,
    worded,
)
from ldpstats.models.storage import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 40  # areas that a plot shows
_SPARE = 3  # areas beyond the coefficients without which nothing is known of their variance
_FEW = 15  # beyond the coefficients, from which on that variance is not rough


@record
class SmallAreas(Stored):
    """Small area estimates of one category of a privatised variable.

    Each area's estimate lies between its direct one and the prediction of a regression on area
    covariates, the nearer to the direct one the less noise that has: the empirical best linear
    unbiased predictor (EBLUP) of Fay and Herriot's model. Direct estimates are the unconstrained
    ones, which are unbiased and may leave [0, 1]; so may the EBLUP.

    Attributes
    ----------
    mse : DataFrame
        The three terms of each mean square error, "g1", "g2" and "g3", and their sum "mse"; "g4",
        which benchmarking adds, and the sum with it, "benchmarked".
    areas : AreaFit
        The arrays: direct estimates, their variances, predictions, the variance between areas.

    Notes
    -----
    The direct estimate of area i is ``theta_i + e_i`` with ``theta_i = x_i' beta + u_i``; u has the
    variance A in all areas, e the variance D_i of sampling and randomisation. D_i depends on the
    frequency. At the direct estimate of a small area it would be noisy and correlated with it, so
    that it is taken at the model's own prediction, averaged over u, and found together with it. Of
    a complex sample the variance is that of a simple one times one design effect for all areas.

    A maximises the restricted likelihood (REML). Where that is largest at zero, which would make
    every area its mere prediction with next to no error, A maximises the adjusted likelihood of
    Yoshimori and Lahiri (2014), which is never zero; the summary says so. Intervals are averaged
    over the likelihood of A, see `AreaFit.bounds`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, ldpstats as ldp
    >>> rng, warner = np.random.default_rng(5), ldp.Warner(epsilon=1.0)
    >>> towns = pd.DataFrame({"town": [f"t{i}" for i in range(30)], "poor": rng.random(30)})
    >>> share = np.repeat(0.1 + 0.3 * towns["poor"] + rng.normal(0, 0.03, 30), 150)
    >>> ill = np.where(rng.random(4500) < share, "yes", "no")
    >>> table = pd.DataFrame({"town": np.repeat(towns["town"], 150), "ill": ill})
    >>> sheet = ldp.Questionnaire({"ill": warner})
    >>> survey = ldp.Survey(sheet.privatize(table, rng), sheet)
    >>> areas = survey.frequencies("ill", by="town").small_areas("~ poor", towns, "yes")
    >>> areas
    SmallAreas(30 areas by town, ~ poor, n=4500)
    >>> bool(areas.bse.mean() < 0.7 * areas.summary_frame()["direct_se"].mean())
    True
    """

    by: tuple[str, ...]
    labels: tuple[Label, ...]
    category: Any
    name: str
    formula: str
    terms: tuple[str, ...]
    areas: AreaFit
    reports: npt.NDArray[np.int64]  # of each area
    weights: Array  # of each area in the whole; zero without reports
    epsilon: float
    sources: tuple[str, ...]
    is_partial: bool
    n_missing: int

    _format = "ldpstats-small-areas"
    _version = 1
    _tests_instead = "coefficients has the p-values of its terms"

    @classmethod
    def of(cls, results: Any, formula: Any, data: Any, category: Any = None) -> SmallAreas:
        """The small areas of grouped or weighted results, see `GroupedResults.small_areas`."""
        known, by = results.categories, results.by
        if category is None and len(known) == 2:
            category = known[1]
        place = position("category", category, known, f"must be one of {preview(known)}")
        direct, laws, n, weights = results._direct(place)
        labels, text, terms, X = _covariates(results.labels, by, formula, data)
        m, q, more = len(direct), X.shape[1], len(labels) - len(direct)
        if m < q + _SPARE:
            raise NotAvailable(
                f"small areas: {count_of(m, 'area')} with reports for {count_of(q, 'coefficient')};"
                f" {q + _SPARE} are needed to see how areas vary: use fewer covariates"
            )
        if np.linalg.matrix_rank(X[:m]) < q:
            raise NotIdentified(
                f"the {q} terms of {text!r} are collinear in the areas with reports: leave one out"
            )
        pad = (0, more)
        fit = _fitted(np.pad(direct, pad, constant_values=np.nan), laws, n, X)
        return cls(
            by=by,
            labels=labels,
            category=known.tolist()[place],
            name=results.name,
            formula=text,
            terms=terms,
            areas=fit,
            reports=np.pad(np.array(results._sizes, dtype=np.int64), pad),
            weights=np.pad(weights / weights.sum(), pad),
            epsilon=results.epsilon,
            sources=results.sources,
            is_partial=results.is_partial,
            n_missing=results.n_missing,
        )

    def __repr__(self) -> str:
        by = ", ".join(self.by)
        return f"SmallAreas({len(self.labels)} areas by {by}, {self.formula}, n={self.nobs})"

    @property
    def index(self) -> Labels:
        """Labels of the areas: those with reports first."""
        return group_index(self.labels, self.by)

    @property
    def nobs(self) -> int:
        """Number of reports in all areas."""
        return int(self.reports.sum())

    @property
    def sizes(self) -> pd.Series[int]:
        """Number of reports in each area."""
        return pd.Series(self.reports, index=self.index, name="nobs")

    @property
    def params(self) -> pd.Series[float]:
        """Small area estimates."""
        return pd.Series(self.areas.estimate, index=self.index, name="params")

    @property
    def mse(self) -> pd.DataFrame:
        """Mean square errors, of `params` and of `benchmarked`.

        "g1", "g2", "g3" and "mse", which is g1 + g2 + 2 g3. "g4" is what benchmarking adds, and
        "benchmarked" the sum mse + g4. What is missing of the total, d, is a contrast of residuals,
        of which the error of the best predictor is independent: an area that takes the share r of d
        has r^2 Var(d) on top (Wang, Fuller and Qu 2008, Survey Methodology 34, 29-36; Steorts and
        Ghosh 2013, Statistica Sinica 23, 749-767). That A is estimated is allowed for in "mse".
        """
        g1, g2, g3 = self.areas.errors
        columns = {"g1": g1, "g2": g2, "g3": g3, "mse": self.areas.mse}
        g4 = self._shares**2 * self.areas.lack(self.weights)
        return pd.DataFrame(columns | {"g4": g4, "benchmarked": columns["mse"] + g4}, self.index)

    @property
    def bse(self) -> pd.Series[float]:
        """Roots of the mean square errors of `params`."""
        return pd.Series(np.sqrt(self.areas.mse), index=self.index, name="bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """`params` over `bse`."""
        return (self.params / self.bse).rename("tvalues")

    @property
    def coefficients(self) -> pd.DataFrame:
        """Coefficients of the regression: "estimate", "se", "lower", "upper", "pvalue"."""
        beta = self.areas.coefficients
        se = beta.bse()
        columns = [beta.estimate, se, wald(beta.estimate, se, 0.05), z_test(beta.estimate, se)[1]]
        index = pd.Index(self.terms, name="term")
        return pd.DataFrame(np.column_stack(columns), index, [*ESTIMATES, "pvalue"])

    @property
    def total(self) -> float:
        """The direct estimate of the whole: that of all areas with reports, by their weights."""
        some = self.weights > 0.0
        return float(self.weights[some] @ self.areas.direct[some])

    @property
    def benchmarked(self) -> pd.Series[float]:
        """Estimates of which the weighted sum is `total`.

        They differ least from `params`, in units of the mean square errors: area i takes the share
        ``w_i mse_i / sum_j w_j^2 mse_j`` of what is missing. Weights are numbers of reports; in a
        complex sample sums of weights (Datta, Ghosh, Steorts and Maples 2011, Test 20, 574-588).
        Their root mean square errors are the roots of ``mse["benchmarked"]``.
        """
        missing = self.total - float(self.weights @ self.areas.estimate)
        moved = self.areas.estimate + missing * self._shares
        return pd.Series(moved, index=self.index, name="benchmarked")

    @property
    def _shares(self) -> Array:
        """What each area takes of what is missing, (m,)."""
        spread = self.weights * self.areas.mse
        return np.asarray(spread / (self.weights @ spread))

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of estimates.

        Returns
        -------
        DataFrame, a row for each area
            "nobs", "direct" and "direct_se" (nan without reports), "params", "bse", "lower" and
            "upper" (cut to [0, 1]), "own" (the weight of the direct estimate in `params`),
            "synthetic" (the prediction, which has the other weight), "benchmarked" and
            "benchmarked_bse", the root of its mean square error.
        """
        alpha, fit, se = level(alpha), self.areas, self.bse.to_numpy()
        bounds = edge_normal(fit.bounds(alpha), fit.estimate, se, alpha)
        noise = np.where(np.isfinite(fit.noise), fit.noise, np.nan)
        columns = {
            "nobs": self.reports,
            "direct": fit.direct,
            "direct_se": np.sqrt(noise),
            "params": fit.estimate,
            "bse": se,
            "lower": bounds[:, 0],
            "upper": bounds[:, 1],
            "own": 1.0 - fit.shrinkage,
            "synthetic": fit.synthetic,
            "benchmarked": self.benchmarked,
            "benchmarked_bse": np.sqrt(self.mse["benchmarked"]),
        }
        return pd.DataFrame(columns, index=self.index)

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The columns of `summary_frame` as a flat table, a row for each area.

        `params` and `bse` are called "estimate" and "std_error", the root of the mean square error.
        """
        return self._tidy(level(alpha)).drop(columns="p_value").reset_index()

    def _tidy(self, alpha: float) -> pd.DataFrame:
        return super()._tidy(alpha).assign(p_value=np.nan)

    @property
    def _subject(self) -> str:
        return f"{self.name}: {self.category}" if self.name else str(self.category)

    def _facts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "category": self.category,
            "mechanism": "; ".join(self.sources),
            "method": "Fay-Herriot, REML",
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "areas": len(self.labels),
            "formula": self.formula,
            "variance": self.areas.variance,
            "is_adjusted": self.areas.is_adjusted,
            "total": self.total,
        }

    def _heading(self) -> Heading:
        sources, areas = self.sources, str(len(self.labels))
        without = int((self.reports == 0).sum())
        left: list[Pair] = [
            ("Mechanism:", sources[0] if len(sources) == 1 else f"{len(sources)} kinds"),
            ("Model:", one_line(self.formula, LONGEST_LABEL)),
            ("Estimator:", "EBLUP, REML"),
            ("Areas:", f"{areas}, {without} without reports" if without else areas),
        ]
        spread = f"{np.sqrt(self.areas.variance):.4f}"
        right: list[Pair] = [("No. Reports:", self.nobs), ("Missing:", self.n_missing)]
        right += [("Epsilon (nats):", self.epsilon), ("Std dev of areas:", spread)]
        subject = one_line(self._subject, LONGEST_LABEL)
        return f"Small areas by {', '.join(self.by)}, {subject}", left, right

    def _largest(self, frame: Frame, max_rows: int) -> tuple[Frame, list[str]]:
        """The areas to print: all, or those with most reports."""
        if (n := len(frame)) <= max_rows:
            return frame, []
        most = np.sort(np.argsort(-self.reports, kind="stable")[:max_rows])
        note = f"Shown: the {max_rows} areas with most reports, of {n}; summary_frame() has all."
        return frame.iloc[most], [note]

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        frame, terms = self.summary_frame(alpha), self.coefficients
        shown, rest = self._largest(frame, max_rows)
        columns = ["direct", "direct_se", "params", "bse", "lower", "upper"]
        digits, fine = (decimals(se.to_numpy()) for se in (shown["bse"], terms["se"]))
        cells = [figures(row, digits) for row in shown[columns].to_numpy(float)]
        heads = ["direct", "std err", "estimate", "root MSE", *interval_columns(alpha)]
        labels = (", ".join(map(str, label)) for label in shown.index.to_frame().to_numpy())
        name, left, right = self._heading()
        regression = "; ".join(
            f"{one_line(term, 20)} {b:.{fine}f} ({se:.{fine}f}, {pvalue_text(p, 'p')})"
            for term, b, se, p in terms[["estimate", "se", "pvalue"]].itertuples()
        )
        whole = float(self.weights @ self.areas.estimate)
        kind = "averaged over the likelihood of the variance between areas"
        notes = [interval_note(alpha, kind, shown, ""), *rest]
        notes += [PARTLY_PROTECTED] * self.is_partial
        notes += [
            f"Coefficients (std err): {regression}.",
            f"The whole: direct {self.total:.4f}, of these estimates {whole:.4f}; those of "
            "`benchmarked` add up to the direct one.",
        ]
        if self.areas.is_adjusted:
            notes.append(
                "NOTE: the restricted likelihood is largest without a variance between areas; the "
                "one shown is that of the adjusted likelihood, which is never zero."
            )
        if (spare := int((self.reports > 0).sum()) - len(self.terms)) < _FEW:
            notes.append(
                f"NOTE: only {spare} more areas than coefficients: the variance between areas and "
                "the root MSE are rough; intervals allow for that."
            )
        notes.append(
            "NOTE: the intervals hold on average over areas; of an area that is unlike what the "
            "model predicts they hold less often, and its direct estimate says more."
        )
        stubs = distinct_lines(labels, LONGEST_LABEL)
        return SummaryTable(name, header(left, right), heads, stubs, cells, notes)

    def plot(
        self,
        alpha: float = 0.05,
        sort: bool | str = True,
        most: int = _MOST,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the areas, a line each: direct and small area estimates with their intervals.

        Parameters
        ----------
        alpha, sort, most, title, ax
            As for `FrequencyResults.plot`, of areas.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidArgument
            If an argument is invalid.
        """
        alpha, most = level(alpha), positive_integer("most", most)
        words = title_text(title, f"{self._subject}, by {', '.join(self.by)}\n{self.formula}")
        frame = self.summary_frame(alpha)
        shown = shown_rows(frame["params"], frame["direct"].fillna(0.0), sorts(sort), most)
        rows = frame.iloc[shown]
        some = rows["direct"].notna().to_numpy()
        direct = rows["direct"].to_numpy()[some]
        low, high = wald(direct, rows["direct_se"].to_numpy()[some], alpha).T

        def draw(ax: Axes, at: Array) -> None:
            above = at[some] + 0.2
            ax.hlines(above, low, high, color="0.6", lw=1)
            ax.plot(direct, above, "o", ms=4, color="0.6", mfc="white", label="direct estimate")
            draw_estimates(ax, at - 0.1, rows, interval_name(alpha))

        names = [", ".join(map(str, self.labels[i])) for i in shown]
        lines = [
            f"{one}, n = {self.reports[i]:,}"
            for one, i in zip(axis_labels(names, LONGEST_ROW), shown, strict=True)
        ]
        of = f"frequency of {axis_labels([self.category], LONGEST_ROW)[0]}"
        return plot_rows(draw, lines, len(frame) - len(shown), ax, words, of)

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> SmallAreas:
        labels = [group_label(label, values["by"]) for label in values["labels"]]
        return super()._restored(values | {"labels": tuple(labels)})


# -- The model, as a function of arrays -----------------------------------------------------------

_GRID = 40  # variances among which the likelihood's largest is looked for first
_NODES = 40  # variances over which intervals are averaged
_NEGLIGIBLE = 25.0  # nats below the maximum of a likelihood


@record
class AreaFit(Document):
    """A fitted model of Fay and Herriot, of m areas and q coefficients.

    Attributes
    ----------
    direct, noise : ndarray, shape (m,)
        Direct estimates, nan where there is none, and their variances, there infinite.
    X : ndarray, shape (m, q)
        Covariates.
    variance : float
        Variance A between areas.
    is_adjusted : bool
        Whether A maximises the adjusted likelihood, because the restricted one is largest at zero.

    Examples
    --------
    >>> fit = fay_herriot([0.2, 0.4, 0.1, 0.5, 0.3], np.full(5, 0.01), np.ones((5, 1)))
    >>> fit.shrinkage.round(2)
    array([0.4, 0.4, 0.4, 0.4, 0.4])
    >>> fit.bounds(0.05)[0].round(2)
    array([0.05, 0.4 ])
    """

    direct: Array
    noise: Array
    X: Array
    variance: float
    is_adjusted: bool

    @cached_property
    def coefficients(self) -> Uncertain:
        """beta, (q,), with its covariance."""
        beta, V, *_ = self._given([self.variance])
        return Uncertain(beta[0], Covariance.dense(V[0]))

    @property
    def synthetic(self) -> Array:
        """Predictions ``x_i' beta``, (m,)."""
        return self.X @ self.coefficients.estimate

    @property
    def shrinkage(self) -> Array:
        """Weight of the prediction in each estimate, ``D / (A + D)``, (m,); 1 without reports."""
        return 1.0 / (1.0 + self.variance / self.noise)

    @property
    def estimate(self) -> Array:
        """EBLUP of each area, (m,)."""
        own = np.where(np.isnan(self.direct), 0.0, self.direct - self.synthetic)
        return self.synthetic + (1.0 - self.shrinkage) * own

    @property
    def errors(self) -> tuple[Array, Array, Array]:
        """Terms of the mean square error, (m,) each (Datta and Lahiri 2000, Stat. Sinica 10, 613).

        g1: if A and beta were known; g2: that beta is estimated; g3: that A is.
        """
        B, total = self.shrinkage, self.variance + self.noise
        of_variance = 2.0 / np.sum(total**-2.0)  # asymptotic variance of A
        leverage = self.coefficients.known().forms(self.X)
        return self.variance * B, B**2 * leverage, B**2 / total * of_variance

    @property
    def mse(self) -> Array:
        """``g1 + g2 + 2 g3``, (m,): g1 at the estimated A is too small by g3 on average."""
        g1, g2, g3 = self.errors
        return g1 + g2 + 2.0 * g3

    def lack(self, weights: Array) -> float:
        """Variance of what the estimates, summed with weights (m,), lack of the direct ones."""
        some = np.isfinite(self.direct)
        c, X = (weights * self.shrinkage)[some], self.X[some]
        known = self.coefficients.known().forms([c @ X])[0]
        return float(c**2 @ (self.variance + self.noise[some]) - known)

    def bounds(self, alpha: float) -> Array:
        """Intervals, (m, 2), that know how well A is known, not cut to [0, 1].

        Given A an area is normal about its predictor with the variance g1 + g2. That is averaged
        over A in proportion to the restricted likelihood: the posterior under flat priors. Where
        noise prevails, the estimate plus or minus a quantile times the root of its mean square
        error covers too seldom, since A is often estimated far too small.
        """
        from scipy.special import ndtr, roots_legendre

        peak = np.array([0.0 if self.is_adjusted else self.variance])
        top = self._given(peak)[2] - _NEGLIGIBLE

        def gain(A: Array) -> Array:
            return self._given(A)[2] - top

        above = peak + np.nanmax(np.where(np.isfinite(self.noise), self.noise, np.nan))
        while gain(above) > 0.0:
            above = 2.0 * above
        ends = np.sqrt([root(gain, peak, np.zeros(1)), root(gain, peak, above)])
        x, w = roots_legendre(_NODES)
        deviations = ends.mean() + np.ptp(ends) / 2.0 * x  # which are the smoother variable
        beta, V, log_w, _ = self._given(deviations**2)
        w = w * deviations * np.exp(log_w - log_w.max())
        w = (w / w.sum())[:, None]
        B = 1.0 / (1.0 + deviations[:, None] ** 2 / self.noise)
        centre = beta @ self.X.T
        centre = centre + (1.0 - B) * np.where(np.isnan(self.direct), 0.0, self.direct - centre)
        spread = np.einsum("ij,ajk,ik->ai", self.X, V, self.X)
        sd = np.sqrt(deviations[:, None] ** 2 * B + B**2 * spread)
        low, high = (centre - 40.0 * sd).min(axis=0), (centre + 40.0 * sd).max(axis=0)

        def beyond(x: Array, sign: float) -> Array:
            return np.asarray((w * ndtr(sign * (x - centre) / sd)).sum(axis=0) - alpha / 2.0)

        lower = root(lambda x: beyond(x, 1.0), high, low)
        upper = root(lambda x: beyond(x, -1.0), low, high)
        return np.column_stack([lower, upper])

    def _given(self, A: npt.ArrayLike) -> tuple[Array, Array, Array, Array]:
        """At variances A, (a,): beta, (a, q), its covariance, (a, q, q), log-likelihood and score.

        The likelihood is the restricted one, that of contrasts which are free of beta.
        """
        there = np.isfinite(self.direct)
        y, psi, X = self.direct[there], self.noise[there], self.X[there]
        w = 1.0 / (np.asarray(A)[:, None] + psi)
        WX = w[:, :, None] * X
        M = X.T @ WX
        V = np.linalg.inv(M)
        V = (V + np.swapaxes(V, 1, 2)) / 2.0
        beta = np.einsum("ajk,aik,i->aj", V, WX, y)
        r = y - beta @ X.T
        value = np.log(w).sum(axis=1) - np.linalg.slogdet(M)[1] - (w * r**2).sum(axis=1)
        hat = np.einsum("ajk,aij,aik->a", V, WX, WX)  # what beta takes of the sum of w
        score = np.square(w * r).sum(axis=1) - w.sum(axis=1) + hat
        return beta, V, value / 2.0, score / 2.0


def fay_herriot(direct: npt.ArrayLike, noise: npt.ArrayLike, X: npt.ArrayLike) -> AreaFit:
    """Fit the area-level model of Fay and Herriot by REML.

    Parameters
    ----------
    direct, noise : array_like, shape (m,)
        Direct estimates and their variances; nan and any value where there is none.
    X : array_like, shape (m, q)
        Covariates, of full rank in the areas with a direct estimate.


    Examples
    --------
    >>> fit = fay_herriot([0.2, 0.4, 0.1, 0.5, 0.3, np.nan], np.full(6, 0.01), np.ones((6, 1)))
    >>> round(fit.variance, 4), fit.estimate.round(3)
    (0.015, array([0.24, 0.36, 0.18, 0.42, 0.3 , 0.3 ]))
    """
    y, psi, X = (np.asarray(one, dtype=np.float64) for one in (direct, noise, X))
    there = np.isfinite(y)
    fit = AreaFit(y, np.where(there, psi, np.inf), X, 0.0, False)
    # the likelihood may have several maxima: the highest of a grid is followed
    most = np.ptp(y[there]) ** 2 + psi[there].max()
    least = 1e-6 * min(psi[there].min(), most)
    grid = np.append(0.0, np.geomspace(least, most, _GRID))
    A = _highest(grid, lambda A: fit._given(A)[2:])
    if A > 0.0:
        return replace(fit, variance=A)

    def adjusted(A: Array) -> tuple[Array, Array]:
        """With ``arctan(sum_i A / (A + D_i))^(1/m)``.

        Yoshimori and Lahiri (2014), Journal of Multivariate Analysis 124, 281-294, equation 8.
        """
        D, (*_, value, score) = psi[there], fit._given(A)
        w = 1.0 / (A[:, None] + D)
        own = A * w.sum(axis=1)
        angle = np.arctan(own)
        steep = (D * w**2).sum(axis=1) / ((1.0 + own**2) * angle)
        return value + np.log(angle) / D.size, score + steep / D.size

    return replace(fit, variance=_highest(grid[1:], adjusted), is_adjusted=True)


def _highest(grid: Array, likelihood: Callable[[Array], tuple[Array, Array]]) -> float:
    """Where a likelihood is largest, near the best point of a grid: there its score is zero."""
    at = int(np.argmax(likelihood(grid)[0]))
    ends = grid[[max(at - 1, 0)]], grid[[min(at + 1, grid.size - 1)]]
    return float(root(lambda A: likelihood(A)[1], *ends)[0])


_ROUNDS = 50  # of variances at the model's predictions


def _fitted(direct: Array, laws: Array, n: Array, X: Array) -> AreaFit:
    """The model with variances at its own predictions.

    ``laws``, (g, 3), have the variance of each of the first g direct estimates as a polynomial in
    the frequency, and n, (g,), its reports: an area is half a report from 0 and 1 at least.
    """
    g, edge = len(laws), 0.5 / n

    def variance(p: Array) -> Array:
        return np.asarray((laws * p[:, None] ** np.arange(3.0)).sum(axis=1))

    least = np.minimum(variance(edge), variance(1.0 - edge))
    noise, at, A = np.full(len(X), np.inf), np.full(g, direct[:g] @ n / n.sum()), 0.0
    for _ in range(_ROUNDS):
        # its mean over areas that vary about `at` with the variance A
        now = variance(np.clip(at, edge, 1.0 - edge)) + laws[:, 2] * A
        before, noise[:g] = noise[:g].copy(), np.maximum(now, least)
        fit = fay_herriot(direct, noise, X)
        at, A = fit.synthetic[:g], fit.variance
        if np.allclose(noise[:g], before, rtol=1e-9, atol=0.0):
            break
    return fit


# -- Areas and the rows of a table ----------------------------------------------------------------


def _covariates(
    fitted: Sequence[Label], by: tuple[str, ...], formula: object, data: object
) -> tuple[tuple[Label, ...], str, tuple[str, ...], Array]:
    """Labels of the areas, those fitted first; the formula, its terms, and their matrix."""
    engine, (table, columns) = formula_engine(), columns_of("data", data)
    right, terms = one_sided("formula", formula, engine)
    text, nothing = f"~ {right}", Factor("1", frozenset(), frozenset())
    names = known_names(Formula(text, "", right, engine, nothing, terms, True), (), columns, {})
    needed = sorted(names_of(terms) & set(columns))
    if set(by) <= set(columns):
        frame = as_frame("data", data, [*by, *(name for name in needed if name not in by)])
        keys = list(zip(*(frame[name].tolist() for name in by), strict=True))
    elif isinstance(table, pd.DataFrame) and list(table.index.names) == list(by):
        frame = as_frame("data", data, needed)
        keys = [key if isinstance(key, tuple) else (key,) for key in table.index.tolist()]
    else:
        remedy = f"must have {by} as columns or index: a row for each area"
        raise InvalidArgument("data", columns[:20], remedy)
    rows: dict[Label, int] = {}
    for i, key in enumerate(keys):
        try:
            label = group_label(key, by)
        except InvalidArgument as error:
            raise InvalidArgument("data", key, error.remedy) from None
        if label in rows:
            raise InvalidArgument("data", user_label(label), "has two rows: one for each area")
        rows[label] = i
    if lacking := [label for label in fitted if label not in rows]:
        remedy = f"has no row for {several_worded(lacking, by)}: every area with reports needs one"
        raise InvalidArgument("data", type(data).__name__, remedy)
    labels = tuple(dict.fromkeys([*fitted, *rows]))
    frame = frame.iloc[[rows[label] for label in labels]]
    if (absent := frame[needed].isna().to_numpy()).any():
        row, column = np.argwhere(absent)[0].tolist()
        where = f"lacks {needed[column]!r} of {worded(labels[row], by)}"
        raise InvalidArgument("data", type(data).__name__, f"{where}: fill it in, or drop the area")
    spec, X = Spec.of("formula", right, frame, engine, names, text)
    return labels, text, spec.columns, X
