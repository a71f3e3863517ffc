"""What the entries of a ledger add up to, and their table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ldpstats.models.shared.tables import one_line
from ldpstats.privacy.budget import compose
from ldpstats.privacy.ledger_entries import Spending

__all__ = ["costs", "entries_table", "entries_text", "independent", "shares"]

_MOST_REPORTS = 100_000  # that are composed one by one
_MOST_LINES = 40  # of entries in print
_LONGEST = 24  # characters of a name in print
_USUAL = {"permanent": "", "protects": "all"}  # columns that are shown where they are not this


def costs(entries: Sequence[Spending]) -> list[tuple[Spending, float]]:
    """What each entry added to the total: less where a permanent answer was paid for."""
    paid: dict[Any, float] = {}
    found = []
    for entry in entries:
        cost = entry.reports * entry.epsilon
        if entry.permanent is not None:
            before = paid.get(entry.answer, 0.0)
            paid[entry.answer] = min(before + cost, entry.lifetime)
            cost = 0.0 if before == paid[entry.answer] else paid[entry.answer] - before
        found.append((entry, cost))
    return found


def independent(entries: Sequence[Spending]) -> list[float]:
    """Epsilons of reports with independent noise: all reports of a permanent answer are one."""
    together: dict[Any, float] = {}
    found: list[float] = []
    for entry, cost in costs(entries):
        if entry.permanent is not None:
            together[entry.answer] = together.get(entry.answer, 0.0) + cost
        elif len(found) + entry.reports > _MOST_REPORTS:
            found.append(cost)
        else:
            found += [entry.epsilon] * entry.reports
    return [*found, *together.values()]


def shares(entries: Sequence[Spending], column: str) -> pd.Series[float]:
    """Epsilon by question, wave or mechanism, in nats."""
    parts: dict[str, list[float]] = {}
    for entry, cost in costs(entries):
        parts.setdefault(getattr(entry, column), []).append(cost)
    spent = [compose(values) for values in parts.values()]
    index = pd.Index(list(parts), name=column)
    return pd.Series(spent, index=index, name="epsilon", dtype=float)


def entries_table(entries: Sequence[Spending]) -> pd.DataFrame:
    """A row an entry."""
    columns = {
        "question": [entry.question for entry in entries],
        "wave": [entry.wave for entry in entries],
        "mechanism": [entry.mechanism for entry in entries],
        "reports": [entry.reports for entry in entries],
        "epsilon": [entry.alone for entry in entries],
        "added": [cost for _, cost in costs(entries)],
        "permanent": [entry.permanent for entry in entries],
        "protects": [
            "all" if e.sensitive is None else ", ".join(map(str, e.sensitive)) for e in entries
        ],
    }
    return pd.DataFrame(columns)


def entries_text(entries: Sequence[Spending]) -> str:
    """The entries in print, without columns that say nothing; the first where there are many."""
    table = entries_table(entries[:_MOST_LINES])
    columns = ["question", "wave", "reports", "epsilon", "added"]
    columns += [name for name, usual in _USUAL.items() if (table[name].fillna("") != usual).any()]
    for name in table.columns.intersection(["question", "wave", "permanent", "protects"]):
        table[name] = [one_line(text, _LONGEST) for text in table[name].fillna("")]
    shown = table[columns].to_string(index=False, float_format="{:.6g}".format)
    more = len(entries) - len(table)
    return shown + (f"\nand {more:,} more entries; table() has all" if more else "")
