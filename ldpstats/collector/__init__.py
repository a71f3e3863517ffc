"""A collector: takes answer sheets over HTTP and keeps them as Parquet files for `Survey`.

`serving` is the program: it opens the `folder` and starts the `server` of HTTP; `app` answers it.
Each sheet passes `limits` and `checks` (with the possible `reports` of each question), and `intake`
hands it to the `store` on the disk, from which `batches` writes the files. With `invitations`
each code takes one sheet.
"""

from __future__ import annotations

from ldpstats.collector.app import Limits, collect
from ldpstats.collector.store import invite

__all__ = ["Limits", "collect", "invite"]
