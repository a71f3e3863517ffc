"""A collector: takes answer sheets over HTTP and keeps them as Parquet files for `Survey`.

`app` is the program: it opens the folder, starts the server, and answers requests. `intake` checks
each sheet by what its questions may report and hands it to the `store` on the disk, which knows the
invitations, of which each takes one sheet; `files` writes Parquet files from there.
"""

from __future__ import annotations

from ldpstats.collector.app import Limits, collect
from ldpstats.collector.store import invite

__all__ = ["Limits", "collect", "invite"]
