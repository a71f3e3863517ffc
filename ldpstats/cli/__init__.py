"""The command line: commands by what they are for; `program` puts them together."""

from ldpstats.cli.program import command, main

__all__ = ["command", "main"]
