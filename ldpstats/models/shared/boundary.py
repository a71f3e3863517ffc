"""Warnings of intervals whose coverage fails where an estimate is zero or a list incomplete."""

from __future__ import annotations

import warnings

from ldpstats.errors import BoundaryWarning, IncompleteListWarning

__all__ = ["warn_of_method"]


def warn_of_method(method: str, on_boundary: bool, is_incomplete: bool = False) -> None:
    """Warn whoever calls `conf_int` where intervals of this method do not keep their coverage."""
    if is_incomplete:
        warnings.warn(
            f"method={method!r} assumes that the candidates are the only possible answers, but "
            "the reports indicate others; the default interval assumes no such thing",
            IncompleteListWarning,
            stacklevel=4,
        )
    if on_boundary:
        warnings.warn(
            f"method={method!r} with an estimate of zero: its coverage is not the nominal one "
            "on the boundary; the default interval keeps its coverage",
            BoundaryWarning,
            stacklevel=4,
        )
