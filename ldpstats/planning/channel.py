"""The best channel there is, for a loss, a prior and a privacy limit, with a certificate.

`design_channel` and the design that it returns come first. Then: reports that are written out, the
loss and the priors as arguments, named mechanisms and their losses, and the search for the best
columns with its bound. The convex programme itself is `programme`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import as_array, distribution, one_of, positive_integer
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotConverged, NotIdentified
from ldpstats.labels import align, as_labels, by_label, encode
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.blocks import SubsetSelection
from ldpstats.mechanisms.custom import CustomMechanism
from ldpstats.mechanisms.krr import KRR, Warner
from ldpstats.mechanisms.sensitive import URAP, URR
from ldpstats.mechanisms.unary import KRAPPOR
from ldpstats.models.layout import SummaryTable
from ldpstats.models.plots import axes_of, axis_labels, set_title, title_text
from ldpstats.models.results import linear_hypothesis
from ldpstats.planning.programme import (
    SPLIT,
    Cone,
    Found,
    Goal,
    Limits,
    Rays,
    Staircases,
    channel_of,
    extreme_rays,
    groups_of,
    loss_of_matrix,
    master,
    optimum,
    privacy_limits,
    sensitive_places,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["ChannelDesign", "design_channel"]


# -- The best channel for a survey, with a certificate that there is no better one ----------------


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
    labels = as_labels("categories", categories)
    if len(labels) > _MOST_CATEGORIES:
        remedy = f"must be at most {_MOST_CATEGORIES}: for more, compare SubsetSelection and others"
        raise InvalidArgument("categories", len(labels), remedy)
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
    mechanism, name, bound = _best_mechanism(goal, labels, limits, open_, most)
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


def _best_mechanism(
    goal: Goal, labels: pd.Index[Any], limits: Limits, open_: Array, most: int | None
) -> tuple[Mechanism, str, float]:
    """The mechanism, its name, and the bound."""
    cone, found = best_columns(goal, limits, open_)
    if cone is None:
        return (*_named(goal, labels, limits, open_, most), found.bound)
    found = fewest_columns(cone, found)
    member = found.columns.members[0]
    if limits.kind == "one" and cone.G == 1 and len(found.columns) == 1 and not open_.any():
        size = int(member[0])
        if most is None or cone.orbit_size(member) <= most:
            return (*of_subsets(labels, limits.least, size), found.bound)
    # Columns of mean 1, shape (k, l), and probabilities: whole orbits where they are few
    sizes = [cone.orbit_size(row) for row in found.columns.members]
    if sum(sizes) * cone.codes.size <= _ENTRIES:
        S = np.concatenate([cone.orbit(row) for row in found.columns.members], axis=1)
        listed = S / S.mean(axis=0), np.repeat(found.theta / np.array(sizes), sizes)
    elif isinstance(cone, Staircases) and goal.k <= _SAMPLED:
        try:
            listed = sample_orbits(cone, found, 2 * goal.k * (goal.k + 1))
        except NotConverged:
            return (*_named(goal, labels, limits, open_, most), found.bound)
    else:
        return (*_named(goal, labels, limits, open_, most), found.bound)
    Q = channel_of(*listed)
    if most is not None and Q.shape[1] > most:
        # The best channel found with at most `most` reports
        candidates = []
        fewer = fewer_reports(*listed, goal, most)
        if fewer is not None:
            candidates.append(fewer)
        if Q.shape[1] <= 500:
            candidates.append(merge_reports(Q, goal, most))
        if most >= goal.k:
            candidates.append(KRR(goal.k, limits.least).channel().matrix())
        losses = [loss_of_matrix(R, goal) for R in candidates]
        if not losses or min(losses) == np.inf:
            raise NotIdentified(
                f"no channel with {most} reports that determines what the loss asks for was found: "
                f"allow at least {goal.k} (max_outputs)"
            )
        Q = candidates[int(np.argmin(losses))]
    return (*as_mechanism(Q, labels, limits, open_), found.bound)


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


# -- What `design_channel` returns ----------------------------------------------------------------


_LOSSES = {
    "total": "sum of the variances of all frequencies",
    "worst": "largest variance of a frequency",
    "contrasts": "variance of the contrasts, summed",
    "D": "geometric mean of the eigenvalues of the covariance",
}
_REPORTS, _CATEGORIES = 400, 100  # that are drawn at most


@dataclass(frozen=True, eq=False)
class ChannelDesign:
    """The best channel for a loss, with its certificate. `design_channel` makes it.

    Parameters
    ----------
    mechanism : Mechanism
        The channel, ready for a client: a named mechanism where the design is one, else a
        `CustomMechanism`.
    name : str
        The name of the design, such as "k-RR" or "subset selection of size 2"; "" if it has none.
    loss : float
        The loss of the channel for one respondent: with n respondents it is ``loss / n``. Variances
        for all losses; for "D" the geometric mean of the eigenvalues of the covariance.
    bound : float
        No channel within the privacy limits has a smaller loss.
    efficiency : Series
        Respondents that named mechanisms need for the same precision, as ratios to the design; inf
        for one that does not identify what the loss asks for, nan where it was not computed.
    epsilon : array, shape (k, k)
        The limit of each pair, ``ln Q[x, y] / Q[x', y]``, closed by shortest paths.
    excess : float
        By how much the channel exceeds a limit at most, in nats: at most 1e-12.
    identified : bool
        Whether reports of this channel determine the whole distribution.
    goal : Goal
        The loss and the priors.
    limits : Limits
    unprotected : array of bool, shape (k,)
        Categories that a report may reveal.

    Examples
    --------
    >>> from ldpstats.planning import design_channel
    >>> best = design_channel(("nurse", "teacher", "driver", "cook"), epsilon=0.5)
    >>> best
    ChannelDesign(subset selection of size 2, k=4, loss=37.5093, gap=0)
    >>> best.efficiency.round(3)
    KRR                        1.027
    KRAPPOR                    1.283
    SubsetSelection(size=2)    1.000
    dtype: float64
    """

    mechanism: Mechanism
    name: str
    loss: float
    bound: float
    efficiency: pd.Series[float]
    excess: float
    identified: bool
    goal: Goal
    limits: Limits
    unprotected: Array

    def __repr__(self) -> str:
        name = f"{self.name}, " if self.name else ""
        gap = round(self.gap, 12)  # what is less is rounding, and differs between processors
        return f"ChannelDesign({name}k={self.mechanism.k}, loss={self.loss:.6g}, gap={gap:.2g})"

    @property
    def gap(self) -> float:
        """``1 - bound / loss``: no channel within the limits needs fewer respondents by more."""
        return max(0.0, 1.0 - self.bound / self.loss)

    @property
    def epsilon(self) -> Array:
        """The limit of each pair of categories, shape (k, k), in nats."""
        return self.limits.pairs

    @property
    def prior(self) -> pd.DataFrame:
        """The distributions that the design was made for, one a row."""
        return pd.DataFrame(self.goal.priors, columns=self.mechanism.categories)

    def sensitivity(self, prior: Any) -> pd.DataFrame:
        """What a wrong prior costs: the design under other distributions, against their optimum.

        Parameters
        ----------
        prior : array-like, shape (k,) or (m, k), Series, or "uniform"
            Distributions that the answers may have instead.

        Returns
        -------
        DataFrame
            A row for each distribution: `loss` of the design; `optimum`, the bound on the loss of
            any channel; and `respondents`, their ratio: how many times as many respondents the
            design needs, at most, than the channel that is best for that distribution.

        Raises
        ------
        InvalidArgument
            If `prior` does not hold distributions of the categories.

        Examples
        --------
        >>> from ldpstats.planning import design_channel
        >>> best = design_channel(4, epsilon=1.0)
        >>> best.sensitivity([0.6, 0.25, 0.1, 0.05]).round(4)
            loss  optimum  respondents
        0  8.1212    8.094       1.0034
        """
        rows = []
        for p in checked_priors(prior, self.mechanism.categories):
            goal = Goal(self.goal.kind, p[None], self.goal.contrasts)
            loss = design_loss(self.mechanism, goal)
            best = best_columns(goal, self.limits, self.unprotected)[1].bound
            rows.append((loss, best, loss / best if best > 0.0 else np.nan))
        return pd.DataFrame(rows, columns=["loss", "optimum", "respondents"])

    def summary(self) -> Summary:
        """The design as a statsmodels `Summary`: text (print it), `as_html()` and `as_latex()`."""
        goal, limits, mechanism = self.goal, self.limits, self.mechanism
        n_outputs = mechanism.channel().shape[1]
        if limits.kind == "one":
            epsilon = f"{limits.least:.6g}"
        else:
            off = self.epsilon[~np.eye(len(self.epsilon), dtype=bool)]
            whose = "category" if limits.kind == "own" else "pair"
            epsilon = f"{off.min():.4g} to {off.max():.4g}, by {whose}"
        reports = str(n_outputs) if n_outputs < 10**9 else f"about 2^{n_outputs.bit_length() - 1}"
        header = [
            ["Mechanism:", type(mechanism).__name__, "Categories:", str(mechanism.k)],
            ["Design:", self.name or "(no name)", "Reports:", reports],
            ["Epsilon:", epsilon, "Priors:", str(len(goal.priors))],
            ["Loss x n:", f"{self.loss:.6g}", "Gap:", f"{self.gap:.2g}"],
        ]
        share = "1e-7 of them" if self.gap < 1e-7 else f"{100 * self.gap:.2g} %"
        notes = [
            f"Loss: {_LOSSES[goal.kind]}, for one respondent; divide by the number.",
            f"No channel within the limits needs fewer respondents by more than {share}.",
            "Respondents needed: by named mechanisms for the same precision, as ratios to the "
            "design.",
        ]
        if len(goal.priors) > 1:
            notes.append("The loss is that at the worst of the priors.")
        if self.unprotected.any():
            labels = mechanism.categories[self.unprotected].tolist()
            revealed = ", ".join(map(str, labels[:5])) + (", ..." if len(labels) > 5 else "")
            notes.append(f"NOTE: reports may reveal {revealed}, which are not sensitive.")
        if not self.identified:
            notes.append(
                "NOTE: this channel answers that question alone. Its reports do not determine the "
                "other frequencies: a fit of all categories raises NotIdentified."
            )
        if self.gap > 1e-3:
            notes.append(
                "NOTE: the gap is that of the channel and the certificate together: the channel "
                "may be closer to the best one than it says."
            )
        notes.append("The design is best at its prior: see sensitivity() for others.")
        ratios = [
            "not computed" if np.isnan(r) else "not identified" if np.isinf(r) else f"{r:.3f}"
            for r in self.efficiency.tolist()
        ]
        return SummaryTable(
            title="Best channel for a privacy limit",
            header=header,
            columns=["respondents needed"],
            stubs=[str(name) for name in self.efficiency.index],
            body=[[ratio] for ratio in ratios],
            notes=notes,
        ).layout()

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        return str(self.summary().as_html())

    def plot(self, ax: Axes | None = None, title: str | None = None) -> Axes:
        """Draw the channel: a row a category, a column a report, as wide as it is probable.

        Cells are darker where the category is more likely to make the report, relative to the one
        that is most likely to.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        title : str, optional

        Raises
        ------
        NotAvailable
            If there are more than 400 reports or 100 categories.
        InvalidArgument
            If `ax` is not an Axes or `title` not text.
        """

        k, l = self.mechanism.channel().shape  # noqa: E741
        if l > _REPORTS or k > _CATEGORIES:
            raise NotAvailable(
                f"plot() draws at most {_CATEGORIES} categories and {_REPORTS} reports; this "
                f"channel has {k} and {l}"
            )
        p = self.goal.priors.mean(axis=0)
        Q = self.mechanism.channel().matrix()
        # Reports by the size of the set that they favour, then by probability
        middle = np.sqrt(Q.max(axis=0) * Q.min(axis=0)) if Q.min() > 0.0 else 0.5 * Q.max(axis=0)
        high, weight = Q > middle, np.rint(1e9 * (p @ Q))
        Q = Q[:, np.lexsort((*(-high[::-1].astype(int)), high.sum(axis=0), -weight))]
        name = self.name or "Best channel"
        text = title_text(title, f"{name[0].upper()}{name[1:]}, {l} reports")
        ax = axes_of(ax, 6.4, min(9.0, 1.4 + 0.32 * k))
        edges = np.concatenate([[0.0], np.cumsum(p @ Q)])
        shade = Q / Q.max(axis=0)
        cells = ax.pcolormesh(
            edges, np.arange(k + 1) - 0.5, shade, cmap="Blues", vmin=0.0, vmax=1.0
        )
        cells.set_edgecolor("white")
        cells.set_linewidth(0.3 if l > 60 else 0.8)
        ax.set_yticks(range(k), axis_labels(self.mechanism.categories, 20))
        ax.set_ylim(k - 0.5, -0.5)
        ax.set_xlabel("reports, as wide as they are probable")
        ax.figure.colorbar(cells, ax=ax, label="probability, relative to the largest")
        set_title(ax, text)
        return ax


# -- Explicit columns for a design: whole orbits where they are few, else some that do as well ----


_ENTRIES = 1 << 19  # of a channel that is written out
_BALANCED = 1e-8  # by which the rows of Q may differ from one
_WORSE = 1e-7  # relative loss that fewer columns may cost
_THRESHOLDS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def fewest_columns(cone: Cone, found: Found) -> Found:
    """The optimum with as few columns as a threshold on their probabilities leaves."""
    columns, theta = found.columns, found.theta
    loss = cone.loss(columns, theta)
    for threshold in _THRESHOLDS:
        at = np.flatnonzero(theta > threshold * theta.max())
        if at.size == len(columns):
            continue
        kept = columns.take(at)
        try:
            laws = [master(cone, kept)[0], theta[at]]
        except (NotConverged, np.linalg.LinAlgError):
            laws = [theta[at]]  # what was left out may be no more than the solver's rest
        for law in (law / law.sum() for law in laws):
            balanced = np.abs(kept.T.T @ law).max(initial=0.0) <= _BALANCED
            if balanced and cone.loss(kept, law) <= loss * (1.0 + _WORSE):
                return Found(kept, law, found.bound)
    at = np.flatnonzero(theta > 1e-9 * theta.max())
    return Found(columns.take(at), theta[at], found.bound)


def fewer_reports(S: Array, theta: Array, goal: Goal, most: int) -> Array | None:
    """A channel with at most `most` of these columns (k, l); None where none was found."""
    # First a vertex of all laws with the information of the full channel; then, again and again,
    # the least probable columns are left out, and the rest are weighted anew.
    cone = Rays(np.arange(len(S)), goal, np.zeros(len(S), dtype=bool), S.T)
    columns = cone.columns(cone.every())
    at = np.arange(len(columns))
    while at.size > most:
        keep = max(most, int(0.8 * at.size)) if at.size > most + 4 else at.size - 1
        order = np.argsort(-theta, kind="stable")[:keep]
        at = at[order]
        rest = columns.take(at)
        try:
            theta, _ = master(cone, rest)
        except (NotConverged, np.linalg.LinAlgError):
            return None
        theta = theta / theta.sum()
        if not np.abs(rest.T.T @ theta).max(initial=0.0) <= _BALANCED:
            return None
        used = theta > 1e-7 * theta.max()
        at, theta = at[used], theta[used]
    Q = channel_of(S[:, at], theta)
    return Q if loss_of_matrix(Q, goal) < np.inf else None


def merge_reports(Q: Array, goal: Goal, most: int) -> Array:
    """Join reports, two at a time with the least loss of information, until they are few enough."""
    p = goal.priors.mean(axis=0)
    while Q.shape[1] > most:
        mass = p @ Q
        shape = (Q / mass) * np.sqrt(1.0 / np.maximum(p, 1e-12))[:, None] * p[:, None]
        gram = shape.T @ shape
        distance = np.diag(gram)[:, None] + np.diag(gram) - 2.0 * gram
        cost = distance * (mass[:, None] * mass) / (mass[:, None] + mass)
        np.fill_diagonal(cost, np.inf)
        i, j = divmod(int(cost.argmin()), len(cost))
        Q = np.column_stack([np.delete(Q, [i, j], axis=1), Q[:, i] + Q[:, j]])
    return Q


def sample_orbits(cone: Staircases, found: Found, count: int) -> tuple[Array, Array]:
    """Columns (k, l) of large orbits with the information of all of them, and probabilities."""
    # The laws of the columns with that information are a polytope, whose vertices have at most
    # k (k + 1) / 2 columns: a linear programme finds one.
    from scipy.optimize import linprog

    parts = [_spread(cone, row, count) for row in found.columns.members]
    S = np.concatenate(parts, axis=1)
    S = S / S.mean(axis=0)
    sizes = [part.shape[1] for part in parts]
    k = cone.codes.size
    upper = np.triu_indices(k)
    rows, goals = [], []
    for p in cone.goal.priors:
        moment = np.array([np.outer(s, s)[upper] / (p @ s) for s in S.T]).T
        target = np.zeros(upper[0].size)
        for theta, part in zip(
            found.theta, np.split(moment, np.cumsum(sizes)[:-1], axis=1), strict=True
        ):
            target += theta * part.mean(axis=1)
        rows.append(moment)
        goals.append(_symmetrised(cone, target, upper))
    E, b = np.vstack([S, *rows]), np.concatenate([np.ones(k), *goals])
    cost = np.linspace(0.0, 1.0, S.shape[1]) % 0.37
    done = linprog(cost, A_eq=E, b_eq=b, bounds=(0, None), method="highs")
    if done.status != 0:
        raise NotConverged("no short list of reports has the information of the best channel")
    used = done.x > 0.0
    return S[:, used], done.x[used]


def _symmetrised(cone: Staircases, target: Array, upper: Any) -> Array:
    """The mean of a symmetric matrix over the permutations of like categories."""
    k, codes = cone.codes.size, cone.codes
    full = np.zeros((k, k))
    full[upper] = target
    full = full + np.triu(full, 1).T
    out = np.empty_like(full)
    for g in range(cone.G):
        for h in range(cone.G):
            block = np.ix_(codes == g, codes == h)
            part = full[block]
            if g == h and len(part) > 1:
                diagonal = np.trace(part) / len(part)
                rest = (part.sum() - np.trace(part)) / (len(part) * (len(part) - 1))
                out[block] = np.where(np.eye(len(part), dtype=bool), diagonal, rest)
            else:
                out[block] = part.mean()
    return np.asarray(out[upper])


def _spread(cone: Staircases, member: Array, count: int) -> Array:
    """Columns of one orbit, or some: turn t ranks by the fractional parts of t roots of primes."""
    if cone.orbit_size(member) <= count:
        return cone.orbit(member)
    where = [np.flatnonzero(cone.codes == g) for g in range(cone.G)]
    primes: list[int] = []
    number = 2
    while len(primes) < cone.codes.size:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    roots = np.sqrt(np.array(primes, dtype=np.float64))
    subsets: set[tuple[int, ...]] = set()
    for turn in range(1, 20 * count):
        rank = np.mod(turn * roots, 1.0)
        parts = [
            at[np.argsort(rank[at], kind="stable")[:n]].tolist()
            for at, n in zip(where, member.tolist(), strict=True)
        ]
        subsets.add(tuple(sorted(x for part in parts for x in part)))
        if len(subsets) >= count:
            break
    return cone.of_subsets(sorted(subsets))


# -- The loss and the priors that a design is asked for, checked ----------------------------------


_NAMES = ("total", "worst", "D")
_LOSS = (
    "must be 'total', 'worst' or 'D', or one contrast or several: text such as 'nurse - cook' with "
    "category labels, a mapping from label to weight, or an array of shape (k,) or (q, k)"
)
_PRIOR = "must be 'uniform', a distribution of the categories, or several as the rows of an array"
_MOST_PRIORS = 50


def checked_priors(prior: object, labels: pd.Index[Any]) -> Array:
    """Distributions, shape (M, k), without repeats."""
    k = len(labels)
    rows: list[Any]
    if isinstance(prior, str):
        one_of("prior", prior, ("uniform",))
        return np.full((1, k), 1.0 / k)
    prior = by_label("prior", prior)
    if prior is None or isinstance(prior, set | frozenset):
        raise InvalidArgument("prior", prior, _PRIOR)
    if isinstance(prior, pd.DataFrame):
        rows = [row for _, row in prior.iterrows()]
    elif isinstance(prior, pd.Series):
        rows = [prior]
    elif isinstance(prior, list | tuple) and any(isinstance(row, pd.Series) for row in prior):
        rows = list(prior)
    else:
        given = as_array("prior", prior, _PRIOR)
        if given.ndim not in (1, 2) or not len(given):
            raise InvalidArgument("prior", prior, _PRIOR)
        rows = list(given) if given.ndim == 2 else [given]
    if not 0 < len(rows) <= _MOST_PRIORS:
        raise InvalidArgument("prior", f"{len(rows)} rows", f"must be 1 to {_MOST_PRIORS} of them")
    names = ["prior"] if len(rows) == 1 else [f"prior[{i}]" for i in range(len(rows))]
    laws = [
        distribution(name, align(name, row, labels), k)
        for name, row in zip(names, rows, strict=True)
    ]
    return np.unique(np.array([law / law.sum() for law in laws]), axis=0)


def checked_goal(loss: object, priors: Array, labels: pd.Index[Any]) -> Goal:
    """The goal that `loss` names."""
    if isinstance(loss, str) and loss in _NAMES and loss not in labels:
        return Goal(str.__str__(loss), priors)
    contrasts = _contrasts(loss, labels)
    spread = np.ptp(contrasts, axis=1)
    if (spread == 0.0).any():
        remedy = (
            "has a contrast with equal weights, which needs no data: a distribution sums to one"
        )
        raise InvalidArgument("loss", loss, remedy)
    return Goal("contrasts", priors, contrasts.T)


def _contrasts(loss: object, labels: pd.Index[Any]) -> Array:
    """Contrasts, shape (q, k)."""
    if isinstance(loss, str):
        one = [loss]
        if not any(str(label) in loss for label in labels.tolist()):
            one_of("loss", loss, _NAMES)
        return _parsed(one, labels)
    if isinstance(loss, Mapping):
        out = np.zeros((1, len(labels)))
        codes = encode("loss", list(loss), labels)[0]
        if not codes.size:
            raise InvalidArgument("loss", loss, _LOSS)
        for code, weight in zip(codes.tolist(), loss.values(), strict=True):
            out[0, code] += _linear([[weight]], 1)[0, 0]
        return out
    if isinstance(loss, pd.Series):
        loss = align("loss", loss, labels, absent=0.0)
    elif isinstance(loss, list | tuple) and loss and all(isinstance(v, str) for v in loss):
        return _parsed(list(loss), labels)
    elif isinstance(loss, list | tuple) and loss and all(isinstance(v, Mapping) for v in loss):
        return np.concatenate([_contrasts(v, labels) for v in loss])
    elif not isinstance(loss, list | tuple | np.ndarray):
        raise InvalidArgument("loss", loss, _LOSS)
    return _linear(loss, len(labels))


def _parsed(texts: list[str], labels: pd.Index[Any]) -> Array:
    try:
        return linear_hypothesis(texts, labels)[0]
    except InvalidArgument as error:
        raise InvalidArgument(
            "loss", texts[0] if len(texts) == 1 else texts, error.remedy
        ) from None


def _linear(values: Any, k: int) -> Array:
    """An array as contrasts, shape (q, k)."""
    labels: pd.Index[Any] = pd.RangeIndex(k)
    try:
        return linear_hypothesis(as_array("loss", values, _LOSS), labels)[0]
    except InvalidArgument:
        raise InvalidArgument("loss", values, f"{_LOSS}; here k = {k}") from None


# -- The loss of named mechanisms, for comparison with a design -----------------------------------
# k-RR, k-RAPPOR and subset selection are laws of the size of a random set: all their reports are
# staircases, and sets of one size are equally probable. So their information is a sum over orbits,
# however many reports they have.


_ORBITS = 1 << 17


def rival_losses(
    goal: Goal, labels: pd.Index[Any], limits: Limits, open_: Array
) -> dict[str, float]:
    """Loss of each named mechanism at the strictest epsilon; inf where it does not answer."""
    epsilon, k = limits.least, len(labels)
    none, own = np.zeros(k, dtype=bool), np.full(k, epsilon)
    cone = Staircases(groups_of(goal, own, none), goal, none, own)
    losses: dict[str, float] = {}
    if cone.n_orbits <= _ORBITS:
        by_size = _Sizes(cone, epsilon)
        losses["KRR"] = by_size.loss(by_size.fixed(1))
        losses["KRAPPOR"] = by_size.loss(by_size.rappor())
        if k > 2:  # of all sizes where they are few, or those around the usual one
            usual = k / (np.exp(epsilon) + 1.0)
            low, high = max(1, int(usual / 4.0) - 8), min(k - 1, int(2.0 * usual) + 8)
            sizes = {d: by_size.loss(by_size.fixed(d)) for d in range(low, high + 1)}
            best = min(sizes, key=lambda d: (sizes[d], d))
            losses[f"SubsetSelection(size={best})"] = sizes[best]
    else:
        subsets = SubsetSelection(labels, epsilon)
        losses["KRR"] = loss_of_matrix(KRR(labels, epsilon).channel().matrix(), goal)
        losses["KRAPPOR"] = _linear_loss(KRAPPOR(labels, epsilon), goal)
        losses[f"SubsetSelection(size={subsets.d})"] = _linear_loss(subsets, goal)
    if open_.any():
        sensitive = labels[~open_]
        urap = URAP(labels, sensitive, epsilon)
        if limits.kind == "own":
            levels = dict(zip(sensitive.tolist(), limits.own[~open_].tolist(), strict=True))
            urr = URR(labels, epsilon=levels)
        else:
            urr = URR(labels, sensitive, epsilon)
        losses["URR"] = loss_of_matrix(urr.channel().matrix(), goal)
        if k <= 12:
            losses["URAP"] = loss_of_matrix(urap.channel().matrix(), goal)
        else:
            losses["URAP"] = _linear_loss(urap, goal)
    elif limits.kind == "own":
        levels = dict(zip(labels.tolist(), limits.own.tolist(), strict=True))
        losses["URR"] = loss_of_matrix(URR(labels, epsilon=levels).channel().matrix(), goal)
    return losses


def _linear_loss(mechanism: Mechanism, goal: Goal) -> float:
    """Loss of the linear estimate; nan for "D", and for a mechanism that has none."""
    if goal.kind == "D":
        return float("nan")
    problem = mechanism.moments(mechanism.specimen())
    try:
        covariances = [problem.covariance(p) for p in goal.priors]
    except LDPError:
        return float("nan")
    if goal.contrasts is not None:
        return float(max(V.forms(goal.contrasts.T).sum() for V in covariances))
    variances = [V.variances() for V in covariances]
    return float(max(v.max() if goal.kind == "worst" else v.sum() for v in variances))


class _Sizes:
    """Mechanisms whose reports are sets of categories, by the law of the size of the set."""

    def __init__(self, cone: Staircases, epsilon: float) -> None:
        from scipy.special import gammaln

        self.cone, self.epsilon, self.k = cone, epsilon, cone.codes.size
        self.members = cone.listed(1, cone.n_orbits - 1)
        self.columns = cone.columns(self.members)
        n, k = self.members, cone.sizes
        self.choices = (gammaln(k + 1) - gammaln(n + 1) - gammaln(k - n + 1)).sum(axis=1)
        self.sizes = n.sum(axis=1)
        # mean entry of a staircase with a set of this size, which scales it
        self.level = np.log1p(np.expm1(epsilon) * self.sizes / self.k)

    def loss(self, log_low: Array) -> float:
        """Loss, from the logarithm of the smaller entry of the column of a set of each size."""
        theta = np.exp(log_low[self.sizes] + self.choices + self.level)
        return self.cone.loss(self.columns, theta)

    def fixed(self, d: int) -> Array:
        """k-RR (d = 1) or subset selection."""
        from scipy.special import logsumexp

        ways = [_log_choose(self.k - 1, d - 1) + self.epsilon, _log_choose(self.k - 1, d)]
        out = np.full(self.k + 1, -np.inf)
        out[d] = -logsumexp(ways)
        return out

    def rappor(self) -> Array:
        """k-RAPPOR, which flips a bit with probability 1 / (1 + e^(eps / 2))."""
        m = np.arange(self.k + 1)
        keep, flip = (-np.logaddexp(0.0, sign * self.epsilon / 2.0) for sign in (-1.0, 1.0))
        return np.asarray((m + 1) * flip + (self.k - 1 - m) * keep)


def _log_choose(n: int, m: int) -> float:
    from scipy.special import gammaln

    if not 0 <= m <= n:
        return -np.inf
    return float(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1))


# -- Designs that have a name: k-RR, Warner's question, subset selection, uRR ---------------------


_ALIKE = 1e-7  # by which probabilities may differ from those of a named mechanism
_COMPARED = 1 << 21  # entries of a channel that is compared


def as_mechanism(
    Q: Array, labels: pd.Index[Any], limits: Limits, open_: Array
) -> tuple[Mechanism, str]:
    """A channel as the named mechanism that it is, or a custom one; and its name in words."""
    for mechanism, name in _candidates(Q, labels, limits, open_):
        R = mechanism.channel().matrix()
        if Q.shape != R.shape:
            continue
        # Equal up to the order of the reports
        first, second = (M[:, np.lexsort(np.rint(M / M.max() * 1e5))] for M in (Q, R))
        if np.abs(first - second).max() <= _ALIKE * second.max():
            return mechanism, name
    target = None
    if limits.kind == "one" and not open_.any() and Q.shape[1] == 2 and len(Q) > 2:
        column = Q[:, 0]  # Warner's question about x: all other categories are answered alike
        for x in range(len(Q)):
            others = np.delete(column, x)
            if np.ptp(others) <= _ALIKE and abs(column[x] - others[0]) > _ALIKE:
                target = x
                break
    outputs = pd.RangeIndex(Q.shape[1]) if target is None else ("no", "yes")
    if target is not None:
        Q = Q[:, np.argsort(Q[target])]
    sensitive = labels[~open_] if open_.any() else None
    made = CustomMechanism(Q, labels, outputs, sensitive)
    return made, "" if target is None else f"Warner's question about {labels[target]!r}"


def _candidates(
    Q: Array, labels: pd.Index[Any], limits: Limits, open_: Array
) -> Iterator[tuple[Mechanism, str]]:
    """The named mechanisms that Q (k, l) may be, with their names in words."""
    k, l = Q.shape  # noqa: E741
    if open_.any():
        if l == k:
            if limits.kind == "one":
                yield URR(labels, labels[~open_], limits.least), "uRR"
            else:
                own = limits.own[~open_].tolist()
                levels = dict(zip(labels[~open_].tolist(), own, strict=True))
                yield URR(labels, epsilon=levels), "uRR"
        return
    if limits.kind == "own" and l == k:
        levels = dict(zip(labels.tolist(), limits.own.tolist(), strict=True))
        yield URR(labels, epsilon=levels), "uRR with an epsilon of each category"
    if limits.kind != "one":
        return
    epsilon = limits.least
    if k == 2 and l == 2:
        yield Warner(epsilon=epsilon, categories=labels), "Warner"
    elif l == k:
        yield KRR(labels, epsilon), "k-RR"
    for size in range(1, k) if k > 2 else ():
        subsets = SubsetSelection(labels, epsilon, size)
        if subsets.channel().shape[1] == l and k * l <= _COMPARED:
            yield subsets, f"subset selection of size {size}"


def of_subsets(labels: pd.Index[Any], epsilon: float, size: int) -> tuple[Mechanism, str]:
    """The mechanism whose reports are all sets of one size."""
    if len(labels) == 2:
        return Warner(epsilon=epsilon, categories=labels), "Warner"
    if size == 1:
        return KRR(labels, epsilon), "k-RR"
    return SubsetSelection(labels, epsilon, size), f"subset selection of size {size}"


# -- A bound for many categories that all differ, from a problem with few kinds of them -----------
# The information of a report falls as a prior grows, entry by entry, and a cone grows with its
# limits. So the bound for priors that are rounded down and limits that are rounded up, within
# groups of categories, holds for the true ones.


_COARSE_ORBITS = 1 << 15


def coarse_bound(goal: Goal, own: Array, open_: Array) -> float:
    """A bound on the loss: the largest of those at each prior, with own limits (k,)."""
    bounds = []
    for p in goal.priors:
        best, logs = 0.0, np.log(np.maximum(p, 1e-12))
        for bins in (2, 3, 4, 5, 6, 8):
            edges = np.linspace(logs.min(), logs.max() + 1e-9, bins + 1)
            bin_ = np.searchsorted(edges, logs, side="right")
            weights = np.zeros((0, p.size)) if goal.contrasts is None else goal.contrasts.T
            keys = np.vstack([bin_, open_, weights]).T
            group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
            low, high = p.copy(), own.copy()
            for g in range(group.max() + 1):
                low[group == g], high[group == g] = p[group == g].min(), own[group == g].max()
            coarse = Goal(goal.kind, low[None], goal.contrasts)
            cone = Staircases(groups_of(coarse, high, open_), coarse, open_, high)
            if cone.n_orbits > _COARSE_ORBITS:
                break
            best = max(best, optimum(cone).bound)
        bounds.append(best)
    return max(bounds)


# -- The best columns within privacy limits, and the bound on every channel's loss ----------------


_RAYS = 4000  # of limits of pairs, beyond which they are not all listed
_CLIMBED = 48  # categories up to which columns are searched for where they cannot all be priced


def design_loss(mechanism: Mechanism, goal: Goal) -> float:
    """The loss of a mechanism at one respondent; of a linear estimate where groups are too many."""
    if not isinstance(mechanism, SubsetSelection):
        return loss_of_matrix(mechanism.channel().matrix(), goal)
    k = mechanism.k
    none, own = np.zeros(k, dtype=bool), np.full(k, mechanism.epsilon)
    cone = Staircases(groups_of(goal, own, none), goal, none, own)
    if cone.n_orbits > _ORBITS:
        return _linear_loss(mechanism, goal)
    by_size = _Sizes(cone, mechanism.epsilon)
    return by_size.loss(by_size.fixed(mechanism.d))


def best_columns(
    goal: Goal, limits: Limits, open_: Array
) -> tuple[Staircases | Rays | None, Found]:
    """The best columns, and a bound; no columns where there are too many categories to search."""
    if limits.kind == "pairs":
        listed, all_ = extreme_rays(limits.pairs, _RAYS)
        units = np.eye(goal.k)[open_]
        rays = Rays(np.arange(goal.k), goal, open_, np.concatenate([listed, units]))
        found = optimum(rays)
        if not all_:  # the rows' largest limits allow more
            wider = Limits(np.where(np.eye(goal.k) > 0, 0.0, limits.own[:, None]), "own")
            found = Found(found.columns, found.theta, best_columns(goal, wider, open_)[1].bound)
        return rays, found
    cone = Staircases(groups_of(goal, limits.own, open_), goal, open_, limits.own)
    if cone.n_orbits <= SPLIT:
        return cone, optimum(cone)
    bound = coarse_bound(goal, limits.own, open_)
    if cone.G > _CLIMBED:
        return None, Found(cone.columns(cone.units()), np.zeros(cone.open_groups.size), bound)
    found = optimum(cone)
    return cone, Found(found.columns, found.theta, bound)
