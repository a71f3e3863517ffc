"""What users ask of a channel or mechanism: its epsilon, its audit, and what reports add up to."""

from ldpstats.channels.audit import Audit, epsilon
from ldpstats.channels.certificate import ULDP, Guarded, uldp
from ldpstats.channels.processing import post_process, sequential
from ldpstats.privacy.beliefs import posterior
from ldpstats.privacy.beliefs_plot import plot_posterior
from ldpstats.privacy.budget import compose, split_budget
from ldpstats.privacy.garbling import deficiency, dominates
from ldpstats.privacy.ledger import Ledger
from ldpstats.privacy.ledger_entries import Spending
from ldpstats.privacy.one_sided import OSLDP, Factors, osldp, osldp_factors
from ldpstats.privacy.shuffling import Amplification, amplification

__all__ = [
    "OSLDP",
    "ULDP",
    "Amplification",
    "Audit",
    "Factors",
    "Guarded",
    "Ledger",
    "Spending",
    "amplification",
    "compose",
    "deficiency",
    "dominates",
    "epsilon",
    "osldp",
    "osldp_factors",
    "plot_posterior",
    "post_process",
    "posterior",
    "sequential",
    "split_budget",
    "uldp",
]
