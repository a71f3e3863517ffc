"""Two waves of a survey side by side, wherever their rows are."""

from __future__ import annotations

from ldpstats.errors import NotAvailable
from ldpstats.survey.held import Held
from ldpstats.survey.remote import Remote
from ldpstats.survey.waves import Waves, refuse_identifiers, refuse_other_kind

__all__ = ["matched"]


def matched(first: Held, second: Held, id: str, suffixes: tuple[str, str]) -> Held:
    """The persons who are in two waves: joined where both are, or row by row in memory."""
    why = "the two waves are not on one engine, and"
    if isinstance(first, Remote) and isinstance(second, Remote):
        why = "only whole numbers, and text without blanks around it, are matched on an engine, and"
        kinds = [kind for wave in (first, second) if (kind := _checked_identifiers(wave, id))]
        if len(kinds) == 2:
            refuse_other_kind(id, *kinds)
            return _joined(first, second, id, suffixes)
    for wave in (first, second):
        if not wave.ordered:
            raise NotAvailable(
                f"id={id!r}: {why} rows of one have no order: open both in the same way, or read "
                "both into memory"
            )
    everything = [tuple(wave.columns) for wave in (first, second)]
    return Waves.of(first.read(everything[0]), second.read(everything[1]), id, suffixes)


def _joined(first: Remote, second: Remote, id: str, suffixes: tuple[str, str]) -> Remote:
    query = first.query.joined(second.query, id, suffixes)
    sizes = len(first), len(second)
    waves = Waves.matched((first, second), id, suffixes, sizes, len(query))
    return Remote(waves, query, query)


def _checked_identifiers(wave: Remote, id: str) -> str | None:
    """What a column of identifiers holds, if the engine can match it: whole numbers or text.

    Refuses missing and repeated ones.
    """
    import narwhals

    wave.refuse_private(id)
    if wave.owner(id) is not None:
        return None
    (column,) = wave.parts_of(id)
    dtype, col = wave.query.type(column), narwhals.col(column)
    text = dtype == narwhals.String
    if not (text or dtype.is_integer()):
        return None
    missing = col.is_null()
    if text:
        missing = missing | (col.fill_null("") == "")
        if len(wave.query.filtered(col.fill_null("").str.contains(_blanks_around()))):
            return None  # which memory ignores: match the rows there
    absent = len(wave.query.filtered(missing))
    twice, times = wave.query.commonest(column)
    refuse_identifiers(id, len(wave), absent, twice, times)
    return "text" if text else "numbers"


def _blanks_around() -> str:
    """A pattern for what Python takes as blanks, in which engines differ, around text."""
    blank = f"[{''.join(chr(i) for i in range(1 << 16) if chr(i).isspace())}]"
    return f"^{blank}|{blank}$"
