"""Expected losses before any data are collected, and the design of surveys of hashed answers.

For hashed answers see `recommend_design`, which compares O-RR and O-RAPPOR by their `expected_loss`
(modules `design` and `recommendation`), and `cells_needed` for what keeps candidates apart (module
`hashing`). For strings that nobody listed see `plan_dictionary` (module `dictionary`). What follows
is about k-RR and k-RAPPOR (KBR16 section 4).

Both mechanisms are estimated category by category: category i is reported T_i ~ Bin(n, m_i) times,
with m_i = q p_i + r (1 - p_i), and ``p_hat_i = (T_i / n - r) / (q - r)`` is unbiased. Here q is the
chance that a respondent's own category is reported and r that another given one is. Hence, exactly
and for large n respectively,

    E ||p_hat - p||_2^2 = sum_i m_i (1 - m_i) / (n (q - r)^2),
    E ||p_hat - p||_1   ~ sum_i sqrt(2 m_i (1 - m_i) / (pi n)) / (q - r),

which are KBR16 Propositions 3 and 4 once q and r are filled in; no privacy is q = 1, r = 0. Both
sums are symmetric and concave in p, so the uniform p is the worst for either loss whatever q and r
are. There all m_i are equal, so both losses shrink the sample by the same factor.

uRR and uRAP, which protect the sensitive categories only (MK19), have losses of the same form, with
q and r of their own for sensitive and for other categories (modules `sensitive`, `worst_case`,
`regimes`, `theta`). Their worst p favours the other categories.

All losses are those of the unconstrained inversion estimator against the distribution p that the n
respondents are drawn from. `epsilon` (in nats) and `n` may be arrays: they broadcast, and the
result has their common shape. A malformed argument raises `InvalidArgument`.
"""

from __future__ import annotations

from ldpstats.planning.comparison import (
    crossover_epsilon,
    effective_sample_size,
    effective_sample_size_high_privacy,
    effective_sample_size_low_privacy,
    excess_ratio,
)
from ldpstats.planning.design import expected_loss, random_design_loss
from ldpstats.planning.dictionary import DictionaryPlan, plan_dictionary
from ldpstats.planning.hashing import (
    cells_needed,
    cohorts_needed,
    collision_probability,
    distinguishable_probability,
    expected_recoverable_mass,
    identification_rank,
)
from ldpstats.planning.losses import (
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
)
from ldpstats.planning.personalized import PersonalizedBound, personalized_bound
from ldpstats.planning.recommendation import Recommendation, recommend_design
from ldpstats.planning.regimes import (
    uldp_high_privacy_loss,
    uldp_low_privacy_loss,
    uldp_lower_bound,
)
from ldpstats.planning.sensitive import urap_l1, urap_l2, urr_l1, urr_l2
from ldpstats.planning.theta import BestTheta, best_theta
from ldpstats.planning.worst_case import (
    urap_worst_distribution,
    urap_worst_l1,
    urap_worst_l2,
    urr_worst_distribution,
    urr_worst_l1,
    urr_worst_l2,
)

__all__ = [
    "BestTheta",
    "DictionaryPlan",
    "PersonalizedBound",
    "Recommendation",
    "best_theta",
    "cells_needed",
    "cohorts_needed",
    "collision_probability",
    "crossover_epsilon",
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
    "nonprivate_l1",
    "nonprivate_l2",
    "nonprivate_minimax_l2",
    "nonprivate_worst_l1",
    "nonprivate_worst_l2",
    "personalized_bound",
    "plan_dictionary",
    "random_design_loss",
    "recommend_design",
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
