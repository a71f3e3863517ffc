"""The best channel there is, for a loss, a prior and a privacy limit, with a certificate."""

from ldpstats.planning.best.designing import design_channel
from ldpstats.planning.best.result import ChannelDesign

__all__ = ["ChannelDesign", "design_channel"]
