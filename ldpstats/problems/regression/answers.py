"""Reports on one variable as what a regression needs of them: the likelihood of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldpstats.problems.decoding import distinct_reports, each_once
from ldpstats.problems.regression.likelihood import Seen
from ldpstats.reports.single import Reports

__all__ = ["crossed", "likelihoods"]

Array = npt.NDArray[Any]


def likelihoods(groups: Sequence[Reports], candidates: Any = None) -> tuple[Seen, Array]:
    """Likelihoods ``P(report | true category)`` of the reports of groups, one after the other.

    Parameters
    ----------
    groups : sequence of Reports
        Each of one mechanism; all over the same categories.
    candidates : sequence of str, optional
        Where any string is an answer; they are taken to be all answers.

    Returns
    -------
    seen : Seen
        Of n rows. Rows of its table may be scaled.
    log_scale : array, shape (n,)
        Logarithm of what was taken out of the likelihood of each row.
    """
    tables, places, scales, before = [], [], [], 0
    for reports in groups:
        if not len(reports):
            continue
        distinct, place = distinct_reports(reports)
        rows = reports.mechanism.likelihood(each_once(distinct), candidates).W
        tables.append(rows.dense())
        places.append(place + before)
        scales.append(rows.log_scale[place])
        before += len(distinct)
    return Seen(np.vstack(tables), np.concatenate(places)), np.concatenate(scales)


def crossed(each: Sequence[Seen]) -> Seen:
    """Likelihoods over the combinations of several variables' categories, the last one fastest."""
    found = each[0]
    for other in each[1:]:
        pairs, at = np.unique(found.at * len(other.table) + other.at, return_inverse=True)
        first, second = np.divmod(pairs, len(other.table))
        product = found.table[first][:, :, None] * other.table[second][:, None, :]
        found = Seen(product.reshape(len(pairs), -1), at.astype(np.int64))
    return found
