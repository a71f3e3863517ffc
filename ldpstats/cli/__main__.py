"""``python -m ldpstats.cli`` is the command ``ldpstats``."""

from ldpstats.cli.program import command

command()
