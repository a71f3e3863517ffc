"""What users ask of a channel or mechanism: its epsilon, its audit, and what reports add up to."""

from ldpstats.channels.audit import Audit, epsilon
from ldpstats.channels.certificate import ULDP, Guarded, uldp
from ldpstats.channels.processing import post_process, sequential
from ldpstats.privacy.budget import compose, split_budget
from ldpstats.privacy.shuffling import Amplification, amplification
from ldpstats.privacy.spending import Ledger
from ldpstats.privacy.spendings import Spending

__all__ = [
    "ULDP",
    "Amplification",
    "Audit",
    "Guarded",
    "Ledger",
    "Spending",
    "amplification",
    "compose",
    "epsilon",
    "post_process",
    "sequential",
    "split_budget",
    "uldp",
]
