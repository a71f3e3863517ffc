"""``python -m ldpstats`` is the command ``ldpstats``."""

from ldpstats.cli.program import command

command()
