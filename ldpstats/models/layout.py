"""How results show themselves: summaries, their words and figures, and tables of data.

A summary is a record of a title, a header, a table and notes; its layout is a statsmodels
`Summary`: text, HTML and LaTeX. A note begins with WARNING where it bears on what may be concluded,
and with NOTE where it says how the numbers are to be read; notes without either explain the table.
They are shown in the order in which they are given.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from inspect import CO_VARKEYWORDS
from itertools import chain, repeat, zip_longest
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import Array, boolean, latex_text, level, positive_integer, record
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.hints import Hinted, guided, refused_call
from ldpstats.inference.tests import TestResult, pvalue_text, reject, z_test
from ldpstats.labels import Labels
from ldpstats.likelihood.covariance import Uncertain
from ldpstats.likelihood.moments import ill_conditioned
from ldpstats.likelihood.rows import nats_to_gain

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

# -- Summaries ------------------------------------------------------------------------------------


LONGEST_LABEL = 40
ESTIMATES = ["estimate", "se", "lower", "upper"]  # columns of tables of estimates


@dataclass(frozen=True)
class SummaryTable:
    """What a summary says."""

    title: str
    header: Sequence[Sequence[str]]  # two pairs of a name and a value in a row
    columns: Sequence[str]  # heads of the table
    stubs: Sequence[str]  # names of its rows
    body: Sequence[Sequence[str]]
    notes: Sequence[str]
    others: Sequence[Sequence[str]] = ()  # a second table below it: its heads, then its rows
    corner: str = ""  # above the names of the rows

    def layout(self) -> Summary:
        """The header, the table below it of the same width, and the notes, in every format."""
        from ldpstats.models.statsmodels import EscapedSummary  # which takes a while to import

        return EscapedSummary(self)


def in_blocks(
    blocks: Mapping[Any, str], of: Sequence[Any], stubs: Sequence[str], cells: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Rows of a table under the heads of their blocks, which `of` tells of each row."""
    names: list[str] = []
    body: list[list[str]] = []
    for block, head in blocks.items():
        rows = [row for row, own in enumerate(of) if own == block]
        if rows:
            names += [head, *(f"  {stubs[row]}" for row in rows)]
            body += [[""] * len(cells[0]), *(cells[row] for row in rows)]
    return names, body


# -- words and figures ---------------------------------------------------------------------


def one_line(label: object, longest: int) -> str:
    """A label as it is shown: no line breaks or tabs, the middle left out where it is too long."""
    text = str(label)
    if not text.isprintable():
        text = "".join(c if c.isprintable() else " " for c in text)
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 3
    return f"{text[: longest - 3 - tail]}...{text[-tail:]}"


def joined(index: Labels, sign: str) -> list[Any]:
    """Labels, those of several variables as text."""
    if not isinstance(index, pd.MultiIndex):
        return index.tolist()
    return [sign.join(map(str, label)) for label in index]


def distinct_lines(labels: Iterable[object], longest: int) -> list[str]:
    """Labels as they are shown, longer or numbered where what tells them apart was left out."""
    labels = list(labels)
    shown = list(map(one_line, labels, repeat(longest)))
    for room in (2 * longest, 4 * longest, 0):
        times = Counter(shown)
        for i, text in enumerate(list(shown)):
            if times[text] < 2:
                continue
            if room:
                shown[i] = one_line(labels[i], room)
                continue
            number = i + 1
            while f"{shown[i]} ({number})" in shown:
                number += len(shown)
            shown[i] = f"{shown[i]} ({number})"
    return shown


def figures(values: Iterable[float], digits: int) -> list[str]:
    """Numbers with so many decimals; "-" for what was not computed, and no negative zero."""
    texts = []
    for value in values:
        texts.append("-" if np.isnan(value) else f"{value:z.{digits}f}")
    return texts


def decimals(se: Array, least: int = 4) -> int:
    """Decimals that show two digits of the smallest standard error; from `least` to 9."""
    smallest = float(se[se > 1e-9].min(initial=1.0))
    return int(np.clip(2 - np.floor(np.log10(smallest)), least, 9))


def interval_columns(alpha: float) -> list[str]:
    """Heads of the two columns of an interval."""
    return [f"[{alpha / 2:.4g}", f"{1 - alpha / 2:.4g}]"]


# -- The header and the notes that summaries of all kinds share -----------------------------------


PARTLY_PROTECTED = (
    "NOTE: epsilon protects the sensitive categories only: reports may reveal any other answer."
)
PRESENCE = "of p = 0 against p > 0, not adjusted for the number of categories"  # p-values
DOUBTFUL = 0.01  # p-value of a goodness of fit below which a summary warns

Pair = tuple[str, Any]
"""A name and a value of a header: text, a number of things, or an epsilon."""

Frame = pd.DataFrame
Heading = tuple[str, list[Pair], list[Pair]]  # title, and the pairs of a header, left and right
Cells = tuple[list[str], list[list[str]], str]  # heads, rows of texts, words on intervals
Body = tuple[list[str], list[str], list[list[str]]]  # heads, names of rows, rows of texts


def title(fit: Any, what: str = "Frequencies", unnamed: str = " of a privatised variable") -> str:
    """The first line: the name of the variable, where it has one."""
    return what + (f" of {one_line(fit.name, LONGEST_LABEL)}" if fit.name else unnamed)


def header(
    left: Sequence[Pair], right: Sequence[Pair], more: Sequence[Sequence[Pair]] = ((), ())
) -> list[list[str]]:
    """Header rows of two columns of pairs, the shorter one filled up; then those of `more`."""
    rows = []
    for both in ((left, right), more):
        for pairs in zip_longest(*both, fillvalue=("", "")):
            row = []
            for name, value in pairs:
                text = f"{value:.6g}" if isinstance(value, float) else str(value)
                row += [name, text.replace("inf", "infinite") if value == np.inf else text]
            rows.append(row)
    return rows


def estimator_text(fit: Fit) -> str:
    """The estimator, and what its name does not say."""
    return f"{fit.method}, {fit.settings}" if fit.settings else fit.method


def interval_note(alpha: float, kind: str, ends: pd.DataFrame | None, source: str) -> str:
    """What the intervals with these `ends` are, which are cut at 0 and 1 unless they are None.

    `source` are the words of `Tabulated._estimate_cells`.
    """
    touch = ends is not None and ((ends["lower"] <= 0.0) | (ends["upper"] >= 1.0)).any()
    cut = ", cut to [0, 1]" if touch else ""
    return f"Intervals: {100 * (1 - alpha):.4g}% {kind}{cut}{source}."


def closing_notes(fit: Fit, condition: float, test: TestResult | None = None) -> list[str]:
    """What every fit may need: on errors, convergence, the channel and the goodness of fit."""
    notes, lacking = [], fit.cov_type in WITHOUT_ERRORS and fit.method != "smoothed"
    if lacking and not np.isnan(fit.linear.bse()).any():
        notes.append(
            f"NOTE: {fit._without_errors}; those shown belong to the unconstrained estimate."
        )
    if fit.cov_type == "fpe16":
        notes.append(
            "NOTE: the std err of the estimate leave out that frequencies sum to one (fpe16), and "
            "are too large."
        )
    if not fit.converged:
        notes.append(f"WARNING: the estimator did not converge: {fit.message}")
    if words := ill_conditioned(condition):
        notes.append(f"WARNING: {words}.")
    if test is not None:
        p = pvalue_text(test.pvalue, "p")
        notes.append(f"Goodness of fit ({test.method}): {p}.")
        if test.pvalue < DOUBTFUL:
            notes.append(f"WARNING: the reports contradict the hypothesis that {test.null}.")
    return notes


def outcome_notes(what: str, test: TestResult) -> list[str]:
    """The outcome of a test of what the words say, and the note that it has."""
    each = test.df if isinstance(test.df, tuple) else (test.df,)
    df, p = ", ".join(f"{one:g}" for one in each), pvalue_text(test.pvalue, "p")
    note = f"{what} ({test.method}): {test.statistic:.4g} on {df} df, {p}."
    return [note, f"NOTE: {test.note}."] if test.note else [note]


def resolution_notes(
    fit: Fit, pvalues: Callable[[], npt.ArrayLike] | None = None, what: str = "categories"
) -> list[str]:
    """That the reports are too few to say anything of shares, and none stands out.

    If variances add up to more than the spread of shares that are drawn evenly from the simplex,
    the guess that all are equal has, on average over such shares, a smaller mean square error than
    the estimates. For two categories the limit is the standard error of a uniform guess on [0, 1],
    .29; for many it is about 1/k, the average share. `pvalues` are those of p = 0 against p > 0 in
    the table, (k,); by default of the normal law.
    """
    linear, se = fit.linear, fit.linear.bse()
    k, total = se.size, (se**2).sum()
    spread = (k - 1.0) / (k * (k + 1.0)) if k > 1 else 1.0 / 12.0  # of a single share
    if linear.covariance is None or linear.at is not None or not k or total <= spread:
        return []
    p = z_test(linear.estimate, se, 0.0, "larger")[1] if pvalues is None else pvalues()
    if reject(p).any():  # by Bonferroni's rule at .05
        return []
    needed = fit.nobs * total / spread
    size = 10 ** max(int(np.floor(np.log10(needed))) - 1, 0)
    rule = " by Bonferroni's rule at .05 (p-values in the table are not adjusted)"
    return [
        f"WARNING: the survey is too small or too private for its {what}: n of about "
        f"{int(np.ceil(needed / size)) * size:,} is needed. "  # two digits, rounded up
        f"None stands out from the noise{rule * (pvalues is not None)}, and "
        "standard errors are larger than the spread of shares that are drawn at random."
    ]


# -- What every fit leaves behind: the estimate, the one that tests rest on, and how it was made ---


CONSTRAINED = "constrained"  # settings of an estimate under constraints of the caller
SANDWICH = "sandwich"  # covariance of an estimate by a weighted likelihood
_ROUNDING = 1e-9  # of frequencies

PENALISED = "a penalised estimate has no standard errors"
WITHOUT_ERRORS = {
    "none (constrained)": "a constrained estimate has no standard errors",
    "none (penalised)": PENALISED,
    "none (too large)": "standard errors of so many frequencies at once were not computed",
    "none (singular information)": "the reports leave the estimate without standard errors",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """An estimate, the unconstrained one that tests rest on, and how the fit ended.

    `results.Results` are such a fit too: ``vars(fit)`` are fields of theirs.
    """

    # the estimate that was asked for, with its covariance
    fitted: Uncertain = field(metadata={"shared": "linear"})
    linear: Uncertain  # the unconstrained estimate, with its covariance
    method: str  # name of the estimator
    settings: str  # what of the estimator its name does not say
    cov_type: str  # what the covariance of `fitted` rests on
    nobs: int  # reports, or respondents where each makes several
    n_missing: int  # respondents who gave no answer
    epsilon: float  # privacy of a respondent's reports, in nats; the largest
    sources: tuple[str, ...]  # the mechanisms of the reports, in words
    is_partial: bool = False  # epsilon protects the sensitive categories only
    llf: float = float("nan")  # both nan for an estimate that maximises no likelihood
    gap: float = float("nan")
    n_iter: int = 0  # iterations of the estimator
    converged: bool = True  # whether the estimator reached its certificate
    message: str = ""  # how the estimator ended
    name: str = ""  # of the variable; empty where it has none
    source_nobs: tuple[int, ...] = ()  # reports of each source; empty where not known

    @property
    def df_model(self) -> int:
        """Estimated frequencies that vary freely: one fewer where they sum to one."""
        estimate = self.fitted.estimate[self.fitted.places]
        return int(estimate.size) - int(abs(estimate.sum() - 1.0) <= _ROUNDING)

    @property
    def df_resid(self) -> int:
        """Reports less `df_model`."""
        return self.nobs - self.df_model

    @property
    def aic(self) -> float:
        """``2 df_model - 2 llf``; nan where the frequencies do not maximise the likelihood freely.

        Under further constraints, what varies freely is not known.
        """
        return self._criterion(2.0)

    @property
    def bic(self) -> float:
        """``log(nobs) df_model - 2 llf``; nan as `aic`."""
        return self._criterion(float(np.log(max(self.nobs, 1))))

    def _criterion(self, each: float) -> float:
        """Twice the negative log-likelihood, and `each` for what varies freely."""
        known = self.is_maximum and self.converged and self.settings != CONSTRAINED
        # a pseudo-likelihood has no such criterion, nor what stops short of the maximum
        if self.method in ("smoothed", "em-fpe16") or self.cov_type == SANDWICH:
            known = False
        return each * self.df_model - 2.0 * self.llf if known else float("nan")

    @property
    def gap_nats(self) -> float:
        """Bound, in nats, of the log-likelihood that any other p could gain; rounding included."""
        return nats_to_gain(self.nobs, self.gap)

    @property
    def is_maximum(self) -> bool:
        """Whether the estimate maximises the likelihood, and has a certificate for it."""
        return not np.isnan(self.gap)

    @property
    def on_boundary(self) -> bool:
        """Whether some estimated frequency is zero."""
        return bool(np.any(self.fitted.estimate <= 0.0))

    @property
    def _without_errors(self) -> str:
        """Why the estimate has no standard errors, in words; "" where it has."""
        if self.fitted.has_errors:
            return ""
        return WITHOUT_ERRORS.get(self.cov_type, "no covariance of params was computed")


def is_partial(mechanisms: Iterable[dict[str, Any]]) -> bool:
    """Whether some mechanism, each as its `to_dict`, protects only some of its categories."""
    for document in mechanisms:
        sensitive, categories = document.get("sensitive"), document.get("categories")
        if isinstance(sensitive, list) and categories is not None:
            if len(sensitive) < (categories if isinstance(categories, int) else len(categories)):
                return True
    return False


# -- Tables of data, which print whole: no column is left out where a page is narrow --------------


_ESTIMATES = {  # columns whose numbers have the decimals of the standard errors
    *("estimate", "params", "linear", "unconstrained", "naive", "mean", "coef", "effect", "smooth"),
    *("difference", "odds_ratio", "dy/dx", "lower", "upper", "Conf. Int. Low", "Cont. Int. Hi."),
    *(_ERRORS := ("std_error", "bse", "linear_se", "se", "Std. Err.")),
}


class Table(pd.DataFrame):
    """A table of data that prints whole, in the layout of summaries.

    It is a DataFrame, and what is computed from it is a plain one. A table that is wider than a
    page goes on below itself, no column is left out; of more rows than pandas prints
    (``display.max_rows``) the first ``display.min_rows`` are shown. `to_frame` is the same as a
    plain DataFrame.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> counts = ldp.KRR(("a", "b", "c"), epsilon=1.0).counts([420, 330, 250])
    >>> ldp.FrequencyModel(counts).fit().conf_int()
    ================================
                    lower      upper
    --------------------------------
    a              0.4867     0.6572
    b              0.2443     0.4069
    c              0.0315     0.1815
    ================================
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """The same as a plain DataFrame, which pandas prints."""
        return pd.DataFrame(self)

    def summary(self) -> Summary:
        """The table as a statsmodels `Summary`: text, HTML, LaTeX and Markdown."""
        most, few = (pd.get_option(f"display.{one}_rows") for one in ("max", "min"))
        sizes, index = self.shape, self.index
        n, k = (size if not most or size <= most else few or most for size in sizes)
        shown, named = self.iloc[:n, :k], zip(sizes, (n, k), ("rows", "columns"), strict=True)
        cut = [f"{one} of {size} {what}" for size, one, what in named if one < size]
        notes = [f"Shown: the first {' and the first '.join(cut)}."] * bool(cut)
        is_numbered = isinstance(index, pd.RangeIndex) and index.name is None
        if is_numbered and sizes[0] == 1:
            values = [_cell(value, sys.maxsize) for value in shown.iloc[0]]
            pairs: list[Pair] = [(f"{name}:", v) for name, v in zip(shown, values, strict=True)]
            half = -(-k // 2)
            return SummaryTable("", header(pairs[:half], pairs[half:]), [], [], [], notes).layout()
        heads = list(map(str, joined(shown.columns, " : ")))
        columns = [_texts(shown, at) for at in range(len(heads))]
        corner = " : ".join(str(name) for name in index.names if name is not None)
        stubs = distinct_lines(joined(shown.index, " : "), LONGEST_LABEL)
        if is_numbered and k > 1 and not pd.api.types.is_numeric_dtype(shown.iloc[:, 0]):
            (corner, *heads), (stubs, *columns) = heads, columns
        body = [list(row) for row in zip(*columns, strict=True)]
        return SummaryTable("", [], heads, stubs, body, notes, corner=corner).layout()

    def __repr__(self) -> str:
        return super().__repr__() if self.empty else self.summary().as_text().rstrip()

    def _repr_html_(self) -> str:
        """The table, in a notebook."""
        return self.to_frame().to_html() if self.empty else str(self.summary().as_html())


def _texts(frame: pd.DataFrame, at: int) -> list[str]:
    """A column as a table shows it."""
    column, name = frame.iloc[:, at], str(frame.columns[at])
    kind = column.dtype
    if not pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return [_cell(value) for value in column]
    values = column.to_numpy(float, na_value=np.nan)
    if "pvalue" in name or "p_value" in name or name.startswith("Pr("):
        return list(map(pvalue_text, values))
    if pd.api.types.is_integer_dtype(kind):
        return figures(values, 0)
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max(initial=0.0))
    if name in _ESTIMATES:
        se = [frame[one].to_numpy(float) for one in _ERRORS if one in frame]
        return figures(values, decimals(np.concatenate(se)) if se else 4)
    if largest > 1.0 and np.all(finite == np.round(finite)):
        return figures(values, 0)
    if largest < 1e-3 or largest >= 1e6:
        return ["-" if np.isnan(value) else f"{value:.4g}" for value in values]
    return figures(values, max(2, 3 - int(np.floor(np.log10(largest)))))


def _cell(value: Any, longest: int = LONGEST_LABEL) -> str:
    """What is no number; a number in a column of others, too."""
    if isinstance(value, float | np.floating):
        return "-" if np.isnan(value) else f"{value:.6g}"
    return "-" if value is None or value is pd.NA else one_line(value, longest)


# -- Words: arguments that other packages call by another name, and numbers of things -------------


P = ParamSpec("P")
T = TypeVar("T")


def names_alpha(method: Callable[P, T]) -> Callable[P, T]:
    """A method that answers ``level=.95`` with the spelling that it has here: ``alpha=0.05``.

    And ``anytime=True``, which frequencies of one question have, with where it is. A frame that it
    returns is a `Table`, which prints whole.
    """
    code = method.__code__
    knows = bool(code.co_flags & CO_VARKEYWORDS) or "anytime" in code.co_varnames

    @wraps(method)
    def spelled(*args: P.args, **kwargs: P.kwargs) -> T:
        if "anytime" in kwargs and not knows:
            raise NotAvailable(
                "anytime=True is of FrequencyResults.conf_int, for the frequencies of one question "
                "without weights: other intervals hold for one look"
            )
        for name in ("level", "conf_level", "confidence", "confidence_level"):
            if name in kwargs:
                level, alpha = kwargs[name], 0.05
                if isinstance(level, int | float) and 0.0 < level < 1.0:
                    alpha = round(1.0 - float(level), 12)
                remedy = f"is called alpha, one minus the level: pass alpha={alpha:g}"
                raise InvalidArgument(name, level, remedy)
        try:
            found: Any = method(*args, **kwargs)
        except TypeError:
            if refusal := refused_call(method, args, kwargs):
                raise refusal from None
            raise
        table: Any = Table(found) if type(found) is pd.DataFrame else found
        return table  # type: ignore[no-any-return]

    return spelled


def count_of(n: int, noun: str) -> str:
    """A number of things in words: "1 test", "3 tests"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def in_turn(words: Sequence[str], most: int = 6) -> str:
    """Some words in a row: "a, b and c"; beyond `most` the number of the others."""
    shown = list(words)
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


_TIDY = ["estimate", "std_error", "lower", "upper", "p_value"]
_STATS = {"N": "nobs", "ll": "llf"}  # what packages for tables call them
_STAT_LABELS = {
    "N": "Reports",
    "n_missing": "Missing",
    "epsilon": "Epsilon (nats)",
    "method": "Estimator",
    "mechanism": "Mechanism",
    "ll": "Log-likelihood",
    "n_groups": "Groups",
    "design": "Design",
    "se_type": "Covariance",
}
_DEFAULT_STATS = ["N", "n_missing", "n_groups", "epsilon", "method", "ll", "design", "se_type"]


class Facts(Hinted, ABC):
    """What the package maketables reads, by attributes that begin with ``__maketables``.

    Beside those here, ``__maketables_coef_table__`` has "b", "se", "t", "ci95l", "ci95u" and "p"
    by label, as text.
    """

    if not TYPE_CHECKING:

        def __getitem__(self, label: Any) -> Any:
            raise TypeError(
                f"{type(self).__name__!r} object is not subscriptable: estimates by label are "
                "results.params[label], all as a table results.to_frame()"
            )

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """What there is once, by name: nobs, n_missing, epsilon, method and more."""

    def _table_facts(self) -> dict[str, Any]:
        """What tables of several results say besides: "design" and "se_type"."""
        return {}

    @property
    @abstractmethod
    def _subject(self) -> str:
        """What was estimated, for the head of a column."""

    def __maketables_stat__(self, key: str) -> Any:
        """A fact by its name, or by that which tables have for it; None where there is none."""
        value = (self._facts() | self._table_facts()).get(_STATS.get(key, key))
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        return "infinite" if isinstance(value, float) and value == np.inf else value

    @property
    def __maketables_depvar__(self) -> str:
        return self._subject

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        return {"vcov_type": self._facts().get("cov_type"), "clustervar": None}

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        return dict(_STAT_LABELS)

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        """The usual facts that these results have."""
        keys = [key for key in _DEFAULT_STATS if self.__maketables_stat__(key) is not None]
        plain = self._facts().get("cov_type") == "nonrobust"
        return [key for key in keys if key != "se_type" or not plain]


@record
class TableModel(Facts):
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

    _subject = property(attrgetter("subject"))
    __maketables_coef_table__ = property(attrgetter("table"))

    def _facts(self) -> dict[str, Any]:
        return self.facts


class Tabulated(Facts):
    """Results that print as a summary and are tables of data for further use.

    A kind gives what it estimates as `_subject`, what there is once by `_facts`, its estimates by
    `summary_frame` and `tvalues`, the title of its summary with the pairs of its header, left and
    right, by `_heading`; one with a summary of its own gives `_summary_table` instead. Attributes
    that begin with ``__maketables`` are read by the package maketables, which sets several results
    side by side in HTML, LaTeX and Word.
    """

    if TYPE_CHECKING:  # of kinds

        @property
        def tvalues(self) -> pd.Series[float]: ...
        def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame: ...
        def _heading(self) -> Heading: ...

    def __init_subclass__(cls) -> None:
        """Every public method with an `alpha` answers its other names, see `names_alpha`."""
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            code = getattr(method, "__code__", None)
            if code is None or name.startswith("_"):
                continue
            if "alpha" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
                setattr(cls, name, names_alpha(method))

    # -- the summary: a kind says more, or something else, by these, and never lays it out --------

    def _computed(self) -> tuple[list[Pair], list[Pair]]:
        """Pairs of the header of a summary with details, left and right."""
        return [], []

    def _questions(self) -> list[list[str]]:
        """A second table, of what was asked and how: its heads, then its rows; none by default."""
        return []

    def _rows(self, alpha: float, max_rows: int = 0) -> tuple[Frame, Frame]:
        """`summary_frame`, and its intervals before they were cut, where these are known."""
        frame = self.summary_frame(alpha)
        return frame, frame

    def _largest(self, frame: Frame, max_rows: int) -> tuple[Frame, list[str]]:
        """The rows to print: all, or the largest estimates, and a note that says so."""
        if (n := len(frame)) <= max_rows:
            return frame, []
        # of equal ones by the unconstrained
        keys = [-frame[name].to_numpy() for name in ("linear", "params") if name in frame]
        note = f"Shown: the {max_rows} largest of {n} estimates."
        return frame.iloc[np.lexsort(keys)[:max_rows]], [note]

    def _estimate_cells(self, shown: Frame, frame: Frame, alpha: float, details: bool) -> Cells:
        """Heads and cells of the rows `shown` of a frame of estimates, and words on its intervals.

        The unconstrained estimate, on which intervals rest, has columns where some row of the frame
        has it a tenth of a standard error apart; the words say so where the reader can see it.
        """
        asked, linear = ["params", "bse"], ["linear", "linear_se"]
        first, second = frame[asked].to_numpy(float), frame[linear].to_numpy(float)
        near = 0.1 * np.nan_to_num(second[:, 1:])  # where there are no errors only what is equal
        alike = np.isclose(first, second, 0.0, near, equal_nan=True)
        digits, words = decimals(shown["linear_se"].to_numpy()), ", from the unconstrained estimate"
        heads, columns = ["estimate", "std err"], asked
        if details or not alike.all():
            heads, columns = [*heads, "unconstr.", "std err"], [*asked, *linear]
        elif np.array_equal(first.round(digits), second.round(digits), equal_nan=True):
            words = ""
        else:
            words += ", which differs by less than a tenth of a std err"
        values = shown[[*columns, "lower", "upper"]].to_numpy(float)
        return [*heads, *interval_columns(alpha)], [figures(row, digits) for row in values], words

    def _body(self, shown: Frame, heads: list[str], cells: list[list[str]]) -> Body:
        """Heads, names of the rows, and all cells, beginning with those of the estimates."""
        if "presence_pvalue" in shown:
            heads = [*heads, "p-value"]
            for row, p in zip(cells, shown["presence_pvalue"], strict=True):
                row.append(pvalue_text(p))
        return heads, distinct_lines(joined(shown.index, " : "), LONGEST_LABEL), cells

    def _interval_words(self) -> tuple[str, str]:
        """How intervals are computed, and what p-values are of, in words."""
        return "Wald", PRESENCE

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        """What intervals and p-values are; `source` the words of `_estimate_cells`."""
        kind, pvalues = self._interval_words()
        notes = [interval_note(alpha, kind, uncut, source)]
        return [*notes, f"p-value: {pvalues}."] if "presence_pvalue" in frame else notes

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        """What else is to be known of the rows of the summary; a kind puts its own before."""
        return []

    def _summary_table(self, alpha: float, max_rows: int, details: bool) -> SummaryTable:
        """What the summary says, for checked options."""
        frame, uncut = self._rows(alpha, max_rows)
        if isinstance(self, Fit):  # without candidates that were not selected
            frame, uncut = frame.iloc[self.linear.places], uncut.iloc[self.linear.places]
        shown, rest = self._largest(frame, max_rows)
        heads, cells, source = self._estimate_cells(shown, frame, alpha, details)
        heads, stubs, body = self._body(shown, heads, cells)
        name, left, right = self._heading()
        notes = [*self._interval_notes(frame, uncut, alpha, source), *rest]
        notes += [PARTLY_PROTECTED] * getattr(self, "is_partial", False)  # regressions know of none
        return SummaryTable(
            name,
            header(left, right, self._computed() if details else ((), ())),
            heads,
            stubs,
            body,
            [*notes, *self._notes(frame, details)],
            self._questions(),
        )

    def _tidy(self, alpha: float) -> pd.DataFrame:
        """Estimates by their labels: "estimate", "std_error", "lower", "upper", "p_value"."""
        return tidy_names(self.summary_frame(alpha))

    def _coefficients(self) -> pd.DataFrame:
        """The columns of `_tidy` with 95 percent intervals, and "t"; by label."""
        return self._tidy(0.05).assign(t=self.tvalues.to_numpy())

    _tests_instead: ClassVar[str]  # of kinds whose estimates have no joint law

    @names_alpha
    def conf_int(self, alpha: Any = None) -> Any:
        """Confidence intervals, columns "lower" and "upper"; by default those of `summary`."""
        frame = self.summary_frame() if alpha is None else self.summary_frame(alpha)
        return frame[["lower", "upper"]]

    def t_test(self, hypothesis: Any) -> Any:
        """Refused, with what there is instead: linear hypotheses need a joint law of estimates."""
        raise NotAvailable(f"tests of hypotheses about {self._subject}: {self._tests_instead}")

    def wald_test(self, hypothesis: Any) -> Any:
        """Refused as `t_test`."""
        return self.t_test(hypothesis)

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`: text (print it), HTML, LaTeX and Markdown.

        The unconstrained estimate, which intervals and p-values rest on, has columns of its own
        where it differs from `params` by more than the digits that are shown. The summary has
        `as_text`, `as_html`, `as_latex`, `as_markdown` and `as_frame`.

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

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())

    @names_alpha
    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """The estimates as a flat table of data, with no index: a row for each.

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
        names = [f"{name} (variable)" if name in _TIDY else name for name in labels.columns]
        labels.columns = pd.Index(names if len(names) > 1 else ["term"])
        return pd.concat([labels, frame.reset_index(drop=True)], axis=1)

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
        return Table([self._facts()])

    # -- files and markup --------------------------------------------------------------------

    @guided
    def to_markdown(self, **options: Any) -> str:
        """The summary in the Markdown of GitHub; special characters of names are escaped.

        Parameters
        ----------
        **options
            As of `summary`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> counts = ldp.KRR(("a_1", "b", "c"), epsilon=1.0).counts([420, 330, 250])
        >>> ldp.FrequencyModel(counts).fit().to_markdown().splitlines()[10]
        '| a\\\\_1 | 0.5713 | 0.0429 | 0.4867 | 0.6572 | \\\\<0.001 |'
        """
        return str(self.summary(**options).as_markdown())

    @guided
    def to_latex(self, **options: Any) -> str:
        """The summary in LaTeX, for booktabs; special characters of names are escaped.

        Parameters
        ----------
        **options
            As of `summary`.
        """
        return str(self.summary(**options).as_latex())

    @names_alpha
    def to_excel(self, path: str | PathLike[str], alpha: float | None = None) -> None:
        """Write an Excel file: a sheet "estimates", as of `to_frame`, and a sheet "fit".

        Names that look like formulas are written as text. It needs openpyxl, as the extra `tables`
        installs it.

        Parameters
        ----------
        path : path-like
            A file that ends in .xlsx; it is overwritten.
        alpha : float, optional
            One minus the coverage of the intervals; by default that of `to_frame`.
        """
        sheets = {
            "estimates": self.to_frame() if alpha is None else self.to_frame(alpha),
            "fit": self.glance().T.reset_index().set_axis(["name", "value"], axis=1),
        }
        try:
            with pd.ExcelWriter(path, engine="openpyxl") as writer:
                for name, frame in sheets.items():
                    frame.to_excel(writer, sheet_name=name, index=False)
                    for cell in chain.from_iterable(writer.sheets[name].iter_rows()):
                        if cell.data_type == "f":  # it begins with "="
                            cell.data_type = "s"
        except ImportError:
            raise NotAvailable(
                "Excel files need openpyxl: pip install 'ldpstats[tables]', or write "
                "to_frame().to_csv(path)"
            ) from None

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
        # a colon would be read as an interaction, and is one between names of covariates
        labels = [text.replace(": ", ", ") for text in map(str, joined(frame.index, ", "))]
        if frame.index.nlevels > 1 and len(set(labels)) < len(labels):  # quoted
            labels = [", ".join(map(repr, label)) for label in frame.index]
        said = latex_text if boolean("latex", latex) else str
        table.index = pd.Index(map(said, labels), name="Coefficient")
        facts = self._facts() | self._table_facts()
        facts = {k: said(v) if isinstance(v, str) else v for k, v in facts.items()}
        return TableModel(table, facts, said(self._subject))

    @property
    def endog_names(self) -> str:
        """Name of the variable, by the name that statsmodels has for it."""
        return self._subject

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        return self.to_maketables().table


def tidy_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of a `summary_frame` as `to_frame` calls them."""
    names = {"params": "estimate", "bse": "std_error", "presence_pvalue": "p_value"}
    return frame.rename(columns=names | {"pvalue": "p_value"})
