"""The best channel there is, for a loss, a prior and a privacy limit, with a certificate.

`design_channel` and the design that it returns come first; then the mechanisms that have a name,
for comparison; then limits, priors and the loss as arguments. The search itself is `programme`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ldpstats.arguments import (
    EPSILON_RANGE,
    Array,
    as_array,
    distribution,
    numbers,
    one_of,
    positive_epsilon,
    positive_integer,
    record,
)
from ldpstats.errors import InvalidArgument, LDPError, NotAvailable, NotIdentified
from ldpstats.labels import align, as_labels, by_label, sensitive_codes
from ldpstats.mechanisms.base import Mechanism
from ldpstats.mechanisms.blocks import SubsetSelection
from ldpstats.mechanisms.custom import CustomMechanism
from ldpstats.mechanisms.krr import KRR, Warner
from ldpstats.mechanisms.sensitive import URAP, URR
from ldpstats.mechanisms.unary import KRAPPOR
from ldpstats.models.layout import SummaryTable, Table
from ldpstats.models.plots import axes_of, axis_labels, set_title, title_text
from ldpstats.models.results import linear_hypothesis
from ldpstats.planning.expected_precision import Summarised, one_report_covariance
from ldpstats.planning.programme import (
    Columns,
    Goal,
    best_law,
    channel_of,
    extreme_rays,
    fewer_reports,
    loss_of_matrix,
    staircases,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["ChannelDesign", "design_channel"]

_MOST_CATEGORIES = 1000
_ENTRIES = 1 << 19  # of a channel that is written out


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

    Raises
    ------
    InvalidArgument
        If an argument is malformed; if the prior is zero for a category that may be revealed.
    UnknownCategory
        If `sensitive` names an unknown category.
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
    takes no longer than k = 10; otherwise all rays are listed, which goes up to k = 12 (with a
    limit for each pair, up to k = 10 unless most of them follow from others). Beyond, the design is
    the best named mechanism, the bound is that of a coarser problem, and the gap is larger. Little
    is lost: in 6,595 designs for k = 3 to 8, epsilon .5 to 3 and priors drawn evenly from all, the
    best named mechanism needs 1.005 times the respondents of the certified best channel on average,
    at most 1.03 times in 95 % of them and 1.11 times in all (1.015, 1.06 and 1.14 for priors as
    uneven as Dirichlet(1/2)).

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
    open_ = np.zeros(len(labels), dtype=bool)
    if sensitive is not None:
        open_[:] = True
        open_[sensitive_codes(sensitive, labels)] = False
    if open_.all():
        remedy = "must name a category: with none the answers need no mechanism"
        raise InvalidArgument("sensitive", sensitive, remedy)
    limits = _limits(epsilon, labels, open_)
    goal = _goal(loss, _priors(prior, labels), labels)
    if (goal.priors[:, open_] == 0.0).any():
        remedy = "must be positive for every category that is not sensitive: a report may reveal it"
        raise InvalidArgument("prior", goal.priors.tolist(), remedy)
    most = None if max_outputs is None else positive_integer("max_outputs", max_outputs, 2)
    named = _named(labels, limits, open_)
    losses = {name: _loss(mechanism, goal) for name, (mechanism, _) in named.items()}
    columns, theta, bound = _best(goal, limits, open_)
    Q, own, k = None, np.inf, goal.k
    if columns is not None and sum(columns.reports) * k > _ENTRIES:  # too many to be written out
        columns = None
    if columns is not None:
        S, law = columns.expanded(theta)
        Q = channel_of(S, law) if most is None else fewer_reports(S, law, goal, most)
        own = np.inf if Q is None else loss_of_matrix(Q, goal)
    allowed = {
        name: value
        for name, value in losses.items()
        if most is None or named[name][0].channel().shape[1] <= most
    }
    least = np.nanmin([own, *allowed.values()])
    close = [key for key, value in allowed.items() if value <= (1.0 + _ALIKE) * least < np.inf]
    if close:
        mechanism, name = named[close[0]]
        own = losses[close[0]]
    elif Q is not None and own < np.inf:
        mechanism, name = _custom(Q, labels, limits, open_)
    elif columns is None:
        raise NotAvailable(
            f"design_channel lists no channel with {most} reports for {k} categories whose "
            f"priors all differ: allow {k} reports, or give like categories the same prior"
        )
    else:
        raise NotIdentified(
            f"no channel with {most} reports that determines what the loss asks for was found: "
            f"allow at least {k} (max_outputs)"
        )
    identified, excess, Q = True, mechanism.channel().epsilon() - limits.least, _written(mechanism)
    if Q is not None:
        identified = loss_of_matrix(Q, Goal("total", goal.priors)) < np.inf
        excess = limits.excess(Q, open_)
    # Of subset selection the best size
    subsets = {name: value for name, value in losses.items() if name.startswith("Subset")}
    best = min(subsets, key=lambda name: subsets[name], default="")
    efficiency = pd.Series(
        {n: v / own for n, v in losses.items() if n == best or n not in subsets}, dtype=float
    )
    return ChannelDesign(
        mechanism, name, own, bound, efficiency, excess, identified, goal, limits, open_
    )


def _best(goal: Goal, limits: Limits, open_: Array) -> tuple[Columns | None, Array, float]:
    """The best columns and their law, and a bound; no columns where there are too many to list."""
    if limits.kind == "pairs":
        rays = extreme_rays(goal, limits.pairs, open_)
        if rays is not None:
            return best_law(rays)
        # the rows' largest limits allow more
        wider = Limits(np.where(np.eye(goal.k) > 0, 0.0, limits.own[:, None]))
        return None, np.zeros(0), _best(goal, wider, open_)[2]
    listed = staircases(goal, limits.own, open_)
    if listed is not None:
        return best_law(listed)
    # The information of a report falls as a prior grows, entry by entry, and a cone grows with its
    # limits: the bound for priors that are rounded down and limits that are rounded up, within
    # groups of categories, holds for the true ones.
    bounds = []
    for p in goal.priors:
        best, logs = 0.0, np.log(np.maximum(p, 1e-12))
        for bins in (2, 3, 4, 5, 6, 8):
            edges = np.linspace(logs.min(), logs.max() + 1e-9, bins + 1)
            weights = np.zeros((0, p.size)) if goal.contrasts is None else goal.contrasts.T
            keys = np.vstack([np.searchsorted(edges, logs, side="right"), open_, weights]).T
            group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
            low, high = p.copy(), limits.own.copy()
            for g in range(group.max() + 1):
                low[group == g], high[group == g] = p[group == g].min(), high[group == g].max()
            coarse = staircases(Goal(goal.kind, low[None], goal.contrasts), high, open_)
            if coarse is None:
                break
            best = max(best, best_law(coarse)[2])
        bounds.append(best)
    return None, np.zeros(0), max(bounds)


# -- What `design_channel` returns ----------------------------------------------------------------


_LOSSES = {
    "total": "sum of the variances of all frequencies",
    "worst": "largest variance of a frequency",
    "contrasts": "variance of the contrasts, summed",
    "D": "geometric mean of the eigenvalues of the covariance",
}
_REPORTS, _CATEGORIES = 400, 100  # that are drawn at most


@record
class ChannelDesign(Summarised):
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
        gap = round(self.gap, 10)  # what is less is rounding, and differs between processors
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
        for p in _priors(prior, self.mechanism.categories):
            goal = Goal(self.goal.kind, p[None], self.goal.contrasts)
            loss = _loss(self.mechanism, goal)
            best = _best(goal, self.limits, self.unprotected)[2]
            rows.append((loss, best, loss / best if best > 0.0 else np.nan))
        return Table(rows, columns=["loss", "optimum", "respondents"])

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
            ["Loss x n:", f"{self.loss:.6g}", "Gap:", f"{round(self.gap, 10):.2g}"],
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


# -- Mechanisms that have a name: what they lose, and designs that are one of them ----------------


_FEW = 12  # categories up to which subset selection of every size is compared
_COMPARED = 1 << 16  # entries of a channel whose loss is that of its matrix
_ALIKE = 1e-7  # by which losses and probabilities may differ from those of what has a name


def _named(labels: pd.Index[Any], limits: Limits, open_: Array) -> dict[str, tuple[Mechanism, str]]:
    """Named mechanisms at the strictest epsilon, by class, with their names in words."""
    k, epsilon = len(labels), limits.least
    krr = KRR(labels, epsilon) if k > 2 else Warner(epsilon=epsilon, categories=labels)
    named: dict[str, tuple[Mechanism, str]] = {
        "KRR": (krr, "k-RR" if k > 2 else "Warner"),
        "KRAPPOR": (KRAPPOR(labels, epsilon), "k-RAPPOR"),
    }
    if k > 2:
        usual = SubsetSelection(labels, epsilon).d
        low, high = (1, k - 1) if k <= _FEW else (max(usual - 1, 2), min(usual + 1, k - 1))
        for size in range(low, high + 1):
            words = f"subset selection of size {size}"
            made = SubsetSelection(labels, epsilon, size)
            named[f"SubsetSelection(size={size})"] = made, words
    sensitive, words = labels[~open_], "uRR"
    if limits.kind == "own":
        levels = dict(zip(sensitive.tolist(), limits.own[~open_].tolist(), strict=True))
        words += "" if open_.any() else " with an epsilon of each category"
        named["URR"] = URR(labels, epsilon=levels), words
    elif open_.any():
        named["URR"] = URR(labels, sensitive, epsilon), words
    if open_.any():
        named["URAP"] = URAP(labels, sensitive, epsilon), "uRAP"
    return named


def _written(mechanism: Mechanism, most: int = _ENTRIES) -> Array | None:
    """The matrix of a mechanism, if it has few enough entries and lists its subsets."""
    k, l = mechanism.channel().shape  # noqa: E741
    if k * l > most or (k > 20 and isinstance(mechanism, SubsetSelection)):
        return None
    return mechanism.channel().matrix()


def _loss(mechanism: Mechanism, goal: Goal) -> float:
    """The loss of a mechanism for one respondent; nan where it is not computed."""
    Q = _written(mechanism, _COMPARED)
    if Q is not None:
        return loss_of_matrix(Q, goal)
    losses = []
    for p in goal.priors:
        try:
            V = one_report_covariance(mechanism, p)
            if goal.contrasts is not None:
                losses.append(V.forms(goal.contrasts.T).sum())
            elif goal.kind == "D":
                losses.append(np.exp(np.log(np.linalg.eigvalsh(V.matrix())[1:]).mean()))
            else:
                losses.append(V.variances().max() if goal.kind == "worst" else V.variances().sum())
        except LDPError:
            return np.nan
    return float(max(losses))


def _custom(
    Q: Array, labels: pd.Index[Any], limits: Limits, open_: Array
) -> tuple[CustomMechanism, str]:
    """A mechanism with this channel, and its name in words."""
    outputs: Any = pd.RangeIndex(Q.shape[1])
    target = ""
    if limits.kind == "one" and not open_.any() and Q.shape[1] == 2 and len(Q) > 2:
        for x in range(len(Q)):  # Warner's question about x: all others are answered alike
            others = np.delete(Q[:, 0], x)
            if np.ptp(others) <= _ALIKE and abs(Q[x, 0] - others[0]) > _ALIKE:
                target, outputs = f"Warner's question about {labels[x]!r}", ("no", "yes")
                Q = Q[:, np.argsort(Q[x])]
                break
    sensitive = labels[~open_] if open_.any() else None
    return CustomMechanism(Q, labels, outputs, sensitive), target


# -- The privacy that is asked for: a number, an epsilon of each category, or of each pair --------


_SHAPES = (
    "must be a number, an epsilon of each category, or a square table of the epsilon of each pair"
)


@record
class Limits:
    """Limits of ``ln Q[x, y] / Q[x', y]`` for every report y that reveals nobody."""

    pairs: Array  # (k, k), closed by shortest paths, zero on the diagonal

    @cached_property
    def own(self) -> Array:
        """The largest limit of each category, shape (k,)."""
        return np.asarray(self.pairs.max(axis=1))

    @cached_property
    def kind(self) -> str:
        """ "one": all alike; "own": those of a row alike; or "pairs"."""
        alike = (self.pairs == self.own[:, None]) | np.eye(self.own.size, dtype=bool)
        if not alike.all() or self.own.min() == 0.0:
            return "pairs"
        return "one" if np.ptp(self.own) == 0.0 else "own"

    @property
    def least(self) -> float:
        """The strictest limit of two categories."""
        return float(self.pairs[~np.eye(len(self.pairs), dtype=bool)].min())

    def excess(self, Q: Array, open_: Array) -> float:
        """By how much a channel exceeds its limits at most, in nats; negative where it is inside.

        A report that only one category makes is no breach if that category is open, (k,) of bool.
        """
        made = Q > 0.0
        alone = (made.sum(axis=0) == 1) & open_[made.argmax(axis=0)]
        Q = Q[:, ~alone & made.any(axis=0)]
        worst = -np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(Q)
            for x in range(len(Q)):
                over = (logs[x] - logs).max(axis=1, initial=-np.inf) - self.pairs[x]
                over[x] = -np.inf
                worst = max(worst, float(np.nan_to_num(over, nan=np.inf).max()))
        return worst


def _limits(epsilon: Any, labels: pd.Index[Any], open_: Array) -> Limits:
    """Check epsilon of `design_channel`; a mapping may leave out categories that are open."""
    k = len(labels)
    if isinstance(epsilon, np.ndarray) and not epsilon.ndim:
        epsilon = epsilon.item()
    if isinstance(epsilon, pd.DataFrame):
        places = pd.Series(np.arange(epsilon.shape[1]), index=epsilon.columns)
        columns = align("epsilon", places, labels).tolist()
        rows = [align("epsilon", epsilon.iloc[:, i], labels) for i in columns]
        given = numbers("epsilon", np.transpose(rows), _SHAPES)
    elif isinstance(epsilon, Mapping):
        largest = max(
            (positive_epsilon(f"epsilon[{n!r}]", v) for n, v in epsilon.items()), default=np.nan
        )
        given = align("epsilon", epsilon, labels, absent=np.nan).astype(np.float64)
        given = np.where(np.isnan(given) & open_, largest, given)
        if np.isnan(given).any():
            lacking = labels[int(np.argmax(np.isnan(given)))]
            raise InvalidArgument("epsilon", dict(epsilon), f"lacks the category {lacking!r}")
    elif isinstance(epsilon, pd.Series | list | tuple | np.ndarray):
        given = numbers("epsilon", align("epsilon", epsilon, labels), _SHAPES)
    else:
        given = np.full(k, positive_epsilon("epsilon", epsilon))
    if given.shape == (k,):
        own = [positive_epsilon(f"epsilon[{x}]", v) for x, v in enumerate(given.tolist())]
        return Limits(np.where(np.eye(k) > 0.0, 0.0, np.array(own)[:, None]))
    if given.shape != (k, k):
        shown = f"array of shape {given.shape}"
        raise InvalidArgument("epsilon", shown, f"{_SHAPES}, here of {k} categories")
    # A table: closed by shortest paths, and checked
    low, high = EPSILON_RANGE
    if np.isnan(given).any() or (given < 0.0).any():
        raise InvalidArgument("epsilon", given.tolist(), "must hold limits of at least 0, in nats")
    if np.diag(given).any():
        raise InvalidArgument("epsilon", np.diag(given).tolist(), "must be 0 on the diagonal")
    pairs = given.copy()
    for via in range(k):
        pairs = np.minimum(pairs, pairs[:, [via]] + pairs[via])
    if not pairs.max() <= high:
        remedy = f"must limit every pair, by itself or through others, to at most {high:g}"
        raise InvalidArgument("epsilon", given.tolist(), remedy)
    same = (pairs < low) & ~np.eye(k, dtype=bool)  # as rows sum to one, one way is enough
    if same.any():
        x, z = np.argwhere(same)[0]
        remedy = f"makes the categories {x} and {z} the same: allow them at least {low:g}"
        raise InvalidArgument("epsilon", given.tolist(), remedy)
    return Limits(pairs)


# -- The loss and the priors that a design is asked for, checked ----------------------------------


_NAMES = ("total", "worst", "D")
_LOSS = (
    "must be 'total', 'worst' or 'D', or one contrast or several: text such as 'nurse - cook' with "
    "category labels, a mapping from label to weight, or an array of shape (k,) or (q, k)"
)
_PRIOR = "must be 'uniform', a distribution of the categories, or several as the rows of an array"
_MOST_PRIORS = 50


def _priors(prior: Any, labels: pd.Index[Any]) -> Array:
    """Distributions, shape (M, k), without repeats."""
    k = len(labels)
    if isinstance(prior, str):
        one_of("prior", prior, ("uniform",))
        return np.full((1, k), 1.0 / k)
    prior = by_label("prior", prior)
    if isinstance(prior, pd.DataFrame):
        rows: list[Any] = [row for _, row in prior.iterrows()]
    elif isinstance(prior, list | tuple) and any(isinstance(row, pd.Series) for row in prior):
        rows = list(prior)
    else:
        ndim = as_array("prior", prior, _PRIOR).ndim
        if ndim not in (1, 2):
            raise InvalidArgument("prior", prior, _PRIOR)
        rows = list(np.asarray(prior)) if ndim == 2 else [prior]
    if not 0 < len(rows) <= _MOST_PRIORS:
        raise InvalidArgument("prior", f"{len(rows)} rows", f"must be 1 to {_MOST_PRIORS} of them")
    names = ["prior"] if len(rows) == 1 else [f"prior[{i}]" for i in range(len(rows))]
    laws = [
        distribution(name, align(name, row, labels), k)
        for name, row in zip(names, rows, strict=True)
    ]
    return np.unique(np.array([law / law.sum() for law in laws]), axis=0)


def _goal(loss: Any, priors: Array, labels: pd.Index[Any]) -> Goal:
    """The goal that `loss` names."""
    if isinstance(loss, str) and not any(str(label) in loss for label in labels.tolist()):
        one_of("loss", loss, _NAMES)
    if isinstance(loss, str) and loss in _NAMES and loss not in labels:
        return Goal(str.__str__(loss), priors)
    several: Any = list(loss) if isinstance(loss, list | tuple) else [loss]
    text = bool(several) and all(isinstance(one, str) for one in several)
    if not text:
        if not isinstance(loss, list | tuple | np.ndarray | Mapping | pd.Series):
            raise InvalidArgument("loss", loss, _LOSS)
        rows = [align("loss", one, labels, absent=0.0) for one in several]
        several = as_array("loss", rows if len(rows) != 1 else rows[0], _LOSS)
    try:
        contrasts = linear_hypothesis(several, labels)[0]
    except InvalidArgument as error:
        remedy = error.remedy if text else f"{_LOSS}; here k = {len(labels)}"
        given = loss[0] if text and not isinstance(loss, str) and len(loss) == 1 else loss
        raise InvalidArgument("loss", given, remedy) from None
    if (np.ptp(contrasts, axis=1) == 0.0).any():
        remedy = (
            "has a contrast with equal weights, which needs no data: a distribution sums to one"
        )
        raise InvalidArgument("loss", loss, remedy)
    return Goal("contrasts", priors, contrasts.T)
