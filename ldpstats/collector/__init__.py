"""A collector: takes answer sheets over HTTP and keeps them as Parquet files for `Survey`."""

from __future__ import annotations

from ldpstats.collector.limits import Limits
from ldpstats.collector.serving import collect

__all__ = ["Limits", "collect"]
