"""The command line: one file a command; `program` puts them together."""

from ldpstats.cli.program import main

__all__ = ["main"]
