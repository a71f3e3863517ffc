"""Sums of bits of a remote survey, made where its rows are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpstats.engines.bits import BitSums, add_up
from ldpstats.reports.single import BitCounts
from ldpstats.survey.held import Held, maker_of
from ldpstats.survey.remote import Part, Read, Remote

__all__ = ["summed"]


def summed(
    remote: Remote, name: str, by: Sequence[str] = (), count: str | None = None
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
    found = add_up(remote.query.partial(what.names, what, what.schema), what)
    places = np.unravel_index(list(found), [len(domain) for domain in domains]) if by else ()
    taken = {c: d.take(at) for c, d, at in zip(columns, domains, places, strict=True)}
    sums = list(found.values()) or [made_by.no_counts().bit_counts()]
    n = np.array([part.nobs + part.n_missing for part in sums])
    read = pyarrow.table(taken)
    return Part(remote, Read("data", remote.query, read=read), n), sums
