"""Fit the association of several variables, pair by pair."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import combinations
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import level, one_of, page_text, record
from ldpstats.errors import InvalidArgument, LDPError, LDPWarning, NotAvailable
from ldpstats.estimators.base import Estimator
from ldpstats.inference.tests import adjust, pvalue_text
from ldpstats.models.association.groups import per_variable, refuse_shared, together, variable_names
from ldpstats.models.association.model import AssociationModel
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.layout import (
    Body,
    Cells,
    Frame,
    Heading,
    Pair,
    Table,
    count_of,
    distinct_lines,
    estimator_text,
    figures,
    interval_columns,
    one_line,
)
from ldpstats.models.plots import labels_of, plot_cells, title_text
from ldpstats.models.storage import Stored
from ldpstats.models.weighted.tables import WeightedTable
from ldpstats.reports.joint import JointCounts
from ldpstats.reports.single import Reports

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

Weighted = Callable[[Sequence[Any], Sequence[Any]], WeightedTable]

_LONGEST_NAME = 24
_REMEDY = 'must map names to Reports or pairs (Reports, mask), such as {"job": x, "late": y}'


def associations(
    reports: Mapping[str, Any],
    candidates: Mapping[str, Any] | None = None,
    other: Any = False,
    method: str | Estimator[Any] | None = None,
    alpha: float = 0.05,
    memoised: bool | None = None,
) -> AssociationMatrix:
    """Association of every pair of several variables of the same respondents.

    Parameters
    ----------
    reports : mapping of str to Reports, or to pairs (Reports, mask)
        Reports by name of the variable, two or more. Respondents are matched by their identifiers
        (`Reports.ids`), else row by row; a mask, bool of shape (N,), says which of N rows the
        reports are of. Each pair is fitted on the respondents who have both reports.
    candidates : mapping of str to sequence, optional
        By name: the values to look for over an open alphabet, or the categories to keep.
    other : bool or str, or a mapping by name
        As in `AssociationModel`.
    method : str or Estimator, optional
        As in `AssociationModel.fit`.
    alpha : float
        One minus the coverage of each interval of Cramer's V.
    memoised : bool, optional
        As in `AssociationModel`: False says that devices drew each report afresh.

    Returns
    -------
    AssociationMatrix
        Pairs that cannot be fitted are in `failed`, each with the reason.

    Raises
    ------
    InvalidArgument
        For fewer than two variables, values that are no reports, and one object for two variables.
    LDPError
        The reason of the first pair, if no pair can be fitted.

    Examples
    --------
    >>> import ldpstats as ldp, numpy as np
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=3.0)
    >>> smokes, sex, rain = rng.choice(["no", "yes"], size=(3, 4000))
    >>> coughs = np.where(rng.random(4000) < 0.5, smokes, "no")
    >>> answers = {"smokes": smokes, "coughs": coughs, "rain": rain}
    >>> matrix = ldp.associations({n: krr.privatize(a, rng) for n, a in answers.items()})
    >>> bool(matrix.pvalues_holm.loc["smokes", "coughs"] < 0.001)
    True
    """
    if not isinstance(reports, Mapping):
        raise InvalidArgument("reports", reports, _REMEDY)
    names = variable_names(list(reports), len(reports))
    if len(names) < 2:
        raise InvalidArgument("reports", list(names), "two or more variables are needed")
    owner: dict[int, str] = {}
    sources: dict[str, tuple[str, int]] = {}
    for name in names:
        pair = reports[name]
        one = pair[0] if isinstance(pair, list | tuple) and len(pair) == 2 else pair
        if not isinstance(one, Reports):
            raise InvalidArgument(f"reports[{name!r}]", pair, _REMEDY)
        if (other_name := owner.setdefault(id(one.y), name)) != name:
            remedy = f"has the reports of {other_name!r}: pass those of another variable"
            raise InvalidArgument(f"reports[{name!r}]", one, remedy)
        sources[name] = str(one.mechanism), len(one)

    def counts_of(both: tuple[str, str]) -> list[JointCounts] | LDPError:
        try:
            return [together([reports[name] for name in both])]
        except LDPError as error:  # why those who have both reports cannot be found
            return error

    pairs = ((both, counts_of(both)) for both in combinations(names, 2))
    return pairwise(names, sources, pairs, candidates, other, method, alpha, memoised)


def pairwise(
    names: Sequence[str],
    sources: Mapping[str, tuple[str, int]],
    pairs: Iterable[tuple[tuple[str, str], list[JointCounts] | LDPError | Weighted]],
    candidates: Any = None,
    other: Any = False,
    method: Any = None,
    alpha: float = 0.05,
    memoised: bool | None = None,
    origins: Mapping[str, str] | None = None,
    epsilon: float | None = None,
) -> AssociationMatrix:
    """The association of every pair, from its groups, or the reason why there are none.

    With weights a pair has what fits it, given its candidates and `other`, instead of groups.
    `sources` has the mechanism of each variable and its number of reports, filled while pairs are
    read. `origins` are what variables are called where waves of one question are not told apart.
    """
    alpha = level(alpha)
    lists = dict(zip(names, per_variable("candidates", candidates, names), strict=True))
    others = dict(zip(names, per_variable("other", other, names, scalar=True), strict=True))
    fits: list[AssociationResults | WeightedTable] = []
    errors: dict[tuple[str, str], LDPError] = {}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LDPWarning)
        for both, counts in pairs:
            kept, rest = ([by_name[name] for name in both] for by_name in (lists, others))
            try:
                if isinstance(counts, LDPError):
                    raise counts
                if callable(counts):
                    fits.append(counts(kept, rest))
                    continue
                called = None if origins is None else [origins[name] for name in both]
                refuse_shared(counts, both, memoised, origins=called)
                model = AssociationModel(
                    counts, candidates=kept, other=rest, names=both, memoised=False
                )
                fits.append(model.fit(method))
            except LDPError as error:
                errors[both] = error
    if not fits:
        raise next(iter(errors.values()))
    for message in {str(warning.message): warning.message for warning in said}.values():
        warnings.warn(message, stacklevel=3)  # once, not for each pair of the variable
    return AssociationMatrix(
        names=tuple(names),
        sources=tuple(sources[name][0] for name in names),
        answered=tuple(sources[name][1] for name in names),
        pairs=tuple(fits),
        failed=tuple((*both, str(error)) for both, error in errors.items()),
        alpha=alpha,
        epsilon=epsilon,
    )


# -- Associations of all pairs of several variables -----------------------------------------------


@record
class AssociationMatrix(Stored):
    """Cramer's V of all pairs of several variables, with intervals and tests of independence.

    Attributes
    ----------
    cramers_v, lower, upper : DataFrame, shape (d, d)
        Cramer's V of each pair and its interval; one on the diagonal, nan for a pair that could not
        be fitted.
    pvalues, pvalues_holm : DataFrame, shape (d, d)
        p-values of independence, and as Holm adjusts them for all pairs tested; nan on the
        diagonal.
    nobs : DataFrame of int, shape (d, d)
        Respondents used for a pair: those with both answers and, in a survey with ``ask=``, those
        who were asked one of the two (``matrix["job", "late"].answered`` counts them apart).
        On the diagonal those with an answer.
    names, sources : tuple of str
        Names of the variables and their mechanisms.
    answered : tuple of int
        Reports of each variable.
    pairs : tuple of AssociationResults, with weights of WeightedTable
        The fit of each pair; ``matrix["job", "late"]`` finds one.
    failed : tuple of (str, str, str)
        Pairs that could not be fitted: both names and the reason.
    alpha : float
        One minus the coverage of the intervals.

    Examples
    --------
    >>> import ldpstats as ldp, numpy as np
    >>> rng, krr = np.random.default_rng(1), ldp.KRR(("no", "yes"), epsilon=3.0)
    >>> a, b, c = (krr.privatize(rng.choice(["no", "yes"], 1000), rng) for _ in range(3))
    >>> matrix = ldp.associations({"a": a, "b": b, "c": c})
    >>> matrix
    AssociationMatrix(a, b, c: 3 pairs)
    >>> matrix["a", "c"].nobs
    1000
    """

    names: tuple[str, ...]
    sources: tuple[str, ...]
    answered: tuple[int, ...]
    pairs: tuple[AssociationResults | WeightedTable, ...] = field(
        metadata={
            "read": lambda pairs: tuple(_KINDS["totals" in one].from_dict(one) for one in pairs)
        }
    )
    failed: tuple[tuple[str, str, str], ...] = ()
    alpha: float = 0.05
    epsilon: float | None = field(default=None, metadata={"later": True})  # with weights

    _format = "ldpstats-association-matrix"
    _tests_instead = (
        "it has no normal law near 0; `pvalues` and `pvalues_holm` test the independence of each "
        "pair, and matrix[first, second] has tests of its cells and effects"
    )

    def __repr__(self) -> str:
        some = f", {len(self.failed)} failed" if self.failed else ""
        pairs = "1 pair" if len(self.pairs) == 1 else f"{len(self.pairs)} pairs"
        return page_text(f"AssociationMatrix({', '.join(self.names)}: {pairs}{some})", 4)

    def __getitem__(self, names: tuple[str, str]) -> AssociationResults | WeightedTable:
        """The fit of two variables, in the order in which they were given to `associations`."""
        remedy = f"must be two different names of {list(self.names)}"
        if not isinstance(names, tuple) or len(names) != 2 or names[0] == names[1]:
            raise InvalidArgument("names", names, remedy)
        both = sorted(names, key=lambda name: self.names.index(one_of("names", name, self.names)))
        for pair in self.pairs:
            if pair.names == tuple(both):
                return pair
        reason = next(why for *who, why in self.failed if who == both)
        raise NotAvailable(f"{' and '.join(both)} could not be fitted: {reason}")

    # -- matrices ----------------------------------------------------------------------------

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return self.summary_frame()

    def summary_frame(self, alpha: float | None = None) -> pd.DataFrame:
        """The table of `to_frame`, with an index of both names.

        By default with the `alpha` of the matrix.
        """
        alpha = self.alpha if alpha is None else level(alpha)
        rows: list[dict[str, Any]] = []
        for pair in self.pairs:
            first, second = pair.names
            row = {"first": first, "second": second, "nobs": pair.nobs, "n_missing": pair.n_missing}
            notes = []
            try:
                effect = pair.cramers_v(alpha)
                row |= {"cramers_v": effect.estimate, "lower": effect.lower, "upper": effect.upper}
                notes.append(effect.message)
            except NotAvailable as error:
                notes.append(str(error))
            if (test := pair.independence) is None:
                notes.append("independence was not tested: a variable does not vary")
            else:
                df = test.df[0] if isinstance(test.df, tuple) else test.df  # of an F law the first
                row |= {"statistic": test.statistic, "df": df, "pvalue": test.pvalue}
                notes.append(test.note)
            rows.append(row | {"note": "; ".join(filter(None, notes))})
        rows += [{"first": a, "second": b, "note": why} for a, b, why in self.failed]
        frame = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
        frame = frame.set_index(["first", "second"]).loc[list(combinations(self.names, 2))]
        tested = frame["pvalue"].notna()
        if tested.any():
            frame.loc[tested, "pvalue_holm"] = adjust(frame.loc[tested, "pvalue"], "holm")
        return frame

    def to_frame(self, alpha: float | None = None) -> pd.DataFrame:
        """A flat table of data, with no index: a row for each pair of variables.

        Returns
        -------
        DataFrame
            "first", "second"; "cramers_v", "lower", "upper"; "statistic", "df", "pvalue" of
            independence and "pvalue_holm"; "nobs", "n_missing"; and "note", which says what the
            interval and the test allow for, or why the pair could not be fitted.
        """
        return self.summary_frame(alpha).reset_index()

    def _matrix(
        self, column: str, diagonal: Any, frame: pd.DataFrame | None = None
    ) -> pd.DataFrame:
        """Both triangles of a symmetric matrix."""
        labels: list[Any] = list(self.names)
        values: Any = (self._frame if frame is None else frame)[column]
        matrix = pd.DataFrame(np.nan, index=labels, columns=labels, dtype=object)
        for (first, second), value in values.items():
            matrix.loc[first, second] = matrix.loc[second, first] = value
        for name, value in zip(labels, np.broadcast_to(diagonal, len(labels)), strict=True):
            matrix.loc[name, name] = value
        return Table(matrix.astype(values.dtype))

    cramers_v = property(methodcaller("_matrix", "cramers_v", 1.0), doc="Cramer's V of each pair.")
    lower = property(methodcaller("_matrix", "lower", 1.0), doc="Lower ends of its intervals.")
    upper = property(methodcaller("_matrix", "upper", 1.0), doc="Upper ends of its intervals.")
    pvalues = property(methodcaller("_matrix", "pvalue", np.nan), doc="p-values of independence.")
    pvalues_holm = property(
        methodcaller("_matrix", "pvalue_holm", np.nan),
        doc="The same as Holm adjusts them for all pairs tested.",
    )

    @property
    def nobs(self) -> pd.DataFrame:
        """Respondents with both answers; on the diagonal those with an answer."""
        return self._matrix("nobs", self.answered)

    # -- presentation ------------------------------------------------------------------------

    @property
    def tvalues(self) -> pd.Series[float]:
        """nan: a standard error of V would mean little near 0, where V is cut."""
        return pd.Series(np.nan, self._frame.index, name="tvalues")

    def _tidy(self, alpha: float) -> pd.DataFrame:
        names = {"cramers_v": "estimate", "pvalue_holm": "p_value"}
        return self.summary_frame(alpha).rename(columns=names).assign(std_error=np.nan)

    @property
    def _subject(self) -> str:
        return "Cramer's V"

    def _facts(self) -> dict[str, Any]:
        own: dict[str, float] = {}
        for pair in self.pairs:
            fits = () if isinstance(pair, WeightedTable) else pair.margin_fits
            own |= {name: fit.epsilon for name, fit in zip(pair.names, fits, strict=False)}
        public = {name for pair in self.pairs for name in pair.unprotected}
        private = [epsilon for name, epsilon in own.items() if name not in public]
        return {
            "name": ", ".join(self.names),
            "mechanism": "; ".join(self.sources),
            "method": "; ".join(dict.fromkeys(pair.method for pair in self.pairs)),
            "epsilon": self.epsilon or (float(sum(private)) if private else np.inf),
            "nobs": min(pair.nobs for pair in self.pairs),
            "variables": len(self.names),
            "pairs": len(self.pairs),
            "failed": len(self.failed),
            "alpha": self.alpha,
            "adjust": "holm",
            "p_smallest": self._frame["pvalue_holm"].min(),
            "converged": all(pair.converged for pair in self.pairs),
        }

    def summary(  # type: ignore[override]  # the level of the matrix by default
        self, max_rows: int = 40, details: bool = False, alpha: float | None = None
    ) -> Summary:
        """The pairs as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        max_rows : int
            Pairs to show; those with the smallest p-values come first where there are more.
        details : bool
            Whether to say how each pair was fitted.
        alpha : float, optional
            As in `summary_frame`.
        """
        return super().summary(self.alpha if alpha is None else alpha, max_rows, details)

    def _largest(self, frame: Frame, max_rows: int) -> tuple[Frame, list[str]]:
        if (rest := len(frame) - max_rows) <= 0:
            return frame, []
        order = np.argsort(frame["pvalue"].fillna(2.0).to_numpy(), kind="stable")[:max_rows]
        return frame.iloc[order], [f"{rest} pairs with larger p-values are not shown."]

    def _estimate_cells(self, shown: Frame, frame: Frame, alpha: float, details: bool) -> Cells:
        statistic = "F" if self.epsilon else "chi2"
        heads = ["Cramer's V", *interval_columns(alpha), "n", statistic, "df", "p-value", "Holm"]
        cells, rows = [], list[Any](shown.itertuples(index=False))
        for row in rows:
            nobs = "-" if row.nobs is pd.NA else str(row.nobs)
            df = "-" if np.isnan(row.df) else f"{row.df:g}"
            pvalues = pvalue_text(row.pvalue), pvalue_text(row.pvalue_holm)
            ends = figures([row.cramers_v, row.lower, row.upper], 3)
            cells.append([*ends, nobs, *figures([row.statistic], 2), df, *pvalues])
        return heads, cells, ""

    @property
    def _short(self) -> dict[str, str]:
        """Names of the variables as the summary has them."""
        return dict(zip(self.names, distinct_lines(self.names, _LONGEST_NAME), strict=True))

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        short = self._short
        return heads, [" : ".join(short[name] for name in pair) for pair in shown.index], cells

    def _heading(self) -> Heading:
        left: list[Pair] = [("Variables:", len(self.names)), ("Pairs:", len(self.pairs))]
        right: list[Pair] = [("Epsilon, all (nats):", self._facts()["epsilon"])]
        right += [("Not fitted:", len(self.failed))] * bool(self.failed)
        return f"Associations of {len(self.names)} variables", left, right

    def _questions(self) -> list[list[str]]:
        rows = zip(self._short.values(), self.sources, map(str, self.answered), strict=True)
        return [["", "mechanism", "reports"], *map(list, rows)]

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        times = count_of(int(frame["pvalue"].notna().sum()), "test")
        notes = [
            f"Cramer's V with {100 * (1 - alpha):.4g}% intervals, from the unconstrained "
            f"estimates; {'Rao-Scott' if self.epsilon else 'score'} tests of independence, "
            f"p-values as they are and adjusted for {times} (Holm)."
        ]
        both = [own[0][1] for fit in self.pairs if (own := getattr(fit, "answered", None))]
        if both:
            notes.append(
                "NOTE: n counts those who were asked one of the two questions, too; tests of "
                f"independence rest on the {min(both)} to {max(both)} who have both reports."
            )
        elif frame["n_missing"].sum():
            notes.append("NOTE: each pair rests on the respondents who have both reports.")
        return notes

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        """The notes of pairs, each note once, and how each was fitted."""
        notes, noted = [], frame[frame["note"] != ""]
        kinds = np.where(noted["upper"].isna(), "WARNING", "NOTE")
        for (kind, note), own in noted.groupby([kinds, noted["note"]], sort=False):
            pairs = own.index.tolist()
            common = set(pairs[0]).intersection(*pairs)
            names = ", ".join(f"{one_line(a, 40)} and {one_line(b, 40)}" for a, b in pairs)
            if len(pairs) > 1 and common:  # all of them have a variable in common
                (name,) = common
                others = (b if a == name else a for a, b in pairs)
                names = f"{one_line(name, 40)} with {', '.join(one_line(b, 40) for b in others)}"
            notes.append(f"{kind}: {names}: {note}.")
        for fit in self.pairs if details else ():
            words = " and ".join(one_line(name, _LONGEST_NAME) for name in fit.names)
            gap = f", gap {fit.gap_nats:.2g} nats" if np.isfinite(fit.gap) else ""
            state = "converged" if fit.converged else "did NOT converge"
            log_lik = f", log-likelihood {fit.llf:.2f}" if np.isfinite(fit.llf) else ""
            steps = count_of(fit.n_iter, "iteration")
            notes.append(f"{words}: {estimator_text(fit)}{log_lik}{gap}, {steps}, {state}.")
        return notes

    def plot(
        self, ax: Axes | None = None, title: str | None = None, alpha: float | None = None
    ) -> Axes:
        """Draw Cramer's V of each pair with its interval.

        Pairs whose adjusted p-value is not below `alpha` are hatched.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        title : str, optional
            The title to draw; "" for none.
        alpha : float, optional
            As in `summary_frame`.
        """
        alpha, frame = self.alpha if alpha is None else alpha, self.summary_frame(alpha)
        v, low, high = (self._matrix(name, 1.0, frame).to_numpy()[1:, :-1] for name in _INTERVAL)
        certain = (self.pvalues_holm < alpha).to_numpy()[1:, :-1]
        known = np.where(np.tri(len(v)) > 0, v, np.nan)
        texts = [f"{one:.2f}" if np.isfinite(one) else "" for one in known.flat]
        ends = zip(texts, low.flat, high.flat, strict=True)
        longer = [text and f"{text}\n[{a:.2f}, {b:.2f}]" for text, a, b in ends]
        labels = labels_of(pd.Index(self.names))
        words = f"Associations of {len(labels)} variables, {100 * (1 - alpha):g}% intervals"
        return plot_cells(
            known,
            (labels[1:], labels[:-1]),
            (longer, texts),
            ax,
            title_text(title, words),
            ("", ""),
            "Cramer's V",
            certain=certain,
            hatched=~certain & np.isfinite(known),
            note=f"hatched: independence is not rejected at {alpha:g} (Holm)",
        )


_KINDS: tuple[Any, Any] = AssociationResults, WeightedTable
_INTERVAL = ("cramers_v", "lower", "upper")
_COLUMNS: dict[str, Any] = {
    "first": object,
    "second": object,
    **dict.fromkeys((*_INTERVAL, "statistic", "df", "pvalue", "pvalue_holm"), float),
    "nobs": "Int64",
    "n_missing": "Int64",
    "note": object,
}
