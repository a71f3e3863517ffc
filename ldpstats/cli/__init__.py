"""The command line: one file a command; `program` puts them together."""

from ldpstats.cli.program import command, main

__all__ = ["command", "main"]
