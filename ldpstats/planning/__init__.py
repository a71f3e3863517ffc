"""What to know before any data are collected: precision, power, and the best mechanism.

For any mechanism `precision` has the standard errors that n respondents will give, `sample_size`
the respondents that a precision, or the power of a test, needs. `compare` sets mechanisms side by
side, `recommend` names the best one for a goal, and `plot_frontier` shows what privacy costs.
`power` and `minimum_detectable` are of the package's own tests. `design_channel` finds the best
channel that a privacy limit allows, with a certificate, and `manipulation` says how far malicious
respondents can move an estimate. `CellPlan` is of joint models of several questions, of which a
person may be asked some.

For hashed answers, `recommend_design` compares O-RR and O-RAPPOR by their `expected_loss`, and
`cells_needed` gives the cells that keep candidates apart. For unknown strings see
`plan_dictionary`. Expected losses in closed form (KBR16, MK19) are in `ldpstats.planning.losses`.
"""

from __future__ import annotations

from ldpstats.planning.attacks import Manipulation, Shift, manipulation
from ldpstats.planning.cells import CellPlan
from ldpstats.planning.channel import ChannelDesign, design_channel
from ldpstats.planning.choice import (
    BestTheta,
    MechanismChoice,
    best_theta,
    compare,
    plot_frontier,
    recommend,
)
from ldpstats.planning.dictionary import DictionaryPlan, plan_dictionary
from ldpstats.planning.expected_precision import (
    PersonalizedBound,
    Precision,
    one_report_covariance,
    personalized_bound,
    precision,
)
from ldpstats.planning.goals import (
    CoefficientTest,
    GroupsTest,
    IndependenceTest,
    PresenceTest,
    ValueTest,
)
from ldpstats.planning.hashing import (
    Recommendation,
    cells_needed,
    cohorts_needed,
    collision_probability,
    distinguishable_probability,
    expected_loss,
    expected_recoverable_mass,
    identification_rank,
    random_design_loss,
    realised_losses,
    recommend_design,
)
from ldpstats.planning.losses import (
    crossover_epsilon,
    effective_sample_size,
    effective_sample_size_high_privacy,
    effective_sample_size_low_privacy,
    excess_ratio,
    krappor_l1,
    krappor_l2,
    krappor_worst_l1,
    krappor_worst_l2,
    krr_l1,
    krr_l2,
    krr_worst_l1,
    krr_worst_l2,
    nonprivate_l1,
    nonprivate_l2,
    nonprivate_minimax_l2,
    nonprivate_worst_l1,
    nonprivate_worst_l2,
    uldp_high_privacy_loss,
    uldp_low_privacy_loss,
    uldp_lower_bound,
    urap_l1,
    urap_l2,
    urap_worst_distribution,
    urap_worst_l1,
    urap_worst_l2,
    urr_l1,
    urr_l2,
    urr_worst_distribution,
    urr_worst_l1,
    urr_worst_l2,
)
from ldpstats.planning.power_of_tests import Detectable, minimum_detectable, power, sample_size

__all__ = [
    "BestTheta",
    "CellPlan",
    "ChannelDesign",
    "CoefficientTest",
    "Detectable",
    "DictionaryPlan",
    "GroupsTest",
    "IndependenceTest",
    "Manipulation",
    "MechanismChoice",
    "PersonalizedBound",
    "Precision",
    "PresenceTest",
    "Recommendation",
    "Shift",
    "ValueTest",
    "best_theta",
    "cells_needed",
    "cohorts_needed",
    "collision_probability",
    "compare",
    "crossover_epsilon",
    "design_channel",
    "distinguishable_probability",
    "effective_sample_size",
    "effective_sample_size_high_privacy",
    "effective_sample_size_low_privacy",
    "excess_ratio",
    "expected_loss",
    "expected_recoverable_mass",
    "identification_rank",
    "krappor_l1",
    "krappor_l2",
    "krappor_worst_l1",
    "krappor_worst_l2",
    "krr_l1",
    "krr_l2",
    "krr_worst_l1",
    "krr_worst_l2",
    "manipulation",
    "minimum_detectable",
    "nonprivate_l1",
    "nonprivate_l2",
    "nonprivate_minimax_l2",
    "nonprivate_worst_l1",
    "nonprivate_worst_l2",
    "one_report_covariance",
    "personalized_bound",
    "plan_dictionary",
    "plot_frontier",
    "power",
    "precision",
    "random_design_loss",
    "realised_losses",
    "recommend",
    "recommend_design",
    "sample_size",
    "uldp_high_privacy_loss",
    "uldp_low_privacy_loss",
    "uldp_lower_bound",
    "urap_l1",
    "urap_l2",
    "urap_worst_distribution",
    "urap_worst_l1",
    "urap_worst_l2",
    "urr_l1",
    "urr_l2",
    "urr_worst_distribution",
    "urr_worst_l1",
    "urr_worst_l2",
]
