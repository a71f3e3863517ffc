"""The best channel for a survey, with a certificate that there is no better one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import positive_integer
from ldpstats.arguments.labels import as_labels
from ldpstats.errors import InvalidArgument, NotAvailable, NotConverged, NotIdentified
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.blocks.subset import SubsetSelection
from ldpstats.mechanisms.krr import KRR
from ldpstats.planning.best.bounds import design_loss, searched
from ldpstats.planning.best.cones import Staircases
from ldpstats.planning.best.goals import Goal, loss_of_matrix
from ldpstats.planning.best.limits import Limits, privacy_limits, sensitive_places
from ldpstats.planning.best.losses import checked_goal, checked_priors
from ldpstats.planning.best.polish import channel_of
from ldpstats.planning.best.recognised import as_mechanism, of_subsets
from ldpstats.planning.best.reports import explicit, few, merged, sampled, supported
from ldpstats.planning.best.result import ChannelDesign
from ldpstats.planning.best.rivals import rival_losses

__all__ = ["design_channel"]

Array = npt.NDArray[Any]

_MOST_CATEGORIES = 1000
_SAMPLED = 40  # categories up to which a short list of a large orbit's columns is looked for


def design_channel(
    categories: Any,
    epsilon: Any,
    prior: Any = "uniform",
    loss: Any = "total",
    sensitive: Any = None,
    max_outputs: int | None = None,
) -> ChannelDesign:
    """Find the channel with the smallest loss that a privacy limit allows, and prove it.

    The result says by how much any other channel could be better (`gap`), which named mechanism
    the design is, if any, and how many more respondents the named ones need (`efficiency`).

    Parameters
    ----------
    categories : int, sequence of labels, or pandas Categorical
        The k categories, 2 to 1000; an int k means the labels 0 .. k-1.
    epsilon : float, array-like of shape (k,) or (k, k), Series, DataFrame, or mapping
        In nats. A number limits ``ln Q[x, y] / Q[x', y]`` for all categories x, x' and reports y.
        An epsilon of each category x limits it for all x', as in ``URR(levels=)``; a mapping from
        label to epsilon may leave out categories that are not sensitive, which get the largest. A
        table has a limit of its own for each pair, x in rows; inf is allowed where the limits of
        other pairs imply one. It is closed by shortest paths first.
    prior : "uniform", array-like of shape (k,) or (m, k), Series, or DataFrame
        Distribution of the answers that the loss is computed at. Of several the worst counts.
    loss : {"total", "worst", "D"}, or contrasts
        Sum of the variances of all frequencies; largest variance of a frequency; geometric mean of
        the eigenvalues of the covariance; or the variance of a contrast, such as
        ``"nurse - cook"``, a mapping from label to weight or an array (k,), summed over several.
        All are those of an efficient estimate for one respondent: divide by n.
    sensitive : set or sequence of labels, optional
        The categories to protect; a report may reveal one of the others (utility-optimised LDP,
        MK19 Definition 2). Default: all are protected.
    max_outputs : int, optional
        Most reports that the channel may have. The gap remains that to the best channel with any
        number of reports.

    Returns
    -------
    ChannelDesign

    Raises
    ------
    InvalidArgument
        If an argument is malformed; if the prior is zero for a category that may be revealed.
    UnknownCategory
        If `sensitive`, a mapping or a contrast names an unknown category.
    NotIdentified
        If no channel with so few reports was found that determines what the loss asks for.
    NotAvailable
        If the best channel has too many reports to be written out, and no name.
    NotConverged
        If a solver fails.

    Notes
    -----
    The columns of Q are sums of extreme rays of a cone, for a number epsilon the staircases with
    entries 1 and e^eps, and splitting a column into rays never loses information. The information
    is linear in the weights of the rays, so the best channel is a convex programme (Kairouz, Oh
    and Viswanath 2016 for linear losses). Its dual gives the bound, which is checked against all
    rays. Categories that are alike are treated as one group, so that k = 1000 under a uniform prior
    takes no longer than k = 10; otherwise all rays are listed or, up to 2^30, run through in two
    halves. Beyond, and for limits of pairs with more than 4000 rays, the bound is that of a coarser
    problem, and the gap is larger.

    Several channels may be optimal. A design is best at its prior only: see
    `ChannelDesign.sensitivity`.

    Examples
    --------
    >>> from ldpstats.planning import design_channel
    >>> best = design_channel(8, epsilon=1.0)
    >>> best.name, round(best.loss, 2), best.gap < 1e-6
    ('subset selection of size 2', 22.61, True)
    >>> best.efficiency.round(3)
    KRR                       1.238
    KRAPPOR                   1.223
    SubsetSelection(size=2)   1.000
    dtype: float64

    Only the difference of two categories matters:

    >>> jobs = ("nurse", "teacher", "driver", "cook")
    >>> best = design_channel(jobs, epsilon=1.0, loss="nurse - cook")
    >>> round(best.loss, 3), float(best.efficiency["KRR"].round(2))
    (4.433, 1.25)
    """
    labels = _checked_labels(categories)
    limits = privacy_limits(epsilon, labels, sensitive)
    if len(limits.pairs) != len(labels):
        shown = f"table of shape {limits.pairs.shape}"
        raise InvalidArgument("epsilon", shown, f"must have {len(labels)} rows and columns")
    open_ = np.ones(len(labels), dtype=bool)
    open_[sensitive_places(sensitive, labels)] = False
    goal = checked_goal(loss, checked_priors(prior, labels), labels)
    if (goal.priors[:, open_] == 0.0).any():
        remedy = "must be positive for every category that is not sensitive: a report may reveal it"
        raise InvalidArgument("prior", goal.priors.tolist(), remedy)
    most = None if max_outputs is None else positive_integer("max_outputs", max_outputs, 2)
    mechanism, name, bound = _designed(goal, labels, limits, open_, most)
    return _result(mechanism, name, bound, goal, limits, open_)


def _checked_labels(categories: Any) -> pd.Index[Any]:
    labels = as_labels("categories", categories)
    if len(labels) > _MOST_CATEGORIES:
        remedy = f"must be at most {_MOST_CATEGORIES}: for more, compare SubsetSelection and others"
        raise InvalidArgument("categories", len(labels), remedy)
    return labels


def _result(
    mechanism: Mechanism, name: str, bound: float, goal: Goal, limits: Limits, open_: Array
) -> ChannelDesign:
    loss = design_loss(mechanism, goal)
    if isinstance(mechanism, SubsetSelection):
        identified, excess = True, mechanism.channel().epsilon() - limits.least
    else:
        Q = mechanism.channel().matrix()
        identified = loss_of_matrix(Q, Goal("total", goal.priors)) < np.inf
        excess = limits.excess(Q, open_)
    rivals = rival_losses(goal, mechanism.categories, limits, open_)
    efficiency = pd.Series({n: v / loss for n, v in rivals.items()}, dtype=float)
    return ChannelDesign(
        mechanism, name, loss, bound, efficiency, excess, identified, goal, limits, open_
    )


def _designed(
    goal: Goal, labels: pd.Index[Any], limits: Limits, open_: Array, most: int | None
) -> tuple[Mechanism, str, float]:
    """The mechanism, its name, and the bound."""
    cone, found = searched(goal, limits, open_)
    if cone is None:
        return (*_named(goal, labels, limits, open_, most), found.bound)
    found = supported(cone, found)
    member = found.columns.members[0]
    if limits.kind == "one" and cone.G == 1 and len(found.columns) == 1 and not open_.any():
        size = int(member[0])
        if most is None or cone.orbit_size(member) <= most:
            return (*of_subsets(labels, limits.least, size), found.bound)
    listed = explicit(cone, found)
    if listed is None:
        if not isinstance(cone, Staircases) or goal.k > _SAMPLED:
            return (*_named(goal, labels, limits, open_, most), found.bound)
        try:
            listed = sampled(cone, found, 2 * goal.k * (goal.k + 1))
        except NotConverged:
            return (*_named(goal, labels, limits, open_, most), found.bound)
    Q = channel_of(*listed)
    if most is not None and Q.shape[1] > most:
        Q = _shortened(Q, listed, goal, limits, most)
    return (*as_mechanism(Q, labels, limits, open_), found.bound)


def _shortened(
    Q: Array, listed: tuple[Array, Array], goal: Goal, limits: Limits, most: int
) -> Array:
    """The best channel found with at most `most` reports."""
    candidates = []
    fewer = few(*listed, goal, most)
    if fewer is not None:
        candidates.append(fewer)
    if Q.shape[1] <= 500:
        candidates.append(merged(Q, goal, most))
    if most >= goal.k:
        candidates.append(KRR(goal.k, limits.least).channel().matrix())
    losses = [loss_of_matrix(R, goal) for R in candidates]
    if not losses or min(losses) == np.inf:
        raise NotIdentified(
            f"no channel with {most} reports that determines what the loss asks for was found: "
            f"allow at least {goal.k} (max_outputs)"
        )
    return candidates[int(np.argmin(losses))]


def _named(
    goal: Goal, labels: pd.Index[Any], limits: Limits, open_: Array, most: int | None
) -> tuple[Mechanism, str]:
    """The best named mechanism, where there are too many columns to choose from."""
    k = goal.k
    choices: list[tuple[Mechanism, str]] = []
    if most is None or most >= k:
        Q = KRR(k, limits.least).channel().matrix()
        choices.append(as_mechanism(Q, labels, Limits(limits.pairs, limits.kind), open_ & False))
    if most is None and k > 2:
        usual = SubsetSelection(labels, limits.least).d
        sizes = {max(2, usual - 1), max(2, usual), min(k - 1, usual + 1)}
        choices += [of_subsets(labels, limits.least, d) for d in sorted(sizes)]
    if not choices:
        raise NotAvailable(
            f"design_channel lists no channel with {most} reports for {k} categories whose priors "
            f"all differ: allow {k} reports, or give like categories the same prior"
        )
    losses = [design_loss(mechanism, goal) for mechanism, _ in choices]
    if np.isnan(losses).all():
        raise NotConverged("the loss of no named mechanism could be computed")
    return choices[int(np.nanargmin(losses))]
