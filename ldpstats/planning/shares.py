"""Shares that a plan assumes, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.models.shared.tables import one_line

__all__ = ["shares_text", "table_text"]

_MOST = 8  # numbers that are written out
_ROWS = 4
_LONGEST = 20  # characters of a label


def shares_text(p: Any) -> str:
    """Shares in their order, with their labels where p is a Series.

    Examples
    --------
    >>> shares_text(pd.Series({"no": 0.95, "yes": 0.05})), shares_text([0.5, 0.3, 0.2])
    ('no 0.95, yes 0.05', '0.5, 0.3, 0.2')
    >>> shares_text(pd.Series([0.25] * 4, index=list("abcd")))
    'equal (0.25 each)'
    """
    values = np.asarray(p, dtype=np.float64)
    labels = p.index.tolist() if isinstance(p, pd.Series) else None
    if labels is not None and np.ptp(values) <= 1e-12:
        return f"equal ({values[0]:.4g} each)"
    words = [f"{value:.4g}" for value in values[:_MOST]]
    if labels is not None:
        words = [f"{one_line(x, _LONGEST)} {w}" for x, w in zip(labels, words, strict=False)]
    if len(values) > _MOST:
        words.append(f"... ({len(values)} in all)")
    return ", ".join(words)


def table_text(table: Any) -> str:
    """Rows of shares, with their labels where the table is a DataFrame.

    Examples
    --------
    >>> table_text(np.array([[0.95, 0.05], [0.91, 0.09]]))
    '0.95, 0.05; 0.91, 0.09'
    >>> columns = ["no", "yes"]
    >>> table_text(pd.DataFrame([[0.95, 0.05], [0.91, 0.09]], ["n", "s"], columns))
    'n: no 0.95, yes 0.05; s: no 0.91, yes 0.09'
    """
    named = isinstance(table, pd.DataFrame)
    rows = [table.iloc[i] if named else table[i] for i in range(min(len(table), _ROWS))]
    words = [shares_text(row) for row in rows]
    if named:
        pairs = zip(table.index, words, strict=False)
        words = [f"{one_line(label, _LONGEST)}: {text}" for label, text in pairs]
    if len(table) > _ROWS:
        words.append(f"... ({len(table)} rows)")
    return "; ".join(words)
