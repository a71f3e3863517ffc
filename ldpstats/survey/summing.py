"""Sums of bits of a remote survey, made where its rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ldpstats.engines.bits import BitSums, add_up
from ldpstats.models.shared.bar import progress_bar
from ldpstats.reports.single import BitCounts
from ldpstats.survey.held import Held, maker_of
from ldpstats.survey.remote import Part, Read, Remote

__all__ = ["summed"]


def summed(
    remote: Remote,
    name: str,
    by: Sequence[str] = (),
    count: str | None = None,
    progress: bool = False,
) -> tuple[Held, list[BitCounts]]:
    """Sums of the bits of a question for each combination of values of `by`.

    The rows of what is held are those combinations; without `by` there is one.
    """
    import pyarrow

    columns = remote.columns_of(by)
    domains = [remote.domain(column).raw for column in columns]
    ((column, cohort),) = remote.parts_of(name).items()
    made_by = maker_of(remote.questionnaire[name])
    what = BitSums(made_by, column, cohort, tuple(columns), tuple(domains), count, name)
    partials = remote.query.partial(what.names, what, what.schema)
    if progress:
        with progress_bar(f"bits of {name}") as advance:
            found = add_up(_watched(partials, len(remote), advance), what)
    else:
        found = add_up(partials, what)
    places = np.unravel_index(list(found), [len(domain) for domain in domains]) if by else ()
    taken = {c: d.take(at) for c, d, at in zip(columns, domains, places, strict=True)}
    sums = list(found.values()) or [no_sums(made_by)]
    n = np.array([part.nobs + part.n_missing for part in sums])
    read = pyarrow.table(taken)
    return Part(remote, Read("data", remote.query, read=read), n), sums


def no_sums(mechanism: Any) -> BitCounts:
    """The sums of the bits of no reports."""
    empty: BitCounts = mechanism.no_counts().bit_counts()
    return empty


def _watched(partials: Iterator[Any], n: int, advance: Callable[..., None]) -> Iterator[Any]:
    """The same partial sums, with a bar moved by the share of the n rows that they are of."""
    done = 0
    for batch in partials:
        done += sum(batch.column("reports").to_pylist())
        advance(min(1.0, done / max(n, 1)))
        yield batch
