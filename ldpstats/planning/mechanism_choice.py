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
from ldpstats.arguments.markup import html_lines
from ldpstats.errors import InvalidArgument, NotAvailable
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.observed import Observed
from ldpstats.models.shared.spelling import count_of
from ldpstats.planning.contenders import Kind, contenders, report_bits
from ldpstats.planning.mechanism_comparison import ratios
from ldpstats.planning.objectives import Objective, objective
from ldpstats.planning.variances import expected_shares

__all__ = ["MechanismChoice", "recommend"]

_FEW = 1.1  # times the respondents that are worth naming for much shorter reports
_TIED = 1e-6  # relative difference of losses that is rounding, at small epsilons


@dataclass(frozen=True, eq=False)
class MechanismChoice:
    """The best mechanism for a goal, the next one that is less good, and all that were compared.

    Parameters
    ----------
    best, runner_up : Mechanism
    goal : str
        What was to be small, in words.
    why : str
        Where mechanisms of this kind are good, in words.
    table : DataFrame
        A row for each mechanism, best first: "name" and "mechanism"; "bits" of a report; "loss",
        the variance that the goal asks for, of one respondent, or the respondents for power 0.8 of
        a test; "ratio", how many times the
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

    def __repr__(self) -> str:
        return f"MechanismChoice({self.best}, of {len(self.table)} by the smallest {self.goal})"

    @property
    def cost(self) -> float:
        """How many times the respondents of the best mechanism the runner-up needs, at least 1."""
        return float(self.table.set_index("mechanism")["ratio"][str(self.runner_up)])

    @property
    def reason(self) -> str:
        """Why it is the best, in words, and what the runner-up costs."""
        best, rest = self.table.iloc[0], self.table.iloc[1:]
        tied, others = (rest[rest["ratio"].le(1.0) == same] for same in (True, False))
        kept = 100.0 * best["effective_share"]
        worth = f": a sample is worth {kept:.3g}% of one without privacy" if kept > 0.0 else ""
        words = (
            f"Of {len(self.table)} mechanisms {best['name']} has the smallest {self.goal}{worth}"
        )
        notes = [words, self.why]
        if len(tied):
            notes.append(f"As good, with reports that are no shorter: {', '.join(tied['name'])}")
        if len(others):
            second = others.iloc[0]
            notes.append(
                f"The runner-up, {second['name']}, needs {_more(second)}; {_bits(second, best)}"
            )
            short = others[1:][
                others[1:]["bits"].le(best["bits"] / 2) & others[1:]["ratio"].le(_FEW)
            ]
            if len(short) and second["bits"] > best["bits"] / 2:
                third = short.iloc[0]
                notes.append(f"{third['name']} needs {_more(third)}, with {third['bits']} bits")
        return ". ".join(notes) + "."

    def __str__(self) -> str:
        columns = ["name", "bits", "loss", "ratio", "effective_share"]
        rows = self.table[columns].to_string(index=False, float_format=_number)
        return "\n".join([str(self.best), *textwrap.wrap(self.reason, 79), "", rows])

    def _repr_html_(self) -> str:
        """The same, in a notebook."""
        return html_lines(str(self))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.4g}"


def _more(row: Any) -> str:
    """What a mechanism needs beyond the best, in words."""
    if row["ratio"] >= 2.0:
        return f"{row['ratio']:.3g} times the respondents"
    return f"{100.0 * (row['ratio'] - 1.0):.2g}% more respondents"


def _bits(row: Any, best: Any) -> str:
    """How long the reports of both are, in words."""
    if row["bits"] == best["bits"]:
        return f"a report of either takes {count_of(int(best['bits']), 'bit')}"
    own = count_of(int(row["bits"]), "bit")
    return f"its reports take {own}, those of {best['name']} {best['bits']}"


def recommend(
    categories: Any, epsilon: float, goal: Any = "total", p: npt.ArrayLike | None = None
) -> MechanismChoice:
    """The mechanism that needs the fewest respondents for a goal, at this epsilon.

    Of those of the package that protect all categories alike: k-RR, k-RAPPOR (symmetric and OUE),
    subset selection, Hadamard and projective geometry response; up to 256 categories OLH, and for
    two Warner's. Of mechanisms that are equally good the one with the shortest reports. Variances
    are those of the unconstrained estimates. Beyond 2,048 categories a contrast of several
    leaves out those whose covariance is too large to form.

    Parameters
    ----------
    categories : int, or sequence of labels
    epsilon : float
        Privacy of a report, in nats.
    goal : {"total", "worst"}, mapping, or test
        The summed variance of all categories, the largest standard error, or the variance of a
        contrast, a mapping from labels to weights: ``{"nurse": 1, "cook": -1}``; for one category
        ``{"nurse": 1}``, or ``{"category": "nurse"}``. A `ValueTest`, `GroupsTest`, `PresenceTest`
        or `CoefficientTest` asks for the fewest respondents whose test has power 0.8 at level 0.05.
    p : array-like, shape (k,), or Series, optional
        Expected distribution, a Series by label. Default: uniform. Not with a test, which has its
        own.

    Returns
    -------
    MechanismChoice

    Raises
    ------
    InvalidArgument
        If an argument is out of range, or `goal` is no goal over the categories.
    NotAvailable
        If no number of respondents gives a test its power.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> found = recommend(64, epsilon=1.0)
    >>> print(found.best)
    SubsetSelection(k=64, epsilon=1, size=17)
    >>> found.table[["name", "bits", "loss", "ratio"]].head(3).round(3)
                      name  bits     loss  ratio
    0     Subset selection    64  228.401   1.00
    1                  OUE    64  233.033   1.02
    2  Projective geometry     7  235.285   1.03

    The fewest respondents who show that two groups differ, with probability 0.8:

    >>> goal = ldp.planning.GroupsTest([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]])
    >>> recommend(3, 1.0, goal).table[["name", "loss"]].head(1)
       name    loss
    0  k-RR  4873.0
    """
    labels = as_labels("categories", categories)
    found = contenders(labels, positive_epsilon("epsilon", epsilon))
    aim = objective(goal, labels)
    if aim.test is not None and p is not None:
        raise InvalidArgument("p", p, "goes without a test as goal=, which has its own truth")
    law = expected_shares(p, labels)
    table = _table(found, aim, law, labels)
    worse = np.flatnonzero(table["ratio"] > 1.0)  # the first; or all are equally good
    places = (0, int(worse[0]) if worse.size else 1)
    (kind, best), (_, second) = (found[table.index[place]] for place in places)
    return MechanismChoice(best, second, aim.words, kind.why, table.reset_index(drop=True))


def _table(
    found: dict[str, tuple[Kind, Mechanism]],
    aim: Objective,
    p: npt.NDArray[Any],
    labels: pd.Index[Any],
) -> pd.DataFrame:
    """The table of a `MechanismChoice`, by kind."""
    by_kind = _losses(found, aim, p)
    found = {name: found[name] for name in by_kind}
    mechanisms = [mechanism for _, mechanism in found.values()]
    losses = np.array(list(by_kind.values()))
    times = ratios(losses)
    direct = aim.loss(Observed(labels), p)
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
    alike = np.array([float(f"{value:.6g}") for value in frame["ratio"]])
    return frame.iloc[np.lexsort([frame["bits"].to_numpy(), alike])]


def _losses(
    found: dict[str, tuple[Kind, Mechanism]], aim: Objective, p: npt.NDArray[Any]
) -> dict[str, float]:
    """The loss of each mechanism for which it can be computed; at least one."""
    losses: dict[str, float] = {}
    failures = []
    for name, (_, mechanism) in found.items():
        try:
            losses[name] = aim.loss(mechanism, p)
        except NotAvailable as error:
            failures.append(error)
    if not losses:
        raise failures[0]
    return losses
