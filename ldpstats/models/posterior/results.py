"""A posterior: its draws, and all that is read off them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ldpstats.arguments.checks import level, one_of
from ldpstats.arguments.documents import array_from_json, array_to_json
from ldpstats.inference.chains.density import LogDensity
from ldpstats.inference.chains.diagnostics import ess_bulk, ess_tail, rhat
from ldpstats.inference.chains.hmc import Chains
from ldpstats.inference.outcome import TestResult
from ldpstats.models.posterior.intervals import equal_tailed, highest_density
from ldpstats.models.posterior.labels import index_from_json, index_to_json
from ldpstats.models.posterior.record import Origin, Run
from ldpstats.models.shared.fit import Part
from ldpstats.models.shared.presentation import Presented
from ldpstats.models.shared.spelling import names_alpha
from ldpstats.models.shared.storage import Stored, maybe_from_dict, maybe_to_dict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

__all__ = ["PosteriorResults"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class PosteriorResults(Stored, Presented):
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
        Which distribution each parameter is a share of: 0, 1, ... (those of one sum to one); -1
        for a probability by itself, -2 for any real number.
    peak : array, shape (m,), or None
        The posterior mode of the parameters; None where it is not known.
    prior_draws : array, shape (s, m), or None
        Draws from the prior, on which Bayes factors rest.
    check : TestResult or None
        The posterior predictive check of the reports.
    """

    samples: Array
    index: pd.Index[Any]
    origin: Origin
    run: Run
    simplex: Array
    peak: Array | None = None
    prior_draws: Array | None = None
    check: TestResult | None = None

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
        engine: str = "hmc",
    ) -> PosteriorResults:
        """Results of chains of a density whose `constrained` values have these labels."""
        how = chains.accepted, chains.divergent, chains.step_size, chains.warmup, chains.thin
        run = Run(engine, *how)
        groups = np.broadcast_to(np.asarray(simplex, dtype=np.int64), (len(labels),)).copy()
        samples = density.constrained(chains.z)
        return cls(samples, labels, origin, run, groups, peak, prior_draws, check)

    # -- what the draws say --------------------------------------------------------------------

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
    def k(self) -> int:
        """Number of parameters."""
        return len(self.index)

    @property
    def terms(self) -> pd.Index[Any]:
        """Names of the parameters in hypotheses; labels of several variables joined by colons."""
        if not isinstance(self.index, pd.MultiIndex):
            return self.index
        return pd.Index([":".join(map(str, labels)) for labels in self.index])

    def _series(self, values: Array, name: str) -> pd.Series[float]:
        return pd.Series(values, index=self.index, name=name)

    @property
    def params(self) -> pd.Series[float]:
        """Posterior means."""
        return self._series(self.flat.mean(axis=0), "params")

    @property
    def bse(self) -> pd.Series[float]:
        """Posterior standard deviations."""
        return self._series(self.flat.std(axis=0, ddof=1), "bse")

    @property
    def mode(self) -> pd.Series[float]:
        """The posterior mode: where the density of the parameters themselves is largest."""
        if self.peak is None:
            from ldpstats.errors import NotAvailable

            raise NotAvailable("the mode of this posterior was not computed: use params")
        return self._series(self.peak, "mode")

    @property
    def tvalues(self) -> pd.Series[float]:
        """Posterior means over standard deviations."""
        return (self.params / self.bse).rename("tvalues")

    @names_alpha
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
        ends = (equal_tailed if method == "equal-tailed" else highest_density)(
            self.flat, level(alpha)
        )
        return pd.DataFrame(ends, index=self.index, columns=["lower", "upper"])

    # -- whether to trust the draws ------------------------------------------------------------

    @cached_property
    def rhat(self) -> pd.Series[float]:
        """Rank-normalised split R-hat of every parameter; above 1.01 chains do not agree."""
        return self._series(rhat(self.samples), "rhat")

    @cached_property
    def ess(self) -> pd.DataFrame:
        """Effective numbers of draws, columns "bulk" (of the centre) and "tail" (5 and 95 %)."""
        sizes = {"bulk": ess_bulk(self.samples), "tail": ess_tail(self.samples)}
        return pd.DataFrame(sizes, index=self.index)

    # -- presentation --------------------------------------------------------------------------

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Table of "params", "bse", "lower", "upper", "ess_bulk", "ess_tail" and "rhat"."""
        ends = self.conf_int(alpha)
        columns = {"params": self.params, "bse": self.bse}
        columns |= {"lower": ends["lower"], "upper": ends["upper"]}
        columns |= {"ess_bulk": self.ess["bulk"], "ess_tail": self.ess["tail"], "rhat": self.rhat}
        return pd.DataFrame(columns)

    def summary(self, alpha: float = 0.05, max_rows: int = 40, details: bool = False) -> Summary:
        """The results as a statsmodels `Summary`."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None, alpha: float = 0.05) -> Axes:
        """Draw the posteriors."""
        raise NotImplementedError

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
        peak, prior = self.peak, self.prior_draws
        return {
            "samples": array_to_json(self.samples),
            "index": index_to_json(self.index),
            "origin": asdict(self.origin) | {"sources": list(self.sources)},
            "run": asdict(self.run),
            "simplex": self.simplex.tolist(),
            "peak": None if peak is None else array_to_json(peak),
            "prior_draws": None if prior is None else array_to_json(prior),
            "check": maybe_to_dict(self.check),
        }

    @classmethod
    def _restored(cls, document: dict[str, Any]) -> Self:
        origin = dict(document["origin"])
        peak, prior = document["peak"], document["prior_draws"]
        return cls(
            array_from_json(document["samples"]),
            index_from_json(document["index"]),
            Origin(**origin | {"sources": tuple(origin["sources"])}),
            Run(**document["run"]),
            np.array(document["simplex"], dtype=np.int64),
            None if peak is None else array_from_json(peak),
            None if prior is None else array_from_json(prior),
            maybe_from_dict(TestResult, document["check"]),
        )
