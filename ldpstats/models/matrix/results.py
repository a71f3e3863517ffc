"""Associations of all pairs of several variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean, level, one_of, positive_integer
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.inference.multiplicity import adjust
from ldpstats.models.association.results import AssociationResults
from ldpstats.models.shared.presentation import Tabulated
from ldpstats.models.shared.storage import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

    from ldpstats.inference.tables.effect import Effect

__all__ = ["AssociationMatrix"]

_NO_TEST = "independence was not tested: a variable does not vary"


@dataclass(frozen=True, eq=False)
class AssociationMatrix(Stored, Tabulated):
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
        Respondents with both answers; on the diagonal those with an answer.
    names, sources : tuple of str
        Names of the variables and their mechanisms.
    answered : tuple of int
        Reports of each variable.
    pairs : tuple of AssociationResults
        The fit of each pair; ``matrix["job", "late"]`` finds one.
    failed : tuple of (str, str, str)
        Pairs that could not be fitted: both names and the reason.
    alpha : float
        One minus the coverage of the intervals.

    Methods
    -------
    to_frame, summary, plot
        One row per pair, in print, or as a figure.
    glance, to_maketables
        Key figures in one row, and what the package maketables takes.
    to_dict, to_json, from_dict, from_json
        Storage; no report is in it.

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
    pairs: tuple[AssociationResults, ...]
    failed: tuple[tuple[str, str, str], ...] = ()
    alpha: float = 0.05

    _format = "ldpstats-association-matrix"
    _whole = ()
    _required = frozenset({"names", "sources", "answered", "pairs", "failed", "alpha"})

    def __repr__(self) -> str:
        some = f", {len(self.failed)} failed" if self.failed else ""
        pairs = "1 pair" if len(self.pairs) == 1 else f"{len(self.pairs)} pairs"
        return f"AssociationMatrix({', '.join(self.names)}: {pairs}{some})"

    def __getitem__(self, names: tuple[str, str]) -> AssociationResults:
        """The fit of two variables, in the order in which they were given to `associations`."""
        remedy = f"must be two different names of {list(self.names)}"
        if not isinstance(names, tuple) or len(names) != 2 or names[0] == names[1]:
            raise InvalidArgument("names", names, remedy)
        both = sorted(names, key=lambda name: self._place(name))
        for pair in self.pairs:
            if pair.names == tuple(both):
                return pair
        reason = next(why for *who, why in self.failed if who == both)
        raise NotAvailable(f"{' and '.join(both)} could not be fitted: {reason}")

    def _place(self, name: object) -> int:
        return self.names.index(one_of("names", name, self.names))

    # -- matrices ----------------------------------------------------------------------------

    @cached_property
    def _frame(self) -> pd.DataFrame:
        rows = [_row(pair, self.alpha) for pair in self.pairs]
        rows += [{"first": a, "second": b, "note": why} for a, b, why in self.failed]
        frame = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
        frame = frame.set_index(["first", "second"])
        frame = frame.loc[[pair for pair in combinations(self.names, 2)]]
        tested = frame["pvalue"].notna()
        if tested.any():
            frame.loc[tested, "pvalue_holm"] = adjust(frame.loc[tested, "pvalue"], "holm")
        return frame

    def to_frame(self) -> pd.DataFrame:
        """A flat table of data, with no index: a row for each pair of variables.

        Returns
        -------
        DataFrame
            "first", "second"; "cramers_v", "lower", "upper"; "statistic", "df", "pvalue" of
            independence and "pvalue_holm"; "nobs", "n_missing"; and "note", which says what the
            interval and the test allow for, or why the pair could not be fitted.
        """
        return self._frame.reset_index()

    def _matrix(self, column: str, diagonal: Any) -> pd.DataFrame:
        """Both triangles of a symmetric matrix."""
        labels: list[Any] = list(self.names)
        values: Any = self._frame[column]
        found = pd.DataFrame(np.nan, index=labels, columns=labels, dtype=object)
        for (first, second), value in values.items():
            found.loc[first, second] = found.loc[second, first] = value
        for name, value in zip(labels, np.broadcast_to(diagonal, len(labels)), strict=True):
            found.loc[name, name] = value
        return found.astype(values.dtype)

    @property
    def cramers_v(self) -> pd.DataFrame:
        """Cramer's V of each pair."""
        return self._matrix("cramers_v", 1.0)

    @property
    def lower(self) -> pd.DataFrame:
        """Lower ends of its intervals."""
        return self._matrix("lower", 1.0)

    @property
    def upper(self) -> pd.DataFrame:
        """Upper ends of its intervals."""
        return self._matrix("upper", 1.0)

    @property
    def pvalues(self) -> pd.DataFrame:
        """p-values of independence."""
        return self._matrix("pvalue", np.nan)

    @property
    def pvalues_holm(self) -> pd.DataFrame:
        """The same as Holm adjusts them for all pairs tested."""
        return self._matrix("pvalue_holm", np.nan)

    @property
    def nobs(self) -> pd.DataFrame:
        """Respondents with both answers; on the diagonal those with an answer."""
        return self._matrix("nobs", self.answered)

    # -- presentation ------------------------------------------------------------------------

    def _coefficients(self) -> pd.DataFrame:
        found = {pair.names: pair for pair in self.pairs}
        effects = [
            _effect(found[pair], 0.05) if pair in found else None for pair in self._frame.index
        ]
        rows = [
            (np.nan,) * 3 if effect is None else (effect.estimate, effect.lower, effect.upper)
            for effect in effects
        ]
        frame = pd.DataFrame(rows, columns=["estimate", "lower", "upper"], index=self._frame.index)
        # a standard error of V would mean little near 0, where V is cut
        return frame.assign(std_error=np.nan, t=np.nan, p_value=self._frame["pvalue_holm"])

    @property
    def _subject(self) -> str:
        return "Cramer's V"

    def _facts(self) -> dict[str, Any]:
        own: dict[str, float] = {}
        for pair in self.pairs:
            own |= dict(zip(pair.names, (fit.epsilon for fit in pair.margin_fits), strict=True))
        public = {name for pair in self.pairs for name in pair.unprotected}
        private = [epsilon for name, epsilon in own.items() if name not in public]
        return {
            "name": ", ".join(self.names),
            "mechanism": "; ".join(self.sources),
            "method": "; ".join(dict.fromkeys(pair.method for pair in self.pairs)),
            "epsilon": float(sum(private)) if private else np.inf,
            "nobs": min(pair.nobs for pair in self.pairs),
            "variables": len(self.names),
            "pairs": len(self.pairs),
            "failed": len(self.failed),
            "alpha": self.alpha,
            "adjust": "holm",
            "p_smallest": self._frame["pvalue_holm"].min(),
            "converged": all(pair.converged for pair in self.pairs),
        }

    def glance(self) -> pd.DataFrame:
        """What there is once, as a table of one row.

        Returns
        -------
        DataFrame, shape (1, ...)
            "name" (of all variables), "mechanism", "method", "epsilon" (nats, of all protected
            variables of the pairs together), "nobs" (of the pair that has the fewest respondents),
            "variables", "pairs" and "failed" (their numbers), "alpha" of the intervals, "adjust",
            "p_smallest" (adjusted) and "converged".
        """
        return super().glance()

    def summary(self, max_rows: int = 40, details: bool = False) -> Summary:
        """The pairs as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        Parameters
        ----------
        max_rows : int
            Pairs to show; those with the smallest p-values come first where there are more.
        details : bool
            Whether to say how each pair was fitted.
        """
        from ldpstats.models.matrix.summary import matrix_summary

        most = positive_integer("max_rows", max_rows)
        named = zip(self.names, self.sources, self.answered, strict=True)
        fits = {pair.names: pair.fit for pair in self.pairs} if boolean("details", details) else {}
        return matrix_summary(list(named), self._frame, fits, self.alpha, most).layout()

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())

    def plot(self, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Draw Cramer's V of each pair with its interval.

        Pairs whose adjusted p-value is not below `alpha` are hatched.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        title : str, optional
            The title to draw; "" for none.
        """
        from ldpstats.models.matrix.plots import plot_matrix

        matrices = (self.cramers_v, self.lower, self.upper, self.pvalues_holm)
        return plot_matrix(*matrices, self.alpha, ax, title)

    # -- storage -----------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "sources": list(self.sources),
            "answered": list(self.answered),
            "pairs": [pair.to_dict() for pair in self.pairs],
            "failed": [list(pair) for pair in self.failed],
            "alpha": self.alpha,
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> AssociationMatrix:
        names = tuple(document["names"])
        made = cls(
            names=names,
            sources=tuple(map(str, document["sources"])),
            answered=tuple(positive_integer("answered", n, 0) for n in document["answered"]),
            pairs=tuple(AssociationResults.from_dict(pair) for pair in document["pairs"]),
            failed=tuple((str(a), str(b), str(why)) for a, b, why in document["failed"]),
            alpha=level(document["alpha"]),
        )
        held = {pair.names for pair in made.pairs} | {pair[:2] for pair in made.failed}
        wanted = set(combinations(names, 2))
        sizes = {len(names), len(made.sources), len(made.answered)}
        if held != wanted or len(held) != len(made.pairs) + len(made.failed) or len(sizes) > 1:
            raise InvalidArgument("pairs", sorted(map(str, held)), f"must be all of {names}")
        return made


_COLUMNS: dict[str, Any] = {
    "first": object,
    "second": object,
    "cramers_v": float,
    "lower": float,
    "upper": float,
    "statistic": float,
    "df": float,
    "pvalue": float,
    "pvalue_holm": float,
    "nobs": "Int64",
    "n_missing": "Int64",
    "note": object,
}


def _effect(pair: AssociationResults, alpha: float) -> Effect | None:
    """Cramer's V of a pair, where there is one."""
    try:
        return pair.cramers_v(alpha)
    except NotAvailable:
        return None


def _row(pair: AssociationResults, alpha: float) -> dict[str, Any]:
    """What is said of one pair."""
    first, second = pair.names
    row: dict[str, Any] = {"first": first, "second": second}
    row |= {"nobs": pair.nobs, "n_missing": pair.n_missing}
    notes = []
    try:
        effect = pair.cramers_v(alpha)
        row |= {"cramers_v": effect.estimate, "lower": effect.lower, "upper": effect.upper}
        notes.append(effect.message)
    except NotAvailable as error:
        notes.append(str(error))
    test = pair.independence
    if test is None:
        notes.append(_NO_TEST)
    else:
        row |= {"statistic": test.statistic, "df": test.df, "pvalue": test.pvalue}
        notes.append(test.note)
    return row | {"note": "; ".join(note for note in notes if note)}
