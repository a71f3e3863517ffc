"""How results show themselves: as tables of data, in notebooks, and to packages for tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments.checks import boolean, level, positive_integer
from ldpstats.arguments.markup import latex_text
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.tables import SummaryTable

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

__all__ = ["Presented", "Summarised", "TableModel", "Tabulated"]

_TIDY = ["estimate", "std_error", "lower", "upper", "p_value"]
_STATS = {"N": "nobs", "ll": "llf"}  # what packages for tables call them
_STAT_LABELS = {
    "N": "Reports",
    "n_missing": "Missing",
    "epsilon": "Epsilon (nats)",
    "method": "Estimator",
    "mechanism": "Mechanism",
    "ll": "Log-likelihood",
}
_DEFAULT_STATS = ["N", "n_missing", "epsilon", "method", "ll"]


class Tabulated(ABC):
    """Results that are rows of figures for further use.

    A class gives its estimates by `_coefficients`, and what there is once by `_facts`. The
    attributes that begin with ``__maketables`` are read by the package maketables, which sets
    several results side by side in HTML, LaTeX and Word.
    """

    @abstractmethod
    def _coefficients(self) -> pd.DataFrame:
        """The columns of `_tidy` with 95 percent intervals, and "t"; by label."""

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """What there is once, by name: nobs, n_missing, epsilon, method and more."""

    @property
    @abstractmethod
    def _subject(self) -> str:
        """What was estimated, for the head of a column."""

    @abstractmethod
    def summary(self) -> Summary:
        """The results as a statsmodels `Summary`: text, `as_html()` and `as_latex()`."""

    def glance(self) -> pd.DataFrame:
        """What there is once, as a table of one row.

        Returns
        -------
        DataFrame, shape (1, ...)
            "name", "mechanism", "method", "epsilon" (nats), "nobs", "n_missing", "k" (number of
            categories, or of cells), "df_model", "df_resid", "llf", "aic", "bic" (nan where they
            mean nothing), "converged", and what else a kind of results has.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> ldp.FrequencyModel(counts).fit().glance()[["method", "nobs", "df_model", "converged"]]
          method  nobs  df_model  converged
        0    mle  1000         2       True
        """
        return pd.DataFrame([self._facts()])

    # -- maketables --------------------------------------------------------------------------

    def to_maketables(self, latex: bool = False) -> TableModel:
        """What the package maketables sets side by side, in HTML, LaTeX and Word.

        Results have the same attributes themselves, but version 0.2 of maketables takes whatever
        has `params`, `bse` and `pvalues` for results of statsmodels, whose tables know neither
        epsilon nor cells of several variables. So pass ``results.to_maketables()``.

        Parameters
        ----------
        latex : bool
            Whether labels and facts have their special characters escaped, as a table in LaTeX
            needs them: "50% & more" would not compile. Not for HTML or Word.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> model = ldp.FrequencyModel(counts, name="answer").fit().to_maketables()
        >>> model.__maketables_stat__("N"), model.__maketables_depvar__
        (1000, 'answer')

        Then ``maketables.ETable([model, ...])``.
        """
        frame = self._coefficients()
        table = frame[_TIDY].set_axis(["b", "se", "ci95l", "ci95u", "p"], axis=1)
        table.insert(2, "t", frame["t"].to_numpy())
        table.index = pd.Index(_as_text(frame.index), name="Coefficient")
        facts, subject = self._facts(), self._subject
        if boolean("latex", latex):
            table.index = pd.Index(map(latex_text, table.index), name="Coefficient")
            facts = {k: latex_text(v) if isinstance(v, str) else v for k, v in facts.items()}
            subject = latex_text(subject)
        return TableModel(table, facts, subject)

    @property
    def endog_names(self) -> str:
        """Name of the variable, by the name that statsmodels has for it."""
        return self._subject

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        return self.to_maketables().__maketables_coef_table__

    def __maketables_stat__(self, key: str) -> Any:
        return _stat(self._facts(), key)

    @property
    def __maketables_depvar__(self) -> str:
        return self._subject

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        return _vcov(self._facts())

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        return dict(_STAT_LABELS)

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return _default_stats(self._facts())


class Presented(Tabulated):
    """Results that print as a summary and are data frames for further use.

    A class gives its estimates by `_tidy` and `tvalues`, what there is once by `_facts`.
    """

    @abstractmethod
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`: text, `as_html()` and `as_latex()`."""

    @abstractmethod
    def _tidy(self, alpha: float) -> pd.DataFrame:
        """Estimates by their labels: "estimate", "std_error", "lower", "upper", "p_value"."""

    @property
    @abstractmethod
    def tvalues(self) -> pd.Series[float]:
        """Estimates over their standard errors."""

    def _coefficients(self) -> pd.DataFrame:
        return self._tidy(0.05).assign(t=self.tvalues.to_numpy())

    @names_alpha
    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The estimates as a flat table of data, with no index: a row for each.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.

        Returns
        -------
        DataFrame
            The labels, in the column "term" or in one for each variable; "estimate" and
            "std_error" of `params`; "lower" and "upper" of `conf_int`; and "p_value", the one of
            the summary: one-sided, of a frequency of zero. nan where something was not computed. A
            variable with the name of another column has "(variable)" after it.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> ldp.FrequencyModel(counts).fit().to_frame().round(3)
          term  estimate  std_error  lower  upper  p_value
        0    a     0.571      0.043  0.487  0.657    0.000
        1    b     0.324      0.041  0.244  0.407    0.000
        2    c     0.105      0.038  0.032  0.182    0.002
        """
        frame = self._tidy(level(alpha))[_TIDY]
        labels = frame.index.to_frame(index=False)
        if labels.shape[1] == 1:
            labels.columns = pd.Index(["term"])
        else:
            names = [f"{name} (variable)" if name in _TIDY else name for name in labels.columns]
            labels.columns = pd.Index(names)
        return pd.concat([labels, frame.reset_index(drop=True)], axis=1)

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())


class Summarised(Presented):
    """Results that print as a summary of the usual options; a class gives its `_summary_table`."""

    @abstractmethod
    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        """What the summary says, for checked options."""

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`.

        The unconstrained estimate, which intervals and p-values rest on, has columns of its own
        where it differs from `params` by more than the digits that are shown.

        Parameters
        ----------
        alpha : float
            One minus the coverage of the intervals.
        max_rows : int
            Categories, or cells, to show; the largest estimates come first where there are more.
        details : bool
            Whether to show the covariance, the log-likelihood, AIC and BIC, and how the estimator
            ended too, and the unconstrained estimate in any case.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> summary = ldp.FrequencyModel(counts).fit().summary()
        >>> summary.as_text().splitlines()[0].strip()
        'Frequencies of a privatised variable'
        """
        alpha, max_rows = level(alpha), positive_integer("max_rows", max_rows)
        return self._summary_table(alpha, max_rows, boolean("details", details)).layout()


@dataclass(frozen=True, eq=False)
class TableModel:
    """Estimates and facts as maketables reads them, and nothing else.

    Parameters
    ----------
    table : DataFrame
        "b", "se", "t", "ci95l", "ci95u" and "p" by label, as text.
    facts : dict
        What there is once, by name.
    subject : str
        What was estimated.
    """

    table: pd.DataFrame
    facts: dict[str, Any]
    subject: str

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        return self.table

    def __maketables_stat__(self, key: str) -> Any:
        return _stat(self.facts, key)

    @property
    def __maketables_depvar__(self) -> str:
        return self.subject

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        return _vcov(self.facts)

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        return dict(_STAT_LABELS)

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return _default_stats(self.facts)


def _stat(facts: dict[str, Any], key: str) -> Any:
    """A fact by its name, or by that which tables have for it; None where there is none."""
    value = facts.get(_STATS.get(key, key))
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return "infinite" if isinstance(value, float) and value == np.inf else value


def _default_stats(facts: dict[str, Any]) -> list[str]:
    """The usual facts that these results have."""
    return [key for key in _DEFAULT_STATS if _stat(facts, key) is not None]


def _vcov(facts: dict[str, Any]) -> dict[str, Any]:
    return {"vcov_type": facts.get("cov_type"), "clustervar": None}


def _as_text(labels: pd.Index[Any]) -> list[str]:
    """Labels as text; those of several variables joined, and quoted where two would be alike."""
    if not isinstance(labels, pd.MultiIndex):
        return [str(label) for label in labels]
    joined = [":".join(map(str, label)) for label in labels]
    if len(set(joined)) < len(joined):
        return [":".join(map(repr, label)) for label in labels]
    return joined
