"""The command line: one file a command; `program` puts them together."""

from ldpstats.cli.main import command, main

__all__ = ["command", "main"]
