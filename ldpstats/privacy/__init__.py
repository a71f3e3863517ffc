"""What users ask of a channel or mechanism: its epsilon, its audit, and what reports add up to."""

from ldpstats.channels.certificates import (
    ULDP,
    Audit,
    Guarded,
    epsilon,
    post_process,
    sequential,
    uldp,
)
from ldpstats.hints import of_module
from ldpstats.privacy.beliefs import plot_posterior, posterior
from ldpstats.privacy.garblings import OSLDP, Factors, deficiency, dominates, osldp, osldp_factors
from ldpstats.privacy.ledger import Ledger, Spending, compose, split_budget
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


__getattr__ = of_module(__name__)
