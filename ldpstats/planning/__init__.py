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

from ldpstats.hints import of_module
from ldpstats.planning import (
    attacks,
    cells,
    channel,
    choice,
    dictionary,
    expected_precision,
    goals,
    hashing,
    losses,
    power_of_tests,
)
from ldpstats.planning.attacks import *  # noqa: F403
from ldpstats.planning.cells import *  # noqa: F403
from ldpstats.planning.channel import *  # noqa: F403
from ldpstats.planning.choice import *  # noqa: F403
from ldpstats.planning.dictionary import *  # noqa: F403
from ldpstats.planning.expected_precision import *  # noqa: F403
from ldpstats.planning.goals import *  # noqa: F403
from ldpstats.planning.hashing import *  # noqa: F403
from ldpstats.planning.losses import *  # noqa: F403
from ldpstats.planning.power_of_tests import *  # noqa: F403

__all__: list[str] = []
__all__ += attacks.__all__
__all__ += cells.__all__
__all__ += channel.__all__
__all__ += choice.__all__
__all__ += dictionary.__all__
__all__ += expected_precision.__all__
__all__ += goals.__all__
__all__ += hashing.__all__
__all__ += losses.__all__
__all__ += power_of_tests.__all__


__getattr__ = of_module(__name__)
