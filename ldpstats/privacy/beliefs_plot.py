"""The picture of what reports say. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import distribution, numbers
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.models.shared.axes import axes_of, set_title, title_text
from ldpstats.models.shared.cells import (
    cell_size,
    colour_bar,
    draw_cells,
    labels_of,
    longest_label,
    settle,
    write_cells,
)
from ldpstats.privacy.answer_law import answers_law

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_posterior"]

Array = npt.NDArray[Any]

_REPORTS, _ANSWERS = 60, 60
_WRITTEN = 15  # answers whose probabilities are written
_FRAME = "must be a DataFrame of privacy.posterior: reports in rows, answers in columns"


def plot_posterior(
    beliefs: pd.DataFrame,
    p: Any = None,
    ax: Axes | None = None,
    title: str | None = None,
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
    values = _checked(beliefs)
    rows, columns = labels_of(_flat(beliefs.index)), labels_of(_flat(beliefs.columns))
    text = title_text(title, "What a report says about the answer")
    before = p is not None
    if before:
        values = np.vstack([_law(p, beliefs), values])
        rows = ["before", *rows]
    width, height = cell_size(len(rows), len(columns))
    own, size = ax is None, 2.6 + 0.07 * longest_label(pd.Index(rows)) + len(columns) * width
    ax = axes_of(ax, size, 1.8 + len(rows) * height)
    mesh = draw_cells(ax, np.ma.masked_invalid(values), _colours(), rows, columns)
    if before:
        ax.axhline(1.0, color="0.2", lw=1.5)
    ax.set_xlabel(_name(beliefs.columns, "answer"))
    ax.set_ylabel(_name(beliefs.index, "report"))
    set_title(ax, text)
    settle(ax, colour_bar(ax, mesh, "probability of the answer"), np.ones(len(columns)), own)
    if len(columns) <= _WRITTEN:
        texts = [[f"{v:.{n}f}" if np.isfinite(v) else "" for v in values.flat] for n in (3, 2)]
        write_cells(ax, texts, mesh.to_rgba(values), np.ones(values.shape, dtype=bool))
    return ax


def _checked(beliefs: Any) -> Array:
    """The numbers of a frame of posterior probabilities."""
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
    return values


def _law(p: Any, beliefs: pd.DataFrame) -> Array:
    """The distribution before the report, in the order of the columns."""
    columns = beliefs.columns
    if not isinstance(columns, pd.MultiIndex):
        return answers_law(p, [columns], [None])
    if not isinstance(p, pd.Series | pd.DataFrame):
        return distribution("p", np.ravel(numbers("p", p, "must be numbers")), len(columns))
    answers = [columns.unique(level) for level in range(columns.nlevels)]
    law = answers_law(p, answers, list(columns.names))
    return law[pd.MultiIndex.from_product(answers).get_indexer(columns)]


def _flat(index: pd.Index[Any]) -> pd.Index[Any]:
    """Labels as text, combinations joined."""
    if isinstance(index, pd.MultiIndex):
        return pd.Index([", ".join(map(str, labels)) for labels in index])
    return index


def _name(index: pd.Index[Any], default: str) -> str:
    names = [str(name) for name in index.names if name not in (None, default)]
    return f"{default} ({', '.join(names)})" if names else default


def _colours() -> tuple[Any, Any]:
    import matplotlib
    from matplotlib.colors import Normalize

    return matplotlib.colormaps["Blues"], Normalize(0.0, 1.0)
