"""What a device refuses to run: no privacy, or less than it asks for."""

from __future__ import annotations

import warnings

import numpy as np

from ldpstats.arguments.checks import boolean, positive_number
from ldpstats.channels.audit import Audit
from ldpstats.errors import InvalidArgument, LDPWarning

__all__ = ["check_audit", "check_cohorts", "check_epsilon"]

_MOST_COHORTS = 1 << 16


def check_epsilon(
    source: object, epsilon: float, max_epsilon: float | None, allow_no_privacy: bool
) -> None:
    """Refuse an epsilon that is infinite, unless that is allowed, or above what a device allows."""
    allowed = boolean("allow_no_privacy", allow_no_privacy)
    if max_epsilon is not None:
        most = positive_number("max_epsilon", max_epsilon, (0.0, np.inf))
        if not epsilon <= most * (1.0 + 1e-12):  # rounding of an epsilon that is computed from Q
            remedy = f"is less than {source} spends, {epsilon:.6g}: do not run it on this device"
            raise InvalidArgument("max_epsilon", most, remedy)
    if np.isinf(epsilon) and not allowed:
        raise InvalidArgument(
            "mechanism",
            str(source),
            "does not protect its respondents: some report tells for sure what should be hidden; "
            "pass allow_no_privacy=True (--allow-no-privacy) if that is meant",
        )


def check_audit(audit: Audit) -> None:
    """Refuse a mechanism that leaks more than it claims."""
    if not audit.agrees:
        raise InvalidArgument("mechanism", audit.mechanism, f"leaks more than it claims\n{audit}")


def check_cohorts(n_cohorts: int) -> None:
    """Warn of cohorts so many that one of them tells who the respondent is."""
    if n_cohorts > _MOST_COHORTS:
        warnings.warn(
            f"n_cohorts={n_cohorts}: a report names one of more than {_MOST_COHORTS} cohorts, by "
            "which its respondent may be recognised: use fewer",
            LDPWarning,
            stacklevel=3,
        )
