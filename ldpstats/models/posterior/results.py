"""A posterior: its draws, and all that is read off them."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import boolean, level, positive_integer
from ldpstats.arguments.documents import (
    array_from_json,
    array_to_json,
    number_from_json,
    number_to_json,
)
from ldpstats.errors import InvalidArgument, NotAvailable, PosteriorWarning
from ldpstats.inference.chains.density import LogDensity
from ldpstats.inference.chains.hmc import Chains
from ldpstats.inference.outcome import TestResult
from ldpstats.models.posterior.comparisons import point_null
from ldpstats.models.posterior.draws import Draws
from ldpstats.models.posterior.evidence import (
    BayesFactor,
    bayes_factor,
    dirichlet_density,
)
from ldpstats.models.posterior.labels import index_from_json, index_to_json
from ldpstats.models.posterior.plots import plot_posterior
from ldpstats.models.posterior.ranges import PROBABILITY, contrast_range
from ldpstats.models.posterior.record import Origin, Run
from ldpstats.models.posterior.summary import chain_doubts, posterior_summary
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.presentation import Presented
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import Stored, maybe_from_dict, maybe_to_dict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["PosteriorResults"]

WITHOUT_MODE = "it was not computed for this posterior: use params, the posterior means"

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PosteriorResults(Draws, Stored, Presented):
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

    origin: Origin
    run: Run
    simplex: Array
    peak: Array | None = None
    prior_draws: Array | None = None
    replicated: TestResult | None = None
    concentration: Array | None = None

    _format: ClassVar[str] = "ldpstats posterior"
    _version: ClassVar[int] = 1
    _required: ClassVar[frozenset[str]] = frozenset({"samples", "index", "origin", "run"})

    nobs = Part[int]("origin", "Number of reports.")
    n_missing = Part[int]("origin", "Respondents who gave no answer.")
    epsilon = Part[float]("origin", "Privacy of a report, in nats; the largest.")
    sources = Part[tuple[str, ...]]("origin", "The mechanisms of the reports, in words.")
    prior = Part[str]("origin", "The prior, in words.")
    name = Part[str]("origin", "Name of the variable; empty where it has none.")
    engine = Part[str]("run", "What drew: 'hmc' or 'pymc'.")
    divergences = Part[int]("run", "Trajectories whose energy was not conserved.")

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
        found = cls(samples, labels, origin, run, groups, peak, prior_draws, check, concentration)
        doubts = chain_doubts(found.rhat, found.ess, found.divergences, found.samples.shape[:2])
        if doubts:
            warnings.warn("; ".join(doubts), PosteriorWarning, stacklevel=4)
        return found

    # -- beside the draws: mode, check, Bayes factors -----------------------------------------

    @property
    def mode(self) -> pd.Series[float]:
        """The posterior mode: where the density of the parameters themselves is largest."""
        if self.peak is None:
            raise NotAvailable(f"mode: {self.origin.without_mode or WITHOUT_MODE}")
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
        ends = self.conf_int(alpha)
        columns = {"params": self.params, "bse": self.bse}
        columns |= {"lower": ends["lower"], "upper": ends["upper"]}
        columns |= {"ess_bulk": self.ess["bulk"], "ess_tail": self.ess["tail"], "rhat": self.rhat}
        return pd.DataFrame(columns)

    @names_alpha
    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`: text, `as_html()` and `as_latex()`.

        Parameters
        ----------
        alpha : float
            One minus the probability of the intervals.
        max_rows : int
            With more parameters the largest are printed.
        details : bool
            Whether to say how the chains were run.
        """
        frame = self.summary_frame(level(alpha))
        max_rows, details = positive_integer("max_rows", max_rows), boolean("details", details)
        doubts = chain_doubts(self.rhat, self.ess, self.divergences, self.samples.shape[:2])
        given = self.origin, self.run, self.samples.shape[:2], frame, self.replicated, doubts
        return posterior_summary(
            *given, alpha=alpha, max_rows=max_rows, details=details, shares=self._are_shares
        ).layout()

    @names_alpha
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
        frame = pd.DataFrame({"params": self.params}).join(self.conf_int(level(alpha)))
        inner = self.conf_int(0.5)
        return plot_posterior(
            self.origin, frame, inner, ax, alpha, sort, most, title, shares=self._are_shares
        )

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
        from ldpstats.models.posterior.exported import inference_data

        held = self.samples, self.index, self.simplex, self.prior_draws
        return inference_data(*held, self.origin, self.run)

    def _tidy(self, alpha: float) -> pd.DataFrame:
        names = {"params": "estimate", "bse": "std_error"}
        return self.summary_frame(alpha).rename(columns=names).assign(p_value=np.nan)

    @property
    def _subject(self) -> str:
        return self.name or self.origin.subject.lower()

    def _facts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "mechanism": "; ".join(self.sources),
            "method": f"posterior, {self.engine}",
            "prior": self.prior,
            "epsilon": self.epsilon,
            "nobs": self.nobs,
            "n_missing": self.n_missing,
            "k": self.k,
            "draws": len(self.flat),
            "divergences": self.divergences,
        }

    # -- JSON ----------------------------------------------------------------------------------

    def _stored(self) -> dict[str, Any]:
        return {
            "samples": array_to_json(self.samples),
            "index": index_to_json(self.index),
            "origin": self._written_origin(),
            "run": asdict(self.run),
            "simplex": self.simplex.tolist(),
            "peak": _maybe(self.peak),
            "prior_draws": _maybe(self.prior_draws),
            "check": maybe_to_dict(self.replicated),
            "concentration": _maybe(self.concentration),
        }

    def _written_origin(self) -> dict[str, Any]:
        epsilon = number_to_json(self.origin.epsilon)  # it may be infinite
        return asdict(self.origin) | {"sources": list(self.sources), "epsilon": epsilon}

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> Self:
        origin = dict(document["origin"])
        origin["epsilon"] = number_from_json(origin["epsilon"])
        arrays = [document[name] for name in ("peak", "prior_draws", "concentration")]
        peak, prior, concentration = (None if a is None else array_from_json(a) for a in arrays)
        results = cls(
            array_from_json(document["samples"]),
            index_from_json(document["index"]),
            Origin(**origin | {"sources": tuple(origin["sources"])}),
            Run(**document["run"]),
            np.array(document["simplex"], dtype=np.int64),
            peak,
            prior,
            maybe_from_dict(TestResult, document["check"]),
            concentration,
        )
        if results.samples.ndim != 3 or results.samples.shape[2] != len(results.index):
            raise InvalidArgument("samples", results.samples.shape, "must fit the index")
        return results


def _maybe(values: Array | None) -> Any:
    return None if values is None else array_to_json(values)
