"""What a report says about the answer of the respondent who made it: Bayes' theorem.

Afterwards: the picture of these probabilities, and how a caller may pass the joint distribution of
the answers to several questions. Matplotlib is imported when a picture is drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import Array, distribution, numbers
from ldpstats.errors import InvalidArgument, LDPWarning, NotAvailable
from ldpstats.hints import guided
from ldpstats.labels import Labels, align
from ldpstats.mechanisms import Enumerated, Mechanism
from ldpstats.models.layout import Table
from ldpstats.models.plots import labels_of, plot_cells, title_text
from ldpstats.reports.single import Counts, Reports

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 1 << 26  # probabilities that are listed: half a GB


@guided
def posterior(mechanism: Any, p: Any, reports: Any = None, candidates: Any = None) -> pd.DataFrame:
    """What may be believed about a respondent's answer, given her report: P(answer | report).

    By Bayes' theorem ``P(x | y) = p[x] Q[x, y] / sum_x' p[x'] Q[x', y]``, where p is how frequent
    the answers are, or what was believed before. Under epsilon-LDP no report changes the odds of
    two answers by more than a factor of ``e^eps``.

    Parameters
    ----------
    mechanism : Mechanism, or a list or dictionary of them
        Several mechanisms are those of several questions, each about an answer of its own. A
        dictionary has the names of the questions.
    p : array-like, shape (k,)
        Distribution of the answers. A Series is matched by label, such as ``results.params``. For
        several questions their joint distribution: a DataFrame for two (the first in rows), a
        Series with a MultiIndex, or an array of shape (k1, k2, ...). Levels and sides that have
        the questions' names may come in any order.
    reports : Reports or column of reports, optional
        The reports to judge; one of these for each question if there are several (a list, a
        dictionary or a DataFrame). By default all possible reports, if they can be listed.
    candidates : sequence of str, optional
        The possible answers, for a mechanism with an open alphabet.

    Returns
    -------
    DataFrame
        Reports in rows, answers in columns; rows sum to one. Several questions have combinations of
        reports in rows and combinations of answers in columns, both with a MultiIndex. Where all
        possible reports are listed, one that cannot occur under p has no posterior: its row is nan,
        and a warning names it.

    Raises
    ------
    InvalidArgument
        For what is no mechanism, distribution or report, and a report that cannot occur under p.
    UnknownCategory
        For what is no report of the mechanism.
    MechanismMismatch
        For reports of another mechanism.
    NotAvailable
        Without `reports`, for a mechanism whose reports cannot be listed; for too many of them.

    Warns
    -----
    LDPWarning
        If a possible report cannot occur under p.

    See Also
    --------
    plot_posterior : the picture.

    Notes
    -----
    For two questions this is the conditional probability of FPE16 section III-A, whose average over
    all pairs of reports is a step of the EM algorithm:
    ``p_ij P(X', Y' | x_i, y_j) / sum_kl p_kl P(X', Y' | x_k, y_l)``.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "cook"), epsilon=np.log(3))
    >>> posterior(krr, [0.2, 0.8]).round(3)
    answer  nurse   cook
    report
    nurse   0.429  0.571
    cook    0.077  0.923

    One respondent's bits:

    >>> bits = ldp.KRAPPOR(("nurse", "cook", "clerk"), epsilon=1.0)
    >>> posterior(bits, [0.2, 0.3, 0.5], reports=["100", "111"]).round(3)
    answer  nurse   cook  clerk
    report
    100     0.405  0.223  0.372
    111     0.200  0.300  0.500

    Two questions about one respondent:

    >>> table = pd.DataFrame([[0.1, 0.1], [0.6, 0.2]], ["nurse", "cook"], ["no", "yes"])
    >>> late = ldp.Warner(epsilon=np.log(3))
    >>> both = posterior({"job": krr, "late": late}, table, {"job": ["nurse"], "late": ["yes"]})
    >>> both.round(3)
    job         nurse         cook
    late           no    yes    no   yes
    job   late
    nurse yes   0.125  0.375  0.25  0.25
    """
    several, named = isinstance(mechanism, list | tuple | Mapping), isinstance(mechanism, Mapping)
    mechanisms = list(mechanism.values() if named else mechanism if several else [mechanism])
    names: list[Any] = list(mechanism) if named else [None] * len(mechanisms)
    if named and not all(isinstance(name, str) for name in names):
        raise InvalidArgument("mechanism", names, "must have the questions' names, as text")
    if not mechanisms or not all(isinstance(one, Mechanism) for one in mechanisms):
        remedy = "must be a mechanism, a list of them, or a dictionary of them by question"
        raise InvalidArgument("mechanism", mechanism, remedy)
    answers = [one.labels(candidates if one.is_open else None) for one in mechanisms]
    if candidates is not None and not any(one.is_open for one in mechanisms):
        mechanisms[0].labels(candidates)  # which refuses them
    size = np.prod([float(len(labels)) for labels in answers])
    if size > _MOST:
        raise NotAvailable(f"{size:.0f} combinations of answers are too many to list")
    law = _joint_law(p, answers, names)
    if reports is None:
        # P(report | answer) of every combination of reports
        for one in mechanisms:
            if not isinstance(one, Enumerated):
                remedy = f"reports of {one} are too many to list: pass those to judge as reports="
                raise NotAvailable(remedy)
        outputs: list[Any] = [one.outputs for one in mechanisms]
        _check_size(float(np.prod([float(len(own)) for own in outputs])) * law.size)
        rows = reduce(np.kron, [one.channel().matrix().T for one in mechanisms])
        labels = list(product(*outputs)) if len(outputs) > 1 else outputs[0]
    else:
        rows, labels = _likelihoods(mechanisms, names, reports, candidates, law.size, several)
    joint = rows * law
    total = joint.sum(axis=1)
    places = np.flatnonzero(~(total > 0.0))
    if places.size and reports is not None:
        remedy = "cannot occur under p, so it has no posterior: p must be positive for some answer "
        first = labels[places[0]]
        raise InvalidArgument(f"reports[{places[0]}]", first, remedy + "that makes this report")
    if places.size:
        some = ", ".join(repr(labels[i]) for i in places[:5]) + (", ..." if places.size > 5 else "")
        warnings.warn(
            f"{some}: cannot be reported under p, so there is no posterior: nan",
            LDPWarning,
            stacklevel=3,
        )
    total[places] = np.nan
    columns = list(product(*answers)) if len(names) > 1 else answers[0]
    index = _index(labels, names, "report"), _index(columns, names, "answer")
    return Table(joint / total[:, None], *index)


def _likelihoods(
    mechanisms: list[Mechanism],
    names: list[Any],
    reports: Any,
    candidates: Any,
    size: int,
    several: bool,
) -> tuple[Array, Any]:
    """Rows proportional to P(report | answer), (n, size), of a respondent each, and labels."""
    columns = list(reports) if isinstance(reports, list | tuple) and several else [reports]
    if several:
        remedy = f"must have one column of reports for each of the {len(names)} mechanisms"
        if isinstance(reports, pd.DataFrame | Mapping):
            order = list(reports)
            if None not in names and (set(order) != set(names) or len(order) != len(names)):
                raise InvalidArgument("reports", order, f"must be of the questions {names}")
            columns = [reports[name] for name in (order if None in names else names)]
        elif not isinstance(reports, list | tuple):
            raise InvalidArgument("reports", reports, remedy)
        if len(columns) != len(names):
            raise InvalidArgument("reports", f"{len(columns)} columns", remedy)
    rows, labels = np.ones((1, 1)), []
    for i, (mechanism, column) in enumerate(zip(mechanisms, columns, strict=True)):
        name = f"reports[{names[i] or i!r}]" if several else "reports"
        if not isinstance(column, Reports):
            column = mechanism.parse(name, column)
        elif column.mechanism != mechanism:
            remedy = f"must be reports of {mechanism}: check the parameters"
            raise InvalidArgument(name, str(column.mechanism), remedy)
        n = len(column)
        if not n:
            raise InvalidArgument(name, 0, "hold no report: there is nothing to judge")
        if i and n != len(rows):
            remedy = f"must be {len(rows)}, as of the first: pass reports of the same respondents"
            raise InvalidArgument(f"len({name})", n, remedy)
        _check_size(float(n) * size)
        counts = Counts(column.y, np.ones(n, dtype=np.int64), mechanism, cohort=column.cohort)
        likelihood = mechanism.likelihood(counts, candidates if mechanism.is_open else None)
        rows = (rows[:, :, None] * likelihood.W.dense()[:, None, :]).reshape(n, -1)
        labels.append(mechanism.report_labels(column))
    return rows, list(zip(*labels, strict=True)) if len(labels) > 1 else labels[0]


def _check_size(size: float) -> None:
    if size > _MOST:
        raise NotAvailable(
            f"{size:.3g} probabilities are too many to list: pass fewer reports, as reports="
        )


def _index(labels: Any, names: list[Any], default: str) -> Labels:
    """Labels of rows or columns, or combinations of them, with the names of the questions."""
    if len(names) == 1:
        return pd.Index(labels, name=names[0] or default)  # type: ignore[no-any-return]
    return pd.MultiIndex.from_tuples(labels, names=names)


# -- the picture ---------------------------------------------------------------------------------


_REPORTS, _ANSWERS = 60, 60
_WRITTEN = 15  # answers whose probabilities are written
_FRAME = "must be a DataFrame of privacy.posterior: reports in rows, answers in columns"


def plot_posterior(
    beliefs: pd.DataFrame, p: Any = None, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw P(answer | report): a row of cells for each report, dark where an answer is likely.

    Parameters
    ----------
    beliefs : DataFrame
        Of `posterior`.
    p : array-like, shape (k,), optional
        The distribution before the report, as for `posterior`, which is drawn above the reports.
        For several questions an array in the order of the columns, or of the joint table's shape;
        a Series or DataFrame is matched by label.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, optional
        "" for none.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InvalidArgument
        For what is no such frame, no distribution, no Axes or no title.
    NotAvailable
        For more than 60 reports or answers: choose some, as in ``beliefs.iloc[:20]``.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> p = [0.5, 0.3, 0.2]
    >>> beliefs = ldp.privacy.posterior(ldp.KRR(("a", "b", "c"), epsilon=1.0), p)
    >>> axes = plot_posterior(beliefs, p)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['before', 'a', 'b', 'c']
    """
    if not isinstance(beliefs, pd.DataFrame) or 0 in beliefs.shape:
        raise InvalidArgument("beliefs", beliefs, _FRAME)
    values = numbers("beliefs", beliefs, _FRAME, beliefs.shape)
    known = values[~np.isnan(values).all(axis=1)]
    sums = known.sum(axis=1)
    if not (np.all((known >= 0.0) & (known <= 1.0)) and np.all(np.abs(sums - 1.0) < 1e-6)):
        raise InvalidArgument("beliefs", beliefs, f"{_FRAME}; rows sum to one")
    n, k = values.shape
    if n > _REPORTS or k > _ANSWERS:
        raise NotAvailable(
            f"plot_posterior() draws at most {_REPORTS} reports and {_ANSWERS} answers; there are "
            f"{n} and {k}: choose some, as in beliefs.iloc[:20]"
        )
    rows, columns = labels_of(_flat(beliefs.index)), labels_of(_flat(beliefs.columns))
    text = title_text(title, "What a report says about the answer")
    if p is not None:
        values = np.vstack([_law(p, beliefs.columns), values])
        rows = ["before", *rows]
    texts = [[f"{v:.{n}f}" if np.isfinite(v) else "" for v in values.flat] for n in (3, 2)]
    texts = texts if len(columns) <= _WRITTEN else []
    names = _name(beliefs.columns, "answer"), _name(beliefs.index, "report")
    ax = plot_cells(values, (rows, columns), texts, ax, text, names, "probability of the answer")
    if p is not None:
        ax.axhline(1.0, color="0.2", lw=1.5)
    return ax


def _law(p: Any, columns: Labels) -> Array:
    """The distribution before the report, in the order of the columns."""
    if not isinstance(columns, pd.MultiIndex):
        return _joint_law(p, [columns], [None])
    if not isinstance(p, pd.Series | pd.DataFrame):
        return distribution("p", np.ravel(numbers("p", p, "must be numbers")), len(columns))
    answers = [columns.unique(level) for level in range(columns.nlevels)]
    law = _joint_law(p, answers, list(columns.names))
    return law[pd.MultiIndex.from_product(answers).get_indexer(columns)]


def _flat(index: Labels) -> Labels:
    """Labels as text, combinations joined."""
    if isinstance(index, pd.MultiIndex):
        return pd.Index([", ".join(map(str, labels)) for labels in index])
    return index


def _name(index: Labels, default: str) -> str:
    names = [str(name) for name in index.names if name not in (None, default)]
    return f"{default} ({', '.join(names)})" if names else default


# -- a joint distribution, as a caller passes it --------------------------------------------------


def _joint_law(p: Any, answers: list[Labels], names: list[Any]) -> Array:
    """The joint distribution of answers to named questions, flat: the last changes fastest."""
    shape = tuple(map(len, answers))
    size = int(np.prod(shape))
    if len(shape) == 1:
        return distribution("p", align("p", p, answers[0]), size)
    if isinstance(p, pd.DataFrame):
        if len(shape) != 2:
            raise InvalidArgument("p", p, "must be a Series with a MultiIndex, or an array")
        if isinstance(p.index, pd.MultiIndex) or isinstance(p.columns, pd.MultiIndex):
            raise InvalidArgument("p", p, "must have the answers to one question on each side")
        index = pd.MultiIndex.from_product([p.index, p.columns])
        p = pd.Series(p.to_numpy().ravel(), index)
    if isinstance(p, pd.Series):
        p = _aligned(p, answers, names)
    remedy = f"must be a joint distribution of shape {shape}: an entry for each combination"
    array = numbers("p", p, remedy)
    if array.shape != shape and array.shape != (size,):
        raise InvalidArgument("p", f"array of shape {array.shape}", remedy)
    return distribution("p", array.reshape(-1), size)


def _aligned(p: Any, answers: list[Labels], names: list[Any]) -> Array:
    """A Series by combination in the order of the answers; levels with names go by these."""
    given = list(p.index.names)
    if len(set(names)) == len(names) and set(given) == set(names):
        p = p.reorder_levels(names)
    elif any(
        name in names and name not in (None, own) for name, own in zip(given, names, strict=False)
    ):
        remedy = f"must be those of the questions, {', '.join(map(str, names))}, or none"
        raise InvalidArgument("names of the levels of p", given, remedy)
    every = pd.MultiIndex.from_product(answers).to_flat_index()
    return np.asarray(align("p", p.set_axis(p.index.to_flat_index()), every))
