"""``python -m ldpstats.cli`` is the command ``ldpstats``."""

from ldpstats.cli.main import command

command()
