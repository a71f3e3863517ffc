"""The best mechanism of the package for a closed list of categories."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_epsilon
from ldpstats.arguments.labels import as_labels
from ldpstats.mechanisms.base import Mechanism
from ldpstats.models.shared.spelling import count_of
from ldpstats.planning.contenders import Kind, contenders, report_bits
from ldpstats.planning.objectives import Objective, objective
from ldpstats.planning.side_by_side import ratios
from ldpstats.planning.variances import expected_shares, one_report_covariance
from ldpstats.problems.covariance import multinomial

__all__ = ["MechanismChoice", "recommend"]

_TIED = 1e-9  # relative difference of losses that is rounding


@dataclass(frozen=True, eq=False)
class MechanismChoice:
    """The best mechanism for a goal, the next one, and all that were compared.

    Parameters
    ----------
    best, runner_up : Mechanism
    goal : str
        What was to be small, in words.
    why : str
        Where mechanisms of this kind are good, in words.
    table : DataFrame
        A row for each mechanism, best first: "name" and "mechanism"; "bits" of a report; "loss",
        the variance that the goal asks for, of one respondent; "ratio", how many times the
        respondents of the best it needs; "effective_share" of the sample, against a survey without
        privacy.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> print(recommend(("nurse", "cook", "driver"), epsilon=1.0).best)
    KRR(k=3, epsilon=1)
    """

    best: Mechanism
    runner_up: Mechanism
    goal: str
    why: str
    table: pd.DataFrame

    @property
    def cost(self) -> float:
        """How many times the respondents of the best mechanism the runner-up needs, at least 1."""
        return float(self.table["ratio"].iloc[1])

    @property
    def reason(self) -> str:
        """Why it is the best, in words, and what the runner-up costs."""
        first, second = self.table["name"].iloc[:2]
        kept = 100.0 * self.table["effective_share"].iloc[0]
        worth = f": a sample is worth {kept:.3g}% of one without privacy" if kept > 0.0 else ""
        words = f"Of {len(self.table)} mechanisms {first} has the smallest {self.goal}{worth}. "
        tied = self.cost <= 1.0 + _TIED
        words += "" if tied else f"{self.why}. "
        next_one = second if tied else f"The runner-up, {second},"
        return f"{words}{next_one} needs {self._more()} for the same precision; {self._lengths()}."

    def _more(self) -> str:
        """What the runner-up needs beside the best, in words."""
        if self.cost <= 1.0 + _TIED:
            return "as many respondents"
        if self.cost >= 2.0:
            return f"{self.cost:.3g} times the respondents"
        return f"{100.0 * (self.cost - 1.0):.2g}% more respondents"

    def _lengths(self) -> str:
        """How long the reports of both are, in words."""
        first, (bits, other) = self.table["name"].iloc[0], self.table["bits"].iloc[:2]
        if bits == other:
            return f"a report of either takes {count_of(int(bits), 'bit')}"
        return f"its reports take {count_of(int(other), 'bit')}, those of {first} {bits}"

    def __str__(self) -> str:
        columns = ["name", "bits", "loss", "ratio", "effective_share"]
        rows = self.table[columns].to_string(index=False, float_format="{:.4g}".format)
        return "\n".join([str(self.best), *textwrap.wrap(self.reason, 79), "", rows])


def recommend(
    categories: Any, epsilon: float, goal: Any = "total", p: npt.ArrayLike | None = None
) -> MechanismChoice:
    """The mechanism that needs the fewest respondents for a goal, at this epsilon.

    Of those of the package that protect all categories alike: k-RR, k-RAPPOR (symmetric and OUE)
    and, for two categories, Warner's. Of mechanisms that are equally good the one with the shortest
    reports. `design_channel` finds the best channel that exists.

    Parameters
    ----------
    categories : int, or sequence of labels
    epsilon : float
        Privacy of a report, in nats.
    goal : {"total", "worst"} or mapping
        The summed variance of all categories, the largest standard error, or the variance of a
        contrast, a mapping from labels to weights: ``{"nurse": 1, "cook": -1}``; for one category
        ``{"nurse": 1}``, or ``{"category": "nurse"}``.
    p : array-like, shape (k,), or Series, optional
        Expected distribution, a Series by label. Default: uniform.

    Returns
    -------
    MechanismChoice

    Raises
    ------
    InvalidArgument
        If an argument is out of range, or `goal` is no goal over the categories.

    Examples
    --------
    >>> print(recommend(("nurse", "cook", "driver"), epsilon=1.0))
    KRR(k=3, epsilon=1)
    Of 3 mechanisms k-RR has the smallest summed variance: a sample is worth 13.3%
    of one without privacy. A single label suits a large e^epsilon for the number
    of categories. The runner-up, k-RAPPOR, needs 2.47 times the respondents for
    the same precision; its reports take 3 bits, those of k-RR 2.
    <BLANKLINE>
        name  bits  loss  ratio  effective_share
        k-RR     2 5.027      1           0.1326
    k-RAPPOR     3 12.42  2.471          0.05368
         OUE     3 12.71  2.529          0.05243
    """
    labels = as_labels("categories", categories)
    aim = objective(goal, labels)
    found = contenders(labels, positive_epsilon("epsilon", epsilon))
    law = expected_shares(p, labels)
    table = _table(found, aim, law)
    (kind, best), (_, second) = (found[name] for name in table.index[:2])
    return MechanismChoice(best, second, aim.words, kind.why, table.reset_index(drop=True))


def _table(
    found: dict[str, tuple[Kind, Mechanism]], aim: Objective, p: npt.NDArray[Any]
) -> pd.DataFrame:
    """The table of a `MechanismChoice`, by kind."""
    mechanisms = [mechanism for _, mechanism in found.values()]
    losses = np.array([aim.loss(one_report_covariance(m, p)) for m in mechanisms])
    times = ratios(losses)
    direct = aim.loss(multinomial(p, 1.0))
    frame = pd.DataFrame(
        {
            "name": [kind.title for kind, _ in found.values()],
            "mechanism": list(map(str, mechanisms)),
            "bits": list(map(report_bits, mechanisms)),
            "loss": losses,
            "ratio": np.where(times <= 1.0 + _TIED, 1.0, times),
            "effective_share": np.divide(
                direct, losses, out=np.full(losses.shape, np.nan), where=losses > 0.0
            ),
        },
        index=list(found),
    )
    alike = np.array([float(f"{value:.9g}") for value in frame["ratio"]])
    return frame.iloc[np.lexsort([frame["bits"].to_numpy(), alike])]
