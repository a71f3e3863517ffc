"""What is said of answers that are not among the candidates."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ldpstats.errors import IncompleteListWarning, MisfitWarning, NotAvailable
from ldpstats.inference.designs.totals import Estimated
from ldpstats.models.weighted.results import WeightedResults
from ldpstats.problems.decoding import CohortDecoding, Decoding

__all__ = ["refuse_unlisted", "warn_of_unlisted"]

_CERTAIN = 3.09  # standard errors beyond which other answers are held: a p-value of .001


def warn_of_unlisted(
    results: WeightedResults, decoded: Sequence[Decoding], method: str, incomplete: bool
) -> None:
    """Warn where other answers are held that the estimate, or its errors, do not allow for.

    Parameters
    ----------
    results : WeightedResults
        The linear estimates.
    decoded : sequence of Decoding
        Of each domain.
    method : {"inversion", "mle"}
    incomplete : bool
        Whether other answers are known to be held.
    """
    share = results.unexplained()
    held = np.atleast_1d(share["estimate"] > _CERTAIN * share["se"])
    if method == "mle" and held.any():
        warnings.warn(
            "method='mle' takes the candidates for all answers, but others are held: use "
            "method='inversion', or list more candidates",
            MisfitWarning,
            stacklevel=4,
        )
    for one, others in zip(decoded, held | incomplete, strict=True):
        caution = one.moments.caution(bool(others)) if isinstance(one, CohortDecoding) else ""
        if caution:
            warnings.warn(
                f"the list of candidates is not complete, and {caution}: tests and intervals do "
                "not keep their level; collect reports in more cohorts or cells, or list more of "
                "the answers",
                IncompleteListWarning,
                stacklevel=4,
            )
            return


def refuse_unlisted(name: str, rest: Estimated) -> None:
    """Refuse the candidates of a variable, if others are certain to be held: the share `rest`."""
    share, se = float(rest.value[0]), float(np.sqrt(rest.covariance[0, 0]))
    if share > _CERTAIN * se:
        raise NotAvailable(
            f"{share:.2g} of the answers to {name!r} are not among its candidates: chance "
            "collisions with them have no variance in a weighted table; list more answers, or use "
            "frequencies()"
        )
