"""A posterior: its draws, and all that is read off them.

First what draws are about and how chains were run, then intervals, ranges and modes, the results of
one variable, of a joint table, and their form for ArviZ. Matplotlib is imported when a plot is
drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments import (
    Array,
    level,
    one_of,
    positive_integer,
    record,
)
from ldpstats.errors import InvalidArgument, NotAvailable, PosteriorWarning
from ldpstats.estimators.likelihood import MLE
from ldpstats.inference.chains import Chains, LogDensity, ess_bulk, ess_tail, maximum, rhat
from ldpstats.inference.tests import TestResult, pvalue_text
from ldpstats.labels import Labels, as_labels, two_positions
from ldpstats.likelihood.rows import Likelihood, StackedRows, UniformRows
from ldpstats.models.layout import (
    DOUBTFUL,
    Cells,
    Frame,
    Heading,
    Pair,
    Table,
    decimals,
    figures,
    interval_columns,
    joined,
    one_line,
    title,
)
from ldpstats.models.plots import LONGEST_LABEL as LONGEST_TICK
from ldpstats.models.plots import (
    axis_labels,
    plot_rows,
    shown_rows,
    sorts,
    style,
    title_text,
)
from ldpstats.models.posterior.densities import FrequencyDensity, cells_law
from ldpstats.models.posterior.evidence import (
    BayesFactor,
    bayes_factor,
    dirichlet_density,
    inequalities,
    package,
    point_null,
)
from ldpstats.models.results import JointTable, Labelled
from ldpstats.priors import DirichletLaw, LogitLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# what a parameter may be, beside 0, 1, ..., the distribution that a share belongs to
PROBABILITY = -1  # by itself
REAL = -2
POSITIVE = -3

_RHAT = 1.01  # Vehtari et al. (2021)
_FEWEST = 400  # effective draws (the same)
_LONGEST_PRIOR = 40  # in the header; a longer one is a note
_ENGINES = {"hmc": "HMC, Laplace metric", "pymc": "PyMC, NUTS"}


def chain_doubts(
    rhat: pd.Series[float], ess: pd.DataFrame, divergences: int, size: tuple[int, int]
) -> list[str]:
    """Why the draws are not to be relied on, in words; none where they are."""
    doubts = []
    chains, n = size
    most = max(_RHAT, 1.0 + 1.0 / n)  # R-hat of few independent draws varies by 1/n
    if (worst := float(rhat.max())) > most:
        doubts.append(
            f"chains do not agree yet: R-hat is up to {worst:.3f}, above {most:.4g}; draw more"
        )
    if (least := float(ess.min().min())) < _FEWEST:
        doubts.append(
            f"the {chains * n} draws are worth {least:.0f} independent ones for some parameter, "
            f"fewer than {_FEWEST}: intervals and probabilities are rough; draw more"
        )
    if divergences:
        doubts.append(
            f"{divergences} trajectories diverged: the chains may have missed a part of the "
            "posterior; compare with another prior or engine"
        )
    return doubts


def highest_density(draws: Array, alpha: float) -> Array:
    """The shortest interval that holds a share 1 - alpha of draws (s, m): shape (m, 2)."""
    ordered = np.sort(draws, axis=0)
    inside = min(max(ceil((1.0 - alpha) * len(ordered)), 1), len(ordered))
    widths = ordered[inside - 1 :] - ordered[: len(ordered) - inside + 1]
    first = np.argmin(widths, axis=0)
    at = np.arange(draws.shape[1])
    return np.column_stack([ordered[first, at], ordered[first + inside - 1, at]])


def contrast_range(R: Array, simplex: Array) -> tuple[float, float]:
    """The least and largest R p of parameters p that are what `simplex` says of each."""
    low = high = 0.0
    for group in np.unique(simplex).tolist():
        weights = R[simplex == group]
        if group >= 0:
            low, high = low + float(weights.min()), high + float(weights.max())
        elif group == PROBABILITY:
            low += float(np.minimum(weights, 0.0).sum())
            high += float(np.maximum(weights, 0.0).sum())
        elif weights.any():
            low = low if group == POSITIVE and weights.min() >= 0.0 else -inf
            high = high if group == POSITIVE and weights.max() <= 0.0 else inf
    return low, high


# -- what results hold beside the draws -----------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """What the draws are about: the survey, the prior, and what the parameters are."""

    _lenient: ClassVar[bool] = True

    nobs: int
    n_missing: int
    epsilon: float  # of a report, in nats; the largest where there are several mechanisms
    sources: tuple[str, ...]  # the mechanisms, in words
    prior: str = ""  # in words
    name: str = ""  # of the variable
    subject: str = "Frequencies"
    is_partial: bool = False  # epsilon protects the sensitive categories only
    without_mode: str = ""  # why there is none, in words
    note: str = ""  # what a reader of the parameters must know


@dataclass(frozen=True)
class Run:
    """How chains were run."""

    _lenient: ClassVar[bool] = True

    engine: str  # "hmc" or "pymc"
    accepted: float  # mean acceptance probability
    divergences: int  # trajectories whose energy was not conserved
    step_size: float
    warmup: int  # iterations of each chain that were thrown away
    thin: int = 1  # one in so many iterations was kept


# -- the posterior mode of frequencies: where the density of p itself is largest ------------------


BELOW_ONE = (
    "with a concentration below 1 the posterior density grows without bound where that frequency "
    "is zero, unless the reports rule it out: use params, or concentrations of at least 1"
)


def frequency_mode(likelihood: Likelihood, law: LogitLaw) -> Array | None:
    """The maximum of the posterior density of p, (k,); None if concentrations are below 1."""
    if isinstance(law, DirichletLaw):
        direct = law.alpha - 1.0
        if direct.min() < 0.0:
            return None
        codes = np.flatnonzero(direct > 0.0)
        if not codes.size:
            return MLE().solve(likelihood).p
        # a_j - 1 answers of category j that were asked directly: the maximum is certified
        rows = StackedRows((likelihood.W, UniformRows(codes, 1.0, 0.0, law.k)))
        together = Likelihood(rows, np.concatenate([likelihood.n, direct[codes]]))
        return MLE().solve(together).p
    density = FrequencyDensity.of(likelihood, law)
    of_p = FrequencyDensity(density.likelihood, _WithoutJacobian(np.full(law.k, -1.0), law))
    return of_p.constrained(maximum(of_p, density.mode()))


@record
class _WithoutJacobian(DirichletLaw):
    """The density of p where that of log ratios is given: divided by ``prod p``, by alpha = -1."""

    law: LogitLaw

    def evaluate(self, logp: Array) -> tuple[Array, Array]:
        (value, gradient), (less, slope) = self.law.evaluate(logp), super().evaluate(logp)
        return value + less, gradient + slope

    def curvature(self, logp: Array) -> Array:
        return self.law.curvature(logp) + super().curvature(logp)

    def start(self) -> Array:
        return self.law.start()


# -- results --------------------------------------------------------------------------------------


_WITHOUT_MODE = "it was not computed for this posterior: use params, the posterior means"


@record
class PosteriorResults(Labelled):
    """Draws from the posterior of labelled parameters.

    Parameters
    ----------
    samples : array, shape (c, n, m)
        n draws of m parameters from each of c chains.
    index : Index, length m
        Labels of the parameters; a MultiIndex for tables and groups.
    origin : Origin
        The survey and the prior.
    run : Run
        The engine.
    simplex : array of int, shape (m,)
        Which distribution each parameter is a share of: 0, 1, ... (those of one sum to one); or
        PROBABILITY, REAL or POSITIVE, for one by itself.
    peak : array, shape (m,), or None
        The posterior mode of the parameters; None where it is not known.
    prior_draws : array, shape (s, m), or None
        Draws from the prior, on which Bayes factors rest.
    replicated : TestResult or None
        The posterior predictive check of the reports.
    concentration : array, shape (m,), or None
        Of a Dirichlet prior, whose densities are then exact; of one distribution only.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("nurse", "cook", "driver"), epsilon=1.0)
    >>> model = ldp.FrequencyModel(krr.counts([420, 330, 250]))
    >>> results = model.fit_posterior(np.random.default_rng(1))
    >>> results.conf_int().round(2)
            lower  upper
    nurse    0.49   0.65
    cook     0.24   0.40
    driver   0.04   0.18
    >>> results.prob("nurse > cook > driver") > 0.99
    True
    """

    samples: Array
    index: pd.Index[Any]
    origin: Origin
    run: Run
    simplex: npt.NDArray[np.int64]
    peak: Array | None = None
    prior_draws: Array | None = None
    replicated: TestResult | None = field(default=None, metadata={"key": "check"})
    concentration: Array | None = None

    _format: ClassVar[str] = "ldpstats posterior"
    _version: ClassVar[int] = 1
    _tests_instead: ClassVar[str] = (
        "a posterior has no p-values; prob() is the probability of a claim, and bayes_factor() "
        "weighs a hypothesis"
    )

    nobs = property(attrgetter("origin.nobs"), doc="Number of reports.")
    n_missing = property(attrgetter("origin.n_missing"), doc="Respondents who gave no answer.")
    epsilon = property(
        attrgetter("origin.epsilon"), doc="Privacy of a report, in nats; the largest."
    )
    sources = property(attrgetter("origin.sources"), doc="The mechanisms of the reports, in words.")
    prior = property(attrgetter("origin.prior"), doc="The prior, in words.")
    name = property(attrgetter("origin.name"), doc="Name of the variable; empty where it has none.")
    engine = property(attrgetter("run.engine"), doc="What drew: 'hmc' or 'pymc'.")
    divergences = property(
        attrgetter("run.divergences"), doc="Trajectories whose energy was not conserved."
    )

    @classmethod
    def of(
        cls,
        chains: Chains,
        density: LogDensity,
        labels: pd.Index[Any],
        origin: Origin,
        *,
        simplex: npt.ArrayLike = 0,
        peak: Array | None = None,
        prior_draws: Array | None = None,
        check: TestResult | None = None,
        concentration: Array | None = None,
        engine: str = "hmc",
    ) -> Self:
        """Results of chains of a density whose `constrained` values have these labels.

        Warns
        -----
        PosteriorWarning
            Where R-hat exceeds 1.01, an effective size is below 400, or a trajectory diverged.
        """
        how = chains.accepted, chains.divergent, chains.step_size, chains.warmup, chains.thin
        run = Run(engine, *how)
        groups = np.broadcast_to(np.asarray(simplex, dtype=np.int64), (len(labels),)).copy()
        samples = density.constrained(chains.z)
        results = cls(samples, labels, origin, run, groups, peak, prior_draws, check, concentration)
        doubts = chain_doubts(results.rhat, results.ess, run.divergences, samples.shape[:2])
        if doubts:
            warnings.warn("; ".join(doubts), PosteriorWarning, stacklevel=4)
        return results

    @property
    def flat(self) -> Array:
        """All draws, shape (c n, m), chain after chain."""
        return self.samples.reshape(-1, self.samples.shape[2])

    @property
    def draws(self) -> pd.DataFrame:
        """The draws: a row for each, by "chain" and "draw"; a column for each parameter."""
        chains, n, _ = self.samples.shape
        rows = pd.MultiIndex.from_product([range(chains), range(n)], names=["chain", "draw"])
        return pd.DataFrame(self.flat, index=rows, columns=self.index)

    @property
    def params(self) -> pd.Series[float]:
        """Posterior means."""
        return self._series(self.flat.mean(axis=0), "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Posterior standard deviations."""
        return self._series(self.flat.std(axis=0, ddof=1), "bse")

    @property
    def tvalues(self) -> pd.Series[float]:
        """Posterior means over standard deviations."""
        return (self.params / self.bse).rename("tvalues")

    def conf_int(self, alpha: float = 0.05, method: str = "equal-tailed") -> pd.DataFrame:
        """Intervals that hold each parameter with posterior probability 1 - alpha.

        Parameters
        ----------
        alpha : float
        method : {"equal-tailed", "hdi"}
            "equal-tailed" leaves out alpha/2 on either side; "hdi", highest density, is the
            shortest interval of the draws.

        Returns
        -------
        DataFrame, shape (m, 2)
            "lower" and "upper".
        """
        method = one_of("method", method, ("equal-tailed", "hdi"))
        alpha, draws = level(alpha), self.flat
        if method == "equal-tailed":
            ends = np.quantile(draws, [alpha / 2.0, 1.0 - alpha / 2.0], axis=0).T
        else:
            ends = highest_density(draws, alpha)
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    def prob(self, claim: str) -> float:
        """The posterior probability of an inequality: the share of draws for which it holds.

        Parameters
        ----------
        claim : str
            "nurse > cook", "nurse > .3", "nurse + cook > driver", "nurse > cook > driver"; several
            claims joined by commas must all hold. Labels that are not text, or hold signs, are
            written ``p[label]``, all of them; cells of several variables as "yes:no".

        Raises
        ------
        InvalidArgument
            If the text is not an inequality.
        """
        R, value = inequalities(claim, self.terms)
        return float((self.flat @ R.T > value).all(axis=1).mean())

    # -- whether to trust the draws ------------------------------------------------------------

    @cached_property
    def rhat(self) -> pd.Series[float]:
        """Rank-normalised split R-hat of every parameter; above 1.01 chains do not agree."""
        return self._series(rhat(self.samples), "rhat")

    @cached_property
    def ess(self) -> pd.DataFrame:
        """Effective numbers of draws, columns "bulk" (of the centre) and "tail" (5 and 95 %)."""
        sizes = {"bulk": ess_bulk(self.samples), "tail": ess_tail(self.samples)}
        return Table(sizes, index=self.index)

    def _of_draws(
        self, function: Callable[[Array], Array], index: Labels, simplex: Any, **origin: Any
    ) -> PosteriorResults:
        """The posterior of what draws, (s, m), determine: (s, j) numbers by the function."""
        c, n, _ = self.samples.shape
        return PosteriorResults(
            function(self.flat).reshape(c, n, -1),
            index,
            replace(self.origin, **origin),
            self.run,
            np.broadcast_to(simplex, (len(index),)).copy(),
            None,
            None if self.prior_draws is None else function(self.prior_draws),
        )

    # -- beside the draws: mode, check, Bayes factors -----------------------------------------

    @property
    def mode(self) -> pd.Series[float]:
        """The posterior mode: where the density of the parameters themselves is largest."""
        if self.peak is None:
            raise NotAvailable(f"mode: {self.origin.without_mode or _WITHOUT_MODE}")
        return self._series(self.peak, "mode")

    @property
    def check(self) -> TestResult:
        """The posterior predictive check: could the posterior have made these reports?

        A p-value near 0 says that it could not: the mechanism, or its epsilon, is another one than
        was declared. Values lean towards one half, as the draws have seen the reports.
        """
        if self.replicated is None:
            raise NotAvailable(
                "the posterior predictive check of these reports was not made: the goodness of fit "
                "of fit() tests the mechanism"
            )
        return self.replicated

    def bayes_factor(self, hypothesis: Any) -> BayesFactor:
        """The Bayes factor of a point null against the prior as a whole (Savage and Dickey).

        The posterior density of the null value over its prior density: above 1 the reports speak
        for the null. The alternative is the prior given, so another prior gives another factor.

        Parameters
        ----------
        hypothesis : str, array, or pair (R, q)
            One equation, such as "nurse = .25" or "nurse = cook", or ``R p = q``.

        Returns
        -------
        BayesFactor
            With `value`, `against` and `error`, the Monte Carlo standard error of its logarithm.

        Raises
        ------
        InvalidArgument
            For several equations, and values at the end of their range, as a frequency of zero.
        NotAvailable
            Where no draws from the prior were kept.

        References
        ----------
        J. M. Dickey, The weighted likelihood ratio, linear hypotheses on normal location
        parameters, Annals of Mathematical Statistics 42 (1971), 204-223.
        """
        R, value = point_null(hypothesis, self.terms)
        if self.prior_draws is None and self.concentration is None:
            raise NotAvailable("bayes_factor: no draws from the prior were kept")
        words = hypothesis if isinstance(hypothesis, str) else "R p = q"
        bounds, exact = contrast_range(R, self.simplex), None
        if self.concentration is not None and bounds[0] < value < bounds[1]:
            exact = dirichlet_density(R, value, self.concentration)
        prior = None if self.prior_draws is None else self.prior_draws @ R
        return bayes_factor(words, self.samples @ R, prior, value, bounds, exact)

    # -- presentation --------------------------------------------------------------------------

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of "params", "bse", "lower", "upper", "ess_bulk", "ess_tail" and "rhat"."""
        frame, ess = self.conf_int(alpha), self.ess
        frame.insert(0, "params", self.params)
        frame.insert(1, "bse", self.bse)
        return frame.assign(ess_bulk=ess["bulk"], ess_tail=ess["tail"], rhat=self.rhat)

    is_partial = property(
        attrgetter("origin.is_partial"), doc="Whether epsilon protects some categories only."
    )

    def _estimate_cells(self, shown: Frame, frame: Frame, alpha: float, details: bool) -> Cells:
        digits = decimals(shown["bse"].to_numpy(), 4 if self._are_shares else 3)
        heads = ["mean", "std dev", *interval_columns(alpha), "ESS", "tail ESS", "R-hat"]
        columns, cells = ["params", "bse", "lower", "upper"], []
        for _, row in shown.iterrows():
            sizes = figures(row[["ess_bulk", "ess_tail"]], 0)
            cells.append([*figures(row[columns], digits), *sizes, *figures([row.rhat], 3)])
        return heads, cells, ""

    def _heading(self) -> Heading:
        origin, (chains, n, _) = self.origin, self.samples.shape
        head = "Mechanisms:" if len(origin.sources) > 1 else "Mechanism:"
        left: list[Pair] = [(head if i == 0 else "", one) for i, one in enumerate(origin.sources)]
        prior = origin.prior if len(origin.prior) <= _LONGEST_PRIOR else "see below"
        left += [("Prior:", prior), ("Engine:", _ENGINES[self.engine])]
        what = "Posterior of " + origin.subject[:1].lower() + origin.subject[1:]
        name = "Epsilon, largest:" if len(origin.sources) > 1 else "Epsilon (nats):"
        right: list[Pair] = [("No. Reports:", origin.nobs), ("Missing:", origin.n_missing)]
        right += [(name, origin.epsilon), ("Draws:", f"{chains} chains of {n}")]
        return title(self, what, ""), left, right

    def _computed(self) -> tuple[list[Pair], list[Pair]]:
        run = self.run
        return [("Warm-up:", f"{run.warmup} iterations"), ("Kept:", f"one in {run.thin}")], [
            ("Accepted:", f"{run.accepted:.2f}"),
            ("Divergences:", run.divergences),
            ("Step size:", f"{run.step_size:.3g}"),
        ]

    def _interval_notes(self, frame: Frame, uncut: Frame, alpha: float, source: str) -> list[str]:
        prior, note = self.origin.prior, self.origin.note
        notes = [f"Prior: {one_line(prior, 400)}."] if len(prior) > _LONGEST_PRIOR else []
        notes.append(f"Intervals hold {100 * (1 - alpha):.4g}% of the posterior, with equal tails.")
        return [*notes, note] if note else notes

    def _notes(self, frame: Frame, details: bool = False) -> list[str]:
        notes, check = [], self.replicated
        if check is not None:
            words = pvalue_text(check.pvalue, "p")
            notes.append(f"Posterior predictive check (chi-square discrepancy): {words}.")
            if check.pvalue < DOUBTFUL:
                notes.append(f"WARNING: the reports contradict the hypothesis that {check.null}.")
        doubts = chain_doubts(self.rhat, self.ess, self.divergences, self.samples.shape[:2])
        return [*notes, *(f"WARNING: {doubt}." for doubt in doubts)]

    def plot(
        self,
        ax: Axes | None = None,
        alpha: float = 0.05,
        sort: Any = None,
        most: int = 25,
        title: str | None = None,
    ) -> Axes:
        """Draw means with intervals of probability 1/2 (thick) and 1 - alpha, a line for each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        alpha : float
        sort : bool, optional
            Whether the largest comes first; by default so for the frequencies of one variable
            without an order.
        most : int
            So many parameters, the largest, are drawn.
        title : str, optional
            "" for none.
        """
        ends, inner = self.conf_int(level(alpha)), self.conf_int(0.5)
        most, shares = positive_integer("most", most), self._are_shares
        origin, params = self.origin, self.params
        first, *rest = origin.sources
        source = f"{1 + len(rest)} mechanisms" if rest else first
        head = f"posterior{f' of {origin.name}' if origin.name else ''}"
        if len(origin.prior) <= _LONGEST_PRIOR:  # the summary has longer ones
            head += f", prior {origin.prior}"
        words = title_text(title, f"{head}\n{source}, n = {origin.nobs:,}")
        by_size = sort is not None or (shares and not isinstance(self.index, pd.MultiIndex))
        if by_size:  # else what belongs together stays so
            by_size = sorts(sort, self.index if shares else None)
        shown = shown_rows(params, params, by_size, most)
        outer, core = ends.iloc[shown], inner.iloc[shown]
        label = f"{100 * (1 - alpha):g}% of the posterior"

        def draw(ax: Axes, at: Array) -> None:
            how: dict[str, Any] = {"color": "C0", "alpha": 0.6}
            ax.axvline(0.0, color="0.8", lw=0.8, zorder=0)
            ax.hlines(at, outer["lower"], outer["upper"], label=label, **how)
            thick = 3.0 * style("lines.linewidth")
            ax.hlines(at, core["lower"], core["upper"], lw=thick, label="50%", **how)
            ax.plot(params.iloc[shown], at, "o", color="C0", mec="white", label="mean")
            ax.margins(x=0.03)

        labels = axis_labels(joined(outer.index, " : "), LONGEST_TICK)
        unit: dict[str, Any] = {"name": "frequency"} if shares else {"name": "", "sign": None}
        return plot_rows(draw, labels, self.k - len(shown), ax, words, **unit)

    @property
    def _are_shares(self) -> bool:
        """Whether all parameters are probabilities."""
        return bool((self.simplex >= PROBABILITY).all())

    def __repr__(self) -> str:
        chains, n, _ = self.samples.shape
        return f"PosteriorResults({self._subject}, k={self.k}, {chains} chains of {n})"

    def to_arviz(self) -> Any:
        """The draws as an InferenceData of ArviZ (extra `bayes`).

        Its `posterior`, and its `prior` where draws of it are known, have the variable "p" of
        frequencies by category (a dimension for each variable of a table, or for the groups),
        "coefficients" by term, and one for each unknown parameter. `sample_stats` has the step size
        and, as attributes, engine, acceptance rate and number of divergences; `observed_data` the
        number of reports and of missing ones.

        Raises
        ------
        NotAvailable
            If ArviZ is not installed.
        """
        arviz = package("arviz", "to_arviz()")
        origin, run, samples, prior = self.origin, self.run, self.samples, self.prior_draws
        variables = _arviz_variables(self.index, self.simplex)
        groups = {"posterior": samples}
        if prior is not None and prior.shape[-1] == samples.shape[-1]:
            groups["prior"] = prior[None]
        coords = {dim: labels for _, _, dims_of in variables for dim, labels in dims_of.items()}
        data: dict[str, Any] = {
            group: {
                name: values[..., places].reshape(*values.shape[:2], *map(len, dims_of.values()))
                for name, places, dims_of in variables
            }
            for group, values in groups.items()
        }
        data["sample_stats"] = {"step_size": np.full(samples.shape[:2], run.step_size)}
        observed = {"nobs": np.array(origin.nobs), "n_missing": np.array(origin.n_missing)}
        data["observed_data"] = observed
        dims = {name: list(dims_of) for name, _, dims_of in variables}
        inference = arviz.from_dict(**data, coords=coords, dims=dims)
        inference.posterior.attrs |= {
            "inference_library": "ldpstats",
            "mechanism": "; ".join(origin.sources),
            "prior": origin.prior,
        }
        inference.sample_stats.attrs |= {
            "engine": run.engine,
            "acceptance_rate": run.accepted,
            "diverging": run.divergences,
            "warmup": run.warmup,
        }
        return inference

    def _tidy(self, alpha: float) -> pd.DataFrame:
        return super()._tidy(alpha).assign(p_value=np.nan)

    @property
    def _subject(self) -> str:
        return self.name or self.origin.subject.lower()

    def _facts(self) -> dict[str, Any]:
        facts = {"name": self.name, "mechanism": "; ".join(self.sources)}
        facts |= {"method": f"posterior, {self.engine}"}
        own = ("prior", "epsilon", "nobs", "n_missing", "k")
        facts |= {name: getattr(self, name) for name in own}
        return facts | {"draws": len(self.flat), "divergences": self.divergences}

    # -- JSON ----------------------------------------------------------------------------------

    @classmethod
    def _restored(cls, values: dict[str, Any]) -> Self:
        results = super()._restored(values)
        if results.samples.ndim != 3 or results.samples.shape[2] != len(results.index):
            raise InvalidArgument("samples", results.samples.shape, "must fit the index")
        return results


# -- the joint distribution of several variables --------------------------------------------------


MOST_CELLS = 1000  # whose Hessian is formed and factored


@record
class TablePosterior(JointTable, PosteriorResults):
    """Draws from the posterior of a joint table: see `PosteriorResults`.

    Parameters are the cells, labelled by a MultiIndex with a level a variable, row-major.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
    >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
    >>> model = ldp.AssociationModel(counts, names=("late", "ill"))
    >>> results = model.fit_posterior(np.random.default_rng(1))
    >>> results.table.round(1).to_numpy()
    array([[0.5, 0.1],
           [0.1, 0.4]])
    >>> round(float(results.cramers_v().params.iloc[0]), 1)
    0.7
    """

    _format = "ldpstats table posterior"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(map(str, self.index.names))

    @property
    def labels(self) -> tuple[Labels, ...]:
        """Categories of each variable, in order."""
        return tuple(
            pd.Index(pd.unique(self.index.get_level_values(v)), name=name)
            for v, name in enumerate(self.names)
        )

    @property
    def table(self) -> Any:
        """Posterior means: a DataFrame, the first variable in rows; a Series of three or more."""
        return self._table(self.params.to_numpy(), "params")

    # -- what follows from the table -----------------------------------------------------------

    def derived(
        self, function: Callable[[Array], Any], labels: Any, subject: str = "Derived quantities"
    ) -> PosteriorResults:
        """The posterior of something that the table determines.

        Parameters
        ----------
        function : callable
            Takes tables, shape (s, k_1, ..., k_d), and returns numbers, shape (s,) or (s, m).
        labels : str, or sequence of m labels
            What they are called.
        subject : str
            What they are, for the summary.

        Returns
        -------
        PosteriorResults
            With Bayes factors, where the prior can be drawn from.

        Raises
        ------
        InvalidArgument
            If what is returned has another shape, or is not finite.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> krr = ldp.KRR(("no", "yes"), epsilon=2.0)
        >>> counts = ldp.JointCounts.from_table([[400, 150], [150, 300]], (krr, krr))
        >>> results = ldp.AssociationModel(counts).fit_posterior(np.random.default_rng(1))
        >>> equal = results.derived(lambda P: P[:, 0, 0] + P[:, 1, 1], "equal answers")
        >>> round(float(equal.params["equal answers"]), 1)
        0.8
        """
        if not callable(function):
            raise InvalidArgument("function", function, "must be a function of tables")
        names = as_labels("labels", [labels] if isinstance(labels, str) else labels, 1)
        if len(names) > MOST_CELLS:
            raise InvalidArgument("labels", len(names), f"must be {MOST_CELLS} at most")
        if not isinstance(subject, str) or not subject.isprintable() or not subject:
            raise InvalidArgument("subject", subject, "must be text: what the quantities are")
        return self._derived(function, names, REAL, subject)

    def conditional(self, on: str | None = None) -> PosteriorResults:
        """Posterior of the conditional distributions of the other variables given one.

        Parameters
        ----------
        on : str, optional
            Name of the variable in the condition; the first by default.

        Returns
        -------
        PosteriorResults
            Its parameters are labelled by the category of that variable, then of the others.

        Raises
        ------
        InvalidArgument
            For the name of no variable.
        """
        axis = 0 if on is None else self._variable("on", on)
        index, size = self._index_given(axis), self.sizes[axis]
        simplex = np.repeat(np.arange(size), len(index) // size)

        def shares(P: Array) -> Array:
            rows = np.moveaxis(P, axis + 1, 1).reshape(len(P), size, -1)
            return np.asarray((rows / rows.sum(axis=2, keepdims=True)).reshape(len(P), -1))

        return self._derived(shares, index, simplex, f"Shares given {self.names[axis]}")

    def margin(self, name: str) -> PosteriorResults:
        """Posterior of the distribution of one variable alone."""
        axis = self._variable("name", name)
        others = tuple(v + 1 for v in range(len(self.sizes)) if v != axis)
        return self._derived(lambda P: P.sum(axis=others), self.labels[axis], 0, "Frequencies")

    def cramers_v(self) -> PosteriorResults:
        """Posterior of Cramer's V, of a table of two variables.

        V is not below zero, so that its posterior mean is above zero for independent variables,
        too: see how far from zero the interval begins, beside `prior_draws`.
        """
        self._two_ways("cramers_v")
        least = min(self.sizes) - 1

        def value(P: Array) -> Array:
            expected = P.sum(axis=2, keepdims=True) * P.sum(axis=1, keepdims=True)
            phi2 = ((P - expected) ** 2 / expected).sum(axis=(1, 2))
            return np.asarray(np.sqrt(phi2 / least))

        return self._derived(value, pd.Index(["Cramer's V"]), PROBABILITY, "Association")

    def log_odds_ratio(self, rows: Sequence[Any], columns: Sequence[Any]) -> PosteriorResults:
        """Posterior of the logarithm of an odds ratio, of a table of two variables.

        It is that of the odds of the first of two `columns` against the second, in the first of two
        `rows` over the second. Independence of a two by two table is the value 0.

        Raises
        ------
        InvalidArgument
            For other than two categories of each variable.
        """
        self._two_ways("log_odds_ratio")
        i, j = (
            two_positions(name, given, labels, f"must be a category of {of}")
            for name, given, labels, of in zip(
                ("rows", "columns"), (rows, columns), self.labels, self.names, strict=True
            )
        )

        def value(P: Array) -> Array:
            logs = np.log(P[:, i][:, :, j])
            return logs[:, 0, 0] - logs[:, 0, 1] - logs[:, 1, 0] + logs[:, 1, 1]

        return self._derived(value, pd.Index(["log odds ratio"]), REAL, "Association")

    # -- inside --------------------------------------------------------------------------------

    def _derived(
        self, function: Callable[[Array], Any], index: Labels, simplex: Any, subject: str
    ) -> PosteriorResults:
        def of_tables(tables: Array) -> Array:
            s, m = len(tables), len(index)
            values = np.asarray(function(tables.reshape(s, *self.sizes)), dtype=np.float64)
            values = values.reshape(-1, 1) if values.ndim == 1 else values
            if values.shape != (s, m):
                remedy = f"returns shape {values.shape} for {s} tables and {m} labels"
                raise InvalidArgument("function", function, remedy)
            if not np.all(np.isfinite(values)):
                raise InvalidArgument("function", function, "returns numbers that are not finite")
            return values

        return self._of_draws(of_tables, index, simplex, subject=subject, without_mode="")

    def _two_ways(self, what: str) -> None:
        if len(self.sizes) > 2:
            remedy = "use derived(), or fit two of the variables"
            raise NotAvailable(f"{what} of {len(self.sizes)} variables: {remedy}")

    def _variable(self, argument: str, name: object) -> int:
        plain = str.__str__(name) if isinstance(name, str) else None  # of a subclass, perhaps
        if plain not in self.names:
            remedy = f"must be a variable: {', '.join(self.names)}"
            raise InvalidArgument(argument, name, remedy)
        return self.names.index(plain)


def table_law(prior: Any, labels: Sequence[Labels]) -> LogitLaw:
    """The prior's law of the cells of a table, of which not too many can be drawn."""
    law = cells_law(prior, labels)
    if law.k > MOST_CELLS:
        remedy = f"at most {MOST_CELLS} can be drawn: merge categories"
        raise NotAvailable(f"the posterior of {law.k} cells: {remedy}")
    return law


# -- variables of ArviZ ---------------------------------------------------------------------------


_TAKEN = ("chain", "draw", "p", "coefficients", "category", "coefficient", "cell")


def _free(name: str) -> str:
    """A name that no variable or dimension of ours has."""
    return f"{name}_" if name in _TAKEN else name


def _arviz_variables(
    index: Labels, simplex: Array
) -> list[tuple[str, Array, dict[str, list[Any]]]]:
    """Variables of ArviZ: name, places of the parameters in order, labels by dimension."""
    # frequencies and coefficients are a variable each, with a dimension for each variable of a
    # whole table, else one list; a probability by itself is its own
    variables: list[tuple[str, Array, dict[str, list[Any]]]] = []
    for name, chosen in (("p", simplex >= 0), ("coefficients", simplex < PROBABILITY)):
        places = np.flatnonzero(chosen)
        terms = index[places]
        if not places.size:
            continue
        if not isinstance(terms, pd.MultiIndex):
            default = "category" if name == "p" else "coefficient"
            dim = _free(str(terms.name)) if terms.name else default
            variables.append((name, places, {dim: terms.tolist()}))
            continue
        levels = [terms.unique(i) for i in range(terms.nlevels)]
        whole = pd.MultiIndex.from_product(levels)
        order = terms.get_indexer(whole)
        if len(whole) != len(terms) or (order < 0).any():
            variables.append((name, places, {"cell": joined(terms, ":")}))
            continue
        dims = [_free(str(label)) if label else f"level_{i}" for i, label in enumerate(terms.names)]
        dims = [dim if dims.count(dim) == 1 else f"{dim}_{i}" for i, dim in enumerate(dims)]
        coords = {dim: level.tolist() for dim, level in zip(dims, levels, strict=True)}
        variables.append((name, places[order], coords))
    for i in np.flatnonzero(simplex == PROBABILITY).tolist():
        variables.append((_free(str(index[i])), np.array([i]), {}))
    return variables
